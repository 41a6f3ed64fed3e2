import { type Candle, createClient, fetchCandles, type Timeframe } from "pairstream";
import type { StoreKey } from "pairstream/store";
import { lastValueFrom, toArray } from "rxjs";
import { marketOf } from "../../test/indicators/random-candles.js";
import { keepingResults, type Work } from "../rounds.js";
import { type Contestant, sideBySide, type Timed } from "../side-by-side.js";
import { inFolder, openDatabase, openStore, type SqliteStore } from "./files.js";

const CANDLES = 500;
/** So many on which everything is compiled before it is timed. */
const STRETCH = 10;
/** It takes long, and little of what disturbs a moment is left in it. */
const MOST_ROUNDS = 9;
const ALL = { from: 0, to: Number.MAX_SAFE_INTEGER };
const SERVICE = "https://service.test";
const TIMEFRAME: Timeframe = "1min";
const COLUMNS = "timestamp, open, high, low, close, volume, swaps";

/** The candles of series, by series, out of the same file. */
type Reader = (first: number) => Promise<readonly (readonly Candle[])[]> | readonly (readonly Candle[])[];

/** Times reading so many series out of a store against the driver alone; all give the same candles. */
export function timeRows(series: number, asked: number): Promise<{ timed: Timed[]; rounds: number }> {
  return withReaders(series, async (readers) => {
    const rounds = Math.min(asked, MOST_ROUNDS);
    const contestants = Object.entries(readers).map(([name, read]): Contestant => {
      return { name, isFloor: name !== "pairstream", work: workOf(read, series) };
    });
    return { timed: await sideBySide(contestants, rounds), rounds };
  });
}

/** Reads some series in all ways; throws where one differs. */
export function checkRows(series: number): Promise<void> {
  return withReaders(series, async (readers) => {
    for (const [name, read] of Object.entries(readers)) {
      const found = await read(series);
      const isSame = found.length === series && found.every((each) => sameAs(each, candles));
      if (!isSame) throw new Error(`${name}: other candles than were written`);
    }
  });
}

/** All of them are held at once, as a start with so many series does. */
function workOf(read: Reader, series: number): Work {
  const run = (count: number) =>
    keepingResults(async (take) => {
      take(await read(count));
    });
  return { calls: series * CANDLES, run: () => run(series), warmUp: () => run(STRETCH) };
}

function withReaders<T>(series: number, use: (readers: Record<string, Reader>) => Promise<T>): Promise<T> {
  return inFolder(async (pathOf) => {
    const path = pathOf("rows.db");
    const store = openStore(path);
    const keys = Array.from({ length: series }, (_, at) => keyOf(at));
    await fill(store, keys);
    const database = openDatabase(path);
    const ids = (database.prepare("SELECT id FROM series ORDER BY id").all() as { id: number }[]).map(
      ({ id }) => id,
    );
    const select = database.prepare(
      `SELECT ${COLUMNS} FROM candles WHERE series = ? AND timestamp >= ? AND timestamp < ? ORDER BY timestamp`,
    );
    const rowsOf = (id: number) => select.all(id, ALL.from, ALL.to) as Candle[];
    const client = createClient({ baseUrl: SERVICE, apiKey: "key", store, fetch: neverAsked });
    try {
      return await use({
        pairstream: (count) =>
          Promise.all(keys.slice(0, count).map(async (key) => (await store.read(key, ALL)).candles)),
        "the driver": (count) => ids.slice(0, count).map(rowsOf),
        "the driver and a loop that freezes": (count) =>
          ids.slice(0, count).map((id) => rowsOf(id).map((row) => Object.freeze({ ...row }))),
        "`fetchCandles`": (count) =>
          Promise.all(keys.slice(0, count).map((key) => lastValueFrom(fetched(client, key).pipe(toArray())))),
      });
    } finally {
      database.close?.();
      store.close();
    }
  });
}

/** Those of each series. */
const candles = marketOf(8, CANDLES).map(({ timestamp, open, high, low, close, volume, swaps }) =>
  Object.freeze({ timestamp: timestamp + Date.UTC(2026, 0, 1), open, high, low, close, volume, swaps }),
);
const FROM = candles[0]!.timestamp;
const TO = FROM + CANDLES * 60_000;

function keyOf(at: number): StoreKey {
  const pairAddress = `pair${String(at).padStart(40, "0")}`;
  const series = { network: "mainnet", pairAddress, timeframe: TIMEFRAME, currency: "usd" } as const;
  return { ...series, service: SERVICE, weekStart: "monday" };
}

function fetched(client: ReturnType<typeof createClient>, key: StoreKey) {
  const { service: _service, weekStart: _weekStart, ...series } = key;
  return fetchCandles(client, { ...series, from: FROM, to: TO });
}

async function fill(store: SqliteStore, keys: readonly StoreKey[]): Promise<void> {
  await Promise.all(keys.map((key) => store.write(key, { from: FROM, to: TO, candles })));
}

async function neverAsked(): Promise<never> {
  throw new Error("all of it is stored");
}

function sameAs(some: readonly Candle[], others: readonly Candle[]): boolean {
  return JSON.stringify(some) === JSON.stringify(others);
}
