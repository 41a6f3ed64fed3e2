import { chmodSync } from "node:fs";
import { type SqliteDatabase, sqliteStore } from "pairstream/store";
import { describe, expect, it, onTestFinished } from "vitest";
import { describeStore } from "./conformance.js";
import { candleAt, keyOf, MINUTE } from "./conformance-data.js";
import { DRIVERS, newPath } from "./drivers.js";

const key = keyOf("pair");
const known = { from: 0, to: 3 * MINUTE, candles: [candleAt(0), candleAt(2)] };
const all = { from: 0, to: 100 * MINUTE };

/** Counts the transactions of a database. */
function counted(database: SqliteDatabase): { database: SqliteDatabase; commits: () => number } {
  let commits = 0;
  const exec = (sql: string) => {
    if (sql === "COMMIT") commits += 1;
    return database.exec(sql);
  };
  return { database: { exec, prepare: (sql) => database.prepare(sql) }, commits: () => commits };
}

/** What a store does with a file that is empty. */
async function setUpOf(openDatabase: (path: string) => SqliteDatabase): Promise<string[]> {
  const statements: string[] = [];
  const database = openDatabase(newPath());
  const store = sqliteStore({
    exec(sql) {
      statements.push(sql);
      return database.exec(sql);
    },
    prepare: (sql) => database.prepare(sql),
    close: () => database.close?.(),
  });
  await store.read(key, all);
  store.close();
  return statements;
}

describe.each(DRIVERS)("sqliteStore over %s", (name, openDatabase) => {
  const open = (path: string) => {
    const store = sqliteStore(openDatabase(path));
    onTestFinished(() => store.close());
    return store;
  };

  describeStore(name, async () => open(newPath()));

  it("keeps all of it for the next who opens the file", async () => {
    const path = newPath();
    const first = sqliteStore(openDatabase(path));
    await first.write(key, known);
    first.close();
    expect(await open(path).read(key, all)).toEqual({
      candles: known.candles,
      covered: [{ from: 0, to: known.to }],
    });
  });

  it("shows a file to another who has it open, and takes turns with it", async () => {
    const path = newPath();
    const [one, other] = [open(path), open(path)];
    await Promise.all([
      one.write(key, known),
      other.write(key, { ...known, from: known.to, to: 4 * MINUTE, candles: [] }),
    ]);
    const expected = { candles: known.candles, covered: [{ from: 0, to: 4 * MINUTE }] };
    expect(await one.read(key, all)).toEqual(expected);
    expect(await other.read(key, all)).toEqual(expected);
  });

  it("does what was asked at once in one transaction", async () => {
    const { database, commits } = counted(openDatabase(newPath()));
    const store = sqliteStore(database);
    await store.read(key, all);
    const before = commits();
    const series = Array.from({ length: 1_000 }, (_, at) => keyOf(`pair${at}`));
    await Promise.all(series.map((each) => store.write(each, known)));
    expect(commits() - before).toBe(1);
    await Promise.all(series.map((each) => store.read(each, all)));
    expect(commits() - before).toBe(2);
  });

  it("has a table that a person can read, and a view that names the series and the time", async () => {
    const path = newPath();
    await open(path).write(key, known);
    const database = openDatabase(path);
    onTestFinished(() => void database.close?.());
    const plain = (sql: string) =>
      database
        .prepare(sql)
        .all()
        .map((row) => ({ ...(row as object) }));
    expect(plain("SELECT timestamp, close, swaps FROM candles WHERE timestamp > 0")).toEqual([
      { timestamp: 2 * MINUTE, close: known.candles[1]!.close, swaps: 1 },
    ]);
    expect(plain("SELECT * FROM candles_iso WHERE pair_address = 'pair' LIMIT 1")).toEqual([
      {
        service: key.service,
        network: "mainnet",
        pair_address: "pair",
        timeframe: "1min",
        currency: "usd",
        week_start: "monday",
        time: "1970-01-01T00:00:00Z",
        ...withoutTimestamp(known.candles[0]!),
      },
    ]);
    expect(plain("SELECT from_time, to_time FROM covered_iso")).toEqual([
      { from_time: "1970-01-01T00:00:00Z", to_time: "1970-01-01T00:03:00Z" },
    ]);
    expect(plain("PRAGMA journal_mode")).toEqual([{ journal_mode: "wal" }]);
  });

  it.each(["PRAGMA user_version", "PRAGMA journal_mode = WAL"])(
    "takes no file for something else that another one makes a store of after %s",
    async (step) => {
      const path = newPath();
      const own = openDatabase(path);
      let hasBegun = false;
      const meanwhile = <T>(sql: string, result: T): T => {
        if (sql !== step || hasBegun) return result;
        hasBegun = true;
        const other = openDatabase(path);
        // As a store does at its first use, which cannot be waited for here.
        for (const statement of statementsOfSetUp) other.exec(statement);
        other.close?.();
        return result;
      };
      const statementsOfSetUp = await setUpOf(openDatabase);
      const store = sqliteStore({
        exec: (sql) => meanwhile(sql, own.exec(sql)),
        prepare(sql) {
          const statement = own.prepare(sql);
          return {
            run: (...values) => statement.run(...values),
            all: (...values) => meanwhile(sql, statement.all(...values)),
          };
        },
        close: () => own.close?.(),
      });
      onTestFinished(() => store.close());
      await store.write(key, known);
      expect(hasBegun).toBe(true);
      expect(await store.read(key, all)).toMatchObject({ candles: known.candles });
    },
  );

  it("neither reads nor changes a file of another version, or of something else", async () => {
    for (const made of [
      "PRAGMA user_version = 1",
      "PRAGMA user_version = 3",
      "CREATE TABLE things (name TEXT)",
    ]) {
      const path = newPath();
      const database = openDatabase(path);
      onTestFinished(() => void database.close?.());
      database.exec(made);
      const store = open(path);
      await expect(store.read(key, all)).rejects.toMatchObject({ name: "PairstreamError" });
      await expect(store.write(key, known)).rejects.toMatchObject({ name: "PairstreamError" });
      expect(database.prepare("SELECT name FROM sqlite_master WHERE name = 'candles'").all()).toEqual([]);
      expect(database.prepare("PRAGMA journal_mode").all()).toMatchObject([{ journal_mode: "delete" }]);
    }
  });

  it("tells weeks of two beginnings apart in its views", async () => {
    const path = newPath();
    const store = open(path);
    for (const weekStart of ["monday", "thursday"] as const)
      await store.write({ ...key, timeframe: "1w", weekStart }, known);
    const database = openDatabase(path);
    onTestFinished(() => void database.close?.());
    for (const view of ["candles_iso", "covered_iso"])
      expect(
        database.prepare(`SELECT DISTINCT week_start FROM ${view} ORDER BY week_start`).all(),
      ).toMatchObject([{ week_start: "monday" }, { week_start: "thursday" }]);
  });

  it("rejects writes as a whole while the database is full, and reads on", async () => {
    const path = newPath();
    const database = openDatabase(path);
    const store = sqliteStore(database);
    onTestFinished(() => store.close());
    await store.write(key, known);
    const [{ page_count }] = database.prepare("PRAGMA page_count").all() as [{ page_count: number }];
    database.exec(`PRAGMA max_page_count = ${page_count}`);
    const candles = Array.from({ length: 2_000 }, (_, at) => candleAt(at + 3));
    const large = { from: known.to, to: 2_003 * MINUTE, candles };
    const held = { candles: known.candles, covered: [{ from: 0, to: known.to }] };
    const reading = store.read(key, { from: 0, to: large.to });
    await expect(store.write(key, large)).rejects.toMatchObject({ name: "PairstreamError" });
    expect(await reading).toEqual(held);
    expect(await store.read(key, { from: 0, to: large.to })).toEqual(held);
    database.exec("PRAGMA max_page_count = 100000");
    await store.write(key, large);
    expect((await store.read(key, { from: 0, to: large.to })).covered).toEqual([{ from: 0, to: large.to }]);
  });

  it("remembers no series whose first write was taken back", async () => {
    const database = openDatabase(newPath());
    const store = sqliteStore(database);
    onTestFinished(() => store.close());
    await store.write(keyOf("first"), known);
    const refusal = "WHEN NEW.from_timestamp = 600000 BEGIN SELECT RAISE(ABORT, 'no'); END";
    database.exec(`CREATE TRIGGER refuse BEFORE INSERT ON covered ${refusal}`);
    const other = keyOf("second");
    const results = await Promise.allSettled([
      store.write(other, known),
      store.write(other, { from: 10 * MINUTE, to: 11 * MINUTE, candles: [] }),
    ]);
    expect(results.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    database.exec("DROP TRIGGER refuse");
    await store.write(keyOf("third"), { ...known, candles: [candleAt(1, 5)] });
    await store.write(other, known);
    expect((await store.read(other, all)).candles).toEqual(known.candles);
    expect((await store.read(keyOf("third"), all)).candles).toEqual([candleAt(1, 5)]);
  });

  it("reads a file that cannot be written to", async () => {
    const path = newPath();
    const first = sqliteStore(openDatabase(path));
    await first.write(key, known);
    first.close();
    chmodSync(path, 0o444);
    const database = openDatabase(path);
    // Whoever may write to everything is kept from it by the database itself.
    database.exec("PRAGMA query_only = 1");
    const store = sqliteStore(database);
    onTestFinished(() => store.close());
    const results = await Promise.allSettled([
      store.write(key, { ...known, candles: [] }),
      store.read(key, all),
    ]);
    expect(results[0].status).toBe("rejected");
    expect(results[1]).toMatchObject({ value: { candles: known.candles } });
  });

  it("rejects after it was closed, having done what it was asked before", async () => {
    const path = newPath();
    const store = sqliteStore(openDatabase(path));
    const writing = store.write(key, known);
    store.close();
    await writing;
    store.close();
    await expect(store.read(key, all)).rejects.toMatchObject({ message: "The store is closed" });
    expect((await open(path).read(key, all)).candles).toEqual(known.candles);
  });
});

it.each([undefined, {}, "candles.db", { exec() {} }])("sqliteStore refuses %s", (value) => {
  expect(() => sqliteStore(value as never)).toThrow(expect.objectContaining({ parameter: "database" }));
});

function withoutTimestamp({ timestamp: _, ...rest }: { timestamp: number }): object {
  return rest;
}
