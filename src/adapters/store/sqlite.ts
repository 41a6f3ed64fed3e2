import type { ClientStore } from "../../client/client-store.js";
import { show } from "../../contract/input.js";
import type { Candle } from "../../contract/model.js";
import type { Known, Span, StoredCandles, StoreRange } from "../../contract/store.js";
import { InvalidInputError, PairstreamError } from "../../errors.js";
import { spansWithin } from "../../spans.js";
import { candleStore } from "./candle-store.js";
import { valuesOf } from "./key.js";
import { candleOf, checkKnown, checkStoreRange } from "./known.js";

/** The methods of a driver that the store uses: `node:sqlite`, `better-sqlite3`, `bun:sqlite` and `libsql` have them. */
export interface SqliteDatabase {
  /** Runs statements without parameters. */
  exec(sql: string): unknown;
  /** Prepares a statement. */
  prepare(sql: string): SqliteStatement;
  /** Closes the database. */
  close?(): unknown;
}

/** A prepared statement. */
export interface SqliteStatement {
  /** Runs it. */
  run(...values: (string | number)[]): unknown;
  /** All rows that it gives. */
  all(...values: (string | number)[]): unknown[];
}

/** The schema below; a file of another one is neither believed nor written to. */
const VERSION = 2;
/** ms to wait while another process writes; all of this process waits with it. */
const BUSY_TIMEOUT = 2_000;

const TABLES = `
CREATE TABLE series (
  id INTEGER PRIMARY KEY,
  service TEXT NOT NULL,
  network TEXT NOT NULL,
  pair_address TEXT NOT NULL,
  timeframe TEXT NOT NULL,
  currency TEXT NOT NULL,
  week_start TEXT NOT NULL,
  UNIQUE (pair_address, timeframe, currency, network, service, week_start)
);
CREATE TABLE candles (
  series INTEGER NOT NULL REFERENCES series (id),
  timestamp INTEGER NOT NULL,
  open REAL NOT NULL,
  high REAL NOT NULL,
  low REAL NOT NULL,
  close REAL NOT NULL,
  volume REAL NOT NULL,
  swaps INTEGER NOT NULL,
  PRIMARY KEY (series, timestamp)
) WITHOUT ROWID;
CREATE TABLE covered (
  series INTEGER NOT NULL REFERENCES series (id),
  from_timestamp INTEGER NOT NULL,
  to_timestamp INTEGER NOT NULL,
  PRIMARY KEY (series, from_timestamp)
) WITHOUT ROWID;
`;

const VIEWS = `
CREATE VIEW candles_iso AS
  SELECT service, network, pair_address, timeframe, currency, week_start,
    strftime('%Y-%m-%dT%H:%M:%SZ', timestamp / 1000, 'unixepoch') AS time,
    open, high, low, close, volume, swaps
  FROM candles JOIN series ON series.id = candles.series;
CREATE VIEW covered_iso AS
  SELECT service, network, pair_address, timeframe, currency, week_start,
    strftime('%Y-%m-%dT%H:%M:%SZ', from_timestamp / 1000, 'unixepoch') AS from_time,
    strftime('%Y-%m-%dT%H:%M:%SZ', to_timestamp / 1000, 'unixepoch') AS to_time
  FROM covered JOIN series ON series.id = covered.series;
PRAGMA user_version = ${VERSION};
`;

/**
 * A store in a SQLite database, over any driver that has `exec` and `prepare`: `node:sqlite` (Node from 22.13),
 * `better-sqlite3`, `bun:sqlite`, `libsql`. Several processes may use one file. Calls that come together are done in one
 * transaction. `close` finishes what is left to do, and closes the database.
 *
 * The table `candles` has a row for each candle, and `series` a row for each series. The view `candles_iso` joins both. A
 * file of another version is left unchanged: reads and writes reject; the client warns of that, and reports it in `activity`.
 *
 * Throws an `InvalidInputError` if `database` is not a database.
 *
 * ```ts
 * import Database from "libsql";
 * import { createClient } from "pairstream";
 * import { sqliteStore } from "pairstream/store";
 *
 * const store = sqliteStore(new Database("candles.db"));
 * const client = createClient({ baseUrl: "https://api.example.com", apiKey: "…", store });
 * ```
 */
export function sqliteStore(database: SqliteDatabase): ClientStore & { close(): void } {
  if (typeof database?.exec !== "function" || typeof database.prepare !== "function") {
    const problem = `is ${show(database)} without exec or prepare`;
    throw new InvalidInputError("database", "an open database of a SQLite driver", problem);
  }
  const jobs = new Jobs(database);
  const store = candleStore({
    read: async (key, range) => {
      const values = valuesOf(key);
      checkStoreRange(range);
      return jobs.add(false, (tables) => tables.read(values, range));
    },
    write: async (key, known) => {
      const values = valuesOf(key);
      checkKnown(known);
      return jobs.add(true, (tables) => tables.write(values, known));
    },
    forget: async (key, from, to) => {
      const values = valuesOf(key);
      checkStoreRange({ from, to });
      return jobs.add(true, (tables) => tables.forget(values, { from, to }));
    },
  });
  return { ...store, close: () => jobs.close() };
}

interface Job {
  readonly isWrite: boolean;
  run(tables: Tables): unknown;
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

/** What is to be done, in order: what was asked for at once in one transaction. */
class Jobs {
  readonly #database: SqliteDatabase;
  #tables: Tables | undefined;
  #waiting: Job[] = [];
  #isClosed = false;

  constructor(database: SqliteDatabase) {
    this.#database = database;
  }

  add<T>(isWrite: boolean, run: (tables: Tables) => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#waiting.length === 0) queueMicrotask(() => this.#doWaiting());
      this.#waiting.push({ isWrite, run, resolve: resolve as (result: unknown) => void, reject });
    });
  }

  close(): void {
    if (this.#isClosed) return;
    this.#doWaiting();
    this.#tables = undefined;
    this.#isClosed = true;
    this.#database.close?.();
  }

  #doWaiting(): void {
    const jobs = this.#waiting;
    this.#waiting = [];
    if (jobs.length === 0 || this.#tried(jobs)) return;
    // A file that cannot be written to may still be read.
    const reads = jobs.filter((job) => !job.isWrite);
    if (reads.length > 0 && reads.length < jobs.length) this.#tried(reads);
  }

  /** Does jobs in one transaction, and tells all of them how that went, but where it failed and some may yet be read. */
  #tried(jobs: readonly Job[]): boolean {
    const isWrite = jobs.some((job) => job.isWrite);
    try {
      if (this.#isClosed) throw new PairstreamError("The store is closed");
      const tables = this.#open();
      const results = transact(this.#database, isWrite, () => jobs.map((job) => job.run(tables)));
      for (const [at, job] of jobs.entries()) job.resolve(results[at]);
      return true;
    } catch (error) {
      // What it has learned in a transaction that was taken back is not so.
      this.#tables = undefined;
      for (const job of jobs) if (job.isWrite === isWrite) job.reject(troubleOf(error));
      return false;
    }
  }

  /** The tables, made where there are none; what fails here may succeed the next time. */
  #open(): Tables {
    if (this.#tables !== undefined) return this.#tables;
    const database = this.#database;
    // Before anything that another process can be in the way of.
    database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT}`);
    if (versionOf(database) === 0) setUp(database);
    const version = versionOf(database);
    if (version !== VERSION) throw new PairstreamError(`The database has version ${version}, not ${VERSION}`);
    this.#tables = new Tables(database);
    return this.#tables;
  }
}

function setUp(database: SqliteDatabase): void {
  if (transact(database, false, () => isSetUp(database))) return;
  // Of the whole file, for good; two processes that begin at once may be in each other's way.
  try {
    database.exec("PRAGMA journal_mode = WAL");
  } catch (error) {
    if (!/busy|locked/i.test(String(error))) throw error;
  }
  transact(database, true, () => {
    if (!isSetUp(database)) database.exec(TABLES + VIEWS);
  });
}

/** Whether another process has set it up; within a transaction, so that it does not do so in between. */
function isSetUp(database: SqliteDatabase): boolean {
  if (versionOf(database) !== 0) return true;
  const [first] = database.prepare("SELECT name FROM sqlite_master LIMIT 1").all();
  if (first !== undefined) throw new PairstreamError("The database holds other tables: name another file");
  return false;
}

function versionOf(database: SqliteDatabase): number {
  const [row] = database.prepare("PRAGMA user_version").all() as { user_version: number | bigint }[];
  return Number(row!.user_version);
}

function transact<T>(database: SqliteDatabase, isWrite: boolean, work: () => T): T {
  database.exec(isWrite ? "BEGIN IMMEDIATE" : "BEGIN");
  try {
    const result = work();
    database.exec("COMMIT");
    return result;
  } catch (error) {
    try {
      database.exec("ROLLBACK");
    } catch {
      // Some failures, such as of a full disk, have rolled it back already.
    }
    throw error;
  }
}

function troubleOf(error: unknown): PairstreamError {
  if (error instanceof PairstreamError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  return new PairstreamError(`The database failed: ${reason}`, { cause: error });
}

type Row = { readonly [name: string]: number | bigint };

/** Prepared statements on the tables of a database. */
class Tables {
  readonly #ids = new Map<string, number>();
  readonly #sql: Record<keyof typeof STATEMENTS, SqliteStatement>;

  constructor(database: SqliteDatabase) {
    const prepared = Object.entries(STATEMENTS).map(([name, sql]) => [name, database.prepare(sql)]);
    this.#sql = Object.fromEntries(prepared) as Record<keyof typeof STATEMENTS, SqliteStatement>;
  }

  read(key: readonly string[], { from, to, last }: StoreRange): StoredCandles {
    const id = this.#idOf(key);
    if (id === undefined) return { candles: [], covered: [] };
    const rows =
      last === undefined
        ? this.#sql.candles.all(id, from, to)
        : this.#sql.newest.all(id, from, to, last).reverse();
    const covered = spansWithin(this.#spans(this.#sql.covered, id, from, to), { from, to });
    return { candles: (rows as Row[]).map(candleOfRow), covered };
  }

  write(key: readonly string[], { from, to, candles }: Known): void {
    const id = this.#idOf(key) ?? this.#add(key);
    this.#sql.remove.run(id, from, to);
    for (const { timestamp, open, high, low, close, volume, swaps } of candles) {
      this.#sql.insert.run(id, timestamp, open, high, low, close, volume, swaps);
    }
    const joined = this.#spans(this.#sql.touching, id, from, to);
    for (const span of joined) this.#sql.uncover.run(id, span.from);
    const start = Math.min(from, ...joined.map((span) => span.from));
    const end = Math.max(to, ...joined.map((span) => span.to));
    this.#sql.cover.run(id, start, end);
  }

  forget(key: readonly string[], { from, to }: Span): void {
    const id = this.#idOf(key);
    if (id === undefined || from >= to) return;
    this.#sql.remove.run(id, from, to);
    for (const span of this.#spans(this.#sql.covered, id, from, to)) {
      this.#sql.uncover.run(id, span.from);
      if (span.from < from) this.#sql.cover.run(id, span.from, from);
      if (span.to > to) this.#sql.cover.run(id, to, span.to);
    }
  }

  /** Spans that overlap, or also touch, a range; in SQL the bounds are those of the range turned round. */
  #spans(statement: SqliteStatement, id: number, from: number, to: number): Span[] {
    return (statement.all(id, to, from) as Row[]).map((row) => ({
      from: Number(row.from_timestamp),
      to: Number(row.to_timestamp),
    }));
  }

  #idOf(key: readonly string[]): number | undefined {
    const name = key.join(" ");
    const known = this.#ids.get(name);
    if (known !== undefined) return known;
    const [row] = this.#sql.series.all(...key) as Row[];
    if (row === undefined) return undefined;
    const id = Number(row.id);
    this.#ids.set(name, id);
    return id;
  }

  #add(key: readonly string[]): number {
    this.#sql.addSeries.run(...key);
    const [row] = this.#sql.series.all(...key) as Row[];
    return Number(row!.id);
  }
}

const STATEMENTS = {
  series: `SELECT id FROM series WHERE service = ? AND network = ? AND pair_address = ?
    AND timeframe = ? AND currency = ? AND week_start = ?`,
  addSeries: `INSERT INTO series (service, network, pair_address, timeframe, currency, week_start)
    VALUES (?, ?, ?, ?, ?, ?)`,
  candles: `SELECT timestamp, open, high, low, close, volume, swaps FROM candles
    WHERE series = ? AND timestamp >= ? AND timestamp < ? ORDER BY timestamp`,
  newest: `SELECT timestamp, open, high, low, close, volume, swaps FROM candles
    WHERE series = ? AND timestamp >= ? AND timestamp < ? ORDER BY timestamp DESC LIMIT ?`,
  covered: `SELECT from_timestamp, to_timestamp FROM covered
    WHERE series = ? AND from_timestamp < ? AND to_timestamp > ? ORDER BY from_timestamp`,
  touching: `SELECT from_timestamp, to_timestamp FROM covered
    WHERE series = ? AND from_timestamp <= ? AND to_timestamp >= ? ORDER BY from_timestamp`,
  remove: "DELETE FROM candles WHERE series = ? AND timestamp >= ? AND timestamp < ?",
  insert: "INSERT INTO candles VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
  cover: "INSERT INTO covered VALUES (?, ?, ?)",
  uncover: "DELETE FROM covered WHERE series = ? AND from_timestamp = ?",
} as const;

/** Field by field, as rows of some drivers have a prototype of their own, and their numbers may be bigints. */
function candleOfRow(row: Row): Candle {
  return candleOf({
    timestamp: Number(row.timestamp),
    open: Number(row.open),
    high: Number(row.high),
    low: Number(row.low),
    close: Number(row.close),
    volume: Number(row.volume),
    swaps: Number(row.swaps),
  });
}
