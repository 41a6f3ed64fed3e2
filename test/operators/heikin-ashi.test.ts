import fc from "fast-check";
import { of, Subject } from "rxjs";
import { describe, expect, it } from "vitest";
import type { CandleEvent } from "../../src/candles/event.js";
import type { Candle } from "../../src/contract/model.js";
import { heikinAshi } from "../../src/operators/heikin-ashi.js";
import { minuteCandle, standing } from "../candles/minute-candles.js";
import { eventOf } from "./events.js";
import { describeSeriesManners, emitted } from "./manners.js";
import { Lives, sequences } from "./sequences.js";

/** An event about a candle with these prices: open, high, low, close. */
function priced(
  type: CandleEvent["type"],
  at: number,
  [open, high, low, close]: readonly [number, number, number, number],
  status: CandleEvent["status"] = "closed",
): CandleEvent {
  const candle = { ...minuteCandle(at), open, high, low, close, volume: 10 * at, swaps: at };
  return { ...eventOf(type, at, status), candle };
}

function lineOf({ type, candle, status, revision }: CandleEvent): string {
  const { timestamp, open, high, low, close } = candle;
  return `${type} ${timestamp / 60_000} ${status} r${revision}: ${[open, high, low, close].join(" ")}`;
}

/** All Heikin-Ashi candles at once, by the book. */
function batch(candles: readonly Candle[]): Candle[] {
  const made: Candle[] = [];
  for (const candle of candles) {
    const { open, high, low, close } = candle;
    const before = made.at(-1);
    const newOpen = before === undefined ? (open + close) / 2 : (before.open + before.close) / 2;
    const newClose = (open + high + low + close) / 4;
    const prices = [high, low, newOpen, newClose];
    const [top, bottom] = [Math.max(...prices), Math.min(...prices)];
    made.push({ ...candle, open: newOpen, high: top, low: bottom, close: newClose });
  }
  return made;
}

describe("heikinAshi", () => {
  describeSeriesManners(heikinAshi);

  it("makes each candle of its own prices and the one before", () => {
    const events = [
      priced("new", 1, [10, 14, 8, 12]),
      priced("new", 2, [12, 20, 11, 17]),
      priced("new", 3, [17, 18, 2, 3]),
    ];
    expect(emitted(heikinAshi(), events).map(lineOf)).toEqual([
      "new 1 closed r0: 11 14 8 11",
      "new 2 closed r0: 11 20 11 15",
      "new 3 closed r0: 13 18 2 10",
    ]);
  });

  it("reaches out to its own open and close where they lie outside", () => {
    const events = [
      priced("new", 1, [10, 10, 10, 10]),
      priced("new", 2, [20, 20, 20, 20]),
      priced("new", 5, [1, 1, 1, 1]),
    ];
    expect(emitted(heikinAshi(), events).map(lineOf)).toEqual([
      "new 1 closed r0: 10 10 10 10",
      "new 2 closed r0: 10 20 10 20",
      "new 5 closed r0: 15 15 1 1",
    ]);
  });

  it("keeps timestamp, volume and swaps, and what the event says", () => {
    const event = { ...priced("new", 4, [1, 4, 1, 2], "final"), live: false, observedAt: 77, revision: 5 };
    const [made] = emitted(heikinAshi(), [event]);
    const { candle, ...rest } = event;
    expect(made).toEqual({ ...rest, candle: { ...candle, open: 1.5, high: 4, low: 1, close: 2 } });
    expect([made, made!.candle].every(Object.isFrozen)).toBe(true);
  });

  it("follows a correction through the later candles, each with its version before", () => {
    const source = new Subject<CandleEvent>();
    const events: CandleEvent[] = [];
    source.pipe(heikinAshi()).subscribe((event) => events.push(event));
    for (const at of [1, 2, 3]) source.next(priced("new", at, [8, 8, 8, 8]));
    source.next(priced("updated", 1, [16, 16, 16, 16]));
    expect(events.slice(3).map(lineOf)).toEqual([
      "updated 1 closed r1: 16 16 16 16",
      "updated 2 closed r1: 16 16 8 8",
      "updated 3 closed r1: 12 12 8 8",
    ]);
    expect(events.slice(3)).toMatchObject(events.slice(0, 3).map(({ candle }) => ({ previous: candle })));
    source.next(priced("removed", 2, [8, 8, 8, 8]));
    expect(events.slice(6).map(lineOf)).toEqual([
      "removed 2 closed r2: 16 16 8 8",
      "updated 3 closed r2: 16 16 8 8",
    ]);
  });

  it("emits nothing where its candle stays although the source's differs", () => {
    const events = [
      priced("new", 1, [4, 4, 4, 4], "final"),
      priced("new", 2, [2, 9, 1, 8], "open"),
      priced("updated", 2, [3, 9, 1, 7], "open"),
      priced("updated", 2, [3, 9, 1, 7], "closed"),
    ];
    expect(emitted(heikinAshi(), events).map(lineOf)).toEqual([
      "new 1 final r0: 4 4 4 4",
      "new 2 open r0: 4 9 1 5",
      "updated 2 closed r1: 4 9 1 5",
    ]);
  });

  it("after every event equals a batch over the candles as they stand, in lives without echo", () => {
    fc.assert(
      fc.property(sequences, (events) => {
        const source = new Subject<CandleEvent>();
        const made: CandleEvent[] = [];
        const lives = new Lives();
        source.pipe(heikinAshi()).subscribe((event) => made.push(event));
        events.forEach((event, index) => {
          const before = made.length;
          source.next(event);
          lives.take(event, made.slice(before));
          expect(standing(made)).toEqual(batch(standing(events.slice(0, index + 1))));
        });
      }),
      { numRuns: 200 },
    );
  });

  it("goes on in its own steps: twice is the batch of the batch", () => {
    fc.assert(
      fc.property(sequences, (events) => {
        const made: CandleEvent[] = [];
        of(...events)
          .pipe(heikinAshi(), heikinAshi())
          .subscribe((event) => made.push(event));
        expect(standing(made)).toEqual(batch(batch(standing(events))));
      }),
    );
  });
});
