import { concat, map, NEVER, Observable, type OperatorFunction, observable, of, Subject, take } from "rxjs";
import { TestScheduler } from "rxjs/testing";
import { describe, expect, it, vi } from "vitest";
import type { CandleEvent } from "../../src/candles/event.js";
import { InvalidInputError } from "../../src/errors.js";
import { eventOf } from "./events.js";

const FINALS = {
  a: eventOf("new", 1, "final"),
  b: eventOf("new", 2, "final"),
  c: eventOf("new", 3, "final"),
};

const OTHER = { ...FINALS.a.series, pairAddress: "other" };

export const marbles = () => new TestScheduler((actual, expected) => expect(actual).toEqual(expected));

/** What an operator emits for these events. */
export function emitted<Out>(
  operator: OperatorFunction<CandleEvent, Out>,
  events: readonly CandleEvent[],
): Out[] {
  const seen: Out[] = [];
  of(...events)
    .pipe(operator)
    .subscribe((value) => seen.push(value));
  return seen;
}

/** The error with which an operator answers to these events. */
export function failure(
  operator: OperatorFunction<CandleEvent, unknown>,
  events: readonly CandleEvent[],
): unknown {
  let error: unknown;
  concat(of(...events), NEVER)
    .pipe(operator)
    .subscribe({ error: (caught) => (error = caught) });
  return error;
}

/** How many objects hang on one: what it keeps in memory. */
export function reachable(root: object): number {
  const seen = new Set<object>([root]);
  for (const object of seen) {
    for (const held of object instanceof Map ? [...object].flat() : Object.values(object)) {
      if (typeof held === "object" && held !== null) seen.add(held);
    }
  }
  return seen.size;
}

/**
 * How every operator behaves towards its source and its subscribers. `operator` is to emit one value for each
 * of the events here: `new`, ascending, final.
 */
export function describeManners(operator: () => OperatorFunction<CandleEvent, unknown>): void {
  const emissions = { 1: 1, 2: 2 };
  const counted = map((_: unknown, index) => index + 1);

  describe("its manners", () => {
    it.each([
      ["completes with its source", "a-b-|", "1-2-|", "^---!"],
      ["completes with an empty source", "|", "|", "(^!)"],
      ["passes on an error", "a-#", "1-#", "^-!"],
      ["stays with an endless source", "a-b-", "1-2-", "^---"],
      ["is silent where its source is", "-", "-", "^"],
    ])("%s", (_, source, expected, subscription) => {
      marbles().run(({ cold, expectObservable, expectSubscriptions }) => {
        const candles = cold<CandleEvent>(source, FINALS);
        expectObservable(candles.pipe(operator(), counted)).toBe(expected, emissions);
        expectSubscriptions(candles.subscriptions).toBe(subscription);
      });
    });

    it("leaves its source when it is left", () => {
      marbles().run(({ hot, expectObservable, expectSubscriptions }) => {
        const source = hot<CandleEvent>("-a-b-c-", FINALS);
        expectObservable(source.pipe(operator(), counted), "^---!").toBe("-1-2-", emissions);
        expectSubscriptions(source.subscriptions).toBe("^---!");
      });
    });

    it("leaves a synchronous endless source as soon as it may", () => {
      let pulled = 0;
      const endless = new Observable<CandleEvent>((subscriber) => {
        for (; !subscriber.closed; pulled += 1) subscriber.next(eventOf("new", pulled, "final"));
      });
      endless.pipe(operator(), take(2)).subscribe();
      expect(pulled).toBe(2);
    });

    it("keeps its memory to one subscription", () => {
      const result = of(FINALS.a, FINALS.b).pipe(operator());
      const seen: unknown[][] = [[], []];
      for (const list of seen) result.subscribe((value) => list.push(value));
      expect(seen[0]).toHaveLength(2);
      expect(seen[1]).toEqual(seen[0]);
    });

    it("is told apart where two subscribe at the same time", () => {
      const source = new Subject<CandleEvent>();
      const result = source.pipe(operator());
      const seen: unknown[][] = [[], []];
      result.subscribe((value) => seen[0]!.push(value));
      source.next(FINALS.a);
      result.subscribe((value) => seen[1]!.push(value));
      source.next(FINALS.b);
      expect(seen[0]).toEqual(emitted(operator(), [FINALS.a, FINALS.b]));
      expect(seen[1]).toEqual(emitted(operator(), [FINALS.b]));
    });

    it("passes on what a callback after it throws", () => {
      const error = new Error("thrown after it");
      const throwing = map(() => {
        throw error;
      });
      expect(failure((source) => source.pipe(operator(), throwing), [FINALS.a])).toBe(error);
    });

    it("takes what is Observable by another copy of RxJS", () => {
      const foreign = {
        [observable]: () => ({
          subscribe: (observer: { next(event: CandleEvent): void; complete(): void }) => {
            observer.next(FINALS.a);
            observer.next(FINALS.b);
            observer.complete();
            return { unsubscribe: () => undefined };
          },
        }),
      };
      let count = 0;
      let hasCompleted = false;
      operator()(foreign as unknown as Observable<CandleEvent>).subscribe({
        next: () => (count += 1),
        complete: () => (hasCompleted = true),
      });
      expect([count, hasCompleted]).toEqual([2, true]);
    });

    it("passes on a wrong event as an error", () => {
      expect(failure(operator(), [null as unknown as CandleEvent])).toBeInstanceOf(InvalidInputError);
    });
  });
}

/** As `describeManners`, of an operator from events to events, each about a candle of its own. */
export function describeSeriesManners(operator: () => OperatorFunction<CandleEvent, CandleEvent>): void {
  describeManners(operator);

  describe("its manners as to the series", () => {
    it("takes merged series each on its own", () => {
      const others = Object.values(FINALS).map((event) => ({ ...event, series: OTHER }));
      const { a, b, c } = FINALS;
      const [x, y, z] = others as [CandleEvent, CandleEvent, CandleEvent];
      // The other's clock is behind, and it begins anew.
      const merged = emitted(operator(), [a, b, x, c, y, z, y, z]);
      const lineOf = ({ type, candle, status, revision }: CandleEvent) =>
        `${type} ${candle.timestamp} ${candle.close} ${status} ${revision}`;
      const alone = (events: CandleEvent[]) => emitted(operator(), events).map(lineOf);
      const isOther = ({ series }: CandleEvent) => series.pairAddress === OTHER.pairAddress;
      expect(merged.filter((event) => !isOther(event)).map(lineOf)).toEqual(alone([a, b, c]));
      expect(merged.filter(isOther).map(lineOf)).toEqual([...alone([x, y, z]), ...alone([y, z])]);
    });

    it("takes the same series in another object", () => {
      const same = { ...FINALS.b, series: { ...FINALS.b.series } };
      const events = emitted(operator(), [FINALS.a, same, FINALS.c]);
      expect(events.map(({ candle }) => candle.timestamp / 60_000)).toEqual([1, 2, 3]);
    });

    it.each([
      ["one that is final", eventOf("updated", 2, "final", 3)],
      ["one that is older than a final one", eventOf("updated", 0, "closed")],
      ["the removal of one that is final", eventOf("removed", 2, "final")],
    ])("leaves out an event about %s, and goes on", (_, event) => {
      const warn = vi.spyOn(process, "emitWarning").mockReturnValue();
      const events = emitted(operator(), [FINALS.a, FINALS.b, event, event, FINALS.c]);
      expect(events.map(({ candle }) => candle.timestamp / 60_000)).toEqual([1, 2, 3]);
      expect(warn).toHaveBeenCalledTimes(1);
      expect(warn).toHaveBeenCalledWith(
        expect.stringContaining(`${new Date(event.candle.timestamp).toISOString()}`),
        { type: "PairstreamWarning", code: "PAIRSTREAM_EVENT_LEFT_OUT" },
      );
      warn.mockRestore();
    });
  });
}
