import fc from "fast-check";
import type { Candle } from "pairstream";
import { describe, expect, it } from "vitest";
import { OutlierRule } from "../../../src/adapters/store/audit-outliers.js";
import { at } from "../../world.js";

const MINUTE = 60_000;
const FROM = at("12:00:00");

const judged = (candles: readonly Candle[]) => {
  const rule = new OutlierRule();
  return candles.flatMap((candle) => rule.next(candle) ?? []);
};

/** A candle of a close, and how far its wicks reach, as shares. */
const candleAt = (index: number, open: number, close: number, up = 0, down = 0): Candle => ({
  timestamp: FROM + index * MINUTE,
  open,
  high: Math.max(open, close) * (1 + up),
  low: Math.min(open, close) * (1 - down),
  close,
  volume: 1,
  swaps: 1,
});
const walkOf = (closes: readonly number[]) =>
  closes.map((close, index) => candleAt(index, closes[index - 1] ?? close, close));

/** A market that moves by a thousandth, up and down, in a pattern without a period. */
const calm = (length: number) =>
  Array.from({ length }, (_, index) => 100 * (1 + Math.sin(index * index) / 1_000));

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length / 2;
  return Number.isInteger(half) ? (sorted[half - 1]! + sorted[half]!) / 2 : sorted[Math.floor(half)]!;
}

/** The rule by its definition: all over again for each candle. */
function naive(candles: readonly Candle[]) {
  const found: { timestamp: number; field: string; score: number }[] = [];
  const returnOf = (index: number, field: "close" | "high" | "low") =>
    Math.log(candles[index]![field] / candles[index - 1]!.close);
  for (let index = 1; index < candles.length; index++) {
    const before = Array.from({ length: index - 1 }, (_, at) => returnOf(at + 1, "close"));
    const window = before.filter(Number.isFinite).slice(-300);
    if (window.length < 30) continue;
    const middle = median(window);
    const deviations = window.map((one) => Math.abs(one - middle));
    const others = deviations.filter((deviation) => deviation > 0);
    const scale = median(deviations) || (others.length === 0 ? Number.POSITIVE_INFINITY : median(others));
    const scores = (["close", "high", "low"] as const).map((field) => {
      const value = returnOf(index, field);
      return { field, score: Number.isFinite(value) ? (0.6745 * (value - middle)) / scale : 0 };
    });
    const worst = scores.reduce((a, b) => (Math.abs(b.score) > Math.abs(a.score) ? b : a));
    if (Math.abs(worst.score) > 3.5) found.push({ timestamp: candles[index]!.timestamp, ...worst });
  }
  return found;
}

describe("OutlierRule", () => {
  it("tells what the definition says, over any candles", () => {
    const step = fc.record({
      move: fc.constantFrom(0, 0, 0.001, -0.001, 0.004, -0.003, 0.5, -0.4),
      up: fc.constantFrom(0, 0.001, 0.3),
      down: fc.constantFrom(0, 0.001, 0.3, 1),
    });
    const property = (steps: readonly { move: number; up: number; down: number }[]) => {
      let close = 100;
      const candles = steps.map(({ move, up, down }, index) => {
        const open = close;
        close *= 1 + move;
        return candleAt(index, open, close, up, down);
      });
      const found = judged(candles);
      const expected = naive(candles);
      expect(found.map(({ timestamp, field }) => [timestamp, field])).toEqual(
        expected.map(({ timestamp, field }) => [timestamp, field]),
      );
      for (const [at, { score }] of found.entries()) expect(score).toBeCloseTo(expected[at]!.score, 6);
    };
    fc.assert(fc.property(fc.array(step, { maxLength: 400, size: "max" }), property), { numRuns: 60 });
  });

  it("forgets what is older than its window", () => {
    const wild = Array.from({ length: 100 }, (_, index) => 100 * (1 + Math.sin(index * index) / 2));
    const candles = walkOf([...wild, ...calm(400), 101]);
    expect(judged(candles)).toEqual(
      naive(candles).map((expected) => expect.objectContaining({ timestamp: expected.timestamp })),
    );
    expect(judged(candles).at(-1)).toMatchObject({ timestamp: candles.at(-1)!.timestamp, field: "close" });
  });

  it("tells a price that jumps, and its way back, with what is needed to judge it", () => {
    const closes = calm(80);
    closes[60] = 110;
    const candles = walkOf(closes);
    const found = judged(candles);
    expect(found.map(({ timestamp }) => (timestamp - FROM) / MINUTE)).toEqual([60, 61]);
    expect(found[0]).toMatchObject({ type: "outlier", served: candles[60], before: candles[59] });
    expect(found[0]!.logReturn).toBeCloseTo(Math.log(110 / closes[59]!), 12);
    expect(found[0]!.score).toBeGreaterThan(3.5);
    expect(Object.isFrozen(found[0])).toBe(true);
  });

  it("tells a wick that the close does not show", () => {
    const candles = walkOf(calm(80));
    candles[50] = { ...candles[50]!, high: 2_000_000 };
    candles[55] = { ...candles[55]!, low: 1 };
    expect(
      judged(candles).map(({ timestamp, field, score }) => [(timestamp - FROM) / MINUTE, field, score > 0]),
    ).toEqual([
      [50, "high", true],
      [55, "low", false],
    ]);
  });

  it("judges nothing by fewer than thirty returns", () => {
    const jump = (length: number) => judged(walkOf([...calm(length), 1_000]));
    expect(jump(30)).toEqual([]);
    expect(jump(31)).toHaveLength(1);
  });

  it("takes the moves there were where most are none: MAD 0", () => {
    const flat = Array.from({ length: 60 }, (_, index) => (index < 40 ? 1 : index % 10 === 0 ? 1.001 : 1));
    expect(judged(walkOf(flat))).toEqual([]);
    expect(judged(walkOf([...flat, 1.001]))).toEqual([]);
    expect(judged(walkOf([...flat, 1.1]))).toHaveLength(1);
  });

  it("says nothing where no price has moved yet, and passes over prices of 0", () => {
    expect(judged(walkOf([...Array.from({ length: 60 }, () => 1), 5]))).toEqual([]);
    const found = judged(walkOf([...calm(60), 0, 100, ...calm(20)]));
    expect(found.every(({ score, logReturn }) => Number.isFinite(score) && Number.isFinite(logReturn))).toBe(
      true,
    );
  });
});
