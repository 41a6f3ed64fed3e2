import { Option } from "commander";
import type { Client, StoreActivity } from "pairstream";
import { type ClientStore, type StoreKey, sqliteStore } from "pairstream/store";
import { filter, type Observable } from "rxjs";
import { UsageError } from "./command-line.js";
import { openDatabase } from "./sqlite.js";

/** For programs that keep what they have read; `more` says when it can be given. */
export function storeOption(more = ""): Option {
  const text = `keep final candles in a SQLite file, so that none is paid for twice${more}`;
  return new Option("--store <file>", text);
}

/** Opens the store in a SQLite file, made where there is none; throws a `UsageError` for what cannot be one. */
export async function openStore(path: string): Promise<ClientStore & { close(): void }> {
  let store: ReturnType<typeof sqliteStore> | undefined;
  try {
    store = sqliteStore(await openDatabase(path));
    await store.read(NOTHING, { from: 0, to: 0 });
    return store;
  } catch (error) {
    store?.close();
    if (error instanceof UsageError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new UsageError(`${path} cannot be used as a store: ${reason}`, { cause: error });
  }
}

/** Runs a program with the store that it asks for, if any, as `createClient` takes it; it is closed in the end. */
export async function withStore(
  path: string | undefined,
  run: (stored: { store?: ClientStore }) => Promise<void>,
): Promise<void> {
  if (path === undefined) return run({});
  const store = await openStore(path);
  try {
    await run({ store });
  } finally {
    store.close();
  }
}

/** What a client's store could not do; the candles are asked for instead. */
export function storeTrouble(client: Client): Observable<StoreActivity> {
  return client.activity.pipe(filter((activity) => activity.type === "store"));
}

/** Asked for so that the file is looked at. */
const NOTHING: StoreKey = {
  ...({ service: "", network: "mainnet", pairAddress: "", timeframe: "1min" } as const),
  ...({ currency: "usd", weekStart: "monday" } as const),
};
