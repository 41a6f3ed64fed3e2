// What viewers of the live chart cost: `node --expose-gc --import tsx bench/gateway.ts`.
//
// A gateway serves real connections from another process, while the clock of its service runs ahead as told.
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { type ClientRequest, get } from "node:http";
import { fileURLToPath } from "node:url";
import { createClient, VirtualClock } from "pairstream";
import { createPairService, simulatedMarket } from "pairstream/service";
import { serveChart } from "../examples/live-chart/serve.js";

const CREATED = Date.UTC(2026, 0, 1);
const VIEWERS = 500;
const STALLED = 50;
const POLLED_SECONDS = 60;
const STALLED_SECONDS = 12_000;

/** From the process with the clock to the one with the viewers. */
type Order =
  | { readonly url: string; readonly viewers: number; readonly stalled: number }
  | { readonly count: true };
/** The other way: what each viewer has read so far, in bytes, and of how many candles the last poll told it. */
interface Answer {
  readonly bytes: readonly number[];
  readonly messages: readonly number[];
}

async function measure(): Promise<void> {
  console.log(`${VIEWERS} viewers, 1s candles, a poll every second\n`);
  const polls: number[] = [];
  for (const viewers of [1, VIEWERS]) {
    const stage = await Stage.open({ viewers, stalled: 0 });
    const before = stage.polls;
    await stage.pass(POLLED_SECONDS);
    polls.push(stage.polls - before);
    const { messages } = await stage.ask();
    const told = `each was sent ${Math.min(...messages)} to ${Math.max(...messages)} messages`;
    console.log(`${viewers} connected: ${polls.at(-1)} requests in ${POLLED_SECONDS} s; ${told}`);
    await stage.close();
  }
  console.log(
    `${VIEWERS} cost the service ${(polls[1]! / polls[0]!).toFixed(3)} times the requests of one\n`,
  );

  const stage = await Stage.open({ viewers: 2 * STALLED, stalled: STALLED });
  console.log(`${STALLED} viewers that read, ${STALLED} that stopped after their first bytes`);
  console.log("seconds  read by one MB  heap MB  outside heap MB  resident MB");
  const parts = 8;
  for (let part = 0; part <= parts; part += 1) {
    if (part > 0) await stage.pass(STALLED_SECONDS / parts);
    const { bytes } = await stage.ask();
    globalThis.gc?.();
    const { heapUsed, external, arrayBuffers, rss } = process.memoryUsage();
    const figures = [Math.max(...bytes), heapUsed, external + arrayBuffers, rss].map(megabytes);
    console.log([String((part * STALLED_SECONDS) / parts).padStart(7), ...figures].join("  "));
  }
  await stage.close();
}

const megabytes = (bytes: number) => (bytes / 1e6).toFixed(1).padStart(9);

/** A gateway, its service, and the viewers in a process of their own. */
class Stage {
  polls = 0;
  readonly #clock = new VirtualClock(CREATED + 3_600_000);
  readonly #viewers: ChildProcess;
  #close: () => Promise<void> = async () => {};

  private constructor() {
    this.#viewers = fork(fileURLToPath(import.meta.url), { serialization: "advanced" });
  }

  static async open(crowd: { viewers: number; stalled: number }): Promise<Stage> {
    const stage = new Stage();
    const clock = stage.#clock;
    const source = simulatedMarket({ seed: 31, createdAt: CREATED });
    const { fetch } = createPairService({ source, clock: () => clock.now() });
    const client = createClient({
      baseUrl: "https://service.test",
      apiKey: "key",
      scheduler: clock,
      fetch: (url, init) => {
        stage.polls += 1;
        return fetch(url, init);
      },
    });
    const pairs = source.pairs;
    const chart = await serveChart({ client, network: "mainnet", pairs, every: 1_000, port: 0 });
    stage.#close = chart.close;
    const series = { network: "mainnet", pairAddress: pairs[0]!, timeframe: "1s", currency: "usd" };
    const query = new URLSearchParams({ ...series, "since.candles": "300" });
    stage.#viewers.send({ url: `${chart.url}candles?${query}`, ...crowd } satisfies Order);
    // All have the history before anything is counted.
    for (let isReady = false; !isReady; ) {
      await clock.advanceBy(0);
      const { bytes, messages } = await stage.ask();
      const hasBegun = (count: number, at: number) => count > 0 || (at < crowd.stalled && bytes[at]! > 0);
      isReady = messages.length === crowd.viewers && messages.every(hasBegun);
    }
    await stage.pass(10);
    return stage;
  }

  /** Lets seconds pass at the service, no faster than the viewers that read can follow. */
  async pass(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second += 1) {
      await this.#clock.advanceBy(1_000);
      if (second % 50 === 49) await this.ask();
    }
  }

  async ask(): Promise<Answer> {
    this.#viewers.send({ count: true } satisfies Order);
    const [answer] = await once(this.#viewers, "message");
    return answer as Answer;
  }

  async close(): Promise<void> {
    this.#viewers.kill();
    await once(this.#viewers, "close");
    await this.#close();
  }
}

/** The process of the viewers. */
function view(): void {
  const bytes: number[] = [];
  const messages: number[] = [];
  const requests: ClientRequest[] = [];
  process.on("disconnect", () => process.exit());
  process.on("message", (order: Order) => {
    if ("count" in order) {
      process.send!({ bytes, messages } satisfies Answer);
      return;
    }
    for (let at = 0; at < order.viewers; at += 1) {
      bytes[at] = 0;
      messages[at] = 0;
      const request = get(order.url, { agent: false }, (response) => {
        response.on("data", (piece: Buffer) => {
          bytes[at]! += piece.length;
          messages[at]! += piece.toString("latin1").split("event: ").length - 1;
          if (at < order.stalled) response.pause();
        });
      });
      request.on("error", () => {});
      requests.push(request);
    }
  });
}

if (process.send !== undefined) view();
else await measure();
