import { take } from "rxjs";
import { describe, expect, it } from "vitest";
import { coreOf } from "../../src/client/core.js";
import { KnownPairs } from "../../src/client/known-pairs.js";
import { createClient, fetchCandles, type Series, VirtualClock, watchCandles } from "../../src/index.js";
import { createPairService, type Swap } from "../../src/service/index.js";

const START = Date.UTC(2024, 0, 5, 12);
const CREATED = START - 600_000;
const MINUTE = 60_000;
/** So many pairs are remembered at most. */
const MOST = 20_000;

/** A client before a service that knows every pair; each has traded every ten seconds since ten minutes ago. */
function market() {
  const clock = new VirtualClock(START + 30_000);
  const swap = (timestamp: number): Swap => ({
    blockNumber: timestamp / 1_000,
    timestamp,
    transactionHash: `hash-${timestamp}`,
    walletAddress: "wallet",
    side: "buy",
    tokenAmount: 1,
    usdAmount: 5,
    nativeAmount: 1,
  });
  const service = createPairService({
    clock: () => clock.now(),
    quirks: { emptyBeforeCreation: true },
    source: {
      pair: () => ({
        tokenAddress: "token",
        createdAt: CREATED,
        swaps: ({ from, to, asOf }) => {
          const swaps: Swap[] = [];
          for (
            let at = Math.max(CREATED, Math.ceil(from / 10_000) * 10_000);
            at < to && at <= asOf;
            at += 10_000
          )
            swaps.push(swap(at));
          return swaps;
        },
      }),
    },
  });
  const asked: string[] = [];
  const client = createClient({
    baseUrl: "http://localhost",
    apiKey: "key",
    scheduler: clock,
    rateLimit: false,
    fetch: (url, init) => {
      asked.push(url);
      return service.fetch(url, init);
    },
  });
  const reports = () => asked.filter((url) => url.includes("/snipers")).length;
  return { clock, client, asked, reports, shared: coreOf(client).shared };
}

const seriesOf = (pairAddress: string): Series => ({
  network: "mainnet",
  pairAddress,
  timeframe: "1min",
  currency: "usd",
});

/** Reads from before the pair's creation, so that all there is to know of the pair is learned. */
const since = CREATED - 60 * MINUTE;

describe("what a client keeps of pairs", () => {
  it("is bounded, and kept of those that were read last", () => {
    const pairs = new KnownPairs();
    const of = (index: number) => pairs.of(seriesOf(`pair${index}`));
    for (let index = 0; index < 3 * MOST; index += 1) {
      of(index).createdAt = index;
      expect(of(0).createdAt).toBe(0);
    }
    for (let index = 1; index <= 2 * MOST; index += 1) expect(of(index).createdAt).toBeUndefined();
    of(3 * MOST).createdAt = 1;
    for (let index = 0; index < MOST / 2 - 1; index += 1) of(-1 - index);
    expect(of(3 * MOST).createdAt).toBe(1);
  });

  it("that were watched and left is what is known of them, and no stream", async () => {
    const { clock, client, reports, shared } = market();
    let heard = 0;
    const visit = async (index: number) => {
      const options = { ...seriesOf(`pair${index}`), since };
      const watching = watchCandles(client, options).subscribe(() => {
        heard += 1;
      });
      const fetching = fetchCandles(client, {
        ...seriesOf(`other${index}`),
        from: since,
        to: START,
      }).subscribe();
      await clock.advanceBy(10);
      watching.unsubscribe();
      fetching.unsubscribe();
    };
    for (let index = 0; index < 200; index += 1) await visit(index);
    expect(heard).toBeGreaterThan(200 * 5);
    expect(shared.size).toBe(0);
    const before = reports();
    await visit(0);
    expect(reports()).toBe(before);
  });

  it("that are watched is never dropped, however many others come and go", async () => {
    const { clock, client, asked } = market();
    const watched = { ...seriesOf("watched"), since };
    const events: number[] = [];
    watchCandles(client, watched).subscribe(({ candle }) => events.push(candle.timestamp));
    await clock.advanceBy(10);
    expect(events.length).toBeGreaterThan(5);
    for (let index = 0; index < 2_000; index += 1) {
      const fetching = fetchCandles(client, { ...seriesOf(`other${index}`), from: START }).subscribe();
      await clock.advanceBy(1);
      fetching.unsubscribe();
    }
    const before = asked.length;
    const late: number[] = [];
    watchCandles(client, watched).subscribe(({ candle }) => late.push(candle.timestamp));
    await clock.advanceBy(10);
    expect(late.slice(0, 5)).toEqual(events.slice(0, 5));
    // One poll is shared, and where the pair begins is known: the history alone is read, and no report is.
    expect(asked.slice(before).map((url) => new URL(url).pathname)).toEqual([
      "/token/mainnet/pairs/watched/ohlcv",
    ]);
  });

  it("that were left a moment ago is still known to who comes back", async () => {
    const { clock, client, asked } = market();
    const watched = { ...seriesOf("watched"), since };
    for (const reports of [1, 0]) {
      const before = asked.length;
      const watching = watchCandles(client, watched).pipe(take(5)).subscribe();
      await clock.advanceBy(10);
      expect(watching.closed).toBe(true);
      expect(asked.slice(before).filter((url) => url.includes("/snipers"))).toHaveLength(reports);
    }
  });
});
