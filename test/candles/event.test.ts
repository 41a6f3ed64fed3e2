import { filter, type MonoTypeOperatorFunction, type Observable, of } from "rxjs";
import { describe, expect, expectTypeOf, it } from "vitest";
import { applyCandleEvent, type CandleEvent, type CandleEventBase } from "../../src/candles/event.js";
import type { Candle } from "../../src/contract/model.js";
import { ema } from "../../src/indicators/averages/ema.js";
import { withIndicators } from "../../src/operators/with-indicators.js";
import { eventOf } from "../operators/events.js";
import { minuteCandle } from "./minute-candles.js";

it("folds events into candles kept by timestamp", () => {
  const candles = new Map<number, Candle>();
  for (const event of [
    eventOf("new", 1),
    eventOf("new", 2),
    eventOf("updated", 1, "closed", 5),
    eventOf("removed", 2),
    eventOf("removed", 3),
  ]) {
    applyCandleEvent(candles, event);
  }
  expect([...candles]).toEqual([[60_000, minuteCandle(1, 5)]]);
});

describe("the type of an event", () => {
  const versionBefore = (event: CandleEvent): Candle | undefined =>
    event.type === "updated" ? event.previous : undefined;

  it("says that an update has a version before, and that no other event has one", () => {
    type Updated = Extract<CandleEvent, { type: "updated" }>;
    type Other = Exclude<CandleEvent, { type: "updated" }>;
    expectTypeOf<Updated["previous"]>().toEqualTypeOf<Candle>();
    expectTypeOf<Other["type"]>().toEqualTypeOf<"new" | "removed">();
    expectTypeOf<Other>().not.toHaveProperty("previous");
    expectTypeOf<CandleEvent>().toExtend<CandleEventBase>();
    expect(versionBefore(eventOf("updated", 1))).toEqual(minuteCandle(1));
    // @ts-expect-error: an update without a version before
    const incomplete: CandleEvent = { ...eventOf("new", 1), type: "updated" };
    expect(incomplete).not.toHaveProperty("previous");
  });

  it("goes through operators, generic ones included", () => {
    const events = of(eventOf("updated", 1)).pipe(withIndicators({ fast: ema(9) }), newestOnly());
    type Event = typeof events extends Observable<infer E> ? E : never;
    expectTypeOf<Extract<Event, { type: "updated" }>["previous"]>().toEqualTypeOf<Candle>();
    expectTypeOf<Event["values"]["fast"]>().toEqualTypeOf<number | undefined>();
    expectTypeOf<Exclude<Event, { type: "updated" }>>().not.toHaveProperty("previous");
  });
});

/** An operator that knows of its events only that they are about candles. */
function newestOnly<E extends CandleEvent>(): MonoTypeOperatorFunction<E> {
  let newest = Number.NEGATIVE_INFINITY;
  return filter((event) => {
    newest = Math.max(newest, event.candle.timestamp);
    return event.candle.timestamp === newest;
  });
}

it.each<[event: unknown, said: string]>([
  [undefined, "is undefined"],
  ["new", 'is "new"'],
  [[eventOf("new", 1)], "is a list"],
  [{}, "is an object"],
  [{ type: "new" }, "is an object with type"],
  [{ ...eventOf("new", 1), candle: 5 }, "is an object with type, candle"],
])("applyCandleEvent says what it was given in place of an event: %j", (event, said) => {
  const candles = new Map<number, Candle>();
  expect(() => applyCandleEvent(candles, event as CandleEvent)).toThrow(
    expect.objectContaining({
      ...{ name: "InvalidInputError", parameter: "event" },
      message: expect.stringContaining(said),
    }),
  );
  expect(candles.size).toBe(0);
});
