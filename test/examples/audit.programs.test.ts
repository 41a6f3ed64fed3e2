import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import Libsql from "libsql";
import { type Candle, createClient, fetchCandles, type Series, type Timeframe } from "pairstream";
import { createPairService, demoService, listen, simulatedMarket } from "pairstream/service";
import { sqliteStore } from "pairstream/store";
import { lastValueFrom, toArray } from "rxjs";
import { afterEach, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { readOptions } from "../../examples/audit/options.js";
import { UsageError } from "../../examples/terminal/command-line.js";
import { temporaryFolder } from "./files.js";
import { endAll, expectRefusal, run } from "./program.js";

const KEY = "key-0815";
const RANGE = { from: Date.UTC(2025, 0, 2), to: Date.UTC(2025, 0, 3) };
const GIVEN = ["--from", "2025-01-02", "--to", "2025-01-03"];

/** The market that the example makes up. */
const demo = demoService({ seed: 31, createdAt: "2025-01-01" });
const client = createClient({ ...demo.clientOptions, rateLimit: false });
const series: Series<Timeframe> = {
  network: "mainnet",
  pairAddress: demo.pairs[0],
  timeframe: "1min",
  currency: "usd",
};
let candles: Candle[];

beforeAll(async () => {
  candles = await lastValueFrom(fetchCandles(client, { ...series, ...RANGE }).pipe(toArray()));
  expect(candles.length).toBeGreaterThan(100);
});

afterEach(endAll);

async function fileOf(some: readonly (Candle | string)[], name = "candles.ndjson"): Promise<string> {
  const file = join(await temporaryFolder(), name);
  const lines = some.map((one) => `${typeof one === "string" ? one : JSON.stringify(one)}\n`);
  await writeFile(file, lines.join(""));
  return file;
}

const audit = (args: readonly string[], environment = {}) => run("examples/audit.ts", args, environment);

describe("an audit", () => {
  it("without a file finds each kind of fault in a store that has them, the cost first", async () => {
    const program = audit(GIVEN);
    expect({ code: await program.ended, errors: program.errors() }).toEqual({ code: 1, errors: "" });
    const [cost, heading, ...rows] = program.lines;
    expect(cost).toBe(
      "a store with faults, 1min, 2025-01-02 00:00:00 to 2025-01-03 00:00:00: at most 4 requests, 600 units",
    );
    expect(heading).toMatch(/^time +finding +stored → served$/);
    expect(rows.at(-1)).toMatch(/^2 differs, 1 missing, 1 impossible, .*; \d requests, \d+ units$/);
    for (const type of ["differs", "missing", "extra", "hole", "impossible"]) {
      expect(rows).toContainEqual(
        expect.stringMatching(new RegExp(`^2025-01-02 \\d\\d:\\d\\d:00  ${type} `)),
      );
    }
  });

  it("of a file that is as the service has it ends with 0, over the range of the file", async () => {
    const file = await fileOf(candles);
    const program = audit([file, "--outliers", "1000"]);
    expect({ code: await program.ended, errors: program.errors() }).toEqual({ code: 0, errors: "" });
    expect(program.lines.at(-1)).toBe("nothing is wrong; 2 requests, 300 units");
    const [first, last] = [candles[0]!, candles.at(-1)!].map(({ timestamp }) => new Date(timestamp));
    expect(program.lines[0]).toContain(first!.toISOString().slice(11, 19));
    expect(program.lines[0]).toContain(new Date(last!.getTime() + 60_000).toISOString().slice(11, 19));
  });

  it("counts no outlier as wrong", async () => {
    const program = audit([await fileOf(candles), "--outliers", "3.5"]);
    expect(await program.ended).toBe(0);
    expect(program.lines.at(-1)).toMatch(/^\d+ outliers; /);
  });

  it("writes one JSON object a line: the cost, the findings, a summary", async () => {
    const changed = { ...candles[20]!, volume: 1 };
    const held = [...candles.slice(0, 10), ...candles.slice(11, 20), changed, ...candles.slice(21)];
    const program = audit([await fileOf(held), "--json", "--outliers", "1000"]);
    expect({ code: await program.ended, errors: program.errors() }).toEqual({ code: 1, errors: "" });
    expect(program.lines.map((line) => JSON.parse(line))).toEqual([
      { type: "cost", requests: 4, units: 600 },
      { type: "missing", timestamp: candles[10]!.timestamp, served: candles[10] },
      { type: "differs", timestamp: changed.timestamp, stored: changed, served: candles[20] },
      { type: "summary", found: { missing: 1, differs: 1 }, requests: 2, units: 300 },
    ]);
  });

  it("reads a SQLite store, and alters nothing of it", async () => {
    const file = join(await temporaryFolder(), "candles.db");
    const store = sqliteStore(new Libsql(file));
    const key = { ...series, service: demo.clientOptions.baseUrl, weekStart: "monday" } as const;
    await store.write(key, { ...RANGE, candles });
    const hole = RANGE.from + 3 * 3_600_000;
    await store.forget(key, hole, hole + 3_600_000);
    store.close();
    const before = rowsOf(file);
    expect(before.candles.length).toBeGreaterThan(100);
    const program = audit([file, ...GIVEN, "--json", "--outliers", "1000"]);
    expect({ code: await program.ended, errors: program.errors() }).toEqual({
      code: 1,
      errors: "",
    });
    expect(program.lines.map((line) => JSON.parse(line))).toContainEqual({
      type: "hole",
      timestamp: hole,
      to: hole + 3_600_000,
    });
    expect(program.lines).toHaveLength(3);
    expect(rowsOf(file)).toEqual(before);
  });

  it("reads what example:history writes that says of what it is, over the range that it holds", async () => {
    const range = ["--from", "2025-01-02T10:00Z", "--to", "2025-01-02T14:00Z"];
    for (const format of ["parquet", "db"]) {
      const file = join(await temporaryFolder(), `candles.${format}`);
      const download = run("examples/history.ts", [...range, "--output", file]);
      expect(await download.ended).toBe(0);
      const program = audit([file, "--outliers", "1000"]);
      expect({ code: await program.ended, errors: program.errors() }).toEqual({ code: 0, errors: "" });
      expect(program.lines.at(-1)).toBe("nothing is wrong; 1 request, 150 units");
      expect(program.lines[0]).toContain("1min, 2025-01-02 10:00:00 to 2025-01-02 14:00:00");
      const another = audit([file, "--timeframe", "5min"]);
      await expectRefusal(
        another,
        format === "db" ? /holds no candles of .*, 5min, usd/ : /holds another series than was asked for: /,
      );
    }
  });

  it("has to be told a range where the file holds no candles", async () => {
    await expectRefusal(audit([await fileOf([])]), /holds no candles of .*; set --from and --to/);
  });

  it("asks a remote service with the key of the environment", async () => {
    const source = simulatedMarket({ seed: 5, createdAt: "2025-01-01", pairs: ["pair1"] });
    const { url, close } = await listen(createPairService({ source, apiKeys: [KEY] }), { port: 0 });
    onTestFinished(close);
    const place = ["--base-url", url, "--pair", "pair1"];
    const program = audit([await fileOf(candles), ...place], { PAIRSTREAM_API_KEY: KEY });
    expect(await program.ended).toBe(1);
    expect(program.lines.at(-1)).toMatch(/ differs/);
    const locked = audit([await fileOf(candles), ...place], { PAIRSTREAM_API_KEY: "another-key" });
    expect(await locked.ended).toBe(1);
    expect(locked.errors()).toMatch(/^error: .*401/);
    expect(locked.lines.join("\n")).not.toMatch(/nothing is wrong/);
  });
});

/** All that a database holds. */
function rowsOf(file: string) {
  const database = new Libsql(file);
  const all = (table: string) => database.prepare(`SELECT * FROM ${table}`).all();
  const rows = { series: all("series"), candles: all("candles"), covered: all("covered") };
  database.close();
  return rows;
}

describe("what cannot be audited", () => {
  it.each([
    [["candles.db", "--from", "yesterday"], /an instant with a zone/],
    [["candles.db", "other.db"], /too many arguments/],
    [["--pair", "pair1"], /^--pair needs --base-url: /],
    [["--base-url", "https://service.test", "--pair", "pair1"], /^--base-url needs the file to audit/],
    [["candles.db", "--base-url", "https://service.test"], /needs --pair/],
    [["--outliers", "many"], /It has to be a number/],
    [["--seed", "1", "--base-url", "https://service.test"], /cannot be used with/],
  ])("is refused: %j", (args, message) => {
    expect(() => readOptions(args, { PAIRSTREAM_API_KEY: KEY })).toThrow(
      expect.objectContaining({ constructor: UsageError, message: expect.stringMatching(message) }),
    );
  });

  it("ends with 2 and one line where the options are to blame", async () => {
    await expectRefusal(audit(["nowhere.ndjson"]), /nowhere\.ndjson cannot be read: /);
  });

  it("ends with 1 where the file is", async () => {
    const broken = audit([await fileOf([candles[0]!, { ...candles[1]!, high: -1 }])]);
    expect(await broken.ended).toBe(1);
    expect(broken.errors()).toMatch(/^error: .*candles\.ndjson: high of line 2 is -1; allowed: /);
    const other = audit([await fileOf(["SQLite format 3\0 or so"], "other.db"), ...GIVEN]);
    expect(await other.ended).toBe(1);
    expect(other.errors()).toMatch(/^error: .*other\.db: The database failed: /m);
  });
});
