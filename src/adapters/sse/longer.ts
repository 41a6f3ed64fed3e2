import { defer, mergeMap, type OperatorFunction } from "rxjs";
import { type CandleEvent, frozenEvent } from "../../candles/event.js";
import { mostIn } from "../../candles/making.js";
import { type CandleWatch, MOST_CANDLES, type WatchOptions } from "../../candles/options.js";
import { MOST_WINDOW } from "../../candles/rules.js";
import type { Series, Timeframe } from "../../contract/model.js";
import type { FeedStatus } from "../../feed-status.js";
import { Resampler } from "../../operators/resampler.js";
import { SeriesStates } from "../../operators/series-states.js";
import { startFrom } from "../../timeframe.js";
import { startOf } from "./reach.js";

/** Histories that are counted begin with so many candles, or twice, four times … as many, so that channels are few. */
const LEAST_CANDLES = 100;

/**
 * What to ask a gateway for, so that what is watched can be made of it: a series of the service, from the beginning of the
 * first longer candle on. A gateway has one channel for all that is made of a series.
 */
export function servedOptions(
  asked: Series & WatchOptions,
  watch: CandleWatch,
): Series<Timeframe> & WatchOptions {
  const { timeframe } = watch.served.series;
  const { frames, intervals } = watch.served.rules;
  if (frames === undefined) return { ...asked, timeframe };
  const length = mostIn(frames, intervals);
  const { revisionWindow } = asked;
  const window = revisionWindow && { revisionWindow: Math.min(MOST_WINDOW, revisionWindow * length) };
  return { ...asked, timeframe, since: sinceOf(watch, length), ...window };
}

function sinceOf({ since }: CandleWatch, length: number): number | { candles: number } {
  if (typeof since === "number") return since;
  // The first one may not be whole.
  const wanted = since === undefined ? length : (since.candles + 1) * length;
  const candles = LEAST_CANDLES * 2 ** Math.max(0, Math.ceil(Math.log2(wanted / LEAST_CANDLES)));
  return { candles: Math.min(MOST_CANDLES, candles) };
}

/**
 * Makes what is watched of events of the service's series, and of their statuses: these tell of silence, and when a history
 * is through.
 */
export function madeOf(watch: CandleWatch): OperatorFunction<CandleEvent | FeedStatus, CandleEvent> {
  return (source) =>
    defer(() => {
      const making = new MadeEvents(watch);
      return source.pipe(mergeMap((event) => making.take(event)));
    });
}

class MadeEvents {
  readonly #watch: CandleWatch;
  #states: SeriesStates<Resampler> | undefined;
  #resampler: Resampler | undefined;
  /** The last event of each candle that is there. */
  readonly #last = new Map<number, CandleEvent>();
  /** Whether they were told, as it is live: a part of one is none, and a count needs all. */
  #isTold = false;
  /** Nothing older is shown. */
  #start = -Infinity;
  /** The service's clock when the newest event was true. */
  #observedAt = -Infinity;
  /** The newest part that was final; `Infinity`: all that was known is removed, as the gateway's channel did not meet it. */
  #finalUntil = -Infinity;

  constructor(watch: CandleWatch) {
    this.#watch = watch;
  }

  take(event: CandleEvent | FeedStatus): readonly CandleEvent[] {
    const { since, fillGaps, rules, series, weekStart } = this.#watch;
    const { intervals } = rules;
    if ("series" in event) {
      this.#observedAt = Math.max(this.#observedAt, event.observedAt);
      const { timestamp } = event.candle;
      // What is final is never taken back alone.
      if (event.type === "removed" && timestamp <= this.#finalUntil) return this.#beginAnew(event);
      if (this.#finalUntil === Infinity) {
        // The first one may not be whole.
        this.#start = startFrom(intervals, timestamp);
        this.#finalUntil = -Infinity;
      }
      if (event.status === "final") this.#finalUntil = Math.max(this.#finalUntil, timestamp);
      this.#states ??= new SeriesStates(() => new Resampler(series.timeframe, weekStart));
      const resampler = this.#states.admit(event);
      this.#resampler = resampler ?? this.#resampler;
      return this.#shown(resampler?.apply(event) ?? []);
    }
    // While a history is read, what is covered is not what has come.
    const { state, coveredUntil } = event;
    if (state === "starting" || coveredUntil === undefined) return [];
    const events = this.#shown(this.#resampler?.cover(coveredUntil) ?? []);
    if (this.#isTold) return events;
    this.#isTold = true;
    const held = this.#taken();
    const now = Math.max(this.#observedAt, coveredUntil);
    const candles = held.map(({ candle }) => candle);
    this.#start = startOf(since, candles, now, { intervals, fillGaps });
    return this.#shown(held.map((one) => told(one, one, "new")));
  }

  #shown(events: readonly CandleEvent[]): readonly CandleEvent[] {
    const shown = events.filter(({ candle }) => candle.timestamp >= this.#start);
    const last = this.#last;
    for (const event of shown) {
      const { timestamp } = event.candle;
      if (event.type === "removed") last.delete(timestamp);
      else last.set(timestamp, event);
      // As the parts of those before are forgotten, too.
      if (last.size > MOST_CANDLES) last.delete(last.keys().next().value!);
    }
    return this.#isTold ? shown : [];
  }

  /** What is there, ascending: none of it is any longer. */
  #taken(): readonly CandleEvent[] {
    const all = [...this.#last.values()].sort((a, b) => a.candle.timestamp - b.candle.timestamp);
    this.#last.clear();
    return all;
  }

  /** Takes back all that is there. */
  #beginAnew(cause: CandleEvent): readonly CandleEvent[] {
    this.#states = undefined;
    this.#resampler = undefined;
    this.#finalUntil = Infinity;
    const gone = this.#taken();
    return this.#isTold ? gone.map((one) => told(one, cause, "removed")) : [];
  }
}

/** That a candle, as it was last, has come or gone; `cause`: when and how late. */
function told(
  { candle, status, revision, series }: CandleEvent,
  { live, lateBy, observedAt }: CandleEvent,
  what: "new" | "removed",
): CandleEvent {
  const turn = what === "new" ? 0 : 1;
  return frozenEvent(what, candle, status, revision + turn, live, lateBy, observedAt, series);
}

/** The status of longer candles: covered are whole ones only. */
export function longerStatus({ rules, served }: CandleWatch, status: FeedStatus): FeedStatus {
  const { coveredFrom, coveredUntil } = status;
  if (served.rules.frames === undefined || coveredFrom === undefined || coveredUntil === undefined)
    return status;
  const until = rules.intervals.start(coveredUntil);
  const from = Math.min(startFrom(rules.intervals, coveredFrom), until);
  return Object.freeze({ ...status, coveredFrom: from, coveredUntil: until });
}
