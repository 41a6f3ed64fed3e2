import { readFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import type { Candle, Series } from "pairstream";
import { type Strategy, sweep } from "pairstream/backtest";
import { mergeMap, of } from "rxjs";
import { afterEach, describe, expect, it } from "vitest";
import { readOptions } from "../../../examples/backtest/options.js";
import { sweepCsvOf, sweepJsonOf, sweepTextOf } from "../../../examples/backtest/sweep/outputs.js";
import { sweepPageOf } from "../../../examples/backtest/sweep/page.js";
import { agreementOf, type BothParts, sweepReportOf } from "../../../examples/backtest/sweep/report.js";
import type { ParameterSet, SweepRun } from "../../../examples/backtest/sweep/sweep-past.js";
import { temporaryFolder } from "../files.js";
import { endAll, expectRefusal, run } from "../program.js";

const EXAMPLE = "examples/backtest/run.ts";
const DAY = 86_400_000;

afterEach(endAll);

const valuesIn = (...texts: string[]) => readOptions(["--sweep", ...texts], {}).sweep!.values;

describe("--sweep", () => {
  it("takes ranges, ranges with a step, and lists, of several names", () => {
    expect(valuesIn("fast=5..8", "stop=0..0.1..0.02", "slow=34,21,34", "size=-1..1")).toEqual({
      fast: [5, 6, 7, 8],
      stop: [0, 0.02, 0.04, 0.06, 0.08, 0.1],
      slow: [34, 21],
      size: [-1, 0, 1],
    });
    // A step that leaves the greatest out.
    expect(valuesIn("slow=20..60..15")).toEqual({ slow: [20, 35, 50] });
    // Steps are not exact, and meet 0 all the same.
    expect(valuesIn("shift=-47.6..2.8..2.8").shift!.slice(-2)).toEqual([0, 2.8]);
  });

  it("has both ends of any range of whole steps, each step once", () => {
    const decimals = fc.integer({ min: 0, max: 4 });
    const start = fc.integer({ min: -500, max: 500 });
    fc.assert(
      fc.property(
        start,
        fc.integer({ min: 1, max: 50 }),
        fc.nat(60),
        decimals,
        (from, step, count, places) => {
          const text = (value: number) => (value / 10 ** places).toFixed(places);
          const [least, most] = [text(from), text(from + count * step)];
          const { name: values } = valuesIn(`name=${least}..${most}..${text(step)}`);
          const expected = Array.from({ length: count + 1 }, (_, at) => Number(text(from + at * step)));
          expect(values!.map((value) => value + 0)).toEqual(expected.map((value) => value + 0));
        },
      ),
    );
  });

  it("is cut at 0.7, once, unless told otherwise", () => {
    const asked = (...args: string[]) => readOptions(["--sweep", "fast=5,9", ...args], {}).sweep!;
    expect(asked()).toMatchObject({ split: { inSample: 0.7 }, workers: undefined });
    expect(asked("--split", "0.5", "--walk-forward", "4", "--workers", "3")).toMatchObject({
      split: { inSample: 0.5, walkForward: 4 },
      workers: 3,
    });
    expect(readOptions([], {}).sweep).toBeUndefined();
  });

  it.each([
    [["--sweep", "fast"], /--sweep fast has to be a name, =, and values/],
    [["--sweep", "fast="], /has to be a name, =, and values/],
    [["--sweep", "fast=5,,9"], /has to be a name, =, and values/],
    [["--sweep", "fast=5..many"], /has to be a name, =, and values/],
    [["--sweep", "fast=9..5"], /has to go up/],
    [["--sweep", "fast=1..9..0"], /has to go up/],
    [["--sweep", "fast=1..9..2..3"], /has to go up/],
    [["--sweep", "fast=0..1e9"], /has 1000000001 values; allowed: at most 10000/],
    [["--sweep", "fast=1", "fast=2"], /names fast twice/],
    [["--sweep", "fast=5,9", "--set", "fast=7"], /--set and --sweep both name fast/],
    [["--split", "0.5"], /--split needs --sweep$/],
    [["--walk-forward", "3"], /--walk-forward needs --sweep$/],
    [["--workers", "2"], /--workers needs --sweep$/],
  ])("refuses %j", (args, message) => {
    expect(() => readOptions(args, {})).toThrow(message);
  });
});

const series: Series = { network: "mainnet", pairAddress: "pair", timeframe: "1d", currency: "usd" };

/** Ten days up by a tenth, ten days down by a tenth. */
const candles: readonly Candle[] = Array.from({ length: 20 }, (_, at) => {
  const priceAt = (day: number) => (day <= 10 ? 1.1 ** day : 1.1 ** 10 * 0.9 ** (day - 10));
  const [open, close] = [priceAt(at), priceAt(at + 1)];
  const [low, high] = [Math.min(open, close), Math.max(open, close)];
  return { timestamp: at * DAY, open, high, low, close, volume: 1, swaps: 1 };
});

/** Holds a share, from the second day of each part on. */
const holder =
  ({ size }: ParameterSet): Strategy =>
  (events) =>
    events.pipe(
      mergeMap(({ candle, series }) => {
        const isFirst = candle.timestamp === 0 || candle.timestamp === 10 * DAY;
        const buy = { type: "market", side: "buy", series, size: { equity: size! } } as const;
        return isFirst && size! > 0 ? of(buy) : of();
      }),
    );

async function swept(parameters: Record<"size" | "other", number[]>): Promise<SweepRun> {
  const result = await sweep<ParameterSet>({
    feeds: [{ series, candles }],
    strategy: holder,
    parameters,
    split: { inSample: 0.5 },
    broker: { fees: { maker: 0, taker: 0 }, slippage: { share: 0 } },
  });
  const pairs = [{ series, candles, feeds: [] }];
  const past = { pairs, within: undefined, title: "a table", explanation: "It is made up." };
  const loaded = { title: "By <hand>", parameters: { size: 1, other: 0 }, strategy: holder({ size: 1 }) };
  return { result, past, loaded, swept: ["size"] };
}

describe("the report of a sweep", () => {
  it("shows what fits the past alone: the best one in-sample is the worst one after it", async () => {
    const report = sweepReportOf(await swept({ size: [0, 0.5, 1, 0.75], other: [0] }));
    expect(report.title).toBe("By <hand>: a sweep of 4 sets of parameters");
    expect(report.subject).toEqual([
      "tried: size 0, 0.5, 1, 0.75; always other 0",
      "a table: pair 1d, in usd",
      "1970-01-01 00:00 to 1970-01-21 00:00 UTC, cut at 1970-01-11 00:00: in-sample before, out-of-sample after",
    ]);
    const [first, last] = [report.sets[0]!, report.sets.at(-1)!];
    expect(report.unit).toBe("day");
    expect(first).toMatchObject({ parameters: { size: 1 }, inSample: { rank: 1 }, outOfSample: { rank: 4 } });
    expect(last).toMatchObject({ parameters: { size: 0 }, inSample: { rank: 4 }, outOfSample: { rank: 1 } });
    // Bought with the second of ten days.
    expect(first.inSample.rate).toBeCloseTo(1.1 ** 0.9 - 1, 12);
    expect(first.outOfSample.rate).toBeCloseTo(0.9 ** 0.9 - 1, 12);
    expect(report.held.inSample.rate).toBeCloseTo(0.1, 12);
    expect(report.agreement).toBeCloseTo(-1, 12);
    expect(report.verdict).toBe(
      "size 1 is the best set in-sample, with +8.96 % per day. Out-of-sample it is number 4 of 4, with -9.05 % per day. Buy and hold returns -10.00 % per day there.",
    );
    expect(report.notes).toEqual([
      "It is made up.",
      "The sets that are good in-sample are the worse ones out-of-sample: the best one fits only that past (rank correlation -1.00; 1: same order, 0: unrelated, −1: opposite order).",
      "The best set gains nothing out-of-sample.",
      "There are only 0 closed trades out-of-sample: the mean of fewer than 30 says little about the next one.",
      "The best set is at the edge of what was tried (size 1): try more values there.",
      "Use the out-of-sample part only once. If you sweep again after you have seen it, you choose by it: keep another part of the past aside.",
    ]);
  });

  it("says how many orders of all sets were refused, and why", async () => {
    const { notes } = sweepReportOf(await swept({ size: [0.5, Number.POSITIVE_INFINITY, 1], other: [0] }));
    expect(notes.filter((note) => note.includes("refused"))).toEqual(["2 orders were refused: invalid 2."]);
  });

  it("is the same as text, JSON, CSV and page", async () => {
    const run = await swept({ size: [0.5, 1], other: [0] });
    const report = sweepReportOf(run);
    expect(sweepTextOf(report)).toMatch(/^1 +1 +\+8\.96 % +-9\.05 % /m);
    const all = JSON.parse(sweepJsonOf(run, report));
    expect(all.rows).toEqual(JSON.parse(JSON.stringify(run.result.rows)));
    expect(all).toMatchObject({
      swept: ["size"],
      unit: "day",
      sets: JSON.parse(JSON.stringify(report.sets)),
    });
    const [names, ...lines] = sweepCsvOf(run).split("\n");
    expect(names).toMatch(/^window,from,cut,to,best,size,other,inSample\.return,.*outOfSample\.fees$/);
    expect(lines).toHaveLength(2);
    expect(lines[1]).toMatch(
      /^1,1970-01-01T00:00:00\.000Z,1970-01-11T00:00:00\.000Z,1970-01-21T00:00:00\.000Z,true,1,0,1\.35/,
    );
    const page = await sweepPageOf(report);
    expect(page).not.toContain("<hand>");
    expect(page).not.toContain("<script");
    expect(page.match(/★ [-\d.]+/g)).toEqual(["★ 9.0", "★ -9.0"]);
    expect(page.match(/<caption><b>(in|out-of)-sample<\/b>/g)).toHaveLength(2);
  });

  it("agrees wholly with itself, not at all with the opposite, and is silent where all are equal", () => {
    const setsOf = (before: readonly number[], after: readonly number[]) =>
      before.map((rate, at): BothParts => {
        const part = { maxDrawdown: 0, trades: 0 };
        return { inSample: { ...part, rate }, outOfSample: { ...part, rate: after[at]! } };
      });
    const rates = fc.uniqueArray(fc.integer({ min: -100, max: 100 }), { minLength: 2, maxLength: 20 });
    fc.assert(
      fc.property(rates, (all) => {
        const opposite = all.map((rate) => -rate);
        expect(agreementOf(setsOf(all, all))).toBeCloseTo(1, 9);
        expect(agreementOf(setsOf(all, opposite))).toBeCloseTo(-1, 9);
        expect(
          agreementOf(
            setsOf(
              all,
              all.map(() => 0),
            ),
          ),
        ).toBeUndefined();
      }),
    );
    // Hand-worked: ranks 1 2 3 4 5 and 2 1 4 3 5; 1 − 6 × 4 / (5 × 24).
    expect(agreementOf(setsOf([1, 2, 3, 4, 5], [20, 10, 40, 30, 50]))).toBeCloseTo(0.8, 12);
    // Equals share their ranks: 1 2.5 2.5 4 and 1 2 3 4.
    expect(agreementOf(setsOf([1, 2, 2, 3], [1, 2, 3, 4]))).toBeCloseTo(Math.sqrt(0.9), 12);
  });
});

describe("a sweep by the command line", () => {
  const range = ["--to", "2025-01-11", "--sweep", "fast=3,5", "slow=9,21", "--set", "stop=0"];

  it("prints a table, and writes the page; workers make no difference", async () => {
    const file = join(await temporaryFolder(), "sweep.html");
    const [one, two] = [1, 2].map((workers) =>
      run(EXAMPLE, [...range, "--workers", String(workers), "--page", file]),
    );
    expect(await one!.ended, one!.errors()).toBe(0);
    expect(await two!.ended).toBe(0);
    expect(one!.errors()).toBe("");
    expect(one!.lines).toEqual(two!.lines);
    expect(one!.lines.slice(0, 2)).toEqual([
      "EMA cross with a stop: a sweep of 4 sets of parameters",
      "tried: fast 3, 5; slow 9, 21; always size 1, stop 0",
    ]);
    expect(one!.lines.filter((line) => /^[1-4] {2,}[35] {2,}\d+ {2,}[+-]/.test(line))).toHaveLength(4);
    expect(one!.lines.at(-1)).toMatch(/^The page: file:/);
    expect(await readFile(file, "utf8")).toContain("★");
  });

  it("gives the figures of the strategy run alone, in each of several windows", async () => {
    const windows = ["--walk-forward", "2", "--split", "0.5", "--json", "--no-page"];
    const program = run(EXAMPLE, [...range, ...windows]);
    expect(await program.ended, program.errors()).toBe(0);
    const told = JSON.parse(program.lines.join("\n"));
    expect(told.windows).toHaveLength(2);
    expect(told.past.within).toBe("1min");
    const { to } = told.windows[0].inSample;
    const one = ["--to", new Date(to).toISOString(), "--set", "fast=5", "slow=9", "stop=0"];
    const alone = run(EXAMPLE, [...one, "--json", "--no-page"]);
    expect(await alone.ended).toBe(0);
    const { statistics } = JSON.parse(alone.lines.join("\n"));
    const row = told.rows.find(({ parameters }: { parameters: ParameterSet }) => {
      return parameters.fast === 5 && parameters.slow === 9;
    });
    expect(row.parameters).toEqual({ fast: 5, slow: 9, size: 1, stop: 0 });
    const { end, trades, fees } = row.windows[0].inSample;
    expect({ end, trades, fees }).toEqual({
      end: statistics.end,
      trades: statistics.trades,
      fees: statistics.fees,
    });
  });

  it("refuses a strategy that looks ahead, in one line", async () => {
    const strategy = ["--strategy", "test/examples/backtest/ahead-strategy.ts", "--to", "2025-01-06"];
    const program = run(EXAMPLE, [...strategy, "--sweep", "share=0.1,0.2", "--no-page"]);
    expect(await program.ended).toBe(1);
    expect(program.lines).toEqual([]);
    expect(program.errors()).toMatch(
      /^error: The strategy failed with the parameters \{"share":0\.1\}: The operator looks ahead[^\n]*\n$/,
    );
  });

  it.each([
    [
      ["--sweep", "quick=1,2"],
      /--sweep quick is not a parameter of the strategy; allowed: one of fast, slow, size, stop/,
    ],
    [["--sweep", "fast=5", "--split", "1"], /split\.inSample is 1; allowed: a share above 0 and below 1/],
  ])("says what is wrong: %j", async (args, message) => {
    await expectRefusal(run(EXAMPLE, ["--to", "2025-01-04", "--no-page", ...args]), message);
  });
});
