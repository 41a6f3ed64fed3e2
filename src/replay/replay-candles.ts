import { asyncScheduler, defer, from, map, Observable, type SchedulerLike, type Subscription } from "rxjs";
import { type CandleEvent, frozenEvent } from "../candles/event.js";
import { GapFiller } from "../candles/view/gap-filler.js";
import { checkFlag, checkSeries, checkWeekStart, LONGEST_DELAY, show } from "../contract/input.js";
import type { Candle, Series, WeekStart } from "../contract/model.js";
import { checkScheduler, namesOf, SERIES_NAMES } from "../contract/names.js";
import { InvalidInputError } from "../errors.js";
import { type Intervals, intervalsOf } from "../timeframe.js";
import { candleError, flawOf, frozenCandle } from "./candle-flaw.js";
import { isAsyncIterable, isIterable } from "./read-candles.js";

/** How to replay candles. */
export interface ReplayCandlesOptions {
  /**
   * How many times as fast as the original, above 0: 60 plays a minute per second. The first candle comes at once, the
   * others at their distance from it. Default: with a `scheduler`, by its clock; without one, as fast as possible.
   */
  speed?: number;
  /** The clock of the replay; default: `asyncScheduler` if there is a `speed`, otherwise none. */
  scheduler?: SchedulerLike;
  /** Flat candles (volume 0, swaps 0) for intervals without a candle, between the first and the last; default false. */
  fillGaps?: boolean;
  /** The day on which `1w` begins; default `"monday"`. */
  weekStart?: WeekStart;
}

const REPLAY_NAMES = namesOf<ReplayCandlesOptions>({
  speed: true,
  scheduler: true,
  fillGaps: true,
  weekStart: true,
});

/**
 * Emits candles of the past as events, each when it was final; for backtests and charts.
 *
 * ```marbles
 * candles                                                   58-6-
 * replayCandles(candles, { …, scheduler, fillGaps: true })  -pqr(s|)
 *
 * -: 1 min                 p: new 12:00 = 5, final   q: new 12:01 = 8, final
 * r: new 12:02 = 8, final                            s: new 12:03 = 6, final
 * ```
 *
 * Every event is `new`, `final` and `live`, has revision 0, and its `observedAt` is the end of its interval, in ms
 * since the epoch. Without `speed` and `scheduler`, an iterable is read to its end during `subscribe`, and an async
 * iterable as fast as it delivers. With a `scheduler`, each event comes when its clock reaches the event's
 * `observedAt`, so replays of several series on one clock interleave. Events of the clock's past come at once, so start
 * the clock no later than the candles. With `speed`, time counts from the first candle. The clock does not wait for an
 * async source: a candle that is read late comes late.
 *
 * It reads at most one candle ahead. Unsubscribing early calls the iterator's `return`; each subscription iterates
 * anew. For open candles, replay shorter ones and `resample` them, such as 10s to 1min.
 *
 * Throws an `InvalidInputError` for a bad option or a source that is not iterable. The stream fails with one that names
 * the candle, counted from 0: for a value that is not a candle, a number that is not finite, a timestamp that starts no
 * interval of the series, or one that is not newer than the last. Errors of the source pass through.
 *
 * ```ts
 * import { ema, readCandles, replayCandles, resample, withIndicators } from "pairstream";
 * import { open } from "node:fs/promises";
 *
 * const file = await open("ten-seconds.ndjson");
 * replayCandles(readCandles(file.readLines()), {
 *   network: "mainnet",
 *   pairAddress: "83v8iPyZihDEjDdY8RdZddyZNyUtXngz69Lgo9Kt5d6d",
 *   timeframe: "10s",
 *   currency: "usd",
 *   speed: 60,
 * })
 *   .pipe(resample("1min"), withIndicators({ trend: ema(20) }))
 *   .subscribe(({ candle, status, values }) => console.log(status, candle.close, values.trend));
 * ```
 */
export function replayCandles(
  source: Iterable<Candle> | AsyncIterable<Candle>,
  options: Series & ReplayCandlesOptions,
): Observable<CandleEvent> {
  const series = checkSeries(options, [...SERIES_NAMES, ...REPLAY_NAMES]);
  const intervals = intervalsOf(series.timeframe, checkWeekStart(options.weekStart));
  const isFilled = checkFlag("fillGaps", options.fillGaps);
  const newPace = checkPace(options);
  checkSource(source);
  return defer(() => {
    const maker = new EventMaker(series, intervals, isFilled);
    const pace = newPace?.();
    if (isAsyncIterable(source)) return asTheyCome(source, maker, pace);
    if (pace !== undefined) return onTime(maker.all(source), pace);
    return isFilled ? from(maker.all(source)) : from(source).pipe(map((candle) => maker.eventOf(candle)));
  });
}

/**
 * Makes the events that `replayCandles` emits, one at a time: for whoever puts those of several series in order.
 * `parameter` names the source in errors.
 */
export function candleReader(
  series: Series,
  weekStart: WeekStart,
  parameter: string,
): (candle: Candle) => CandleEvent {
  const maker = new EventMaker(series, intervalsOf(series.timeframe, weekStart), false, parameter);
  return (candle) => maker.eventOf(candle);
}

/** The same, with the events that fill the gap before a candle. */
export function filledReader(
  series: Series,
  weekStart: WeekStart,
  parameter: string,
): (candle: Candle) => Iterator<CandleEvent> {
  const maker = new EventMaker(series, intervalsOf(series.timeframe, weekStart), true, parameter);
  return (candle) => maker.eventsOf(candle);
}

export function checkSource(source: Iterable<Candle> | AsyncIterable<Candle>, parameter = "source"): void {
  if (typeof source === "object" && source !== null && (isIterable(source) || isAsyncIterable(source)))
    return;
  throw new InvalidInputError(
    parameter,
    "an iterable of candles, async or not",
    `is ${show(source)}, which is not iterable`,
  );
}

function checkPace({ speed, scheduler }: ReplayCandlesOptions): (() => Pace) | undefined {
  if (speed !== undefined && !(Number.isFinite(speed) && speed > 0)) {
    throw new InvalidInputError("speed", "a number above 0", `is ${show(speed)}`);
  }
  if (scheduler === undefined) {
    return speed === undefined ? undefined : () => new Pace(asyncScheduler, speed);
  }
  checkScheduler(scheduler);
  return () => new Pace(scheduler, speed);
}

/** Turns candles into events, one after the other. */
class EventMaker {
  readonly #series: Series;
  readonly #intervals: Intervals;
  readonly #filler: GapFiller | undefined;
  readonly #parameter: string;
  #count = 0;
  #newest = -Infinity;

  constructor(series: Series, intervals: Intervals, isFilled: boolean, parameter = "source") {
    this.#series = series;
    this.#parameter = parameter;
    this.#intervals = intervals;
    this.#filler = isFilled ? new GapFiller(intervals) : undefined;
  }

  *all(candles: Iterable<Candle>): Generator<CandleEvent> {
    for (const candle of candles) yield* this.eventsOf(candle);
  }

  /** The event of a candle, after the events that fill the gap before it. */
  *eventsOf(given: Candle): Generator<CandleEvent> {
    const event = this.eventOf(given);
    const { candle, observedAt } = event;
    if (this.#filler === undefined) {
      yield event;
      return;
    }
    const changes = [{ type: "new", candle, status: "final", revision: 0 }] as const;
    const covered = [{ from: -Infinity, to: observedAt }];
    for (const change of this.#filler.fill({ changes, finalUntil: observedAt, covered })) {
      yield change.candle === candle ? event : this.#event(change.candle);
    }
  }

  eventOf(candle: Candle): CandleEvent {
    const flaw = flawOf(candle, this.#newest);
    if (flaw !== undefined) throw candleError(`${this.#parameter}[${this.#count}]`, flaw);
    const { timestamp } = candle;
    if (this.#intervals.start(timestamp) !== timestamp) throw this.#misplaced(timestamp);
    this.#count += 1;
    this.#newest = timestamp;
    return this.#event(Object.isFrozen(candle) ? candle : frozenCandle(candle));
  }

  #event(candle: Candle): CandleEvent {
    const observedAt = this.#intervals.end(candle.timestamp);
    return frozenEvent("new", candle, "final", 0, true, 0, observedAt, this.#series);
  }

  #misplaced(timestamp: number): InvalidInputError {
    const { timeframe } = this.#series;
    const allowed = `the start of a ${timeframe} interval${timeframe.endsWith("w") ? " (see weekStart)" : ""}`;
    return candleError(`${this.#parameter}[${this.#count}]`, {
      field: "timestamp",
      allowed,
      problem: `is ${timestamp}`,
    });
  }
}

/** Says when events are due on a clock. */
class Pace {
  readonly scheduler: SchedulerLike;
  readonly #speed: number | undefined;
  #first: { readonly observedAt: number; readonly at: number } | undefined;

  constructor(scheduler: SchedulerLike, speed: number | undefined) {
    this.scheduler = scheduler;
    this.#speed = speed;
  }

  /** The time until an event is due, or until the next check, in ms; 0 or less if it is due. */
  delayOf({ observedAt }: CandleEvent): number {
    const now = this.scheduler.now();
    if (this.#speed === undefined) return Math.min(observedAt - now, LONGEST_DELAY);
    this.#first ??= { observedAt, at: now };
    const due = this.#first.at + (observedAt - this.#first.observedAt) / this.#speed;
    return Math.min(due - now, LONGEST_DELAY);
  }
}

/** Emits the events of an iterator, each when it is due. */
function onTime(events: Iterator<CandleEvent>, pace: Pace): Observable<CandleEvent> {
  return new Observable((subscriber) => {
    let next: CandleEvent | undefined;
    let isPulling = false;
    const pull = (): CandleEvent | undefined => {
      isPulling = true;
      try {
        const { done, value } = events.next();
        if (!done) return value;
        subscriber.complete();
      } catch (error) {
        subscriber.error(error);
      } finally {
        isPulling = false;
      }
      return undefined;
    };
    const timer = pace.scheduler.schedule(function () {
      while (!subscriber.closed) {
        next ??= pull();
        if (next === undefined) return;
        // The source's own `next` may have unsubscribed.
        if (subscriber.closed) break;
        const delay = pace.delayOf(next);
        if (delay > 0) {
          this.schedule(undefined, delay);
          return;
        }
        const event = next;
        next = undefined;
        subscriber.next(event);
      }
      events.return?.();
    });
    return () => {
      timer.unsubscribe();
      if (!isPulling) events.return?.();
    };
  });
}

/** Reads candles from an async source, one at a time. */
function asTheyCome(
  source: AsyncIterable<Candle>,
  maker: EventMaker,
  pace: Pace | undefined,
): Observable<CandleEvent> {
  return new Observable((subscriber) => {
    const candles = source[Symbol.asyncIterator]();
    let hasEnded = false;
    let timer: Subscription | undefined;
    const pull = async (): Promise<IteratorResult<Candle>> => {
      try {
        const result = await candles.next();
        hasEnded = result.done === true;
        return result;
      } catch (error) {
        hasEnded = true;
        throw error;
      }
    };
    const untilDue = async (event: CandleEvent): Promise<void> => {
      if (pace === undefined) return;
      for (let delay = pace.delayOf(event); delay > 0; delay = pace.delayOf(event)) {
        await new Promise<void>((resolve) => {
          timer = pace.scheduler.schedule(() => resolve(), delay);
        });
        timer?.unsubscribe();
      }
    };
    const read = async (): Promise<void> => {
      while (!subscriber.closed) {
        const { done, value } = await pull();
        if (subscriber.closed) return;
        if (done) subscriber.complete();
        else {
          for (const event of maker.eventsOf(value)) {
            await untilDue(event);
            if (subscriber.closed) return;
            subscriber.next(event);
          }
        }
      }
    };
    read().catch((error) => subscriber.error(error));
    return () => {
      timer?.unsubscribe();
      // After unsubscribing, nobody listens to errors of the source.
      if (!hasEnded) (async () => candles.return?.())().catch(() => {});
    };
  });
}
