import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { CandleStore, StoreKey } from "pairstream/store";
import { afterEach, describe, expect, it, vi } from "vitest";
import { UsageError } from "../../examples/terminal/command-line.js";
import { openStore, withStore } from "../../examples/terminal/store-file.js";
import { DRIVERS, newPath } from "../adapters/store/drivers.js";
import { MINUTE, minuteCandle } from "../candles/minute-candles.js";

const KEY: StoreKey = {
  service: "https://service.test/v1",
  network: "mainnet",
  pairAddress: "pair",
  timeframe: "1min",
  currency: "usd",
  weekStart: "monday",
};
const KNOWN = { from: 0, to: 3 * MINUTE, candles: [minuteCandle(0), minuteCandle(2)] };
const ALL = { from: 0, to: Number.MAX_SAFE_INTEGER };

afterEach(() => {
  vi.restoreAllMocks();
  vi.doUnmock("libsql");
});

describe("the file of a store", () => {
  it("is made where there is none, and holds what it held when it is opened again", async () => {
    const path = newPath();
    const first = await openStore(path);
    await first.write(KEY, KNOWN);
    first.close();
    const second = await openStore(path);
    expect(await second.read(KEY, ALL)).toEqual({
      candles: KNOWN.candles,
      covered: [{ from: 0, to: 3 * MINUTE }],
    });
    second.close();
  });

  it("is closed when its program has ended, however that ends; what was asked for until then is done", async () => {
    const path = newPath();
    let left: CandleStore | undefined;
    const ended = withStore(path, async ({ store }) => {
      left = store;
      void store?.write(KEY, KNOWN);
      throw new Error("it failed");
    });
    await expect(ended).rejects.toThrow("it failed");
    await expect(left?.read(KEY, ALL)).rejects.toThrow("The store is closed");
    await withStore(path, async ({ store }) => {
      expect((await store?.read(KEY, ALL))?.candles).toEqual(KNOWN.candles);
    });
    await withStore(undefined, async (stored) => expect(stored).toEqual({}));
  });

  it.each<[string, (path: string) => string]>([
    ["a folder", (path) => join(path, "..")],
    ["in a folder that is not there", (path) => join(path, "..", "none", "x.db")],
    ["no name", () => ""],
    ["no database", (path) => written(path, "no database ".repeat(100))],
    ["the database of something else", (path) => made(path, "CREATE TABLE trades (id INTEGER)")],
    ["the database of another version", (path) => made(path, "PRAGMA user_version = 99")],
  ])("is refused in one line where the path names %s", async (_, pathOf) => {
    const path = pathOf(newPath());
    const before = bytesOf(path);
    const error = await openStore(path).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(UsageError);
    expect((error as Error).message).toMatch(/ cannot be used as a store: .+$/);
    expect((error as Error).message.startsWith(path)).toBe(true);
    expect(bytesOf(path)).toEqual(before);
  });

  it("says what to install where there is no driver", async () => {
    vi.spyOn(process, "getBuiltinModule").mockReturnValue(undefined);
    vi.doMock("libsql", () => {
      throw new Error("Cannot find package 'libsql'");
    });
    const path = newPath();
    await expect(openStore(path)).rejects.toMatchObject({
      constructor: UsageError,
      message: 'a store needs SQLite: Node 22.13 and newer has it; else run "npm install libsql"',
    });
  });
});

function written(path: string, text: string): string {
  writeFileSync(path, text);
  return path;
}

function made(path: string, sql: string): string {
  const database = DRIVERS[0]![1](path);
  database.exec(sql);
  database.close?.();
  return path;
}

function bytesOf(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch {
    return undefined;
  }
}
