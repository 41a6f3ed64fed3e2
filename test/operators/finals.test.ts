import { concat, map, NEVER, Observable, of, take } from "rxjs";
import { TestScheduler } from "rxjs/testing";
import { describe, expect, it } from "vitest";
import type { CandleEvent } from "../../src/candles/event.js";
import { finals } from "../../src/operators/finals.js";
import { candleOf, eventOf } from "./events.js";

const EVENTS = {
  a: eventOf("new", 1, "open"),
  c: eventOf("updated", 1, "closed", 2),
  f: eventOf("updated", 1, "final", 3),
  r: eventOf("removed", 1, "closed", 2),
  x: eventOf("removed", 1, "final", 2),
  F: eventOf("new", 2, "final"),
};
const CANDLES = { f: candleOf(1, 3), F: candleOf(2) };

const marbles = () => new TestScheduler((actual, expected) => expect(actual).toEqual(expected));

describe("finals", () => {
  it.each([
    ["emits a candle when it becomes final", "a-c-f-|", "----f-|", "^-----!"],
    ["emits what is final from the first on", "F-|", "F-|", "^-!"],
    ["emits no removal", "a-r-x|", "-----|", "^----!"],
    ["emits nothing for a candle that never is", "a-c|", "---|", "^--!"],
    ["completes with an empty source", "|", "|", "(^!)"],
    ["passes on an error", "f-#", "f-#", "^-!"],
    ["stays with an endless source", "f-F-", "f-F-", "^---"],
    ["is silent where its source is", "-", "-", "^"],
  ])("%s", (_, events, expected, subscription) => {
    marbles().run(({ cold, expectObservable, expectSubscriptions }) => {
      const source = cold<CandleEvent>(events, EVENTS);
      expectObservable(source.pipe(finals())).toBe(expected, CANDLES);
      expectSubscriptions(source.subscriptions).toBe(subscription);
    });
  });

  it("leaves its source when it is left", () => {
    marbles().run(({ hot, expectObservable, expectSubscriptions }) => {
      const source = hot<CandleEvent>("-a-f-F-", EVENTS);
      expectObservable(source.pipe(finals()), "^---!").toBe("---f-", CANDLES);
      expectSubscriptions(source.subscriptions).toBe("^---!");
    });
  });

  it("leaves a synchronous endless source as soon as it may", () => {
    let pulled = 0;
    const endless = new Observable<CandleEvent>((subscriber) => {
      for (; !subscriber.closed; pulled += 1) subscriber.next(eventOf("new", pulled, "final"));
    });
    endless.pipe(finals(), take(2)).subscribe();
    expect(pulled).toBe(2);
  });

  it("passes on what a callback after it throws", () => {
    const error = new Error("thrown after it");
    const errors: unknown[] = [];
    const throwing = map(() => {
      throw error;
    });
    concat(of(EVENTS.F), NEVER)
      .pipe(finals(), throwing)
      .subscribe({ error: (caught) => errors.push(caught) });
    expect(errors).toEqual([error]);
  });
});
