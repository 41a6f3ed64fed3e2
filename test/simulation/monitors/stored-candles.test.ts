import { describe, expect, it } from "vitest";
import type { Candle } from "../../../src/index.js";
import type { StoreCall } from "../disk.js";
import { Shelf } from "./stored-candles.js";

const candle = (timestamp: number, volume = 1): Candle => ({
  ...{ timestamp, open: 1, high: 1, low: 1, close: 1 },
  ...{ volume, swaps: 1 },
});
const call = (operation: "write" | "forget", from: number, to: number, candles: readonly Candle[] = []) =>
  ({ operation, from, to, candles }) as StoreCall;

describe("what a store gives is what was written", () => {
  const shelf = new Shelf({ candles: [candle(0)], covered: [{ from: 0, to: 10 }] });
  shelf.take(call("write", 10, 50, [candle(10), candle(20), candle(40)]));
  shelf.take(call("forget", 40, 50));
  const covered = [{ from: 0, to: 40 }];
  const all = { from: 0, to: 100 };

  it("all of it, or so many of the newest candles", () => {
    expect(shelf.differs({ candles: [candle(0), candle(10), candle(20)], covered }, all)).toBeUndefined();
    expect(shelf.differs({ candles: [candle(20)], covered }, all, 1)).toBeUndefined();
    expect(shelf.differs({ candles: [], covered }, all, 0)).toBeUndefined();
  });

  it("also in the middle of a span", () => {
    const lost = { candles: [candle(0), candle(20)], covered };
    const changed = { candles: [candle(0), candle(10, 2), candle(20)], covered };
    expect(shelf.differs(lost, all)).toMatch(/does not give the candle of .*\.010Z/);
    expect(shelf.differs(changed, all)).toMatch(/does not give the candle of .*\.010Z/);
  });

  it("and nothing else", () => {
    const more = { candles: [0, 10, 20, 40].map((at) => candle(at)), covered };
    expect(shelf.differs(more, all)).toBe("gives a candle that nobody has written");
    const wider = { candles: [candle(0), candle(10), candle(20)], covered: [{ from: 0, to: 50 }] };
    expect(shelf.differs(wider, all)).toBe("covers other spans");
  });
});
