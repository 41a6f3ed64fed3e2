import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Libsql from "libsql";
import type { SqliteDatabase } from "pairstream/store";
import { onTestFinished } from "vitest";

type Driver = (path: string) => SqliteDatabase;
interface NodeSqlite {
  DatabaseSync: new (path: string) => SqliteDatabase;
}

/** Node's own, where it has one. */
const nodeSqlite = process.getBuiltinModule("node:sqlite" as "node:fs") as unknown as NodeSqlite | undefined;

/** The drivers at hand, by name. */
export const DRIVERS: [name: string, open: Driver][] = [["libsql", (path) => new Libsql(path)]];
if (nodeSqlite !== undefined) DRIVERS.push(["node:sqlite", (path) => new nodeSqlite.DatabaseSync(path)]);

/** A path for a database, in a folder that goes with the test. */
export function newPath(): string {
  const folder = mkdtempSync(join(tmpdir(), "pairstream-store-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "candles.db");
}
