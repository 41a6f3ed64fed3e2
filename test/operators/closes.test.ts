import { concat, map, NEVER, Observable, of, Subject, take } from "rxjs";
import { TestScheduler } from "rxjs/testing";
import { describe, expect, it, vi } from "vitest";
import type { CandleEvent } from "../../src/candles/event.js";
import { closes } from "../../src/operators/closes.js";
import { candleOf, eventOf } from "./events.js";

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

const marbles = () => new TestScheduler((actual, expected) => expect(actual).toEqual(expected));

describe("closes", () => {
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
    ["completes with an empty source", "|", "|", "(^!)"],
    ["passes on an error", "A-#", "A-#", "^-!"],
    ["stays with an endless source", "a-c-", "--c-", "^---"],
    ["is silent where its source is", "-", "-", "^"],
  ])("%s", (_, events, expected, subscription) => {
    marbles().run(({ cold, expectObservable, expectSubscriptions }) => {
      const source = cold<CandleEvent>(events, EVENTS);
      expectObservable(source.pipe(closes())).toBe(expected, CANDLES);
      expectSubscriptions(source.subscriptions).toBe(subscription);
    });
  });

  it("leaves its source when it is left", () => {
    marbles().run(({ hot, expectObservable, expectSubscriptions }) => {
      const source = hot<CandleEvent>("-a-A-B-", EVENTS);
      expectObservable(source.pipe(closes()), "^---!").toBe("---A-", CANDLES);
      expectSubscriptions(source.subscriptions).toBe("^---!");
    });
  });

  it("leaves a synchronous endless source as soon as it may", () => {
    let pulled = 0;
    const endless = new Observable<CandleEvent>((subscriber) => {
      for (; !subscriber.closed; pulled += 1) subscriber.next(eventOf("new", pulled, "final"));
    });
    endless.pipe(closes(), take(2)).subscribe();
    expect(pulled).toBe(2);
  });

  it("keeps its memory to one subscription", () => {
    const closed = of(EVENTS.A, EVENTS.c).pipe(closes());
    const seen: unknown[] = [];
    closed.subscribe((candle) => seen.push(candle));
    closed.subscribe((candle) => seen.push(candle));
    expect(seen).toEqual([CANDLES.A, CANDLES.A]);
  });

  it("passes on what a callback after it throws", () => {
    const error = new Error("thrown after it");
    const errors: unknown[] = [];
    const throwing = map(() => {
      throw error;
    });
    concat(of(EVENTS.A), NEVER)
      .pipe(closes(), throwing)
      .subscribe({ error: (caught) => errors.push(caught) });
    expect(errors).toEqual([error]);
  });

  it("passes on a wrong event as an error", () => {
    const errors: unknown[] = [];
    of(null as unknown as CandleEvent)
      .pipe(closes())
      .subscribe({ error: (caught) => errors.push(caught) });
    expect(errors).toEqual([expect.any(TypeError)]);
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
