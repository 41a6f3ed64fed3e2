import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "libsql";
import { type SqliteDatabase, sqliteStore } from "pairstream/store";

/** The driver that is there on every Node. */
export const DRIVER = "libsql";

export function openDatabase(path: string): SqliteDatabase {
  return new Database(path);
}

export type SqliteStore = ReturnType<typeof sqliteStore>;

export function openStore(path: string): SqliteStore {
  return sqliteStore(openDatabase(path));
}

/** Calls with a folder of its own, which goes when that is over. */
export async function inFolder<T>(use: (pathOf: (name: string) => string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "pairstream-bench-"));
  try {
    return await use((name) => join(folder, name));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
