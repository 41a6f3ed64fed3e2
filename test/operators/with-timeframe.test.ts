import fc from "fast-check";
import { concat, merge, NEVER, Observable, of, Subject } from "rxjs";
import { describe, expect, expectTypeOf, it } from "vitest";
import type { CandleEvent, CandleStatus } from "../../src/candles/event.js";
import type { Candle, Timeframe } from "../../src/contract/model.js";
import { InvalidInputError } from "../../src/errors.js";
import { ema } from "../../src/indicators/averages/ema.js";
import { sma } from "../../src/indicators/averages/sma.js";
import type { IndicatorEvent } from "../../src/operators/indicator-event.js";
import { withIndicators } from "../../src/operators/with-indicators.js";
import { withTimeframe } from "../../src/operators/with-timeframe.js";
import { standing } from "../candles/minute-candles.js";
import { eventOf } from "./events.js";
import { describeManners, emitted, failure } from "./manners.js";
import { sequences } from "./sequences.js";

const MINUTE = 60_000;
const CLOSE = { trend: sma(1) };

/** The minute, status and trend of each event. */
const linesOf = (events: readonly IndicatorEvent[]) =>
  events.map(({ type, candle, status, values }) => {
    return `${type} ${candle.timestamp / MINUTE} ${status}: ${values.trend ?? "–"}`;
  });

/** An event of a candle of five minutes. */
function fiveOf(type: CandleEvent["type"], at: number, status: CandleStatus, price: number): CandleEvent {
  const event = eventOf(type, at, status, price);
  return { ...event, series: { ...event.series, timeframe: "5min" } };
}

function watch(longer: Timeframe | Observable<CandleEvent>) {
  const source = new Subject<CandleEvent>();
  const events: IndicatorEvent[] = [];
  source.pipe(withTimeframe(longer, CLOSE)).subscribe((event) => events.push(event));
  const since = <T>(act: () => T) => {
    const before = events.length;
    act();
    return linesOf(events.slice(before));
  };
  return { since, see: (...args: Parameters<typeof eventOf>) => since(() => source.next(eventOf(...args))) };
}

describe("withTimeframe", () => {
  describeManners(() => withTimeframe("5min", CLOSE));
  describeManners(() => withTimeframe(concat(of(fiveOf("new", -5, "final", 1)), NEVER), CLOSE));

  it("has a bucket from the event that closes it, the last close inside included, and never the running one", () => {
    const { see } = watch("5min");
    for (const at of [0, 1, 2, 3]) see("new", at, "closed", at);
    expect(see("new", 4, "open", 4)).toEqual(["new 4 open: –"]);
    expect(see("updated", 4, "closed", 5)).toEqual(["updated 4 closed: 5"]);
    expect(see("new", 5, "open", 9)).toEqual(["new 5 open: 5"]);
    expect(see("updated", 5, "closed", 8)).toEqual(["updated 5 closed: 5"]);
  });

  it("closes a bucket whose last intervals are silent with the next event of a later one", () => {
    const { see } = watch("5min");
    see("new", 0, "closed", 1);
    see("new", 2, "closed", 2);
    expect(see("new", 7, "open", 9)).toEqual(["new 7 open: 2"]);
    // The older candle ended before the bucket did.
    expect(see("updated", 2, "final", 2)).toEqual(["updated 2 final: –"]);
  });

  it("does not fill with a bucket what ended before it, where an older candle changes", () => {
    const { see } = watch("5min");
    for (let at = 0; at < 10; at += 1) see("new", at, "closed", at);
    expect(see("updated", 7, "closed", 70)).toEqual(["updated 7 closed: 4"]);
    expect(see("updated", 9, "closed", 90)).toEqual(["updated 9 closed: 90"]);
  });

  it("leaves a candle that was last told open as it is, where the final event of a later one closes its bucket", () => {
    const { see } = watch("5min");
    see("new", 0, "final", 1);
    see("new", 4, "open", 4);
    see("new", 6, "open", 6);
    expect(see("new", 7, "final", 7)).toEqual(["new 7 final: 4"]);
  });

  it("leaves the first bucket out, unless an event opens it", () => {
    const { see } = watch("5min");
    for (const at of [1, 2, 3, 4, 5, 6, 7, 8]) expect(see("new", at, "closed", at)[0]).toContain("–");
    expect(see("new", 9, "closed", 9)).toEqual(["new 9 closed: 9"]);
    const opened = watch("5min");
    for (const at of [1, 2, 3, 4]) opened.see("new", at, "closed", at);
    expect(opened.see("new", 5, "open", 5)).toEqual(["new 5 open: –"]);
    expect(opened.see("new", 0, "closed", 7)).toEqual([
      "new 0 closed: –",
      "updated 4 closed: 4",
      "updated 5 open: 4",
    ]);
  });

  it("leaves out what is older than the first bucket, even where that is opened: of it, too, only a part is seen", () => {
    const { see } = watch("5min");
    for (const at of [5, 6]) see("new", at, "open", at);
    expect(see("new", 0, "final", 1)).toEqual(["new 0 final: –"]);
    expect(see("new", 4, "final", 2)).toEqual(["new 4 final: –"]);
    expect(see("new", 9, "final", 9)).toEqual(["new 9 final: 9"]);
  });

  it("carries corrections and removals through", () => {
    const { see } = watch("5min");
    for (let at = 0; at < 7; at += 1) see("new", at, "closed", at);
    expect(see("updated", 4, "closed", 40)).toEqual([
      "updated 4 closed: 40",
      "updated 5 closed: 40",
      "updated 6 closed: 40",
    ]);
    expect(see("removed", 4, "closed", 40)).toEqual([
      "removed 4 closed: 40",
      "updated 5 closed: 3",
      "updated 6 closed: 3",
    ]);
    for (const at of [0, 1, 2, 3]) see("removed", at, "closed", at);
    expect(see("new", 7, "open", 7)).toEqual(["new 7 open: –"]);
  });

  it("takes candles of the longer timeframe from a stream, once they have closed", () => {
    const fives = new Subject<CandleEvent>();
    const { see, since } = watch(fives);
    const tell = (...args: Parameters<typeof fiveOf>) => since(() => fives.next(fiveOf(...args)));
    tell("new", -5, "final", 1);
    expect(see("new", 3, "closed", 3)).toEqual(["new 3 closed: 1"]);
    expect(tell("new", 0, "open", 50)).toEqual([]);
    expect(see("new", 4, "closed", 4)).toEqual(["new 4 closed: 1"]);
    expect(tell("updated", 0, "closed", 5)).toEqual(["updated 4 closed: 5"]);
    expect(see("new", 5, "open", 6)).toEqual(["new 5 open: 5"]);
    expect(tell("updated", 0, "closed", 7)).toEqual(["updated 4 closed: 7", "updated 5 open: 7"]);
    expect(tell("removed", 0, "closed", 7)).toEqual(["updated 4 closed: 1", "updated 5 open: 1"]);
  });

  it("has no value of a longer candle that had not ended by then, however early its stream tells of it", () => {
    const history = of(fiveOf("new", 0, "final", 10), fiveOf("new", 5, "final", 20));
    const { see } = watch(concat(history, NEVER));
    const trends = Array.from({ length: 12 }, (_, at) => see("new", at, "final", at)[0]!.split(": ")[1]);
    expect(trends.join(" ")).toBe("– – – – 10 10 10 10 10 20 20 20");
  });

  it("keeps series apart, own and of a stream, by their pair", () => {
    const other = (event: CandleEvent): CandleEvent => ({
      ...event,
      series: { ...event.series, pairAddress: "other" },
    });
    const own = [0, 1, 2, 3, 4].map((at) => eventOf("new", at, "closed", at));
    const merged = own.flatMap((event) => [
      event,
      other({ ...event, candle: { ...event.candle, close: 9 } }),
    ]);
    expect(
      emitted(withTimeframe("5min", CLOSE), merged)
        .slice(-2)
        .map(({ values }) => values.trend),
    ).toEqual([4, 9]);
    const fives = of(fiveOf("new", 0, "closed", 5), other(fiveOf("new", 0, "closed", 6)));
    expect(
      emitted(withTimeframe(fives, CLOSE), merged)
        .slice(-2)
        .map(({ values }) => values.trend),
    ).toEqual([5, 6]);
  });

  it("begins anew with its series, and with the longer one", () => {
    const { see } = watch("5min");
    for (let at = 0; at < 5; at += 1) see("new", at, "final", at);
    expect(see("new", 2, "closed", 2)).toEqual(["new 2 closed: –"]);
    const fives = new Subject<CandleEvent>();
    const joined = watch(fives);
    fives.next(fiveOf("new", 0, "final", 5));
    expect(joined.see("new", 4, "closed", 4)).toEqual(["new 4 closed: 5"]);
    expect(joined.since(() => fives.next(fiveOf("new", -5, "closed", 7)))).toEqual(["updated 4 closed: 7"]);
  });

  it("keeps values that are there, and refuses a name used twice, or what does not nest", () => {
    const events = [0, 1, 2, 3, 4].map((at) => eventOf("new", at, "closed", at));
    const chained = (source: Observable<CandleEvent>) =>
      source.pipe(withIndicators({ fast: sma(1) }), withTimeframe("5min", { trend: sma(1), slow: ema(3) }));
    expectTypeOf<Parameters<ReturnType<typeof chained>["forEach"]>[0]>()
      .parameter(0)
      .toHaveProperty("values")
      .toExtend<{ fast: number | undefined; trend: number | undefined; slow: number | undefined }>();
    expect(emitted(chained, events).at(-1)!.values).toEqual({ fast: 4, trend: 4, slow: undefined });
    const twice = (source: Observable<CandleEvent>) =>
      source.pipe(withIndicators(CLOSE), withTimeframe("5min", CLOSE));
    expect(failure(twice, events)).toMatchObject({
      name: "InvalidInputError",
      parameter: "indicators.trend",
    });
    const shorter = of({ ...events[0]!, series: { ...events[0]!.series, timeframe: "10s" as const } });
    expect(failure(withTimeframe(shorter, CLOSE), events)).toBeInstanceOf(InvalidInputError);
    const two = of(fiveOf("new", 0, "final", 1), events[1]!);
    expect(failure(withTimeframe(two, CLOSE), events)).toMatchObject({ parameter: "timeframe" });
    expect(() => withTimeframe("7min" as Timeframe, CLOSE)).toThrow(InvalidInputError);
    expect(() => withTimeframe("5min", { "a.b": sma(1) })).toThrow(InvalidInputError);
  });

  it("ends with its events, and not with the stream of longer candles, whose error it passes on", () => {
    const [fives, minutes] = [new Subject<CandleEvent>(), new Subject<CandleEvent>()];
    const seen: unknown[] = [];
    const subscribe = () =>
      minutes
        .pipe(withTimeframe(fives, CLOSE))
        .subscribe({ error: (error) => seen.push(error), complete: () => seen.push("end") });
    subscribe();
    const left = subscribe();
    left.unsubscribe();
    minutes.complete();
    expect([seen, fives.observed]).toEqual([["end"], false]);
    const error = new Error("lost");
    expect(
      failure(withTimeframe(merge(NEVER, new Observable<CandleEvent>((to) => to.error(error))), CLOSE), []),
    ).toBe(error);
  });

  it("equals a batch over the longer candles that had closed by then, after every event", () => {
    fc.assert(
      fc.property(sequences, fc.constantFrom<Timeframe>("5min", "10min"), (events, timeframe) => {
        const length = (timeframe === "5min" ? 5 : 10) * MINUTE;
        const source = new Subject<CandleEvent>();
        const last = new Map<number, IndicatorEvent>();
        let told: IndicatorEvent[] = [];
        source.pipe(withTimeframe(timeframe, { trend: sma(2) })).subscribe((event) => told.push(event));
        const statuses = new Map<number, CandleStatus>();
        /** What has closed stays so while it has a candle. */
        const over = new Set<number>();
        let newest = Number.NEGATIVE_INFINITY;
        let finalUntil = Number.NEGATIVE_INFINITY;
        const first = Math.floor((events[0]?.candle.timestamp ?? 0) / length) * length;
        let isOpened = false;
        events.forEach((event, index) => {
          const { timestamp } = event.candle;
          told = [];
          source.next(event);
          if (event.type === "removed") statuses.delete(timestamp);
          else statuses.set(timestamp, event.status);
          newest = Math.max(newest, timestamp);
          isOpened ||= timestamp === first && event.type !== "removed";
          if (event.status === "final" && event.type !== "removed") finalUntil = timestamp;
          for (const each of told) {
            expect(each.candle.timestamp).toBeGreaterThanOrEqual(timestamp);
            if (each.type === "removed") last.delete(each.candle.timestamp);
            else last.set(each.candle.timestamp, each);
          }
          // The longer candles, made anew of all that stands.
          const buckets = new Map<number, Candle[]>();
          for (const candle of standing(events.slice(0, index + 1))) {
            const start = Math.floor(candle.timestamp / length) * length;
            buckets.set(start, [...(buckets.get(start) ?? []), candle]);
          }
          for (const start of over) if (!buckets.has(start)) over.delete(start);
          for (const [start, parts] of buckets) {
            const end = start + length;
            const isOpen = parts.some(
              ({ timestamp }) => statuses.get(timestamp) === "open" && timestamp > finalUntil,
            );
            const isWhole = parts.at(-1)!.timestamp === end - MINUTE || newest >= end;
            if (finalUntil >= end - MINUTE || (!isOpen && isWhole)) over.add(start);
          }
          const closed = [...buckets].filter(
            ([start]) => over.has(start) && (start > first || (start === first && isOpened)),
          );
          const closes = closed.map(([start, parts]) => ({
            end: start + length,
            close: parts.at(-1)!.close,
          }));
          for (const [at, { values }] of last) {
            // A candle last read while open is never told as final: where the final event of a later one closes its
            // bucket, it keeps what was known at its own last event.
            if (at < finalUntil) continue;
            const known = closes.filter(({ end }) => end <= at + MINUTE).slice(-2);
            const expected = known.length < 2 ? undefined : (known[0]!.close + known[1]!.close) / 2;
            expect(values.trend).toBe(expected);
          }
        });
      }),
      { numRuns: 150 },
    );
  });

  describe("lets the history wait for that of the longer candles", () => {
    const past = <E extends CandleEvent>(event: E): E => ({ ...event, live: false });
    const minutes = (from: number, to: number) =>
      Array.from({ length: to - from }, (_, at) => past(eventOf("new", from + at, "final", from + at)));
    const fives = [0, 5, 10, 15].map((at) => past(fiveOf("new", at, "final", at)));

    function watching() {
      const [source, longer] = [new Subject<CandleEvent>(), new Subject<CandleEvent>()];
      const events: IndicatorEvent[] = [];
      source.pipe(withTimeframe(longer, CLOSE)).subscribe((event) => events.push(event));
      const tell = (to: Subject<CandleEvent>, those: readonly CandleEvent[]) => {
        const before = events.length;
        for (const event of those) to.next(event);
        return linesOf(events.slice(before));
      };
      return { source, longer, events, tell };
    }

    it("whichever comes first, in however many parts", async () => {
      const running = [eventOf("new", 22, "closed", 22), eventOf("new", 23, "open", 23)];
      const own = [...minutes(0, 22), ...running];
      const other = [...fives, fiveOf("new", 20, "open", 20)];
      const cuts = fc.array(fc.nat(30), { maxLength: 6 });
      await fc.assert(
        fc.asyncProperty(cuts, fc.array(fc.boolean(), { maxLength: 12 }), async (sizes, order) => {
          const { source, longer, events, tell } = watching();
          const [mine, theirs] = [[...own], [...other]];
          for (const [at, isLonger] of order.entries()) {
            const size = sizes[at % (sizes.length || 1)] ?? 1;
            // What is told of the present comes at once with the end of its history.
            if (isLonger) tell(longer, theirs.splice(0, size));
            else if (mine.length > 2)
              tell(source, mine.splice(0, mine.length - 2 <= size ? mine.length : size));
            await Promise.resolve();
          }
          tell(source, mine.splice(0));
          await Promise.resolve();
          tell(longer, theirs.splice(0));
          expect(events.map(({ candle, values }) => [candle.timestamp / MINUTE, values.trend])).toEqual(
            own.map(({ candle: { timestamp } }) => {
              const ended = fives.filter((five) => five.candle.timestamp + 5 * MINUTE <= timestamp + MINUTE);
              return [timestamp / MINUTE, ended.at(-1)?.candle.close];
            }),
          );
        }),
        { numRuns: 200 },
      );
    });

    it("of each pair by itself; what has come with a value, and is final, keeps it through a correction", async () => {
      const { source, longer, events, tell } = watching();
      const other = <E extends CandleEvent>(event: E): E => ({
        ...event,
        series: { ...event.series, pairAddress: "other" },
      });
      tell(longer, fives.map(other));
      expect(tell(source, minutes(0, 22).map(other))).toHaveLength(22);
      expect(tell(source, minutes(0, 22))).toEqual([]);
      await Promise.resolve();
      tell(longer, [past(fiveOf("new", 0, "closed", 1)), past(fiveOf("updated", 0, "final", 2))]);
      tell(longer, [past(fiveOf("new", 5, "closed", 3)), past(fiveOf("removed", 5, "closed", 3))]);
      tell(longer, [past(fiveOf("new", 10, "final", 4)), fiveOf("new", 20, "open", 9)]);
      const own = events.filter(({ series }) => series.pairAddress !== "other");
      const last = new Map(own.map(({ candle, values }) => [candle.timestamp / MINUTE, values.trend]));
      expect([3, 4, 9, 14, 21].map((at) => last.get(at))).toEqual([undefined, 1, 3, 4, 4]);
      expect(last.size).toBe(22);
    });

    it("but not past the next live close, the end of either stream, or where there is no history", async () => {
      const first = watching();
      expect(first.tell(first.source, [...minutes(0, 3), eventOf("new", 3, "open", 3)])).toEqual([]);
      await Promise.resolve();
      expect(first.tell(first.source, [eventOf("updated", 3, "open", 4)])).toEqual([]);
      await Promise.resolve();
      const told = first.tell(first.source, [eventOf("updated", 3, "closed", 5)]);
      expect(told.map((line) => line.split(" ")[1])).toEqual(["0", "1", "2", "3", "3", "3"]);
      expect(first.tell(first.source, [eventOf("new", 4, "open", 4)])).toHaveLength(1);
      for (const end of ["source", "longer"] as const) {
        const world = watching();
        expect(world.tell(world.source, minutes(0, 3))).toEqual([]);
        world[end].complete();
        expect(world.events).toHaveLength(3);
      }
      const none = watching();
      expect(none.tell(none.source, [eventOf("new", 7, "open", 7)])).toEqual(["new 7 open: –"]);
    });
  });
});
