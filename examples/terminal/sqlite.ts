import { resolve } from "node:path";
import type { SqliteDatabase } from "pairstream/store";
import { UsageError } from "./command-line.js";

type Driver = new (path: string) => SqliteDatabase;

/** Opens a SQLite file, or makes it: by Node's own driver, from 22.13 on, or else by `libsql`. */
export async function openDatabase(path: string): Promise<SqliteDatabase> {
  const own: unknown = process.getBuiltinModule("node:sqlite" as "node:fs");
  const Database = own === undefined ? await libsql() : (own as { DatabaseSync: Driver }).DatabaseSync;
  // A name alone may mean something else to a driver: a database in memory, or one elsewhere.
  return new Database(resolve(path));
}

async function libsql(): Promise<Driver> {
  try {
    return (await import("libsql")).default;
  } catch (cause) {
    const message = 'a store needs SQLite: Node 22.13 and newer has it; else run "npm install libsql"';
    throw new UsageError(message, { cause });
  }
}
