import { describe, expect, it } from "vitest";
import { BENCHES } from "../bench/benches.js";
import { differenceOf, resultsOf } from "../bench/indicators/comparison.js";
import { rowsOf } from "../bench/indicators/rows.js";
import { CLASSICS, indicators } from "../bench/indicators.js";
import { goalTable, pageOf, sectionsOf } from "../bench/performance-page.js";
import { talibCandles, talibFigures } from "./indicators/golden.js";

it.each(Object.keys(BENCHES))("%s: ours gives the right results", async (name) => {
  const bench = await BENCHES[name]!();
  await expect((async () => bench.check())()).resolves.toEqual(expect.any(Array));
});

it("says what is wrong with others", () => {
  expect(indicators.check()).toEqual([
    expect.stringContaining("technicalindicators, RSI(14), append"),
    expect.stringContaining("@debut/indicators, stochastic(14, 3, 3), replace"),
  ]);
});

describe("the page of all figures", () => {
  const goal = (row: string, met: boolean) => ({ row, goal: "at most 2", figure: met ? "1" : "3", met });
  const saved = [
    { name: "first", goals: [goal("a", true), goal("b", false)] },
    { name: "second", goals: undefined },
    { name: "third", goals: [goal("c", true)] },
  ];

  it("names first what is short of its goal, or has not been taken", () => {
    expect(goalTable(saved).split("\n").slice(2)).toEqual([
      "| **short** | b | at most 2 | 3 | `npm run bench -- first` |",
      "| **short** | second |  | not taken yet | `npm run bench -- second` |",
      "|  | a | at most 2 | 1 | `npm run bench -- first` |",
      "|  | c | at most 2 | 1 | `npm run bench -- third` |",
    ]);
  });

  it("holds every section once, in the benches' order, whichever is saved last", () => {
    const names = ["first", "second", "third"];
    const sections = sectionsOf(pageOf(names, new Map([["third", "## Third\n\ntext"]]), saved));
    sections.set("first", "## First");
    const page = pageOf(names, sections, saved);
    expect([...sectionsOf(page)]).toEqual([
      ["first", "## First"],
      ["third", "## Third\n\ntext"],
    ]);
    expect(page.indexOf(goalTable(saved))).toBeLessThan(page.indexOf("## First"));
    expect(pageOf(names, sectionsOf(page), saved)).toBe(page);
  });
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
