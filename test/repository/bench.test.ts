import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { BENCHES } from "../../bench/benches.js";
import { driftsOf, type Ratio, ratiosIn } from "../../bench/drift.js";
import { comparisonsOf } from "../../bench/expectations.js";
import { differenceOf, resultsOf } from "../../bench/indicators/comparison.js";
import { rowsOf } from "../../bench/indicators/rows.js";
import { CLASSICS, indicators } from "../../bench/indicators.js";
import { goalPageOf, goalTable, pageOf, sectionsOf } from "../../bench/performance-page.js";
import { TRIED } from "../../bench/tried.js";
import { talibCandles, talibFigures } from "../indicators/golden.js";

it.each(Object.keys(BENCHES))("%s: ours gives the right results", async (name) => {
  const bench = await BENCHES[name]!();
  await expect((async () => bench.check())()).resolves.toEqual(expect.any(Array));
});

it("says what is wrong with others", () => {
  expect(indicators.check()).toEqual([
    expect.stringMatching(/^technicalindicators, RSI\(14\), append/),
    expect.stringContaining("fast-technical-indicators, RSI(14), append"),
    expect.stringContaining("@debut/indicators, stochastic(14, 3, 3), replace"),
  ]);
});

describe("the page of all figures", () => {
  const goal = (row: string, met: boolean) => ({ row, goal: "at most 2", figure: met ? "1" : "3", met });
  const saved = [
    { name: "first", goals: [goal("a", true), goal("b", false)] },
    { name: "second", goals: undefined },
    { name: "third", goals: [goal("c", true)], before: [goal("c", false), goal("d", true)] },
  ];

  it("holds every section once, in the benches' order, whichever is saved last", () => {
    const names = ["first", "second", "third"];
    const sections = sectionsOf(pageOf(names, new Map([["third", "## Third\n\ntext"]])));
    sections.set("first", "## First");
    const page = pageOf(names, sections);
    expect([...sectionsOf(page)]).toEqual([
      ["first", "## First"],
      ["third", "## Third\n\ntext"],
    ]);
    expect(pageOf(names, sectionsOf(page))).toBe(page);
  });

  it("holds the sections of single parts apart from those for users, with the goals", () => {
    const names = ["book", "page"];
    const sections = new Map(names.map((name) => [name, `## The ${name}`]));
    const [page, goals] = [pageOf(names, sections), goalPageOf(names, sections, saved)];
    expect([...sectionsOf(page).keys()]).toEqual(["book"]);
    expect([...sectionsOf(goals).keys()]).toEqual(["page"]);
    expect(sectionsOf(`${page}\n${goals}`)).toEqual(sections);
    expect(goals).toContain(goalTable(saved));
    expect(goalPageOf(names, sectionsOf(goals), saved)).toBe(goals);
  });

  it("ends with what was tried, as the benches have it: the next figures do not bring an older text back", () => {
    const goals = readFileSync(new URL("../../bench/goals.md", import.meta.url), "utf8");
    expect(goals.endsWith(`\n${TRIED}\n`)).toBe(true);
  });
});

describe("what a user can expect", () => {
  const spread = (median: number) => ({ median, low: median, high: median });
  const peer = (contestant: string, median: number, wrong?: string) => ({
    name: "SMA",
    contestant,
    time: spread(20),
    ratio: spread(median),
    wrong,
  });
  const timed = [
    { name: "pairstream", isFloor: false, time: spread(400), ratio: spread(1) },
    { name: "a loop", isFloor: true, time: spread(100), ratio: spread(4) },
    { name: "`tardis` <dev> & co", isFloor: false, time: spread(1_200), ratio: spread(3) },
  ];
  const all = {
    columns: {
      figures: [
        peer("pairstream", 1),
        peer("loop", 1),
        peer("one", 2),
        peer("one", 8),
        peer("bad", 9, "off"),
      ],
    },
    replay: { timed },
  };

  it("compares with peers alone, and with those of right results", () => {
    expect(
      comparisonsOf(all).map(({ others }) => others.map(({ name, times }) => [name, +times.toFixed(6)])),
    ).toEqual([[["one", 4]], [["`tardis` <dev> & co", 3]]]);
  });
});

describe("the check that speed stays", () => {
  const spread = (median: number, reach = 0.01) => ({
    median,
    low: median * (1 - reach),
    high: median * (1 + reach),
  });
  const ratio = (isCost: boolean, median: number, reach?: number): Ratio => ({
    name: "a",
    isCost,
    ...spread(median, reach),
  });
  const slowerThan = (was: Ratio, is: Ratio) => driftsOf([was], [is]).map(({ slower }) => slower.toFixed(2));

  it("finds what takes more than 15 % longer, of a cost and of a lead", () => {
    expect(slowerThan(ratio(true, 2), ratio(true, 2.4))).toEqual(["1.20"]);
    expect(slowerThan(ratio(true, 2), ratio(true, 2.28))).toEqual([]);
    expect(slowerThan(ratio(true, 2), ratio(true, 1))).toEqual([]);
    expect(slowerThan(ratio(false, 2.4), ratio(false, 2))).toEqual(["1.20"]);
    expect(slowerThan(ratio(false, 2.28), ratio(false, 2))).toEqual([]);
    expect(slowerThan(ratio(false, 1), ratio(false, 2))).toEqual([]);
  });

  it("finds nothing where the rounds of both lie among one another", () => {
    expect(slowerThan(ratio(true, 2, 0.15), ratio(true, 2.4, 0.1))).toEqual([]);
    expect(slowerThan(ratio(false, 2.4, 0.15), ratio(false, 2, 0.1))).toEqual([]);
  });

  it("names the worst first, and leaves out what only one side has", () => {
    const all = (factor: number) => [
      { ...ratio(true, 2), name: "a" },
      { ...ratio(true, 2 * factor), name: "b" },
      { ...ratio(true, 3 * factor * factor), name: "c" },
      { ...ratio(true, 4), name: `only with ${factor}` },
    ];
    expect(driftsOf(all(1), all(2)).map(({ name }) => name)).toEqual(["c", "b"]);
  });

  it("reads the ratios of contestants, wherever they stand, and the mean of rows", () => {
    const timed = [
      { name: "ours", isFloor: false, ratio: spread(1) },
      { name: "floor", isFloor: true, ratio: spread(3) },
    ];
    const rows = [4, 9].map((median, at) => ({
      name: `row ${at}`,
      mode: "append",
      contestant: "peer",
      isCost: false,
      ratio: spread(median, 0),
    }));
    const wrong = { ...rows[0]!, ratio: spread(1_000), wrong: "off" };
    const without = { name: "row", contestant: "ours", ratio: spread(1) };
    const results = {
      machine: "a",
      rounds: 3,
      timed,
      sets: [{ name: "big", timed }],
      figures: [...rows, wrong, without],
    };
    expect(ratiosIn(results).map(({ name, median, isCost }) => [name, +median.toFixed(6), isCost])).toEqual([
      ["timed, ours", 1, false],
      ["timed, floor", 3, true],
      ["sets, big, ours", 1, false],
      ["sets, big, floor", 3, true],
      ["figures, append, peer", 6, false],
    ]);
    expect(ratiosIn(JSON.parse(JSON.stringify(results)))).toEqual(ratiosIn(results));
  });

  it.each(["indicators", "columns", "pipe", "page", "book", "replay", "poll"])(
    "finds ratios among the saved figures: %s",
    (name) => {
      const file = new URL(`../../docs/performance/${name}.json`, import.meta.url);
      expect(ratiosIn(JSON.parse(readFileSync(file, "utf8"))).length).toBeGreaterThan(1);
    },
  );
});

describe("the loops that all are compared with", () => {
  /** TA-Lib's names, and its outputs by the loop's columns. */
  const names: Record<string, [name: string, ...outputs: string[]]> = {
    "SMA(20)": ["SMA(20)", "value"],
    "EMA(20)": ["EMA(20)", "value"],
    "RSI(14)": ["RSI", "value"],
    "MACD(12, 26, 9)": ["MACD", "macd", "signal", "histogram"],
    "Bollinger(20, 2)": ["BBANDS", "upper", "middle", "lower"],
    "ATR(14)": ["ATR", "value"],
    "stochastic(14, 3, 3)": ["STOCH", "k", "d"],
    "ADX(14)": ["ADX, PLUS_DI, MINUS_DI", "adx", "plusDi", "minusDi"],
  };

  it.each(Object.entries(CLASSICS))("%s gives TA-Lib's figures", (name, [, loop]) => {
    const [talibName, ...outputs] = names[name]!;
    const rows = rowsOf(talibCandles);
    const figures = talibCandles.map((_, at) =>
      outputs.map((output) => {
        const { from, figures } = talibFigures[talibName]![output]!;
        return figures[at - from] ?? Number.NaN;
      }),
    );
    const results = resultsOf(loop, rows).map((numbers) => numbers.slice(0, outputs.length));
    expect(differenceOf(results, figures, rows, 400)).toBeUndefined();
  });
});
