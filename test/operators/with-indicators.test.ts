import { map, type Observable, Subject, take } from "rxjs";
import { describe, expect, expectTypeOf, it } from "vitest";
import type { CandleEvent } from "../../src/candles/event.js";
import { InvalidInputError } from "../../src/errors.js";
import { type Indicator, indicator, type Kernel } from "../../src/indicators/kernel.js";
import type { IndicatorEvent } from "../../src/operators/indicator-event.js";
import { withIndicators } from "../../src/operators/with-indicators.js";
import { eventOf } from "./events.js";
import { average, channel, closePrice, counted, mean, windowed } from "./kernels.js";
import { describeSeriesManners, emitted, failure, marbles } from "./manners.js";

const MEANS = { mean: mean(2) };

function lineOf({ type, candle, status, revision, values }: IndicatorEvent): string {
  const named = Object.entries(values).map(([name, value]) => `${name} ${value ?? "–"}`);
  return `${type} ${candle.timestamp / 60_000}=${candle.close} ${status} r${revision}: ${named.join(", ")}`;
}

/** One event after the other; gives the lines that each of them causes. */
function watch(indicators: Record<string, Indicator<unknown>> = MEANS) {
  const source = new Subject<CandleEvent>();
  const events: IndicatorEvent[] = [];
  source.pipe(withIndicators(indicators)).subscribe((event) => events.push(event));
  const see = (...args: Parameters<typeof eventOf>) => {
    const before = events.length;
    source.next(eventOf(...args));
    return events.slice(before).map(lineOf);
  };
  return { see, events, source };
}

describe("withIndicators", () => {
  describeSeriesManners(() => withIndicators(MEANS));

  it("gives the values after each event of a candle's life", () => {
    const { see } = watch();
    expect(see("new", 1, "open", 2)).toEqual(["new 1=2 open r0: mean –"]);
    expect(see("updated", 1, "closed", 4)).toEqual(["updated 1=4 closed r1: mean –"]);
    expect(see("new", 2, "open", 6)).toEqual(["new 2=6 open r0: mean 5"]);
    expect(see("updated", 2, "open", 8)).toEqual(["updated 2=8 open r1: mean 6"]);
    expect(see("updated", 1, "final", 4)).toEqual(["updated 1=4 final r2: mean –"]);
    expect(see("updated", 2, "closed", 8)).toEqual(["updated 2=8 closed r2: mean 6"]);
    expect(see("new", 3, "open", 10)).toEqual(["new 3=10 open r0: mean 9"]);
  });

  it("follows a correction through the later candles, the cause first", () => {
    const { see, events } = watch({ slow: average(0.5) });
    for (const at of [1, 2, 3]) see("new", at, "closed", 8);
    expect(see("updated", 1, "closed", 16)).toEqual([
      "updated 1=16 closed r1: slow 16",
      "updated 2=8 closed r1: slow 12",
      "updated 3=8 closed r1: slow 10",
    ]);
    expect(see("updated", 2, "closed", 0)).toEqual([
      "updated 2=0 closed r2: slow 8",
      "updated 3=8 closed r2: slow 8",
    ]);
    expect(see("updated", 3, "open", 4)).toEqual(["updated 3=4 closed r3: slow 6"]);
    const followed = events.filter(({ candle }) => candle.timestamp === 180_000)[1]!;
    expect(followed.type === "updated" && followed.previous).toBe(followed.candle);
  });

  it("follows one that comes with the final event", () => {
    const { see } = watch();
    see("new", 1, "closed", 2);
    see("new", 2, "closed", 4);
    see("new", 3, "open", 6);
    expect(see("updated", 1, "final", 8)).toEqual([
      "updated 1=8 final r1: mean –",
      "updated 2=4 closed r1: mean 6",
    ]);
    expect(see("updated", 3, "open", 8)).toEqual(["updated 3=8 open r1: mean 6"]);
  });

  it("emits no later candle whose values stay", () => {
    const { see } = watch();
    for (const at of [1, 2, 3, 4]) see("new", at, "closed", at);
    expect(see("updated", 2, "closed", 4)).toEqual([
      "updated 2=4 closed r1: mean 2.5",
      "updated 3=3 closed r1: mean 3.5",
    ]);
    expect(see("updated", 1, "final", 1)).toEqual(["updated 1=1 final r1: mean –"]);
  });

  it("follows a removal, and the return", () => {
    const { see } = watch();
    for (const at of [1, 2, 3]) see("new", at, "closed", at);
    expect(see("removed", 2, "closed", 2)).toEqual([
      "removed 2=2 closed r1: mean 1.5",
      "updated 3=3 closed r1: mean 2",
    ]);
    expect(see("new", 2, "closed", 5)).toEqual([
      "new 2=5 closed r0: mean 3",
      "updated 3=3 closed r2: mean 4",
    ]);
    expect(see("removed", 3, "closed", 3)).toEqual(["removed 3=3 closed r3: mean 4"]);
    expect(see("updated", 2, "closed", 7)).toEqual(["updated 2=7 closed r1: mean 4"]);
    expect(see("new", 4, "open", 1)).toEqual(["new 4=1 open r0: mean 4"]);
  });

  it("puts a late candle in its place", () => {
    const { see } = watch();
    see("new", 1, "closed", 1);
    see("new", 3, "open", 3);
    expect(see("new", 2, "closed", 9)).toEqual(["new 2=9 closed r0: mean 5", "updated 3=3 open r1: mean 6"]);
    expect(see("new", 0, "closed", 9)).toEqual([
      "new 0=9 closed r0: mean –",
      "updated 1=1 closed r1: mean 5",
    ]);
  });

  it("keeps the values of a candle that was forgotten before it was final", () => {
    const { see } = watch();
    see("new", 1, "closed", 2);
    see("new", 2, "closed", 4);
    expect(see("updated", 2, "final", 4)).toEqual(["updated 2=4 final r1: mean 3"]);
    expect(see("new", 3, "final", 6)).toEqual(["new 3=6 final r0: mean 5"]);
  });

  it("lets a candle begin with what was first seen of it, its revision counted on", () => {
    const { see, events, source } = watch();
    source.next({ ...eventOf("updated", 1, "closed", 3), revision: 7 });
    expect(events.map(lineOf)).toEqual(["new 1=3 closed r7: mean –"]);
    expect(events[0]).not.toHaveProperty("previous");
    expect(see("updated", 1, "closed", 5)).toEqual(["updated 1=5 closed r8: mean –"]);
    expect(see("removed", 0, "closed")).toEqual([]);
    expect(see("new", 2, "open", 5)).toEqual(["new 2=5 open r0: mean 5"]);
  });

  it("emits no echo", () => {
    const { see } = watch();
    see("new", 1, "closed", 1);
    expect(see("updated", 1, "closed", 1)).toEqual([]);
    expect(see("updated", 1, "final", 1)).toEqual(["updated 1=1 final r1: mean –"]);
  });

  it("passes on what the event says, and tells of its cause what a later candle shares with it", () => {
    const { events, source } = watch();
    const first = { ...eventOf("new", 1, "closed", 1), live: false, observedAt: 5 };
    const second = { ...eventOf("new", 2, "open", 2), live: false, observedAt: 5 };
    const correction = { ...eventOf("updated", 1, "closed", 3), observedAt: 9 };
    for (const event of [first, second, correction]) source.next(event);
    expect(events.map(({ live, observedAt }) => [live, observedAt])).toEqual([
      [false, 5],
      [false, 5],
      [true, 9],
      [true, 9],
    ]);
    expect(events.map(({ candle }) => candle)).toEqual(
      [first, second, correction, second].map(({ candle }) => candle),
    );
    expect(events[2]).toHaveProperty("previous", first.candle);
    expect(events.every(({ series }) => series === first.series)).toBe(true);
  });

  it("emits cause and consequences at once, and stops where it is left among them", () => {
    marbles().run(({ cold, expectObservable, expectSubscriptions }) => {
      const source = cold<CandleEvent>("a-b-A---|", {
        a: eventOf("new", 1, "closed", 1),
        b: eventOf("new", 2, "closed", 1),
        A: eventOf("updated", 1, "closed", 3),
      });
      const values = (limit: number) => (events: Observable<CandleEvent>) =>
        events.pipe(
          withIndicators(MEANS),
          take(limit),
          map((event) => event.values.mean ?? "–"),
        );
      expectObservable(source.pipe(values(9))).toBe("a-b-(cd)|", { a: "–", b: 1, c: "–", d: 2 });
      expectObservable(source.pipe(values(3))).toBe("a-b-(c|)", { a: "–", b: 1, c: "–" });
      expectSubscriptions(source.subscriptions).toBe(["^-------!", "^---!"]);
    });
  });

  it("freezes events, values and the objects in them, and leaves what cannot be frozen", () => {
    const pair = windowed(1, ([candle]) => [candle!.open, candle!.close]);
    const bytes = windowed(1, ([candle]) => Float64Array.of(candle!.close));
    const operator = withIndicators({ pair, bytes, nothing: mean(3) });
    for (const event of emitted(operator, [eventOf("new", 1, "final"), eventOf("new", 2, "open")])) {
      expect([event, event.values, event.values.pair].every(Object.isFrozen)).toBe(true);
      expect(event.values).toEqual({ pair: [1, 1], bytes: Float64Array.of(1), nothing: undefined });
      expect(Object.keys(event.values)).toEqual(["pair", "bytes", "nothing"]);
    }
  });

  it("compares objects by what they hold", () => {
    const { see } = watch({
      channel: windowed(2, (window) => ({ top: Math.max(...window.map(({ close }) => close)) })),
    });
    for (const at of [1, 2, 3]) see("new", at, "closed", 5);
    expect(see("updated", 1, "closed", 4)).toHaveLength(1);
    expect(see("updated", 1, "closed", 6)).toHaveLength(2);
    expect(see("updated", 2, "closed", 5.5)).toHaveLength(2);
  });

  it.each([
    ["with one key more", (count: number) => (count > 3 ? { a: 1, b: 2 } : { a: 1 })],
    ["with another key", (count: number) => (count > 3 ? { a: 1 } : { b: 1 })],
    ["without keys, which may say anything", () => new Map([[1, 1]])],
    ["that becomes none", (count: number) => (count > 3 ? null : { a: 1 })],
  ])("takes for another result an object %s", (_, result) => {
    const { see } = watch({
      odd: windowed(2, (window) => result(window.reduce((sum, { close }) => sum + close, 0))),
    });
    see("new", 1, "closed", 1);
    see("new", 2, "closed", 1);
    expect(see("updated", 1, "closed", 9)).toHaveLength(2);
    expect(see("updated", 1, "closed", 1)).toHaveLength(2);
  });

  it("takes a result that is no number for the same as itself", () => {
    const { see } = watch({ never: windowed(1, () => Number.NaN) });
    see("new", 1, "closed", 1);
    see("new", 2, "closed", 1);
    expect(see("updated", 1, "closed", 2)).toHaveLength(1);
  });

  it("gives each of its indicators its own name, however many there are", () => {
    for (let count = 0; count <= 10; count += 1) {
      const numbers = Array.from({ length: count }, (_, at) => at);
      const indicators = Object.fromEntries(numbers.map((at) => [`line ${at}`, windowed(1, () => at)]));
      const events = emitted(withIndicators(indicators), [
        eventOf("new", 1, "final"),
        eventOf("new", 2, "open"),
      ]);
      const expected = Object.fromEntries(numbers.map((at) => [`line ${at}`, at]));
      expect(events.map(({ values }) => values)).toEqual([expected, expected]);
    }
  });

  it("keeps to the indicators that it was given at the call", () => {
    const indicators: Record<string, Indicator<number>> = { close: closePrice };
    const operator = withIndicators(indicators);
    indicators.other = closePrice;
    expect(emitted(operator, [eventOf("new", 1)])).toMatchObject([{ values: { close: 1 } }]);
    expect(emitted(operator, [eventOf("new", 1)])[0]!.values).not.toHaveProperty("other");
  });

  it("knows the shape of its values", () => {
    const operator = withIndicators({ fast: mean(2), bands: channel(3) });
    type Event = typeof operator extends (events: Observable<CandleEvent>) => Observable<infer E> ? E : never;
    expectTypeOf<Event["values"]["fast"]>().toEqualTypeOf<number | undefined>();
    expectTypeOf<Event["values"]["bands"]>().toEqualTypeOf<{ upper: number; lower: number } | undefined>();
    expectTypeOf<keyof Event["values"]>().toEqualTypeOf<"fast" | "bands">();
    expectTypeOf<Event>().toExtend<CandleEvent>();
  });

  it("keeps values that are there, and what else is on an event", () => {
    const tagged = (source: Observable<CandleEvent>) => source.pipe(map((event) => ({ ...event, tag: 7 })));
    const chained = (source: Observable<CandleEvent>) =>
      tagged(source).pipe(withIndicators({ fast: average(0.5) }), withIndicators({ slow: mean(2) }));
    const events = emitted(chained, [
      eventOf("new", 1, "closed", 2),
      eventOf("new", 2, "closed", 4),
      eventOf("updated", 1, "closed", 8),
      eventOf("updated", 2, "final", 4),
    ]);
    expectTypeOf(events[0]!.values).toExtend<{ fast: number | undefined; slow: number | undefined }>();
    expectTypeOf(events[0]!.tag).toEqualTypeOf<number>();
    expect(events.map(lineOf)).toEqual([
      "new 1=2 closed r0: fast 2, slow –",
      "new 2=4 closed r0: fast 3, slow 3",
      "updated 1=8 closed r1: fast 8, slow –",
      "updated 2=4 closed r1: fast 3, slow 6",
      "updated 2=4 closed r2: fast 6, slow 6",
      "updated 2=4 final r3: fast 6, slow 6",
    ]);
    expect(
      events.every((event) => event.tag === 7 && Object.isFrozen(event) && Object.isFrozen(event.values)),
    ).toBe(true);
    expect(events.map((event) => "previous" in event)).toEqual([false, false, true, true, true, true]);
  });

  it("refuses a name that is used twice", () => {
    const twice = (source: Observable<CandleEvent>) =>
      source.pipe(withIndicators(MEANS), withIndicators({ other: mean(3), mean: mean(3) }));
    expect(failure(twice, [eventOf("new", 1)])).toMatchObject({
      name: "InvalidInputError",
      parameter: "indicators.mean",
    });
  });

  it.each([
    [undefined, "indicators"],
    [null, "indicators"],
    [mean(2), "indicators"],
    [[mean(2)], "indicators"],
    [{ fast: 9 }, "indicators.fast"],
    [{ fast: undefined }, "indicators.fast"],
    [{ fast: mean(2), slow: () => mean(2) }, "indicators.slow"],
    [JSON.parse('{ "__proto__": 1 }'), "indicators"],
    [{ candle: mean(2) }, "indicators"],
    [{ "bands.upper": mean(2) }, "indicators"],
  ])("refuses %o at the call", (indicators, parameter) => {
    const call = () => withIndicators(indicators as Record<string, Indicator<number>>);
    expect(call).toThrow(InvalidInputError);
    expect(call).toThrow(expect.objectContaining({ parameter }));
  });

  it("fails where an indicator makes no kernels", () => {
    const wrong = indicator(() => ({ push: () => 1 }) as unknown as Kernel<number>);
    const error = failure(withIndicators({ wrong }), [eventOf("new", 1)]);
    expect(error).toBeInstanceOf(InvalidInputError);
    expect(error).toMatchObject({ parameter: "indicators.wrong" });
  });

  it.each(["push", "peek", "fork", "make"] as const)("passes on what an indicator throws in %s", (method) => {
    const error = new Error(method);
    const fail = () => {
      throw error;
    };
    const kernel: Kernel<number> = { push: () => 1, peek: () => 1, fork: () => kernel };
    const failing = indicator(method === "make" ? fail : () => ({ ...kernel, [method]: fail }));
    const events = [eventOf("new", 1, "final"), eventOf("new", 2, "closed"), eventOf("new", 3, "open")];
    expect(failure(withIndicators({ failing }), events)).toBe(error);
  });
});

describe("what is asked of an indicator", () => {
  it("is one push for each of the final candles of a history", () => {
    const { calls, indicator: counter } = counted();
    const history = Array.from({ length: 1_000 }, (_, at) => eventOf("new", at, "final"));
    expect(emitted(withIndicators({ counter }), history).at(-1)!.values.counter).toBe(1_000);
    expect(calls).toEqual({ push: 1_000, peek: 0, fork: 0 });
  });

  it("is one peek for each update of the running candle, and two pushes for the candle, whatever came before", () => {
    const { calls, indicator: counter } = counted();
    const { see } = watch({ counter });
    for (let at = 0; at < 100; at += 1) see("new", at, "final");
    see("new", 100, "open");
    see("updated", 100, "closed", 2);
    see("new", 101, "open");
    const intervals = 50;
    const updates = 20;
    Object.assign(calls, { push: 0, peek: 0, fork: 0 });
    for (let at = 101; at < 101 + intervals; at += 1) {
      for (let price = 2; price < 2 + updates; price += 1) see("updated", at, "open", price);
      see("updated", at - 1, "final", at === 101 ? 2 : 1 + updates);
      see("updated", at, "closed", 1 + updates);
      see("new", at + 1, "open");
    }
    expect(calls).toEqual({ push: 2 * intervals, peek: (updates + 1) * intervals, fork: 0 });
  });
});
