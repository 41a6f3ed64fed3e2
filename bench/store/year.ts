import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { open } from "node:fs/promises";
import {
  type Candle,
  type CandleEvent,
  createClient,
  readCandles,
  replayCandles,
  type Series,
  type Timeframe,
  VirtualClock,
  watchCandles,
} from "pairstream";
import { lastValueFrom, tap } from "rxjs";
import { marketOf } from "../../test/indicators/random-candles.js";
import { type Contestant, sideBySide, type Timed } from "../side-by-side.js";
import { inFolder, openStore, type SqliteStore } from "./files.js";

const MINUTE = 60_000;
export const YEAR = 365 * 24 * 60;
/** A short stretch, on which everything is compiled before it is timed. */
const STRETCH = 2_000;
const MOST_ROUNDS = 7;
/** Intervals at the end that are not final yet. */
const UNSETTLED = 3;
const SERVICE = "https://service.test";
const SERIES: Series<Timeframe> = {
  network: "mainnet",
  pairAddress: "pair",
  timeframe: "1min",
  currency: "usd",
};

/** The same candles, and all ways to read them. */
interface Stored {
  readonly candles: readonly Candle[];
  readonly store: SqliteStore;
  readonly lines: string;
}

/** Times a year of minutes out of a store against the same out of NDJSON, both into events. */
export function timeYear(asked: number): Promise<{ timed: Timed[]; rounds: number }> {
  return inFolder(async (pathOf) => {
    const rounds = Math.min(asked, MOST_ROUNDS);
    const stretch = await storedIn(pathOf("stretch"), STRETCH);
    const year = await storedIn(pathOf("year"), YEAR);
    const contestant = (name: string, read: (of: Stored) => Promise<number>): Contestant => ({
      name,
      work: { calls: YEAR, run: () => read(year), warmUp: () => read(stretch) },
    });
    const timed = await sideBySide(
      [
        contestant("`watchCandles` out of the store", fromStore),
        contestant("`readCandles` of NDJSON", fromLines),
      ],
      rounds,
    );
    stretch.store.close();
    year.store.close();
    return { timed, rounds };
  });
}

/** Reads a stretch in both ways; throws where candles are missing or others. */
export function checkYear(): Promise<void> {
  return inFolder(async (pathOf) => {
    const stored = await storedIn(pathOf("stretch"), STRETCH);
    for (const read of [fromStore, fromLines]) {
      const found: Candle[] = [];
      await read(stored, ({ candle }) => found.push(candle));
      const least = stored.candles.slice(0, STRETCH);
      const isSame = JSON.stringify(found.slice(0, STRETCH)) === JSON.stringify(least);
      if (!isSame) throw new Error(`${read.name}: other candles than were stored`);
    }
    stored.store.close();
  });
}

async function storedIn(path: string, count: number): Promise<Stored> {
  const candles = marketOf(8, count).map((candle) =>
    Object.freeze({ ...candle, timestamp: candle.timestamp + Date.UTC(2025, 0, 1) }),
  );
  const store = openStore(`${path}.db`);
  const from = candles[0]!.timestamp;
  const to = from + (count - UNSETTLED) * MINUTE;
  const key = { ...SERIES, service: SERVICE, weekStart: "monday" } as const;
  await store.write(key, { from, to, candles: candles.slice(0, -UNSETTLED) });
  const lines = `${path}.ndjson`;
  const file = createWriteStream(lines);
  for (const candle of candles) if (!file.write(`${JSON.stringify(candle)}\n`)) await once(file, "drain");
  file.end();
  await once(file, "close");
  return { candles, store, lines };
}

/** What a bot does whose history is stored: one request, and the rest out of the store. */
async function fromStore({ candles, store }: Stored, take: (event: CandleEvent) => void = () => {}) {
  const first = candles[0]!.timestamp;
  const clock = new VirtualClock(first + candles.length * MINUTE + 10_000);
  const newest = candles.slice(-2 * UNSETTLED).map((candle) => {
    return { ...candle, timestamp: new Date(candle.timestamp).toISOString() };
  });
  const { pairAddress, timeframe, currency } = SERIES;
  const page = { page: 1, pairAddress, tokenAddress: null, timeframe, currency, result: newest };
  let requests = 0;
  const fetch = async () => {
    requests += 1;
    return { status: 200, headers: { get: () => null }, text: async () => JSON.stringify(page) };
  };
  const client = createClient({ baseUrl: SERVICE, apiKey: "key", scheduler: clock, fetch, store });
  let count = 0;
  const stay = watchCandles(client, { ...SERIES, since: first, every: "close" }).subscribe((event) => {
    count += 1;
    take(event);
  });
  await clock.advanceBy(5_000);
  stay.unsubscribe();
  if (count !== candles.length || requests > 2) throw new Error(`${count} events, ${requests} requests`);
  return count;
}

async function fromLines({ candles, lines }: Stored, take: (event: CandleEvent) => void = () => {}) {
  const file = await open(lines);
  let count = 0;
  const events = replayCandles(readCandles(file.readLines()), SERIES).pipe(
    tap((event) => {
      count += 1;
      take(event);
    }),
  );
  await lastValueFrom(events);
  if (count !== candles.length) throw new Error(`${count} events`);
  return count;
}
