import { createHash } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import { readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { asyncBufferFromFile, parquetMetadataAsync } from "hyparquet";
import { type Candle, fetchCandles, type Series } from "pairstream";
import { sqliteStore } from "pairstream/store";
import { lastValueFrom, NEVER, toArray } from "rxjs";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { openStore, type WantedSeries } from "../../examples/history/database.js";
import { download } from "../../examples/history/download.js";
import { formatOf } from "../../examples/history/formats.js";
import { parquetContents, writeParquet } from "../../examples/history/parquet-file.js";
import { readCandleFile } from "../../examples/history/read-file.js";
import { openTarget } from "../../examples/history/targets.js";
import { openDatabase } from "../../examples/terminal/sqlite.js";
import { MINUTE, minuteCandle } from "../candles/minute-candles.js";
import { temporaryFolder } from "./files.js";
import { client, clientOf, FROM, history, SERIES, serve, TO } from "./past.js";
import { endAll, type Program } from "./program.js";

/** What one run without interruption writes. */
let candles: Candle[];

beforeAll(async () => {
  candles = await lastValueFrom(fetchCandles(client, { ...SERIES, from: FROM, to: TO }).pipe(toArray()));
});

afterEach(endAll);

async function read(file: string, series?: WantedSeries): Promise<Candle[]> {
  const found: Candle[] = [];
  for await (const candle of readCandleFile(file, series)) found.push(candle);
  return found;
}

/** What tells candles from others, in few lines where it differs. */
function digestOf(some: readonly Candle[]) {
  const digest = createHash("sha256").update(JSON.stringify(some)).digest("hex");
  return { count: some.length, first: some[0], last: some.at(-1), digest };
}

async function expectCandles(file: string, expected: readonly Candle[], series?: Partial<Series>) {
  expect(digestOf(await read(file, series))).toEqual(digestOf(expected));
}

const newFile = async (format: string) => join(await temporaryFolder(), `candles.${format}`);

async function expectWhole(program: Program): Promise<void> {
  expect({ code: await program.ended, errors: program.errors() }).toEqual({ code: 0, errors: "" });
  const count = candles.length.toLocaleString("en-US");
  expect(program.lines).toEqual([
    expect.stringMatching(
      new RegExp(`^${count} candles in \\S+, [\\d,]+ requests, [\\d,]+ units: complete$`),
    ),
    `${count} of 12,960 intervals of 10s had swaps`,
  ]);
}

/** A range of a day: this market has hours without a swap, and no such day. */
const aDayAgo = () => Math.floor(Date.now() / MINUTE - 24 * 60) * MINUTE;

interface Wanted {
  readonly series?: Series;
  readonly from?: number;
  readonly to?: number;
}

/** Downloads to a file in this process. */
async function downloadTo(file: string, { series = SERIES, from = FROM, to = TO }: Wanted = {}) {
  const output = { file, format: formatOf(file)! };
  const store = output.format === "db" ? await openStore(file) : undefined;
  const stored = store === undefined ? {} : { store: store.store };
  const client = clientOf(stored);
  let requests = 0;
  client.activity.subscribe(({ type }) => {
    if (type === "request") requests += 1;
  });
  const way = { client, range: { series, from, to }, stopped: NEVER };
  const target = await openTarget(way, output, store);
  let { count } = target;
  const onCandle = () => {
    count += 1;
  };
  const { start, writer, known } = target;
  await download(client, { series, from: start, to }, { writer, onCandle, stopped: NEVER, known });
  const note = await target.end({ isComplete: true });
  return { requests, count, note };
}

const FORMATS = ["ndjson", "csv", "parquet", "db"] as const;

describe.each(FORMATS)("a download to .%s", (format) => {
  it("is read back candle by candle, goes on to a later end, and again adds nothing", async () => {
    const file = await newFile(format);
    const middle = FROM + 7 * 3_600_000;
    const before = candles.filter(({ timestamp }) => timestamp < middle);
    expect((await downloadTo(file, { to: middle })).count).toBe(before.length);
    await expectCandles(file, before);

    expect(await downloadTo(file)).toMatchObject({ count: candles.length, note: undefined });
    await expectCandles(file, candles);
    const bytes = await readFile(file);

    const again = await downloadTo(file);
    expect(again).toMatchObject({ count: candles.length, note: undefined });
    // Lines do not say what they cover: their first candle and their last are compared with the service's.
    expect(again.requests).toBeLessThanOrEqual(format === "ndjson" || format === "csv" ? 4 : 0);
    await expectCandles(file, candles);
    if (format !== "db") expect((await readFile(file)).equals(bytes)).toBe(true);
    const left = readdirSync(join(file, "..")).filter((name) => !/-(wal|shm)$/.test(name));
    expect(left).toEqual([`candles.${format}`]);
  });
});

describe("an interrupted download", () => {
  it.each([
    ["parquet", "SIGINT", 130],
    ["parquet", "SIGKILL", "SIGKILL"],
    ["db", "SIGINT", 130],
    ["db", "SIGKILL", "SIGKILL"],
  ] as const)("to .%s by %s goes on where it was", async (format, signal, code) => {
    const file = await newFile(format);
    const stuck = await serve({ holds: 4 });
    const stopped = history(stuck.url, ["--output", file]);
    await stuck.arrived;
    stopped.child.kill(signal);
    expect(await stopped.ended).toBe(code);
    expect(stopped.errors()).toBe("");
    expect(existsSync(file)).toBe(format !== "parquet");
    if (signal === "SIGINT") {
      expect(stopped.lines.at(-1)).toMatch(/: stopped; run the same command again to go on from here$/);
      expect(existsSync(`${file}.part`)).toBe(format === "parquet");
    }

    stuck.release();
    await expectWhole(history(stuck.url, ["--output", file]));
    await expectCandles(file, candles);
    expect(existsSync(`${file}.part`)).toBe(false);
  });
});

describe("a .csv", () => {
  it("has the columns of freqtrade and the swaps, once, and instants in UTC", async () => {
    const file = await newFile("csv");
    const { timestamp, open, high, low, close, volume, swaps } = candles[0]!;
    const header = "date,open,high,low,close,volume,swaps\n";
    const first = `${new Date(timestamp).toISOString()},${open},${high},${low},${close},${volume},${swaps}\n`;
    // Killed in the middle of the header, of a line, and after either.
    for (const left of ["date,op", header, header + first.slice(0, 30), header + first]) {
      await writeFile(file, left);
      await downloadTo(file);
      const text = await readFile(file, "utf8");
      expect(text.startsWith(header + first)).toBe(true);
      expect(text.split("date")).toHaveLength(2);
      expect(text.split("\n")).toHaveLength(candles.length + 2);
    }
  });

  it("with other columns, or with JSON in it, is left alone", async () => {
    const file = await newFile("csv");
    for (const text of ["timestamp,open,high,low,close,volume,swaps\n", `${JSON.stringify(candles[0])}\n`]) {
      await writeFile(file, text);
      await expect(downloadTo(file)).rejects.toThrow(/candles\.csv does not begin with date,open,/);
      expect(await readFile(file, "utf8")).toBe(text);
    }
  });
});

describe("a .parquet", () => {
  const minutes = (count: number) => Array.from({ length: count }, (_, at) => minuteCandle(at + 1, at % 7));
  const contents = { series: SERIES, covered: { from: 0, to: 200_000 * MINUTE } };

  async function* each<T>(values: Iterable<T>): AsyncGenerator<T> {
    yield* values;
  }

  it("has typed columns without nulls, says of what it is, and is written in groups", async () => {
    const file = await newFile("parquet");
    const written = minutes(120_000);
    await writeParquet(file, each(written), contents);
    const metadata = await parquetMetadataAsync(await asyncBufferFromFile(file));
    const required = { repetition_type: "REQUIRED" };
    const time = { type: "TIMESTAMP", isAdjustedToUTC: true, unit: "MILLIS" };
    expect(metadata.schema.slice(1)).toMatchObject([
      {
        name: "timestamp",
        type: "INT64",
        ...required,
        converted_type: "TIMESTAMP_MILLIS",
        logical_type: time,
      },
      ...["open", "high", "low", "close", "volume"].map((name) => ({ name, type: "DOUBLE", ...required })),
      { name: "swaps", type: "INT64", ...required },
    ]);
    expect(metadata.row_groups.map((group) => Number(group.num_rows))).toEqual([50_000, 50_000, 20_000]);
    expect(await parquetContents(file)).toEqual({ ...contents, count: 120_000 });
    await expectCandles(file, written);
  });

  it("may hold nothing, and the smallest and largest numbers", async () => {
    const extreme = { open: Number.MIN_VALUE, high: 1e100, low: 0, close: 0.1 + 0.2, volume: 0 };
    for (const written of [[], [{ ...minuteCandle(3), ...extreme, swaps: Number.MAX_SAFE_INTEGER }]]) {
      const file = await newFile("parquet");
      await writeParquet(file, each(written), contents);
      await expectCandles(file, written);
    }
  });

  it("is not there before it is whole", async () => {
    const file = await newFile("parquet");
    const broken = (async function* () {
      yield* minutes(60_000);
      throw new Error("torn");
    })();
    await expect(writeParquet(file, broken, contents)).rejects.toThrow("torn");
    expect(readdirSync(join(file, ".."))).toEqual([]);
  });

  it("covers no more than was over", async () => {
    const file = await newFile("parquet");
    const from = aDayAgo();
    await downloadTo(file, { from, to: from + 2 * 86_400_000 });
    const { covered, count } = await parquetContents(file);
    expect(count).toBeGreaterThan(0);
    expect(covered.from).toBe(from);
    expect(covered.to).toBeGreaterThan((await read(file)).at(-1)!.timestamp);
    expect(covered.to).toBeLessThanOrEqual(Date.now());
  });

  it("of something else is left alone", async () => {
    const file = await newFile("parquet");
    await writeParquet(file, each(minutes(3)), { ...contents, series: { ...SERIES, timeframe: "1min" } });
    await expect(downloadTo(file)).rejects.toThrow(/candles\.parquet holds another series; move it away/);
    await writeFile(file, "PAR1 and something else");
    await expect(downloadTo(file)).rejects.toThrow(/candles\.parquet is not a Parquet file$/);
    expect(await readFile(file, "utf8")).toBe("PAR1 and something else");
  });

  it("for which there is no room leaves its candles beside it", async () => {
    const { url } = await serve();
    const file = await newFile("parquet");
    await symlink("/dev/full", `${file}.next`);
    const program = history(url, ["--output", file]);
    expect(await program.ended).toBe(1);
    const count = candles.length.toLocaleString("en-US");
    const left = `the disk of ${file} is full; ${count} candles are kept; make room, and run the same command again to go on`;
    expect(program.errors()).toBe(`error: ${left}\n`);
    expect(readdirSync(join(file, ".."))).toEqual(["candles.parquet.part"]);
  });
});

describe("a .db", () => {
  it("holds several series, of which a reader names one", async () => {
    const file = await newFile("db");
    await downloadTo(file);
    await downloadTo(file, { series: { ...SERIES, timeframe: "1h" } });
    await expect(read(file)).rejects.toThrow(
      /holds 2 of the series .* it holds pair1 10s usd of \S+, pair1 1h usd of /,
    );
    await expect(read(file, { timeframe: "1d" })).rejects.toThrow(/holds none of the series/);
    await expectCandles(file, candles, { timeframe: "10s" });
    expect((await read(file, { timeframe: "1h" })).length).toBeGreaterThan(20);
  });

  it("holds weeks of two beginnings, of which a reader names one", async () => {
    const file = await newFile("db");
    const store = sqliteStore(await openDatabase(file));
    const key = { ...SERIES, timeframe: "1w", service: "here" } as const;
    const week = { ...candles[0]!, timestamp: Date.UTC(2025, 0, 6) };
    const day = 86_400_000;
    const span = (from: number) => ({ from, to: from + 7 * day });
    await store.write({ ...key, weekStart: "monday" }, { ...span(week.timestamp), candles: [week] });
    const other = { ...week, timestamp: week.timestamp + 3 * day };
    await store.write({ ...key, weekStart: "thursday" }, { ...span(other.timestamp), candles: [other] });
    store.close();
    await expect(read(file)).rejects.toThrow(
      /it holds pair1 1w from monday on usd of here, pair1 1w from thursday on usd of here/,
    );
    expect(await read(file, { weekStart: "thursday" })).toEqual([other]);
  });

  it("keeps what is final, and says from where on it is not", async () => {
    const file = await newFile("db");
    const from = aDayAgo();
    const { note } = await downloadTo(file, { from, to: from + 2 * 86_400_000 });
    const [, instant] = /^those from (\S+) on can still change, and are asked for again$/.exec(note!)!;
    const kept = await read(file);
    expect(kept.length).toBeGreaterThan(0);
    expect(kept.at(-1)!.timestamp).toBeLessThan(Date.parse(instant!));
    expect(Date.parse(instant!)).toBeLessThan(Date.now());
  });

  it("that is something else is left alone, and said so", async () => {
    const { url } = await serve();
    const file = await newFile("db");
    await writeFile(file, "notes, and not a few of them: ".repeat(100));
    const program = history(url, ["--output", file]);
    expect(await program.ended).toBe(1);
    expect(program.errors()).toMatch(/^error: \S+candles\.db: .*not a database\n$/);
    expect((await stat(file)).size).toBe(3_000);
  });

  it("that takes no more ends the download", async () => {
    const file = await newFile("db");
    await downloadTo(file, { series: { ...SERIES, timeframe: "1h" } });
    const database = await openDatabase(file);
    const full = "BEGIN SELECT RAISE(FAIL, 'database or disk is full'); END";
    database.exec(`CREATE TRIGGER full BEFORE INSERT ON candles ${full}`);
    database.close?.();
    for (const to of [FROM + 7 * 3_600_000, TO]) {
      await expect(downloadTo(file, { to })).rejects.toThrow(/candles\.db: .*disk is full/);
    }
  });

  it("says so where the last interval alone can still change", async () => {
    const file = await newFile("db");
    const range = { from: Date.now() - 3 * 86_400_000, to: Date.now() };
    for (const to of [range.to, Math.floor(range.to / 10_000) * 10_000]) {
      const { note } = await downloadTo(file, { ...range, to });
      const [, instant] = /^those from (\S+) on/.exec(note!)!;
      expect(Date.parse(instant!)).toBeGreaterThan(range.from);
      expect(Date.parse(instant!)).toBeLessThan(to);
    }
  });

  it("is what a client takes as its store", async () => {
    const file = await newFile("db");
    await downloadTo(file);
    const store = sqliteStore(await openDatabase(file));
    const key = { ...SERIES, service: "http://localhost", weekStart: "monday" } as const;
    const held = await store.read(key, { from: FROM, to: TO });
    expect(digestOf(held.candles)).toEqual(digestOf(candles));
    expect(held.covered).toEqual([{ from: FROM, to: TO }]);
    store.close();
  });
});

describe("readCandleFile", () => {
  it("refuses what it does not know, and what is not there", async () => {
    await expect(read("candles.txt")).rejects.toThrow(/has to end in \.ndjson, \.csv, \.parquet or \.db$/);
    for (const format of FORMATS) {
      const file = await newFile(format);
      await expect(read(file)).rejects.toThrow(/ENOENT/);
      expect(existsSync(file)).toBe(false);
    }
  });

  it("checks what it reads, whatever the file", async () => {
    const file = await newFile("parquet");
    const wrong = async function* () {
      yield* [minuteCandle(2), minuteCandle(1)];
    };
    await writeParquet(file, wrong(), { series: SERIES, covered: { from: 0, to: TO } });
    await expect(read(file)).rejects.toThrow(/timestamp of line 2/);
  });
});
