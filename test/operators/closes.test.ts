import { of, Subject } from "rxjs";
import { describe, expect, it, vi } from "vitest";
import type { CandleEvent } from "../../src/candles/event.js";
import { closes } from "../../src/operators/closes.js";
import { candleOf } from "../candles/market.js";
import { eventOf } from "./events.js";
import { describeManners, marbles } from "./manners.js";

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
const CANDLES = {
  A: candleOf(1),
  c: candleOf(1, 3),
  f: candleOf(1, 4),
  B: candleOf(2),
  C: candleOf(2, 3),
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
    ["emits what is closed from the first on", "A-F-|", "A-B-|", "^---!"],
    ["emits a candle that skipped closed", "a-f-F|", "--f-B|", "^----!"],
    ["emits a candle anew that was removed and came back", "A-r-A-d|", "A---A--|", "^------!"],
    ["emits no removal of an open candle", "a-r-b|", "-----|", "^----!"],
    ["emits a candle that turns up late", "B-A-f|", "B-A--|", "^----!"],
    ["remembers what is newer than a final candle", "A-B-f-C|", "A-B----|", "^------!"],
  ])("%s", (_, events, expected, subscription) => {
    marbles().run(({ cold, expectObservable, expectSubscriptions }) => {
      const source = cold<CandleEvent>(events, EVENTS);
      expectObservable(source.pipe(closes())).toBe(expected, CANDLES);
      expectSubscriptions(source.subscriptions).toBe(subscription);
    });
  });

  it("keeps what has closed to one subscription", () => {
    const closed = of(EVENTS.A, EVENTS.c).pipe(closes());
    const seen: unknown[] = [];
    closed.subscribe((candle) => seen.push(candle));
    closed.subscribe((candle) => seen.push(candle));
    expect(seen).toEqual([CANDLES.A, CANDLES.A]);
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
    vi.unstubAllGlobals();
    expect(sets).toHaveLength(1);
    for (let at = 0; at < 1_000; at += 1) {
      source.next(eventOf("new", at, "closed"));
      if (at >= 10 && at % 2 === 0) source.next(eventOf("updated", at - 10, "final"));
      expect(sets[0]?.size).toBeLessThanOrEqual(12);
    }
  });
});
