import { access } from "node:fs/promises";
import { type Candle, readCandles, type Series, type WeekStart } from "pairstream";
import {
  type ClientStore,
  candleStore,
  type SqliteDatabase,
  type StoreKey,
  sqliteStore,
} from "pairstream/store";
import { UsageError } from "../terminal/command-line.js";
import { openDatabase } from "../terminal/sqlite.js";

async function opened(file: string): Promise<SqliteDatabase> {
  try {
    return await openDatabase(file);
  } catch (cause) {
    if (cause instanceof UsageError) throw cause;
    throw new Error(`${file} cannot be opened: ${messageOf(cause)}`, { cause });
  }
}

/** A store in a file, whose first trouble ends what depends on it. */
export interface FileStore {
  readonly store: ClientStore;
  /** Rejects with the first trouble. */
  readonly failed: Promise<never>;
  /** What of a range is covered, of the series that was last asked for. */
  covered(range: { from: number; to: number }): Promise<readonly { from: number; to: number }[]>;
  close(): void;
}

export async function openStore(file: string): Promise<FileStore> {
  const store = sqliteStore(await opened(file));
  let fail = (_error: Error) => {};
  const failed = new Promise<never>((_, reject) => {
    fail = reject;
  });
  failed.catch(() => {});
  let asked: StoreKey | undefined;
  const watched = async <T>(key: StoreKey, work: Promise<T>): Promise<T> => {
    asked = key;
    try {
      return await work;
    } catch (error) {
      fail(new Error(`${file}: ${messageOf(error)}`, { cause: error }));
      throw error;
    }
  };
  return {
    store: candleStore({
      read: (key, range) => watched(key, store.read(key, range)),
      write: (key, known) => watched(key, store.write(key, known)),
      forget: (key, from, to) => watched(key, store.forget(key, from, to)),
    }),
    failed,
    covered: async (range) => {
      if (asked === undefined) return [];
      return (await watched(asked, store.read(asked, { ...range, last: 0 }))).covered;
    },
    close: () => store.close(),
  };
}

type Row = Record<string, number | string | bigint>;

/** Which series of a file; of `1w` a file may hold one for each beginning of the week. */
export type WantedSeries = Partial<StoredSeries>;

type StoredSeries = Series & { weekStart: WeekStart };

/** So many rows are in memory at a time. */
const ROWS = 10_000;

/**
 * The candles of a file, checked as `readCandles` checks them; an error names the row as a line. Rejects where `series` is
 * not that of one series in it.
 */
export function readDatabase(file: string, series: WantedSeries = {}): AsyncIterable<Candle> {
  return readCandles(linesOf(file, series));
}

async function* linesOf(file: string, wanted: WantedSeries): AsyncGenerator<string> {
  // Opening makes what is not there.
  await access(file);
  const database = await opened(file);
  try {
    const id = idOf(database, file, wanted);
    const page = database.prepare(
      "SELECT timestamp, open, high, low, close, volume, swaps FROM candles WHERE series = ? AND timestamp > ? ORDER BY timestamp LIMIT ?",
    );
    for (let reached = -1; ; ) {
      const rows = page.all(id, reached, ROWS) as Row[];
      for (const row of rows) {
        const fields = Object.entries(row).map(([name, value]) => [name, Number(value)]);
        yield JSON.stringify(Object.fromEntries(fields));
      }
      if (rows.length < ROWS) return;
      reached = Number(rows.at(-1)!.timestamp);
    }
  } finally {
    database.close?.();
  }
}

/** The one series of a file that is `wanted`; of several the one of the timeframe `orTimeframe`. Rejects where there is none. */
export async function seriesOfDatabase(
  file: string,
  { orTimeframe, ...wanted }: WantedSeries & { orTimeframe?: Series["timeframe"] } = {},
): Promise<StoredSeries> {
  await access(file);
  const database = await opened(file);
  try {
    const all = seriesIn(database).filter((row) => isOf(row, wanted));
    const fitting = all.length > 1 ? all.filter(({ timeframe }) => timeframe === orTimeframe) : all;
    const { id: _, service: __, ...found } = one(database, file, fitting);
    return found as unknown as StoredSeries;
  } finally {
    database.close?.();
  }
}

const isOf = (row: Row, wanted: WantedSeries) =>
  Object.entries(wanted).every(([name, value]) => row[name] === value);

function seriesIn(database: SqliteDatabase): Row[] {
  return database
    .prepare(
      "SELECT id, service, network, pair_address AS pairAddress, timeframe, currency, week_start AS weekStart FROM series",
    )
    .all() as Row[];
}

function idOf(database: SqliteDatabase, file: string, wanted: WantedSeries): number {
  const fitting = seriesIn(database).filter((row) => isOf(row, wanted));
  return Number(one(database, file, fitting).id);
}

function one(database: SqliteDatabase, file: string, fitting: readonly Row[]): Row {
  const [found, ...others] = fitting;
  if (found !== undefined && others.length === 0) return found;
  const all = seriesIn(database).map(({ pairAddress, timeframe, currency, service, weekStart }) => {
    const weeks = timeframe === "1w" ? ` from ${weekStart} on` : "";
    return `${pairAddress} ${timeframe}${weeks} ${currency} of ${service}`;
  });
  const count = found === undefined ? "none" : `${fitting.length}`;
  throw new Error(
    `${file} holds ${count} of the series that were asked for; it holds ${all.join(", ") || "none"}`,
  );
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
