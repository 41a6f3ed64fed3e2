import fc from "fast-check";
import type { Candle } from "pairstream";
import { describe, expect, it } from "vitest";
import {
  changeOver,
  DAY,
  HOUR,
  joined,
  MINUTE,
  type PricePoint,
  pathOf,
  volumeFrom,
  withPoint,
} from "../../../examples/live-chart/page/price-path.js";

const NOW = Date.UTC(2026, 0, 5, 12);
const candle = (timestamp: number, open: number, close: number, volume = 1): Candle => {
  return {
    timestamp,
    open,
    high: Math.max(open, close),
    low: Math.min(open, close),
    close,
    volume,
    swaps: 1,
  };
};

describe("the path of a price", () => {
  it("has the price a candle ends with at its end, and the first one at its start", () => {
    const path = pathOf([candle(NOW, 1, 2), candle(NOW + MINUTE, 2, 3)], MINUTE);
    expect(path).toEqual([
      { at: NOW, price: 1 },
      { at: NOW + MINUTE, price: 2 },
      { at: NOW + 2 * MINUTE, price: 3 },
    ]);
    expect(pathOf([], MINUTE)).toEqual([]);
  });

  it("changes against the price of that time, and of a young pair against its first price", () => {
    const path = [
      { at: NOW - 2 * HOUR, price: 1 },
      { at: NOW - HOUR, price: 2 },
      { at: NOW - 5 * MINUTE + 1, price: 5 },
      { at: NOW, price: 4 },
    ];
    expect(changeOver(path, NOW, 5 * MINUTE)).toBeCloseTo(100);
    expect(changeOver(path, NOW, HOUR)).toBeCloseTo(100);
    expect(changeOver(path, NOW, DAY)).toBeCloseTo(300);
    expect(changeOver([], NOW, DAY)).toBeUndefined();
    expect(changeOver([{ at: NOW, price: 0 }], NOW, HOUR)).toBeUndefined();
  });

  it("joins ascending, the later path first where two know an instant", () => {
    expect(
      joined(
        [
          { at: 1, price: 1 },
          { at: 3, price: 3 },
        ],
        [
          { at: 2, price: 2 },
          { at: 3, price: 9 },
        ],
      ),
    ).toEqual([
      { at: 1, price: 1 },
      { at: 2, price: 2 },
      { at: 3, price: 9 },
    ]);
  });

  it("stays ascending, ends with the newest price, and is bounded, whatever comes", () => {
    const steps = fc.array(
      fc.tuple(fc.integer({ min: 0, max: 20 * MINUTE }), fc.double({ min: 1, max: 9, noNaN: true })),
      {
        minLength: 1,
        maxLength: 400,
      },
    );
    fc.assert(
      fc.property(steps, (moves) => {
        let path: readonly PricePoint[] = [];
        let at = NOW;
        for (const [step, price] of moves) {
          at += step;
          path = withPoint(path, { at, price });
          expect(path.at(-1)).toEqual({ at, price });
        }
        const times = path.map((point) => point.at);
        expect(times).toEqual([...times].sort((a, b) => a - b));
        expect(times.at(-1)! - times[0]!).toBeLessThanOrEqual(DAY + HOUR + 40 * MINUTE);
        expect(path.length).toBeLessThanOrEqual((DAY + 2 * HOUR) / 5_000 + 2);
      }),
    );
  });

  it("ends with what came last, though it was read at an earlier instant, and stays ascending", () => {
    const points = fc.array(
      fc.record({
        at: fc.integer({ min: NOW, max: NOW + HOUR }),
        price: fc.double({ min: 1, max: 9, noNaN: true }),
      }),
      { minLength: 1, maxLength: 100 },
    );
    fc.assert(
      fc.property(points, (all) => {
        let path: readonly PricePoint[] = [];
        for (const point of all) {
          path = withPoint(path, point);
          expect(path.at(-1)!.price).toBe(point.price);
        }
        const times = path.map(({ at }) => at);
        expect(times).toEqual([...times].sort((a, b) => a - b));
      }),
    );
  });

  it("adds up what was traded from an instant on", () => {
    const candles = [candle(1, 1, 1, 10), candle(2, 1, 1, 20), candle(3, 1, 1, 40)];
    expect(volumeFrom(candles, 2)).toBe(60);
    expect(volumeFrom([], 2)).toBe(0);
  });
});
