import { expect, it } from "vitest";
import { indicator } from "../../src/indicators/kernel.js";
import { expectTalib, TALIB_NAMES, talibCandles, talibFigures } from "./golden.js";

it("gives every one of TA-Lib's figures to one family", () => {
  expect(Object.values(TALIB_NAMES).flat().sort()).toEqual(Object.keys(talibFigures).sort());
});

it("stops a value that is wrong, missing, or there too early", () => {
  const figures = talibFigures["SMA(10)"]!.value!;
  const replay = (change: (at: number, figure: number | undefined) => number | undefined) =>
    indicator(() => {
      let at = -1;
      const push = () => {
        at += 1;
        return change(at, figures.figures[at - figures.from]);
      };
      return { push, peek: push, fork: () => expect.fail() };
    });
  expectTalib(
    replay((_, figure) => figure),
    "SMA(10)",
  );
  expectTalib(
    replay((at, figure) => (at < 50 ? 1 : figure)),
    "SMA(10)",
    { from: 50 },
  );
  expectTalib(
    replay((_, figure) => figure && figure + 5),
    "SMA(10)",
    { fromFirst: true },
  );
  const wrong = [
    replay((at, figure) => (at === 599 ? figure! * (1 + 1e-8) : figure)),
    replay((at, figure) => (at === 9 ? undefined : figure)),
    replay((at, figure) => (at === 8 ? figures.figures[0] : figure)),
    replay((_, figure) => figure && figure + 5),
  ];
  for (const each of wrong) expect(() => expectTalib(each, "SMA(10)")).toThrow();
  expect(talibCandles).toHaveLength(600);
});
