import { execFileSync } from "node:child_process";
import { appendFile, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Candle, fetchCandles } from "pairstream";
import { lastValueFrom, NEVER, of, toArray } from "rxjs";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { recoverCandles } from "../../examples/history/candle-file.js";
import { CandleWriter } from "../../examples/history/candle-writer.js";
import { coverage } from "../../examples/history/coverage.js";
import { download, startAfter } from "../../examples/history/download.js";
import { readOptions } from "../../examples/history/options.js";
import { UsageError } from "../../examples/terminal/command-line.js";
import { temporaryFolder } from "./files.js";
import { client, clientOf, FROM, history, KEY, SERIES, serve, TO } from "./past.js";
import { endAll, expectRefusal, run } from "./program.js";

/** What one run without interruption writes. */
let candles: Candle[];
let whole: string;

beforeAll(async () => {
  candles = await lastValueFrom(fetchCandles(client, { ...SERIES, from: FROM, to: TO }).pipe(toArray()));
  whole = linesOf(candles);
});

afterEach(endAll);

const linesOf = (some: readonly Candle[]) => some.map((candle) => `${JSON.stringify(candle)}\n`).join("");

describe("a download", () => {
  it("writes the candles of a range, oldest first, and nothing on stderr without a terminal", async () => {
    const { url } = await serve();
    const file = join(await temporaryFolder(), "candles.ndjson");
    const program = history(url, ["--output", file]);
    expect(await program.ended).toBe(0);
    expect(await readFile(file, "utf8")).toBe(whole);
    expect(program.errors()).toBe("");
    expect(program.lines).toEqual([
      expect.stringMatching(/^[\d,]+ candles in .*candles\.ndjson, \d+ requests, [\d,]+ units: complete$/),
      `${candles.length.toLocaleString("en-US")} of 12,960 intervals of 10s had swaps`,
    ]);
    expect(program.lines[0]).toContain(`${candles.length.toLocaleString("en-US")} candles in `);
  });

  it("goes to standard output without --output, and nothing else does", async () => {
    const { url } = await serve();
    const program = history(url, []);
    expect({ code: await program.ended, errors: program.errors() }).toEqual({ code: 0, errors: "" });
    expect(`${program.lines.join("\n")}\n`).toBe(whole);
    expect(program.errors()).toBe("");
  });

  it("serves itself without --base-url, and again adds nothing", async () => {
    const file = join(await temporaryFolder(), "candles.ndjson");
    const args = ["--from", "2025-01-03", "--to", "2025-01-04", "--output", file];
    expect(await run("examples/history.ts", args).ended).toBe(0);
    const first = await readFile(file, "utf8");
    expect(first.split("\n").length).toBeGreaterThan(100);
    const again = run("examples/history.ts", args);
    expect(await again.ended).toBe(0);
    expect(await readFile(file, "utf8")).toBe(first);
  });
});

describe("an interrupted download", () => {
  it.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
    ["SIGKILL", "SIGKILL"],
  ] as const)("by %s goes on where it stopped, and the file is that of one run", async (signal, code) => {
    const file = join(await temporaryFolder(), "candles.ndjson");
    const stuck = await serve({ holds: 4 });
    const stopped = history(stuck.url, ["--output", file]);
    await stuck.arrived;
    await expect.poll(async () => (await stat(file)).size, { timeout: 20_000 }).toBeGreaterThan(0);
    stopped.child.kill(signal);
    expect(await stopped.ended).toBe(code);
    const kept = await readFile(file, "utf8");
    expect(kept.length).toBeLessThan(whole.length);
    if (signal !== "SIGKILL") {
      expect(kept.endsWith("\n")).toBe(true);
      expect(whole.startsWith(kept)).toBe(true);
      expect(stopped.lines.at(-1)).toMatch(/: stopped; run the same command again to go on from here$/);
    }
    expect(stopped.errors()).toBe("");

    const healthy = await serve();
    const resumed = history(healthy.url, ["--output", file]);
    expect(await resumed.ended).toBe(0);
    expect(await readFile(file, "utf8")).toBe(whole);
  });

  it("that ended in the middle of a line goes on after the last whole one", async () => {
    const file = join(await temporaryFolder(), "candles.ndjson");
    await writeFile(file, linesOf(candles.slice(0, 300)).slice(0, -40));
    const { url } = await serve();
    expect(await history(url, ["--output", file]).ended).toBe(0);
    expect(await readFile(file, "utf8")).toBe(whole);
  });

  it("does not go on with the candles of something else", async () => {
    const { url } = await serve();
    const other = join(await temporaryFolder(), "other.ndjson");
    await writeFile(other, linesOf(candles.slice(1, 3)));
    await expectRefusal(
      history(url, ["--output", other]),
      /other\.ndjson holds other candles than the service has /,
    );
    expect(await readFile(other, "utf8")).toBe(linesOf(candles.slice(1, 3)));
  });
});

describe("a download that cannot be written", () => {
  it("says that there is no room", async () => {
    const { url } = await serve();
    const full = join(await temporaryFolder(), "full.ndjson");
    await symlink("/dev/full", full);
    const program = history(url, ["--output", full]);
    expect(await program.ended).toBe(1);
    expect(program.errors()).toBe(
      `error: the disk of ${full} is full; make room, and run the same command again to go on\n`,
    );
  });

  it("says that its reader has gone", async () => {
    const { url, arrived, release } = await serve({ holds: 4 });
    const program = history(url, []);
    await program.line(() => true);
    await arrived;
    program.child.stdout?.destroy();
    release();
    expect(await program.ended).toBe(1);
    expect(program.errors()).toBe("error: standard output was closed, so the download has stopped\n");
  });
});

describe("options that cannot be taken", () => {
  it.each([
    [["--from", "2025-01-02", "--to", "2025-01-02"], /--from has to be before --to$/],
    [["--pair", "pair1"], /^--pair needs --base-url: /],
    [["--base-url", "https://service.test"], /needs --pair/],
    [["--to", "tomorrow"], /an instant with a zone/],
    ...["month.txt", "month", ".csv", "month.csv.gz", "month.json", "ndjson", "month.", "/dev/null"].map(
      (file) => [["--output", file], /It has to end in \.ndjson, \.csv, \.parquet or \.db\.$/] as const,
    ),
    [["--key", KEY], /unknown option '--key'$/],
    [["--seed", "1", "--base-url", "https://service.test"], /cannot be used with/],
  ] as const)("%j are refused", (args, message) => {
    expect(() => readOptions(args, { PAIRSTREAM_API_KEY: KEY }, TO)).toThrow(
      expect.objectContaining({ constructor: UsageError, message: expect.stringMatching(message) }),
    );
  });

  it("end with exit code 2 and one line", async () => {
    const place = ["--base-url", "https://service.test", "--pair", "pair1"];
    await expectRefusal(run("examples/history.ts", place), /needs a key: set PAIRSTREAM_API_KEY/);
  });

  it("by default are the day before the last midnight, of a simulated market", () => {
    const noon = Date.UTC(2025, 5, 7, 12);
    expect(readOptions([], {}, noon)).toEqual({
      place: { kind: "simulated", seed: 31 },
      series: { network: "mainnet", timeframe: "1min", currency: "usd" },
      from: Date.UTC(2025, 5, 6),
      to: Date.UTC(2025, 5, 7),
      output: undefined,
    });
  });
});

describe("recoverCandles", () => {
  it("tells first, last and count, and cuts off what is no whole line", async () => {
    const file = join(await temporaryFolder(), "candles.ndjson");
    expect(await recoverCandles(file)).toBeUndefined();
    const lines = linesOf(candles.slice(0, 3));
    // Longer than what is read at a time.
    const unended = JSON.stringify(candles[3]);
    for (const torn of ["", "{", unended, `{"timestamp":${"1".repeat(200_000)}`]) {
      await writeFile(file, lines + torn);
      expect(await recoverCandles(file)).toEqual({ count: 3, first: candles[0], last: candles[2] });
      expect(await readFile(file, "utf8")).toBe(lines);
    }
    for (const torn of ["", "{", `{"timestamp":${"1".repeat(200_000)}`]) {
      await writeFile(file, torn);
      expect(await recoverCandles(file)).toEqual({ count: 0, first: undefined, last: undefined });
      expect(await readFile(file, "utf8")).toBe("");
    }
  });

  it("names a line that is no candle, and leaves the file alone", async () => {
    const file = join(await temporaryFolder(), "candles.ndjson");
    await writeFile(file, linesOf(candles.slice(0, 2)));
    await appendFile(file, "{}\n");
    await expect(recoverCandles(file)).rejects.toThrow(/line 3/);
    expect(await readFile(file, "utf8")).toBe(`${linesOf(candles.slice(0, 2))}{}\n`);
  });

  it("leaves alone what is something else", async () => {
    const file = join(await temporaryFolder(), "candles.ndjson");
    for (const text of ["some notes", "{ }\n", "date,open,high,low,close,volume,swaps\n", '["torn']) {
      await writeFile(file, text);
      await expect(recoverCandles(file)).rejects.toThrow(
        /candles\.ndjson does not begin with \{"timestamp":,/,
      );
      expect(await readFile(file, "utf8")).toBe(text);
    }
  });

  it("finds nothing in a pipe, and waits for nothing there", async () => {
    const pipe = join(await temporaryFolder(), "candles.ndjson");
    execFileSync("mkfifo", [pipe]);
    expect(await recoverCandles(pipe)).toBeUndefined();
  });
});

describe("startAfter", () => {
  const range = { series: SERIES, from: FROM, to: TO };
  const startWith = (...kept: Candle[]) =>
    startAfter(client, range, {
      kept: { count: kept.length, first: kept[0], last: kept.at(-1) },
      file: "candles.ndjson",
      stopped: NEVER,
    });

  it("goes on with the last candle that is kept, or from the start", async () => {
    expect(await startWith()).toEqual({ start: FROM });
    expect(await startWith(...candles.slice(0, 9))).toEqual({
      start: candles[8]!.timestamp,
      known: { candle: candles[8], file: "candles.ndjson" },
    });
  });

  it("refuses candles that the service has otherwise", async () => {
    const price = candles[0]!.high;
    const changed = { ...candles[0]!, close: price, open: price, low: price };
    const elsewhere = { ...candles[0]!, timestamp: TO };
    for (const kept of [[changed], candles.slice(1, 3), [elsewhere]]) {
      await expect(startWith(...kept)).rejects.toThrow(UsageError);
    }
  });
});

describe("a download that goes on", () => {
  const at = 600;
  const nowhere = { isFull: false, drained: async () => {}, failed: new Promise<never>(() => {}) };

  async function resume(kept: readonly Candle[]) {
    const asked: string[] = [];
    const own = clientOf({});
    own.activity.subscribe((activity) => activity.type === "request" && asked.push(activity.url));
    const range = { series: SERIES, from: FROM, to: TO };
    const file = "candles.ndjson";
    const written: Candle[] = [];
    const { start, known } = await startAfter(own, range, {
      kept: { count: kept.length, first: kept[0], last: kept.at(-1) },
      file,
      stopped: NEVER,
    });
    const writer = { ...nowhere, write: (candle: Candle) => void written.push(candle) };
    const options = { writer, onCandle: () => {}, stopped: NEVER, known };
    await download(own, { ...range, from: start }, options);
    return { asked: asked.length, written };
  }

  it("asks for what is missing, and for the first candle", async () => {
    const { asked, written } = await resume(candles.slice(0, at));
    expect(written).toEqual(candles.slice(at));
    let missing = 0;
    const own = clientOf({});
    own.activity.subscribe(({ type }) => {
      if (type === "request") missing += 1;
    });
    await lastValueFrom(fetchCandles(own, { ...SERIES, from: candles[at - 1]!.timestamp, to: TO }));
    // Before the first candle there is a silence here, which a second answer confirms.
    expect(asked).toBe(missing + 2);
    console.log(`${missing} requests for what is missing, ${asked} to go on`);
  });

  it("writes nothing where the last candle is another one at the service", async () => {
    const last = { ...candles[at]!, swaps: 99_999 };
    await expect(resume([...candles.slice(0, at), last])).rejects.toThrow(UsageError);
    await expect(resume([candles[0]!, { ...last, timestamp: TO - 10_000 }])).rejects.toThrow(UsageError);
  });
});

describe("the line about intervals", () => {
  it.each([
    ["1min", "2025-01-01", "2025-01-31", "5 of 43,200 minutes had swaps\n"],
    ["1M", "2025-01-15", "2025-07-01", "5 of 5 months had swaps\n"],
    ["1w", "2025-01-01", "2025-02-01", "5 of 4 weeks had swaps\n"],
    ["10s", "2025-01-01T00:00:05Z", "2025-01-01T00:01:00Z", "5 of 5 intervals of 10s had swaps\n"],
  ] as const)("counts those of %s that begin in the range", (timeframe, from, to, line) => {
    expect(coverage(5, timeframe, { from: Date.parse(from), to: Date.parse(to) })).toBe(line);
  });
});

describe("--pace", () => {
  it("leaves so many ms between two requests", async () => {
    const arrivals: number[] = [];
    const { url } = await serve({ onRequest: () => arrivals.push(performance.now()) });
    const file = join(await temporaryFolder(), "candles.ndjson");
    expect(await history(url, ["--output", file, "--pace", "150"]).ended).toBe(0);
    const gaps = arrivals.slice(1).map((at, index) => at - arrivals[index]!);
    expect(gaps.length).toBeGreaterThan(3);
    expect(Math.min(...gaps)).toBeGreaterThan(100);
  });

  it.each(["0", "1.5", "60001", "fast", ""])("refuses %j", (pace) => {
    expect(() => readOptions(["--pace", pace], {}, TO)).toThrow(/a whole number of ms from 1 to 60000/);
  });
});

describe("download", () => {
  it("waits for a writer that is full, and asks anew from there on", async () => {
    const written: Candle[] = [];
    let waits = 0;
    const writer = {
      write: (candle: Candle) => void written.push(candle),
      get isFull() {
        return written.length > 0 && written.length % 150 === 0 && written.length > waits * 150;
      },
      drained: async () => {
        waits += 1;
      },
      failed: new Promise<never>(() => {}),
    };
    await download(
      client,
      { series: SERIES, from: FROM, to: TO },
      { writer, onCandle: () => {}, stopped: NEVER },
    );
    expect(written).toEqual(candles);
    expect(waits).toBeGreaterThan(candles.length / 150 - 1);
  });

  it("writes nothing once it is stopped", async () => {
    const file = join(await temporaryFolder(), "candles.ndjson");
    const writer = new CandleWriter(file);
    const stopped = of("SIGINT");
    await download(client, { series: SERIES, from: FROM, to: TO }, { writer, onCandle: () => {}, stopped });
    await writer.end();
    expect(await readFile(file, "utf8")).toBe("");
  });
});
