import type { DBSchema, IDBPDatabase } from "idb";
import type { ClientStore } from "../../client/client-store.js";
import type { Candle } from "../../contract/model.js";
import type { CandleStore, Span } from "../../contract/store.js";
import { PairstreamError } from "../../errors.js";
import { spansWithin, withoutSpan, withSpan } from "../../spans.js";
import { candleStore } from "./candle-store.js";
import { valuesOf } from "./key.js";
import { candleOf, checkKnown, checkStoreRange } from "./known.js";

/** The schema below; a database of a later one cannot be opened. */
const VERSION = 1;
/** Of one call: while a browser deletes the data of a site, it closes what is opened meanwhile, too. */
const TRIES = 5;

interface Schema extends DBSchema {
  candles: { key: [series: string, timestamp: number]; value: Candle };
  covered: { key: string; value: readonly Span[] };
}

/**
 * A store in the browser's IndexedDB, under a name of your choice, for pages that have a client of their own. Pages of one
 * origin share it. `close` closes the database. Needs the package `idb`.
 *
 * Rejects with a `PairstreamError` if it cannot be opened. Where the browser or another page has closed or deleted it, calls
 * open it anew, and reject in the same way.
 *
 * ```ts
 * import { createClient } from "pairstream";
 * import { indexedDbStore } from "pairstream/store";
 *
 * const store = await indexedDbStore("candles");
 * const client = createClient({ baseUrl: "https://api.example.com", apiKey: "…", store });
 * ```
 */
export async function indexedDbStore(name: string): Promise<ClientStore & { close(): void }> {
  let opened: Promise<IDBPDatabase<Schema>> | undefined;
  let isClosed = false;
  const openAnew = async () => {
    const database = await open(name);
    if (isClosed) database.close();
    return database;
  };
  /** Works with the database: opened anew where its connection was closed, as by a page or a user who deletes it. */
  const using = async <T>(work: (database: IDBPDatabase<Schema>) => Promise<T>): Promise<T> => {
    for (let left = TRIES; ; left--) {
      opened ??= openAnew();
      const used = opened;
      try {
        return await work(await used);
      } catch (error) {
        const isGone = isOfClosing(error);
        if (opened === used && (isGone || error instanceof PairstreamError)) opened = undefined;
        if (isClosed || !isGone || left === 1) throw error;
      }
    }
  };
  await using(async () => undefined);
  const store = candleStore({
    async read(key, range) {
      checkStoreRange(range);
      const series = valuesOf(key).join(" ");
      return using((database) => readFrom(database, series, range));
    },
    async write(key, known) {
      checkKnown(known);
      const series = valuesOf(key).join(" ");
      await using((database) =>
        change(database, series, known, known.candles, (spans) => withSpan(spans, known)),
      );
    },
    async forget(key, from, to) {
      checkStoreRange({ from, to });
      const series = valuesOf(key).join(" ");
      await using((database) =>
        change(database, series, { from, to }, [], (spans) => withoutSpan(spans, { from, to })),
      );
    },
  });
  const close = () => {
    isClosed = true;
    opened?.then(
      (database) => database.close(),
      () => undefined,
    );
  };
  return { ...store, close };
}

async function open(name: string): Promise<IDBPDatabase<Schema>> {
  const { openDB } = await idbLibrary();
  try {
    const database = await openDB<Schema>(name, VERSION, {
      upgrade(made) {
        made.createObjectStore("candles");
        made.createObjectStore("covered");
      },
      // Or a page of a later version could not open it.
      blocking: (_current, _blocked, event) => (event.target as IDBDatabase).close(),
    });
    return database;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new PairstreamError(`The database could not be opened: ${reason}`, { cause });
  }
}

/** Whether the connection was closed before all was done. */
function isOfClosing(error: unknown): boolean {
  const { name } = (error instanceof PairstreamError ? error.cause : error) as Error;
  return name === "InvalidStateError" || name === "AbortError";
}

async function idbLibrary() {
  try {
    return await import("idb");
  } catch (cause) {
    throw new PairstreamError("indexedDbStore needs the package idb: npm install idb", { cause });
  }
}

/** The keys of a span; `undefined` for an empty one, which IndexedDB would refuse. */
function keysOf(series: string, { from, to }: Span): IDBKeyRange | undefined {
  return from < to ? IDBKeyRange.bound([series, from], [series, to], false, true) : undefined;
}

async function readFrom(
  database: IDBPDatabase<Schema>,
  series: string,
  range: Parameters<CandleStore["read"]>[1],
): ReturnType<CandleStore["read"]> {
  const transaction = database.transaction(["candles", "covered"]);
  const store = transaction.objectStore("candles");
  const found = keysOf(series, range);
  const [covered, candles] = await Promise.all([
    transaction.objectStore("covered").get(series),
    found === undefined
      ? []
      : range.last === undefined
        ? store.getAll(found)
        : newest(store, found, range.last),
  ]);
  return { candles: candles.map(candleOf), covered: spansWithin(covered ?? [], range) };
}

interface Cursors {
  openCursor(keys: IDBKeyRange, direction: "prev"): Promise<Cursor | null>;
}
interface Cursor {
  readonly value: Candle;
  continue(): Promise<Cursor | null>;
}

async function newest(store: Cursors, keys: IDBKeyRange, count: number): Promise<Candle[]> {
  const found: Candle[] = [];
  if (count === 0) return found;
  for (let cursor = await store.openCursor(keys, "prev"); cursor !== null; cursor = await cursor.continue()) {
    found.push(cursor.value);
    if (found.length === count) break;
  }
  return found.reverse();
}

/** Replaces a span in one transaction, which all of it succeeds with, or fails. */
async function change(
  database: IDBPDatabase<Schema>,
  series: string,
  span: Span,
  candles: readonly Candle[],
  cover: (spans: readonly Span[]) => readonly Span[],
): Promise<void> {
  const transaction = database.transaction(["candles", "covered"], "readwrite");
  const store = transaction.objectStore("candles");
  const covered = transaction.objectStore("covered");
  const keys = keysOf(series, span);
  const steps: Promise<unknown>[] = keys === undefined ? [] : [store.delete(keys)];
  for (const candle of candles) steps.push(store.put(candleOf(candle), [series, candle.timestamp]));
  steps.push(covered.get(series).then((spans) => covered.put(cover(spans ?? []), series)));
  try {
    await Promise.all([...steps, transaction.done]);
  } catch (error) {
    try {
      // What fails here, and not in the database, would leave the other steps done.
      transaction.abort();
    } catch {
      // It has been taken back already.
    }
    throw error;
  }
}
