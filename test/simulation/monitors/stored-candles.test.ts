import { describe, expect, it } from "vitest";
import type { Candle } from "../../../src/index.js";
import type { Swap } from "../../../src/service/index.js";
import type { StoreCall } from "../disk.js";
import type { Look } from "../reads.js";
import type { RunLog } from "../run-log.js";
import type { Context } from "./monitor.js";
import { flawOf, Shelf } from "./stored-candles.js";

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

describe("a span that is covered without a candle that the service has", () => {
  const MINUTE = 60_000;
  const at = (minute: number) => minute * MINUTE;
  const SWAPS = [2, 3, 4];
  const look = (isHistory: boolean, order: number, minutes: readonly number[]) =>
    ({
      ...{ asked: { from: at(0), to: at(7) }, isHistory, order, url: `${order}` },
      ...{ answeredAt: at(10) + 1_000 * order, asOf: at(10), sent: at(10) + 1_000 * order },
      rows: new Map(minutes.map((minute) => [at(minute), [candle(at(minute))]])),
      ...{ broken: new Set(), hasUnidentifiedRow: false, faults: [] },
    }) as unknown as Look;
  const flaw = (...looks: readonly Look[]) => flawAfter([], ...looks);
  const flawAfter = (calls: readonly object[], ...looks: readonly Look[]) => {
    const swap = (minute: number) =>
      ({ timestamp: at(minute), tokenAmount: 1, usdAmount: 1, nativeAmount: 1 }) as Swap;
    const pair = {
      createdAt: 0,
      swaps: ({ from, to }: { from: number; to: number }) =>
        SWAPS.map(swap).filter(({ timestamp }) => timestamp >= from && timestamp < to),
    };
    const world = { weekStart: "monday" };
    const store = { calls: calls.map((one) => ({ ...one, operation: "read", series: "pair 1min usd" })) };
    const log = { plan: { world }, store, source: { pair: () => pair } } as unknown as RunLog;
    const context = { answersOf: () => looks, memoriesOf: () => [looks] } as unknown as Context;
    const key = { pairAddress: "pair", timeframe: "1min", currency: "usd" } as StoreCall["key"];
    const candles = [2, 4].map((minute) => candle(at(minute)));
    return flawOf(log, { key, from: at(2), to: at(5), candles, order: 9 }, () => true, context);
  };
  const lacks = "1970-01-01T00:03:00.000Z is covered, and lacks its candle";

  it("is as it was answered, though the poll was shown more than the history that lacks it", () => {
    expect(flaw(look(false, 1, [2, 3, 4]), look(true, 2, [2, 4]))).toBeUndefined();
  });

  it("is not where the same was shown more, and has not lacked it twice", () => {
    expect(flaw(look(true, 1, [2, 3, 4]), look(true, 2, [2, 4]))).toBe(lacks);
    expect(flaw(look(false, 1, [2, 3, 4]), look(false, 2, [2, 4]))).toBe(lacks);
    expect(flaw(look(true, 1, [2, 3, 4]))).toBe(lacks);
  });

  it("is as it was answered to a history whose store has just failed to give what it had", () => {
    const looks = [look(true, 1, [2, 3, 4]), look(true, 2, [2, 4])] as const;
    const read = (isGood: boolean) => [{ at: looks[1].sent, ended: { at: looks[1].sent, isGood } }];
    expect(flawAfter(read(false), ...looks)).toBeUndefined();
    expect(flawAfter(read(true), ...looks)).toBe(lacks);
  });
});
