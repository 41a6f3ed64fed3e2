import fc from "fast-check";
import { map, type Observable, of, Subject } from "rxjs";
import { describe, expect, expectTypeOf, it } from "vitest";
import { applyCandleEvent, type CandleEvent } from "../../src/candles/event.js";
import type { Candle } from "../../src/contract/model.js";
import { InvalidInputError } from "../../src/errors.js";
import { latest } from "../../src/operators/latest.js";
import { minuteCandle } from "../candles/minute-candles.js";
import { eventOf } from "./events.js";
import { describeManners, marbles } from "./manners.js";

const EVENTS = {
  a: eventOf("new", 1),
  b: eventOf("new", 2),
  c: eventOf("new", 3),
  d: eventOf("new", 4),
  A: eventOf("updated", 1, "closed", 9),
  B: eventOf("updated", 2, "closed", 9),
  s: eventOf("updated", 2, "closed"),
  x: eventOf("removed", 1),
  y: eventOf("removed", 2),
  z: eventOf("removed", 3),
};
const [a, b, c, d] = [minuteCandle(1), minuteCandle(2), minuteCandle(3), minuteCandle(4)];
const [A, B] = [minuteCandle(1, 9), minuteCandle(2, 9)];
const WINDOWS: Record<string, Candle[]> = {
  0: [],
  1: [a],
  2: [a, b],
  3: [b, c],
  4: [c, d],
  5: [a, B],
  6: [B, c],
  7: [a, c],
  8: [c],
  9: [b],
  A: [A],
  B: [B],
  C: [b, d],
};

describe("latest", () => {
  describeManners(() => latest(2));

  const candlesOf = map((events: readonly CandleEvent[]): readonly Candle[] =>
    Object.freeze(events.map(({ candle }) => candle)),
  );

  it.each([
    ["grows to n candles, then rolls", "a-b-c-d-|", "1-2-3-4-|", "^-------!"],
    ["replaces an updated candle in its place", "a-b-B-c-|", "1-2-5-6-|", "^-------!"],
    ["has one fewer after a removal, until the next candle", "a-b-c-z-d|", "1-2-3-9-C|", "^--------!"],
    ["empties", "a-x-b|", "1-0-9|", "^----!"],
    ["puts a late candle in its place", "a-c-b-|", "1-7-3-|", "^-----!"],
    ["puts a late candle first where there is room", "b-a-c|", "9-2-3|", "^----!"],
    ["tells a new status", "b-s-|", "9-9-|", "^---!"],
    ["is silent about what has left", "b-c-d-B-y-|", "9-3-4-----|", "^---------!"],
    ["is silent about what was never in it", "c-d-a-A-x-|", "8-4-------|", "^---------!"],
    ["takes back the newest that has left", "b-c-d-z-B|", "9-3-4-D-E|", "^--------!"],
    ["keeps out what older ones have left a hole before", "a-b-c-d-z-A|", "1-2-3-4-D--|", "^----------!"],
  ])("%s", (_, events, expected, subscription) => {
    marbles().run(({ cold, expectObservable, expectSubscriptions }) => {
      const source = cold<CandleEvent>(events, EVENTS);
      expectObservable(source.pipe(latest(2), candlesOf)).toBe(expected, { ...WINDOWS, D: [d], E: [B, d] });
      expectSubscriptions(source.subscriptions).toBe(subscription);
    });
  });

  it("hands out frozen windows that later events leave alone", () => {
    const windows: (readonly Candle[])[] = [];
    of(EVENTS.a, EVENTS.A)
      .pipe(latest(1), candlesOf)
      .subscribe((window) => windows.push(window));
    expect(windows).toEqual([[a], [A]]);
    expect(windows.every(Object.isFrozen)).toBe(true);
  });

  it.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, "2" as unknown as number])(
    "refuses %s at the call",
    (n) => {
      expect(() => latest(n)).toThrow(InvalidInputError);
      expect(() => latest(n)).toThrow(
        expect.objectContaining({ parameter: "n", allowed: "a whole number of at least 1" }),
      );
    },
  );

  it("is always the end of what all events make, without a hole, and whole where nothing is removed", () => {
    const step = fc.record({
      at: fc.nat(12),
      type: fc.constantFrom("set", "set", "set", "remove"),
      price: fc.nat(2),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), fc.integer({ min: 1, max: 5 }), (steps, n) => {
        const candles = new Map<number, Candle>();
        const events = new Subject<CandleEvent>();
        let window: readonly Candle[] = [];
        let hasRemoved = false;
        events.pipe(latest(n), candlesOf).subscribe((next) => {
          window = next;
        });
        for (const { at, type, price } of steps) {
          const isKnown = candles.has(minuteCandle(at).timestamp);
          if (type === "remove" && !isKnown) continue;
          const event = eventOf(
            type === "remove" ? "removed" : isKnown ? "updated" : "new",
            at,
            "open",
            price,
          );
          hasRemoved ||= type === "remove";
          applyCandleEvent(candles, event);
          events.next(event);
          const all = [...candles.values()].sort((one, other) => one.timestamp - other.timestamp);
          expect(window).toEqual(all.slice(all.length - window.length));
          expect(window.length).toBeLessThanOrEqual(n);
          if (!hasRemoved) expect(window).toHaveLength(Math.min(n, all.length));
        }
      }),
    );
  });
});

it("keeps the type of the events", () => {
  const tagged = of({ ...EVENTS.a, tag: 1 }).pipe(latest(2));
  expectTypeOf(tagged).toExtend<Observable<readonly { tag: number }[]>>();
});
