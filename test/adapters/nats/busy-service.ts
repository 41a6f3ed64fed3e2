import type { Candle, CandleEvent, Series } from "../../../src/index.js";
import {
  createPairService,
  listen,
  type Swap,
  type SwapSource,
  unsettled,
} from "../../../src/service/index.js";

/** Candles of a second, of which those older than a few seconds change no more. */
export const seriesOf = (pairAddress: string): Series => ({
  network: "mainnet",
  pairAddress,
  timeframe: "1s",
  currency: "usd",
});

/** How collectors watch them, so that what is final can change no more. */
export const WATCH = { every: 500, settle: 100, revisionWindow: 2 } as const;
const SETTLES_AFTER = 1_000;

/** What all collectors of a test may ask together. */
export const LIMIT = { requests: 30, per: 1_000 } as const;

/** Several swaps a second for each pair, at prices that a number of each makes up. */
export function busyMarket(pairs: readonly string[], createdAt: number): SwapSource {
  const swapsOf =
    (pairAddress: string, number: number) =>
    ({ from, to, asOf }: Record<"from" | "to" | "asOf", number>) => {
      const swaps: Swap[] = [];
      const every = 230 + 40 * number;
      for (let count = Math.max(0, Math.ceil((from - createdAt) / every)); ; count++) {
        const timestamp = createdAt + count * every;
        if (timestamp >= to || timestamp > asOf) return swaps;
        const wave = ((count * 7919 + number * 104_729) % 1_000) / 1_000;
        swaps.push({
          blockNumber: Math.floor(timestamp / 400),
          timestamp,
          transactionHash: `${pairAddress}-${count}`,
          walletAddress: `wallet-${count % 5}`,
          side: count % 3 === 0 ? "sell" : "buy",
          tokenAmount: 1 + wave,
          usdAmount: 10 * (1 + wave) * (1 + wave / 10),
          nativeAmount: (1 + wave) / 10,
        });
      }
    };
  const made = new Map(
    pairs.map((address, number) => [
      address,
      { tokenAddress: "token", createdAt, swaps: swapsOf(address, number) },
    ]),
  );
  return { pair: (_network, address) => made.get(address) };
}

/** The service that all collectors of a test ask, the truth, and a log of who asked when. */
export async function openBusyService(pairs: readonly string[]) {
  const createdAt = Math.floor(Date.now() / 1_000) * 1_000 - 60_000;
  const source = unsettled(busyMarket(pairs, createdAt), {
    seed: 11,
    settlesAfter: SETTLES_AFTER,
    late: 0.2,
    forks: 0.3,
  });
  const service = createPairService({ source });
  /** When each request went out, by its sender. */
  const sent: number[] = [];
  const logged = async (request: Request) => {
    const at = request.headers.get("x-sent");
    if (at !== null) sent.push(Number(at));
    return service.fetch(request);
  };
  const { url, close } = await listen({ fetch: logged as typeof service.fetch }, { port: 0 });

  /** The candles of `[from, until)` as the service has them now, by timestamp. */
  async function truth(series: Series, from: number, until: number): Promise<ReadonlyMap<number, Candle>> {
    const candles = new Map<number, Candle>();
    for (let cursor: string | undefined; ; ) {
      const query = new URLSearchParams({
        timeframe: series.timeframe,
        currency: series.currency,
        fromDate: String(from / 1_000),
        toDate: String(until / 1_000),
        limit: "1000",
        ...(cursor === undefined ? {} : { cursor }),
      });
      const path = `/token/${series.network}/pairs/${series.pairAddress}/ohlcv?${query}`;
      const answer = await service.fetch(`http://localhost${path}`, { headers: { "X-API-Key": "test" } });
      const page = JSON.parse(await answer.text());
      for (const row of page.result) {
        const timestamp = Date.parse(row.timestamp);
        if (timestamp >= from && timestamp < until) candles.set(timestamp, { ...row, timestamp });
      }
      cursor = page.cursor;
      if (!cursor) return candles;
    }
  }

  return {
    url,
    close,
    truth,
    sent,
    /** An instant of which, and of all before, nothing changes any more. */
    settledUntil: () => Math.floor((Date.now() - 2 * SETTLES_AFTER) / 1_000) * 1_000,
    /** The most requests that any window of the limit has seen. */
    worstWindow: () => {
      const starts = [...sent].sort((a, b) => a - b);
      // A sender reads its clock once for its budget and once more for the log.
      const per = LIMIT.per - 5;
      return Math.max(
        0,
        ...starts
          .map((start, at) => starts.findIndex((one, i) => i >= at && one >= start + per))
          .map((end, at) => (end < 0 ? starts.length : end) - at),
      );
    },
  };
}

export type BusyService = Awaited<ReturnType<typeof openBusyService>>;

/** What is wrong with an event after those before it; folds it in. */
export function breachOf(known: Map<number, CandleEvent>, event: CandleEvent): string | undefined {
  const { type, candle, status, revision } = event;
  const before = known.get(candle.timestamp);
  if (type === "removed") known.delete(candle.timestamp);
  else known.set(candle.timestamp, event);
  if (!Object.isFrozen(event) || !Object.isFrozen(candle)) return "is not frozen";
  if (type === "new") return before === undefined ? undefined : "is new for the second time";
  if (before === undefined) return `is ${type} and was never there`;
  if (revision <= before.revision) return "does not grow in revision";
  // Before a hole all candles go, the oldest first.
  const isOldest = type === "removed" && [...known.keys()].every((other) => other > candle.timestamp);
  if (before.status === "final" && !isOldest) return "comes after the final one";
  if (type === "removed") return candle === before.candle ? undefined : "is removed as what it was not";
  if (event.type === "updated" && event.previous !== before.candle) return "changes what was not there";
  const isEcho = status === before.status && JSON.stringify(candle) === JSON.stringify(before.candle);
  return isEcho ? "changes nothing" : undefined;
}
