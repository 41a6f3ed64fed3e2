import { take, tap } from "rxjs";
import { describe, expect, it } from "vitest";
import type { CandleEvent } from "../../src/candles/event.js";
import type { Candle } from "../../src/contract/model.js";
import { replayCandles } from "../../src/replay/replay-candles.js";
import { VirtualClock } from "../../src/replay/virtual-clock.js";
import { MINUTE, minuteCandle, SERIES } from "../candles/minute-candles.js";
import { collect, counted, minutesOf } from "./candle-sources.js";

const DAY = 1_440 * MINUTE;

describe("the source of replayCandles", () => {
  it("is read no further than it is taken from, and closed once", () => {
    const { candles, calls } = counted();
    collect(replayCandles(candles, SERIES).pipe(take(3)));
    expect(calls).toEqual({ next: 3, return: 1 });
  });

  it("is read no further than one ahead of the clock, and closed when it is left", async () => {
    for (const kind of ["candles", "asyncCandles"] as const) {
      const { calls, ...sources } = counted();
      const clock = new VirtualClock();
      const subscription = replayCandles(sources[kind], { ...SERIES, scheduler: clock }).subscribe();
      await clock.advanceTo(4 * MINUTE);
      expect(calls).toEqual({ next: 4, return: 0 });
      subscription.unsubscribe();
      expect([calls, clock.pending]).toEqual([{ next: 4, return: 1 }, 0]);
    }
  });

  it("is closed when it is left by the last candle that is wanted", async () => {
    for (const kind of ["candles", "asyncCandles"] as const) {
      const { calls, ...sources } = counted();
      const clock = new VirtualClock();
      const seen = collect(replayCandles(sources[kind], { ...SERIES, scheduler: clock }).pipe(take(2)));
      await clock.advanceTo(9 * MINUTE);
      expect([calls, clock.pending]).toEqual([{ next: 2, return: 1 }, 0]);
      expect(minutesOf(seen.events)).toEqual([1, 2]);
    }
  });

  it("is not asked to return once it has ended", async () => {
    const { asyncCandles, calls } = counted(2);
    const clock = new VirtualClock();
    const seen = collect(replayCandles(asyncCandles, SERIES));
    await clock.advanceBy(0);
    expect(seen.hasCompleted).toBe(true);
    expect(calls).toEqual({ next: 3, return: 0 });
  });

  it("is closed at once where it is left while it is waited for, whatever closing does", () => {
    let returned = 0;
    const silent: AsyncIterable<Candle> = {
      [Symbol.asyncIterator]: () => ({
        next: () => new Promise(() => {}),
        return: () => {
          returned += 1;
          return Promise.reject(new Error("cannot close"));
        },
      }),
    };
    replayCandles(silent, SERIES).subscribe().unsubscribe();
    expect(returned).toBe(1);
  });

  it("may leave while it is asked", async () => {
    const clock = new VirtualClock();
    let closed = 0;
    let hasLeft = false;
    const seen: CandleEvent[] = [];
    function* leaving() {
      try {
        yield minuteCandle(0);
        subscription.unsubscribe();
        hasLeft = true;
        yield minuteCandle(5);
      } finally {
        closed += 1;
      }
    }
    const events = replayCandles(leaving(), { ...SERIES, scheduler: clock });
    const subscription = events.subscribe((event) => seen.push(event));
    await clock.advanceTo(DAY);
    expect([minutesOf(seen), hasLeft, closed, clock.pending]).toEqual([[0], true, 1, 0]);
  });

  it("passes on its failure", async () => {
    const broken = new Error("disk");
    function* failing() {
      yield minuteCandle(0);
      throw broken;
    }
    async function* failingLater() {
      yield* failing();
    }
    const clock = new VirtualClock();
    const paced = { ...SERIES, scheduler: clock };
    const seen = [
      collect(replayCandles(failing(), SERIES)),
      collect(replayCandles(failing(), paced)),
      collect(replayCandles(failingLater(), SERIES)),
      collect(replayCandles(failingLater(), paced)),
      collect(replayCandles(failing(), { ...SERIES, fillGaps: true })),
    ];
    await clock.advanceTo(DAY);
    for (const { events, error, hasCompleted } of seen) {
      expect([minutesOf(events), error, hasCompleted]).toEqual([[0], broken, false]);
    }
  });

  it("is closed where a candle is wrong", async () => {
    for (const kind of ["candles", "asyncCandles"] as const) {
      const { calls, ...sources } = counted();
      const seen = collect(replayCandles(sources[kind], { ...SERIES, timeframe: "5min" }));
      await new VirtualClock().advanceBy(0);
      expect(seen.error).toMatchObject({ parameter: "timestamp of source[0]" });
      expect(calls).toEqual({ next: 1, return: 1 });
    }
  });

  it("passes on what a callback after it throws, and is closed", async () => {
    const error = new Error("thrown after it");
    const throwing = tap<CandleEvent>(() => {
      throw error;
    });
    for (const kind of ["candles", "asyncCandles"] as const) {
      const { calls, ...sources } = counted();
      const seen = collect(replayCandles(sources[kind], SERIES).pipe(throwing));
      await new VirtualClock().advanceBy(0);
      expect([seen.error, calls]).toEqual([error, { next: 1, return: 1 }]);
    }
  });
});
