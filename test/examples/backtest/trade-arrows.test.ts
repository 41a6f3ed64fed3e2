import { describe, expect, it } from "vitest";
import type { PageTrade } from "../../../examples/backtest/page/data.js";
import { arrowsOf, wayOf } from "../../../examples/backtest/page/trade-arrows.js";

const startOf = (instant: number) => instant - (instant % 60_000);
const style = { startOf, selected: undefined, size: 1, colours: { selected: "dark", other: "blue" } };
const trade = (more: Partial<PageTrade>): PageTrade => {
  return { pair: 0, side: "long", from: 60_000, to: 120_000, entry: 1, exit: 2, gain: 1, ...more };
};

describe("the arrows of trades", () => {
  it("stand where each begins and ends, the other way round for a short one; an open one has no end", () => {
    const { to: _to, exit: _exit, gain: _gain, ...open } = trade({ from: 240_001 });
    const short = trade({ side: "short", from: 180_000, to: 185_000 });
    const arrows = arrowsOf([...[trade({}), short, open].entries()], style);
    expect(arrows.map(({ id, time, shape }) => [id, time, shape])).toEqual([
      ["0", 60, "arrowUp"],
      ["0", 120, "arrowDown"],
      ["1", 180, "arrowDown"],
      ["1", 180, "arrowUp"],
      ["2", 240, "arrowUp"],
    ]);
  });

  it("are one of a kind in a candle: that of the chosen trade, with its gain", () => {
    const trades = [trade({}), trade({ from: 60_001, to: 120_001, gain: -0.25 })];
    const arrows = arrowsOf([...trades.entries()], { ...style, selected: 1 });
    expect(arrows.map(({ id, color, text }) => [id, color, text])).toEqual([
      ["1", "dark", undefined],
      ["1", "dark", "-25.00 %"],
    ]);
  });
});

describe("the way of a trade", () => {
  it("leads from its entry to its exit, where that is in another candle", () => {
    expect(wayOf(trade({}), startOf)).toEqual([
      { time: 60, value: 1 },
      { time: 120, value: 2 },
    ]);
    expect(wayOf(trade({ to: 60_001 }), startOf)).toEqual([{ time: 60, value: 1 }]);
  });
});
