import fc from "fast-check";
import { map, Observable, of, Subject, take } from "rxjs";
import { describe, expect, it } from "vitest";
import type { CandleEvent } from "../../src/candles/event.js";
import { InvalidInputError } from "../../src/errors.js";
import { type Crossing, crosses } from "../../src/operators/crosses.js";
import { CrossingDetector } from "../../src/operators/crossing-detector.js";
import type { IndicatorEvent } from "../../src/operators/indicator-event.js";
import { operandReader } from "../../src/operators/operand.js";
import { withIndicators } from "../../src/operators/with-indicators.js";
import { eventOf } from "./events.js";
import { average, mean } from "./kernels.js";
import { marbles, reachable } from "./manners.js";
import { sequences } from "./sequences.js";

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

const lineOf = ({ direction, event, a, b }: Crossing<LinesEvent>) =>
  `${direction} at ${event.candle.timestamp / 60_000}: ${a}, ${b}`;

function crossings(
  events: readonly IndicatorEvent<Lines>[],
  operator = crosses<LinesEvent>("fast", "slow"),
): string[] {
  const seen: string[] = [];
  of(...events)
    .pipe(operator)
    .subscribe((crossing) => seen.push(lineOf(crossing)));
  return seen;
}

function _failure(
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
const closed = (...values: (readonly [number | undefined, number | undefined])[]) =>
  values.map((pair, at) => lines("new", at, pair));

describe("crosses", () => {
  it.each([
    [
      "a crossing up and one down",
      closed([1, 2], [3, 2], [4, 2], [1, 2]),
      ["up at 1: 3, 2", "down at 3: 1, 2"],
    ],
    ["nothing before a side is known", closed([2, 2], [3, 2], [4, 2]), []],
    ["no touch", closed([1, 2], [2, 2], [1, 2], [2, 2], [1, 2]), []],
    ["a crossing that rests on the line", closed([1, 2], [2, 2], [2, 2], [3, 2]), ["up at 3: 3, 2"]],
    [
      "one over candles without a value",
      closed([1, 2], [undefined, 2], [3, undefined], [3, 2]),
      ["up at 3: 3, 2"],
    ],
    ["nothing that is no number", closed([1, 2], [Number.NaN, 2], [1, 2]), []],
    ["nothing of a single candle", closed([3, 2]), []],
  ])("sees %s", (_, events, expected) => {
    expect(crossings(events)).toEqual(expected);
  });

  it("compares with a level, on either side", () => {
    const events = closed([25, 0], [35, 0], [30, 0], [29, 0]);
    expect(crossings(events, crosses<LinesEvent>("fast", 30))).toEqual([
      "up at 1: 35, 30",
      "down at 3: 29, 30",
    ]);
    expect(crossings(events, crosses<LinesEvent>(30, "fast"))).toEqual([
      "down at 1: 30, 35",
      "up at 3: 30, 29",
    ]);
  });

  it("looks at a candle once, when it is first closed", () => {
    const events = [
      lines("new", 1, [1, 2]),
      lines("new", 2, [3, 2], "open"),
      lines("updated", 2, [1, 2], "open"),
      lines("updated", 2, [4, 2], "closed"),
      lines("updated", 2, [1, 2], "closed"),
      lines("updated", 1, [1, 2], "final"),
      lines("updated", 2, [5, 2], "final"),
    ];
    expect(crossings(events)).toEqual(["up at 2: 4, 2"]);
    expect(crossings(events, crosses<LinesEvent>("fast", "slow", { on: "closed" }))).toEqual([
      "up at 2: 4, 2",
    ]);
    expect(crossings(events, crosses<LinesEvent>("fast", "slow", { on: "final" }))).toEqual([
      "up at 2: 5, 2",
    ]);
  });

  it("takes a candle that skipped closed", () => {
    expect(
      crossings([
        lines("new", 1, [1, 2], "open"),
        lines("updated", 1, [1, 2], "final"),
        lines("new", 2, [3, 2], "final"),
      ]),
    ).toEqual(["up at 2: 3, 2"]);
  });

  it("lets a crossing stand, and compares the next candle with what those before are now", () => {
    const events = [
      ...closed([1, 2], [3, 2]),
      lines("updated", 1, [1, 2]),
      lines("new", 2, [3, 2]),
      lines("updated", 0, [9, 2]),
      lines("updated", 1, [2, 2]),
      lines("updated", 2, [2, 2]),
      lines("new", 3, [1, 2]),
    ];
    expect(crossings(events)).toEqual(["up at 1: 3, 2", "up at 2: 3, 2", "down at 3: 1, 2"]);
  });

  it("forgets a removed candle, and tells no crossing of it twice", () => {
    const events = [
      ...closed([1, 2], [3, 2]),
      lines("removed", 1, [3, 2]),
      lines("new", 2, [1, 2]),
      lines("new", 1, [4, 2]),
      lines("removed", 9, [4, 2]),
    ];
    expect(crossings(events)).toEqual(["up at 1: 3, 2"]);
    expect(crossings([...events, lines("new", 3, [3, 2])])).toEqual(["up at 1: 3, 2", "up at 3: 3, 2"]);
  });

  it("passes over the removal of a candle that it has not looked at", () => {
    const events = [lines("new", 0, [1, 2]), lines("new", 2, [3, 2]), lines("removed", 1, [1, 2])];
    expect(crossings([...events, lines("new", 3, [3, 2])])).toEqual(["up at 2: 3, 2"]);
  });

  it("asks a function about the first event, and then about none that decides nothing", () => {
    const asked: string[] = [];
    const line = ({ type, status, values }: LinesEvent) => {
      asked.push(`${type} ${status}`);
      return values.fast;
    };
    const open = [lines("new", 1, [1, 2], "open"), lines("updated", 1, [3, 2], "open")];
    const events = [...open, lines("updated", 1, [1, 2]), lines("new", 2, [3, 2], "open")];
    crossings(events, crosses<LinesEvent>(line, "slow"));
    expect(asked).toEqual(["new open", "updated closed"]);
  });

  it("looks at a late candle when it comes", () => {
    expect(crossings([lines("new", 1, [1, 2]), lines("new", 3, [1, 2]), lines("new", 2, [3, 2])])).toEqual([
      "up at 2: 3, 2",
    ]);
  });

  it("hands out the event itself, in a frozen crossing", () => {
    const events = closed([1, 2], [3, 2]);
    const seen: Crossing<LinesEvent>[] = [];
    of(...events)
      .pipe(crosses("fast", "slow"))
      .subscribe((crossing) => seen.push(crossing));
    expect(seen).toEqual([{ direction: "up", event: events[1], a: 3, b: 2 }]);
    expect(seen[0]!.event).toBe(events[1]);
    expect(Object.isFrozen(seen[0])).toBe(true);
  });

  it("completes, fails and is left as its source is", () => {
    const events = { a: lines("new", 1, [1, 2]), b: lines("new", 2, [3, 2]), c: lines("new", 3, [1, 2]) };
    const named = (source: Observable<IndicatorEvent<Lines>>) =>
      source.pipe(
        crosses("fast", "slow"),
        map(({ direction }) => direction[0]),
      );
    for (const [source, expected, subscription, left] of [
      ["a-b-c-|", "--u-d-|", "^-----!"],
      ["a-b-#", "--u-#", "^---!"],
      ["|", "|", "(^!)"],
      ["a-b-", "--u-", "^---"],
      ["-", "-", "^"],
      ["a-b-c-|", "--u-", "^--!", "^--!"],
    ] as const) {
      marbles().run(({ cold, expectObservable, expectSubscriptions }) => {
        const candles = cold<IndicatorEvent<Lines>>(source, events);
        expectObservable(named(candles), left).toBe(expected);
        expectSubscriptions(candles.subscriptions).toBe(subscription);
      });
    }
  });

  it("leaves a synchronous endless source as soon as it may", () => {
    let pulled = 0;
    const endless = new Observable<IndicatorEvent<Lines>>((subscriber) => {
      for (; !subscriber.closed; pulled += 1) subscriber.next(lines("new", pulled, [pulled % 2, 0.5]));
    });
    endless.pipe(crosses("fast", "slow"), take(2)).subscribe();
    expect(pulled).toBe(3);
  });

  it("keeps its memory to one subscription", () => {
    const source = new Subject<IndicatorEvent<Lines>>();
    const operator = source.pipe(crosses("fast", "slow"));
    const seen: string[][] = [[], []];
    operator.subscribe((crossing) => seen[0]!.push(lineOf(crossing)));
    source.next(lines("new", 1, [1, 2]));
    operator.subscribe((crossing) => seen[1]!.push(lineOf(crossing)));
    source.next(lines("new", 2, [3, 2]));
    expect(seen).toEqual([["up at 2: 3, 2"], []]);
  });

  it("is right about every candle, however many are behind it", () => {
    fc.assert(
      fc.property(sequences, fc.constantFrom("closed", "final"), (events, on) => {
        const seen: Crossing[] = [];
        const expected: unknown[] = [];
        /** The candles of crossings. */
        const told = new Set<number>();
        /** All candles that were looked at, and on which side they now are. */
        const looked = new Map<number, number>();
        const valued: IndicatorEvent<Lines>[] = [];
        of(...events)
          .pipe(withIndicators({ fast: average(0.8), slow: mean(3) }))
          .subscribe((event) => valued.push(event));
        of(...valued)
          .pipe(crosses("fast", "slow", { on }))
          .subscribe((crossing) => seen.push(crossing));
        for (const event of valued) {
          const { type, status, candle, values } = event;
          const isDue = status === "final" || (on === "closed" && status === "closed");
          if (type === "removed") looked.delete(candle.timestamp);
          if (type === "removed" || !isDue) continue;
          const side = values.slow === undefined ? 0 : Math.sign(values.fast! - values.slow);
          const before = [...looked].filter(
            ([timestamp, other]) => timestamp < candle.timestamp && other !== 0,
          );
          const last = before.sort(([a], [b]) => a - b).at(-1);
          const isNew = !looked.has(candle.timestamp) && !told.has(candle.timestamp);
          if (isNew && last !== undefined && side !== 0 && side === -last[1]) {
            told.add(candle.timestamp);
            expected.push({ direction: side > 0 ? "up" : "down", event, a: values.fast, b: values.slow });
          }
          looked.set(candle.timestamp, side);
        }
        expect(seen).toEqual(expected);
      }),
      { numRuns: 300 },
    );
  });

  it("holds what is not final, and nothing else", () => {
    const detector = new CrossingDetector(
      operandReader("a", (event: LinesEvent) => event.values.fast),
      operandReader("b", 0.5),
      "closed",
    );
    const sizes: number[] = [];
    for (let at = 0; at < 1_000; at += 1) {
      if (at >= 3) detector.apply(lines("updated", at - 3, [(at - 3) % 2, 0.5], "final"));
      sizes.push(reachable(detector));
      detector.apply(lines("new", at, [at % 2, 0.5]));
    }
    // Before the fourth candle becomes final there are three that are not, and so there are ever after.
    expect(sizes[3]).toBe(sizes[5]);
    expect(new Set(sizes.slice(3)).size).toBe(1);
  });

  it("leaves out what is older than maxAge, and moves the side by it", () => {
    const [a, b, c, d] = closed([1, 2], [3, 2], [4, 2], [1, 2]);
    const late = { ...b!, lateBy: 5_001 };
    const operator = crosses<LinesEvent>("fast", "slow", { maxAge: 5_000 });
    expect(crossings([a!, late, c!, d!], operator)).toEqual(["down at 3: 1, 2"]);
    expect(() => crosses<LinesEvent>("fast", "slow", { maxAge: -1 })).toThrow(InvalidInputError);
  });

  it("keeps merged series apart, and tells no crossing twice where one begins anew", () => {
    const other = (event: LinesEvent): LinesEvent => ({
      ...event,
      series: { ...event.series, pairAddress: "other" },
    });
    const [a, b] = closed([1, 2], [3, 2]);
    const final = lines("updated", 0, [1, 2], "final");
    expect(crossings([a!, other(b!), other(a!), b!])).toEqual(["up at 1: 3, 2"]);
    expect(crossings([a!, b!, final, a!, b!, lines("new", 2, [1, 2])])).toEqual([
      "up at 1: 3, 2",
      "down at 2: 1, 2",
    ]);
  });
});
