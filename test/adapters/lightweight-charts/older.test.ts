import { config } from "rxjs";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { olderCandles } from "../../../src/adapters/lightweight-charts/older.js";
import type { Candle } from "../../../src/contract/model.js";

const candle: Candle = { timestamp: 0, open: 1, high: 1, low: 1, close: 1, volume: 1, swaps: 1 };

describe("older candles", () => {
  const reported: unknown[] = [];

  beforeEach(() => {
    vi.useFakeTimers();
    config.onUnhandledError = (error) => reported.push(error);
  });
  afterEach(() => {
    vi.useRealTimers();
    config.onUnhandledError = null;
    reported.length = 0;
  });

  it("are asked for again after 5 s, doubling to a minute, and a failure is told once until one succeeds", async () => {
    const started = Date.now();
    const asked: number[] = [];
    let isFailing = true;
    const want = () => older.want(1_000, 10);
    const older = olderCandles(
      () => {
        asked.push((Date.now() - started) / 1_000);
        if (!isFailing) return Promise.resolve([candle]);
        if (asked.length === 2) throw new Error("thrown");
        return Promise.reject(new Error(`failure ${asked.length}`));
      },
      (candles) => candles.length,
      () => queueMicrotask(want),
    );
    // A user who scrolls on and on.
    for (let turn = 0; turn < 180; turn++) {
      want();
      await vi.advanceTimersByTimeAsync(1_000);
    }
    expect(asked).toEqual([0, 5, 15, 35, 75, 135]);
    expect(reported).toEqual([new Error("failure 1")]);

    isFailing = false;
    await vi.advanceTimersByTimeAsync(15_000);
    expect(asked).toHaveLength(7);
    isFailing = true;
    want();
    await vi.advanceTimersByTimeAsync(1);
    expect(reported).toEqual([new Error("failure 1"), new Error("failure 8")]);

    older.subscription.unsubscribe();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("are not asked for before a beginning that is known, but are where that has been forgotten", async () => {
    const asked: number[] = [];
    const older = olderCandles(
      async (before) => {
        asked.push(before);
        return [];
      },
      () => 0,
      () => {},
    );
    for (const before of [1_000, 1_000, 900, 2_000, 2_000]) {
      older.want(before, 10);
      await vi.advanceTimersByTimeAsync(1);
    }
    expect(asked).toEqual([1_000, 2_000]);
    older.subscription.unsubscribe();
  });

  it("that come after unsubscribing are not taken", async () => {
    const taken: unknown[] = [];
    const older = olderCandles(
      async () => [candle],
      (candles) => taken.push(candles),
      () => {},
    );
    older.want(1_000, 10);
    older.subscription.unsubscribe();
    await vi.advanceTimersByTimeAsync(1);
    expect(taken).toEqual([]);
  });
});
