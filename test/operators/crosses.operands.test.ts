import { map, NEVER, type Observable, type OperatorFunction, of } from "rxjs";
import { describe, expect, expectTypeOf, it } from "vitest";
import type { CandleEvent } from "../../src/candles/event.js";
import { InvalidInputError } from "../../src/errors.js";
import { type Crossing, crosses } from "../../src/operators/crosses.js";
import type { IndicatorEvent } from "../../src/operators/indicator-event.js";
import { withIndicators } from "../../src/operators/with-indicators.js";
import { eventOf } from "./events.js";
import { channel, mean } from "./kernels.js";

type LinesEvent = IndicatorEvent<Lines>;
type Lines = { readonly fast: number | undefined; readonly slow: number | undefined };

/** An event about the candle of a minute, and the values after it. */
function lines(
  type: CandleEvent["type"],
  at: number,
  [fast, slow]: readonly [number | undefined, number | undefined],
  status: CandleEvent["status"] = "closed",
): IndicatorEvent<Lines> {
  return { ...eventOf(type, at, status), values: { fast, slow } };
}

function failure(
  events: readonly IndicatorEvent<Lines>[],
  operator: (events: Observable<IndicatorEvent<Lines>>) => Observable<unknown>,
): unknown {
  let error: unknown;
  of(...events)
    .pipe(operator)
    .subscribe({ error: (caught) => (error = caught) });
  return error;
}

/** Closed candles one after the other, with these values. */
const _closed = (...values: (readonly [number | undefined, number | undefined])[]) =>
  values.map((pair, at) => lines("new", at, pair));

describe("what crosses compares", () => {
  it("knows which values are numbers, and hands on the type of all", () => {
    const valued = (NEVER as Observable<CandleEvent>).pipe(
      withIndicators({ fast: mean(2), slow: mean(3), bands: channel(3) }),
    );
    type ValuedEvent = typeof valued extends Observable<infer E> ? E : never;
    const both = valued.pipe(crosses("fast", "slow"));
    type Emitted = typeof both extends Observable<infer C> ? C : never;
    expectTypeOf<Emitted["event"]["values"]["bands"]>().toEqualTypeOf<
      { upper: number; lower: number } | undefined
    >();
    valued.pipe(crosses("fast", 3));
    valued.pipe(crosses(3, "fast", { on: "final" }));
    valued.pipe(crosses("candle.close", "bands.upper", { maxAge: 5_000 }));
    valued.pipe(crosses(({ candle, values }) => candle.close - (values.slow ?? 0), "bands.lower"));
    (NEVER as Observable<CandleEvent>).pipe(crosses("candle.close", 3));
    valued.pipe(
      crosses("fast", "slow"),
      map(({ event, direction }) => [event.values.bands?.upper, direction]),
    );
    // The compiler points at the path itself, and not at the call.
    const wrong = [
      crosses<ValuedEvent>(
        "fast",
        // @ts-expect-error: no such number in it
        "bands.uper",
      ),
      crosses<ValuedEvent>(
        "fast",
        // @ts-expect-error: an object
        "bands",
      ),
      crosses<ValuedEvent>(
        // @ts-expect-error: no such value
        "fats",
        3,
      ),
      crosses<CandleEvent>(
        // @ts-expect-error: no values at all
        "fast",
        3,
      ),
    ];
    expect(wrong).toHaveLength(4);
    expect(() =>
      crosses(
        // @ts-expect-error: no such number of a candle
        "candle.clse",
        3,
      ),
    ).toThrow(InvalidInputError);
    expect(() => valued.pipe(crosses(2, 3))).toThrow(
      "b is 3, as a is a number, too; allowed: a path or a function where a is a number",
    );
  });

  it.each([
    ["a", () => crosses<LinesEvent>(Number.NaN, "fast")],
    ["b", () => crosses<LinesEvent>("fast", Number.POSITIVE_INFINITY)],
    ["b", () => crosses<LinesEvent>("fast", undefined as unknown as number)],
    ["a", () => crosses<LinesEvent>(null as unknown as "fast", 3)],
    ["b", () => crosses<LinesEvent>(3, 4)],
    ["on", () => crosses<LinesEvent>("fast", "slow", { on: "open" as "closed" })],
  ])("refuses a wrong %s at the call", (parameter, call) => {
    expect(call).toThrow(InvalidInputError);
    expect(call).toThrow(expect.objectContaining({ parameter }));
  });

  it.each([
    ["a", crosses<LinesEvent>("fats" as "fast", 3)],
    ["b", crosses<LinesEvent>("fast", "slwo" as "slow")],
  ])("fails at the first event where %s is no name of a value", (parameter, operator) => {
    const error = failure([lines("new", 1, [1, 2], "open")], operator);
    expect(error).toBeInstanceOf(InvalidInputError);
    expect(error).toMatchObject({ parameter, allowed: "a number, fast, slow, candle.close and the like" });
  });

  it("fails at the first value that is no number", () => {
    const event = {
      ...eventOf("new", 1, "closed"),
      values: { fast: { upper: 1 } as unknown as number, slow: 1 },
    };
    expect(failure([event], crosses("fast", "slow"))).toMatchObject({
      name: "InvalidInputError",
      parameter: "a",
    });
  });

  it("fails where events have no values", () => {
    const bare = eventOf("new", 2) as LinesEvent;
    expect(failure([bare], crosses<LinesEvent>("fast", "slow"))).toMatchObject({
      name: "InvalidInputError",
      parameter: "events",
    });
  });

  it("reads paths, candles and functions, of plain events too", () => {
    const events = [1, 3, 1].map((price, at) => ({
      ...eventOf("new", at, "closed", price),
      values: { bands: at === 0 ? undefined : { upper: 2, lower: 1.5 } },
    }));
    const seen = (operator: OperatorFunction<(typeof events)[number], Crossing>) => {
      const lines: string[] = [];
      of(...events)
        .pipe(operator)
        .subscribe(({ direction, event, a, b }) =>
          lines.push(`${direction} at ${event.candle.timestamp / 60_000}: ${a}, ${b}`),
        );
      return lines;
    };
    expect(seen(crosses("candle.close", 2))).toEqual(["up at 1: 3, 2", "down at 2: 1, 2"]);
    expect(seen(crosses("candle.close", "bands.upper"))).toEqual(["down at 2: 1, 2"]);
    expect(seen(crosses(({ values }) => values.bands?.lower, "candle.high"))).toEqual(["up at 2: 1.5, 1"]);
  });

  it("fails where a value has no such number, once that can be known", () => {
    const event = { ...eventOf("new", 1, "closed"), values: { bands: { upper: 1, lower: 1 } } };
    let error: unknown;
    of(event)
      .pipe(crosses("candle.close", "bands.uper" as "bands.upper"))
      .subscribe({ error: (caught) => (error = caught) });
    expect(error).toMatchObject({
      name: "InvalidInputError",
      parameter: "b",
      allowed: "a number, bands.upper, bands.lower, candle.close and the like",
    });
  });

  it.each(["candle.clse", "candle", "", ".", "fast.", "a.b.c"])("refuses %o at the call", (path) => {
    expect(() => crosses<LinesEvent>(path as "fast", 3)).toThrow(InvalidInputError);
  });
});
