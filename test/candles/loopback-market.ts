import { type Client, createClient, type Series, VirtualClock } from "../../src/index.js";
import { createPairService, type ServiceQuirks, type Swap, type SwapRange } from "../../src/service/index.js";
import { serve } from "../client/send/loopback.js";
import { KEY, PAIR } from "../world.js";

/** A virtual clock on which no time passes while the client waits for an answer over a real connection. */
class HttpClock extends VirtualClock {
  #underWay = 0;
  #arrived = () => {};

  /** Whose requests are waited for. No program here leaves a request before its answer. */
  follow({ activity }: Client): void {
    activity.subscribe(({ type }) => {
      if (type === "request") this.#underWay += 1;
      if (type !== "response") return;
      this.#underWay -= 1;
      this.#arrived();
    });
  }

  override async advanceTo(instant: number): Promise<void> {
    const isWaiting = () => this.#underWay > 0;
    await this.advanceUnless(isWaiting, instant);
    while (isWaiting() || this.now() < instant) {
      await new Promise<void>((resolve) => {
        this.#arrived = resolve;
        if (!isWaiting()) resolve();
      });
      await this.advanceUnless(isWaiting, instant);
    }
  }
}

/** An answer as it is sent. */
export interface Sent {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

interface MarketOptions {
  readonly start: number;
  /** ms between two swaps of the pair. */
  readonly every: number;
  /** When the first one was. */
  readonly from: number;
  readonly quirks?: ServiceQuirks;
  /** How far the swaps that an answer knows lie behind its time, in ms. */
  readonly lag?: () => number;
  /** What is sent in place of an answer about candles. */
  readonly change?: (answer: Sent, now: number, url: URL) => Sent;
}

/** A service on loopback, with one pair, and a client of it on a clock of its own. */
export async function openMarket(options: MarketOptions) {
  const { start, every, from, quirks = {}, lag = () => 0, change = (answer) => answer } = options;
  const clock = new HttpClock(start);
  const swaps = (range: SwapRange): Swap[] => {
    const first = Math.ceil(Math.max(range.from, from) / every);
    const end = Math.ceil(Math.min(range.to, range.asOf - lag() + 1) / every);
    return Array.from({ length: Math.max(0, end - first) }, (_, at) => swapOf(first + at, every));
  };
  const pair = { tokenAddress: "token", createdAt: from, swaps };
  const service = createPairService({
    clock: () => clock.now(),
    quirks,
    source: { pair: (_, address) => (address === PAIR ? pair : undefined) },
  });
  const { url: baseUrl, requests } = await serve(async (request, response) => {
    const url = new URL(request.url!, baseUrl);
    const { status, headers, text } = await service.fetch(url.href, { headers: { "x-api-key": KEY } });
    const answer = { status, headers: { date: headers.get("date")! }, body: await text() };
    const sent = url.pathname.endsWith("/ohlcv") ? change(answer, clock.now(), url) : answer;
    response.sendDate = false;
    response.writeHead(sent.status, { "content-type": "application/json", ...sent.headers }).end(sent.body);
  });
  const client = createClient({ baseUrl, apiKey: KEY, scheduler: clock });
  clock.follow(client);
  return { clock, client, requests };
}

/** The swap of an interval, at its beginning. */
function swapOf(number: number, every: number): Swap {
  const price = 1 + (number % 97);
  return {
    blockNumber: number,
    timestamp: number * every,
    transactionHash: `hash-${number}`,
    walletAddress: "wallet",
    side: "buy",
    tokenAmount: 1,
    usdAmount: price,
    nativeAmount: price / 100,
  };
}

/** The pair's series of a timeframe. */
export const seriesOf = (timeframe: Series["timeframe"]): Series => ({
  network: "mainnet",
  pairAddress: PAIR,
  timeframe,
  currency: "usd",
});
