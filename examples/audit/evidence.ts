import { type FileHandle, open } from "node:fs/promises";
import { type Candle, intervalOf, readCandles, type Series, type Timeframe } from "pairstream";
import { type CandleStore, type SqliteDatabase, sqliteStore } from "pairstream/store";
import { listOf } from "../history/read-file.js";
import { UsageError } from "../terminal/command-line.js";
import { openDatabase } from "../terminal/sqlite.js";

/** What is audited. */
export interface Evidence {
  readonly against: CandleStore | readonly Candle[];
  /** From the first instant that it tells of to the last; absent where it tells of none. */
  readonly range: { readonly from: number; readonly to: number } | undefined;
}

/** What files begin with; others are lines. */
const BEGINNINGS = { sqlite: "SQLite format 3\0", parquet: "PAR1" } as const;

/** Reads what a file holds of a series: a SQLite store, or candles as Parquet, CSV or NDJSON, as its first bytes tell. */
export async function openEvidence(file: string, series: Series<Timeframe>): Promise<Evidence> {
  const handle = await open(file).catch((error: Error) => {
    throw new UsageError(`${file} cannot be read: ${error.message}`);
  });
  try {
    if (await beginsWith(handle, BEGINNINGS.sqlite)) return await openStore(file, series);
    if (await beginsWith(handle, BEGINNINGS.parquet)) return await readParquetFile(file, series);
    const candles = await listOf(readCandles(handle.readLines({ autoClose: false, start: 0 })));
    const [first, last] = [candles[0], candles.at(-1)];
    if (first === undefined || last === undefined) return { against: candles, range: undefined };
    const { end } = intervalOf(series.timeframe, last.timestamp);
    return { against: candles, range: { from: first.timestamp, to: end } };
  } catch (error) {
    if (error instanceof UsageError) throw error;
    // What is wrong is the file, and not what was asked for.
    throw new Error(`${file}: ${error instanceof Error ? error.message : String(error)}`);
  } finally {
    await handle.close();
  }
}

async function beginsWith(handle: FileHandle, text: string): Promise<boolean> {
  const { bytesRead, buffer } = await handle.read(Buffer.alloc(text.length), { position: 0 });
  return buffer.toString("latin1", 0, bytesRead) === text;
}

async function openStore(file: string, series: Series<Timeframe>): Promise<Evidence> {
  const database = await openDatabase(file);
  // Not every driver can open a file for reading only.
  database.exec("PRAGMA query_only = ON");
  const against = sqliteStore(database);
  await against.read({ ...series, service: "", weekStart: "monday" }, { from: 0, to: 0 });
  return { against, range: coveredIn(database, series) };
}

/** From the first to the last instant that a store covers of a series, at whatever service. */
function coveredIn(database: SqliteDatabase, series: Series<Timeframe>): Evidence["range"] {
  const { network, pairAddress, timeframe, currency } = series;
  const [row] = database
    .prepare(`
      SELECT min(from_timestamp) AS first, max(to_timestamp) AS last
      FROM covered JOIN series ON series.id = covered.series
      WHERE network = ? AND pair_address = ? AND timeframe = ? AND currency = ?`)
    .all(network, pairAddress, timeframe, currency) as { first: number | null; last: number | null }[];
  if (row === undefined || row.first === null || row.last === null) return undefined;
  return { from: Number(row.first), to: Number(row.last) };
}

async function readParquetFile(file: string, series: Series<Timeframe>): Promise<Evidence> {
  const { parquetContents, readParquet } = await import("../history/parquet-file.js");
  const { series: held, covered } = await parquetContents(file);
  const names = ["pairAddress", "timeframe", "currency", "network"] as const;
  if (names.some((name) => held[name] !== series[name])) {
    throw new UsageError(
      `${file} holds another series than was asked for: ${names.map((name) => held[name]).join(", ")}`,
    );
  }
  return { against: await listOf(readParquet(file)), range: covered };
}
