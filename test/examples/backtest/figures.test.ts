import fc from "fast-check";
import type { EquityPoint, Trade } from "pairstream/backtest";
import { describe, expect, it } from "vitest";
import { distributionOf, duration, monthsOf, percent } from "../../../examples/backtest/figures.js";

const DAY = 86_400_000;
const pointsOf = (values: readonly (readonly [at: string, equity: number])[]): EquityPoint[] =>
  values.map(([at, equity]) => ({ at: Date.parse(at), equity, isExposed: true }));

describe("the months", () => {
  it("gain from the end of one to the end of the next, and say which are whole", () => {
    const curve = pointsOf([
      ["2025-01-20T00:00:00Z", 110],
      // The end of January: the close of its last candle.
      ["2025-02-01T00:00:00Z", 120],
      ["2025-02-10T00:00:00Z", 60],
      ["2025-03-01T00:00:00Z", 90],
      ["2025-03-02T00:00:00Z", 99],
    ]);
    const months = monthsOf(curve, { from: Date.UTC(2025, 0, 10), start: 100 });
    expect(months.map(({ gain, ...rest }) => ({ ...rest, gain: Number(gain.toFixed(9)) }))).toEqual([
      { year: 2025, month: 1, gain: 0.2, isWhole: false },
      { year: 2025, month: 2, gain: -0.25, isWhole: true },
      { year: 2025, month: 3, gain: 0.1, isWhole: false },
    ]);
  });

  it("go on through a month without a close, and through ruin", () => {
    const curve = pointsOf([
      ["2024-12-31T00:00:00Z", 0],
      ["2025-02-02T00:00:00Z", 0],
    ]);
    const months = monthsOf(curve, { from: Date.UTC(2024, 11, 1), start: 100 });
    expect(months.map(({ month, gain }) => [month, gain])).toEqual([
      [12, -1],
      [1, 0],
      [2, 0],
    ]);
  });

  it("come to the whole return", () => {
    const walks = fc.array(fc.double({ min: 0.5, max: 2, noNaN: true }), { minLength: 1, maxLength: 200 });
    fc.assert(
      fc.property(walks, fc.integer({ min: 0, max: 400 }), (steps, day) => {
        const from = Date.UTC(2024, 0, 1) + day * DAY;
        let equity = 100;
        const curve = steps.map((step, at): EquityPoint => {
          equity *= step;
          return { at: from + (at + 1) * DAY, equity, isExposed: true };
        });
        const grown = monthsOf(curve, { from, start: 100 }).reduce((all, { gain }) => all * (1 + gain), 100);
        expect(grown / equity).toBeCloseTo(1, 9);
      }),
    );
  });
});

describe("the distribution", () => {
  const tradeOf = (gain: number | undefined) => ({ ...(gain !== undefined && { gain }) }) as Trade;

  it("counts every closed trade once, in bins of one width, none of which holds gains and losses", () => {
    const gains = fc.array(fc.double({ min: -1, max: 50, noNaN: true }), { minLength: 1, maxLength: 60 });
    fc.assert(
      fc.property(gains, (all) => {
        const bins = distributionOf([...all.map(tradeOf), tradeOf(undefined)]);
        expect(bins.reduce((sum, { count }) => sum + count, 0)).toBe(all.length);
        expect(bins.length).toBeLessThanOrEqual(25);
        for (const [at, { from, to }] of bins.entries()) {
          expect(from >= 0 || to <= 1e-12).toBe(true);
          expect(from).toBeCloseTo(bins[at - 1]?.to ?? from, 9);
        }
      }),
    );
  });

  it("has none without a closed trade", () => {
    expect(distributionOf([tradeOf(undefined)])).toEqual([]);
  });
});

describe("figures as text", () => {
  it("have their sign, two decimals and their thousands", () => {
    expect([0.1234, -0.5, 12.3456, -0.000_001].map((share) => percent(share, { signed: true }))).toEqual([
      "+12.34 %",
      "-50.00 %",
      "+1,234.56 %",
      "0.00 %",
    ]);
    expect([30 * DAY, DAY + 7_200_000, 5_400_000, 61_000, 0].map(duration)).toEqual([
      ...["30 d", "1 d 2 h", "1 h 30 min", "1 min 1 s", "0 s"],
    ]);
  });
});
