import { type Observable, of, Subject } from "rxjs";
import { describe, expect, expectTypeOf, it, vi } from "vitest";
import type { CandleEvent } from "../../src/candles/event.js";
import { InvalidInputError } from "../../src/errors.js";
import { closes } from "../../src/operators/closes.js";
import { finals } from "../../src/operators/finals.js";
import { eventOf } from "./events.js";
import { describeManners, emitted, marbles } from "./manners.js";

const EVENTS = {
  a: eventOf("new", 1, "open"),
  A: eventOf("new", 1, "closed"),
  u: eventOf("updated", 1, "open", 2),
  c: eventOf("updated", 1, "closed", 3),
  d: eventOf("updated", 1, "closed", 4),
  f: eventOf("updated", 1, "final", 4),
  r: eventOf("removed", 1, "closed", 4),
  b: eventOf("new", 2, "open"),
  B: eventOf("new", 2, "closed"),
  C: eventOf("updated", 2, "closed", 3),
  F: eventOf("new", 2, "final"),
};

describe("closes", () => {
  describeManners(closes);

  it.each([
    [
      "emits a candle when it closes, and no correction of it",
      "a-u-c-d-f-b-C-|",
      "----c-------C-|",
      "^-------------!",
    ],
    ["emits what is closed from the first on", "A-F-|", "A-F-|", "^---!"],
    ["emits a candle that skipped closed", "a-f-F|", "--f-F|", "^----!"],
    ["is silent of a candle that was removed and came back", "A-r-A-d|", "A------|", "^------!"],
    ["emits no removal of an open candle", "a-r-b|", "-----|", "^----!"],
    ["emits a candle that turns up late", "B-A-f|", "B-A--|", "^----!"],
    ["remembers what is newer than a final candle", "A-B-f-C|", "A-B----|", "^------!"],
  ])("%s", (_, events, expected, subscription) => {
    marbles().run(({ cold, expectObservable, expectSubscriptions }) => {
      const source = cold<CandleEvent>(events, EVENTS);
      expectObservable(source.pipe(closes())).toBe(expected, EVENTS);
      expectSubscriptions(source.subscriptions).toBe(subscription);
    });
  });

  it("remembers only candles that are not final, even where final events stay away", () => {
    const sets: Set<unknown>[] = [];
    class CountedSet<T> extends Set<T> {
      constructor(values?: Iterable<T> | null) {
        super(values);
        sets.push(this);
      }
    }
    vi.stubGlobal("Set", CountedSet);
    const source = new Subject<CandleEvent>();
    source.pipe(closes()).subscribe();
    source.next(eventOf("new", 0, "open"));
    vi.unstubAllGlobals();
    expect(sets).toHaveLength(1);
    for (let at = 0; at < 1_000; at += 1) {
      source.next(eventOf("new", at, "closed"));
      if (at >= 10 && at % 2 === 0) source.next(eventOf("updated", at - 10, "final"));
      expect(sets[0]?.size).toBeLessThanOrEqual(12);
    }
  });

  it("keeps merged series apart, and what is on an event", () => {
    const other = { ...EVENTS.A.series, pairAddress: "other" };
    const tagged = [EVENTS.A, { ...EVENTS.A, series: other }, EVENTS.c, { ...EVENTS.B, series: other }].map(
      (event, tag) => ({ ...event, tag }),
    );
    const kept = of(...tagged).pipe(closes());
    expectTypeOf(kept).toExtend<Observable<{ tag: number }>>();
    const tags: number[] = [];
    kept.subscribe(({ tag }) => tags.push(tag));
    expect(tags).toEqual([0, 1, 3]);
  });

  it("leaves out what is older than maxAge, and does not tell it as final", () => {
    const late = { ...EVENTS.A, lateBy: 5_001 };
    const onTime = { ...EVENTS.B, lateBy: 5_000 };
    expect(emitted(closes({ maxAge: 5_000 }), [late, EVENTS.f, onTime])).toEqual([onTime]);
    expect(emitted(finals({ maxAge: 5_000 }), [{ ...EVENTS.f, lateBy: 5_001 }, EVENTS.F])).toEqual([
      EVENTS.F,
    ]);
    for (const operator of [closes, finals]) {
      expect(() => operator({ maxAge: -1 })).toThrow(InvalidInputError);
      expect(() => operator({ maxage: 1 } as object)).toThrow(InvalidInputError);
    }
  });

  it("begins a series anew with a new candle no newer than a final one, and tells no close twice that may change", () => {
    const events = [EVENTS.A, EVENTS.f, EVENTS.B, EVENTS.A, { ...EVENTS.B }];
    expect(emitted(closes(), events)).toEqual([EVENTS.A, EVENTS.B, EVENTS.A]);
  });
});
