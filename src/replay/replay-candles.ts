import { asyncScheduler, defer, from, map, Observable, type SchedulerLike, type Subscription } from "rxjs";
import { type CandleEvent, frozenEvent } from "../candles/event.js";
import { GapFiller } from "../candles/view/gap-filler.js";
import { checkFlag, checkSeries, checkWeekStart, LONGEST_DELAY, show } from "../contract/input.js";
import type { Candle, Series, WeekStart } from "../contract/model.js";
import { namesOf, SERIES_NAMES } from "../contract/names.js";
import { InvalidInputError } from "../errors.js";
import { type Intervals, intervalsOf } from "../timeframe.js";
import { flawOf, frozenCandle, refusalOf } from "./candle-flaw.js";
import { isAsyncIterable, isIterable } from "./read-candles.js";

/** How to replay candles. */
export interface ReplayCandlesOptions {
  /**
   * How many times as fast as they came, above 0: 60 shows a minute a second. The first candle comes at once, each other
   * one so much later. Default: without `scheduler` as fast as it goes, with one when its clock says so.
   */
  speed?: number;
  /** Whose clock the candles come by; default `asyncScheduler` where there is a `speed`, else none. */
  scheduler?: SchedulerLike;
  /** Flat candles (volume 0, swaps 0) for intervals without one, between the first and the last; default false. */
  fillGaps?: boolean;
  /** Where `1w` begins; default `"monday"`. */
  weekStart?: WeekStart;
}

const REPLAY_NAMES = namesOf<ReplayCandlesOptions>({
  speed: true,
  scheduler: true,
  fillGaps: true,
  weekStart: true,
});

/**
 * Emits candles of the past as events, each once it was final: for backtests, and for charts to watch.
 *
 * ```marbles
 * candles                                                   58-6-
 * replayCandles(candles, { …, scheduler, fillGaps: true })  -pqr(s|)
 *
 * -: 1 min                 p: new 12:00 = 5, final   q: new 12:01 = 8, final
 * r: new 12:02 = 8, final                            s: new 12:03 = 6, final
 * ```
 *
 * Every event is `new`, `final` and `live`, has revision 0, and was observed at the end of its interval, in ms since
 * the epoch. Without `speed` and `scheduler` an iterable is read to its end while it is subscribed to, and an async one
 * as fast as it comes. With a `scheduler` each event comes when its clock reaches the event's `observedAt`, so that
 * replays of several series on one clock interleave; what is past by then comes at once, so let the clock begin no later
 * than the candles. With `speed` the clock counts from the first candle on. The clock does not wait for an async source:
 * what is read late comes late.
 *
 * No more than one candle is read ahead. Leaving early calls the iterator's `return`; each subscription iterates anew.
 * Longer intervals made of shorter ones have a running candle: replay 10s candles and `resample` them to 1min.
 *
 * Throws an `InvalidInputError` for a bad option or a source that cannot be iterated. The stream fails with one that
 * names the candle, counted from 0: no candle, a number that is not finite, a timestamp that begins no interval of the
 * series or is not newer than the one before; and with whatever the source fails with.
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
  if (typeof source !== "object" || !(isIterable(source) || isAsyncIterable(source))) {
    const allowed = "an iterable of candles, async or not";
    throw new InvalidInputError("source", allowed, "cannot be iterated");
  }
  return defer(() => {
    const maker = new EventMaker(series, intervals, isFilled);
    const pace = newPace?.();
    if (isAsyncIterable(source)) return asTheyCome(source, maker, pace);
    if (pace !== undefined) return onTime(maker.all(source), pace);
    return isFilled ? from(maker.all(source)) : from(source).pipe(map((candle) => maker.eventOf(candle)));
  });
}

function checkPace({ speed, scheduler }: ReplayCandlesOptions): (() => Pace) | undefined {
  if (speed !== undefined && !(Number.isFinite(speed) && speed > 0)) {
    throw new InvalidInputError("speed", "a number above 0", `is ${show(speed)}`);
  }
  if (scheduler === undefined) {
    return speed === undefined ? undefined : () => new Pace(asyncScheduler, speed);
  }
  if (typeof scheduler?.now === "function" && typeof scheduler.schedule === "function") {
    return () => new Pace(scheduler, speed);
  }
  throw new InvalidInputError("scheduler", "an RxJS scheduler, with now and schedule", "is none");
}

/** Makes events of candles, one after the other. */
class EventMaker {
  readonly #series: Series;
  readonly #intervals: Intervals;
  readonly #filler: GapFiller | undefined;
  #count = 0;
  #newest = Number.NEGATIVE_INFINITY;

  constructor(series: Series, intervals: Intervals, isFilled: boolean) {
    this.#series = series;
    this.#intervals = intervals;
    this.#filler = isFilled ? new GapFiller(intervals) : undefined;
  }

  *all(candles: Iterable<Candle>): Generator<CandleEvent> {
    for (const candle of candles) yield* this.eventsOf(candle);
  }

  /** The event of a candle, after those of the gap before it. */
  *eventsOf(given: Candle): Generator<CandleEvent> {
    const event = this.eventOf(given);
    const { candle, observedAt } = event;
    if (this.#filler === undefined) {
      yield event;
      return;
    }
    const changes = [{ type: "new", candle, status: "final", revision: 0 }] as const;
    const covered = { coveredFrom: Number.NEGATIVE_INFINITY, coveredUntil: observedAt };
    for (const change of this.#filler.fill({ changes, finalUntil: observedAt, ...covered })) {
      yield change.candle === candle ? event : this.#event(change.candle);
    }
  }

  eventOf(candle: Candle): CandleEvent {
    const flaw = flawOf(candle, this.#newest);
    if (flaw !== undefined) throw refusalOf(`source[${this.#count}]`, flaw);
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
    const allowed = `the start of a ${timeframe} interval${timeframe === "1w" ? " (see weekStart)" : ""}`;
    return refusalOf(`source[${this.#count}]`, { field: "timestamp", allowed, problem: `is ${timestamp}` });
  }
}

/** When events are due on a clock. */
class Pace {
  readonly scheduler: SchedulerLike;
  readonly #speed: number | undefined;
  #first: { readonly observedAt: number; readonly at: number } | undefined;

  constructor(scheduler: SchedulerLike, speed: number | undefined) {
    this.scheduler = scheduler;
    this.#speed = speed;
  }

  /** How long until an event is due, or until to ask again, in ms; 0 or less once it is. */
  delayOf({ observedAt }: CandleEvent): number {
    const now = this.scheduler.now();
    if (this.#speed === undefined) return Math.min(observedAt - now, LONGEST_DELAY);
    this.#first ??= { observedAt, at: now };
    const due = this.#first.at + (observedAt - this.#first.observedAt) / this.#speed;
    return Math.min(due - now, LONGEST_DELAY);
  }
}

/** Takes events from an iterator, each when it is due. */
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
        // The source itself has left while it was asked.
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

/** Takes candles from an async source, one at a time. */
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
      // Nobody listens any more to what may be wrong with it.
      if (!hasEnded) (async () => candles.return?.())().catch(() => {});
    };
  });
}
