import { type CandleEvent, frozenEvent, isSame, laterOf } from "../candles/event.js";
import { dueAt, lateness } from "../candles/lateness.js";
import type { CandleWatch } from "../candles/options.js";
import type { CandleEntry } from "../candles/read/book.js";
import type { Candle, Series } from "../contract/model.js";

type Told = Pick<CandleEntry, "candle" | "status" | "revision">;

/**
 * What a subscriber has been told of a series and can change still. After a pause its stream is begun anew; of what that
 * tells, this lets through what the subscriber does not know, as changes of what it does.
 */
export class ToldCandles {
  readonly #watch: CandleWatch;
  /** By timestamp, ascending but for candles that have turned up late. */
  readonly #told = new Map<number, Told>();
  /** Told before a pause, and not confirmed since. */
  readonly #unconfirmed = new Set<number>();
  #first: number | undefined;
  #finalUntil = -Infinity;
  /** The newest final candle that is not filled in: flat ones follow from it. */
  #anchor: number | undefined;
  #isCatchingUp = false;
  /** Where the stream began that runs now; absent while it is paused. */
  #run: { readonly start: number | undefined } | undefined;

  constructor(watch: CandleWatch) {
    this.#watch = watch;
  }

  /** Where the stream has to begin after a pause; `undefined` where nothing has been told: as its options say. */
  get since(): number | undefined {
    const { since } = this.#watch;
    if (this.#first === undefined) return undefined;
    return this.#anchor ?? (typeof since === "number" ? since : this.#first);
  }

  /** Where the stream has begun that runs now, or will after the pause; `undefined`: as its options say. */
  get start(): number | undefined {
    return this.#run === undefined ? this.since : this.#run.start;
  }

  get hasUnconfirmed(): boolean {
    return this.#unconfirmed.size > 0;
  }

  /** Notes that the stream begins, at `start` or else at `since`, where that is told. */
  resume(start = this.since): void {
    this.#run = { start };
    this.#isCatchingUp = this.#first !== undefined;
    for (const timestamp of this.#told.keys()) this.#unconfirmed.add(timestamp);
  }

  /** Notes that the stream has been left. */
  pause(): void {
    this.#run = undefined;
  }

  /** Notes that the stream has told all that was there when it began anew. */
  caughtUp(): void {
    this.#isCatchingUp = false;
  }

  /** Every interval before that instant has been looked at twice: what is not confirmed by now is gone. */
  settle(coveredUntil: number, observedAt: number): CandleEvent[] {
    const { intervals } = this.#watch.rules;
    const isOver = (timestamp: number) => intervals.end(timestamp) <= coveredUntil;
    return this.#removeUnconfirmed(isOver, observedAt, this.#watch.series);
  }

  /** What the subscriber is to be told for an event of the stream. */
  take(event: CandleEvent): readonly CandleEvent[] {
    const { type, status, observedAt, series } = event;
    const { timestamp } = event.candle;
    // Told as final before the pause.
    if (this.#isCatchingUp && timestamp <= this.#finalUntil) return [];
    this.#first = Math.min(this.#first ?? timestamp, timestamp);
    const isFinal = status === "final" && type !== "removed";
    // Nothing becomes final where one before it may be absent by mistake.
    const gone = isFinal ? this.#removeUnconfirmed((other) => other < timestamp, observedAt, series) : [];
    const change = this.#change(event);
    if (isFinal) {
      this.#told.delete(timestamp);
      this.#finalUntil = timestamp;
      if (!this.#watch.fillGaps || isTraded(event.candle)) this.#anchor = timestamp;
    }
    return change === undefined ? gone : [...gone, change];
  }

  #change(event: CandleEvent): CandleEvent | undefined {
    const { type, candle, revision } = event;
    const { timestamp } = candle;
    const known = this.#told.get(timestamp);
    this.#unconfirmed.delete(timestamp);
    if (type === "removed") {
      this.#told.delete(timestamp);
      return known === undefined || revision === known.revision + 1 ? event : follow(known, event, "removed");
    }
    const status = laterOf(known?.status, event.status);
    if (known === undefined) {
      this.#told.set(timestamp, { candle, status, revision });
      return event;
    }
    if (status === known.status && isSame(candle, known.candle)) return undefined;
    const isNext = type === "updated" && revision === known.revision + 1 && status === event.status;
    const now = isNext ? event : this.#asChange(known, event, status);
    this.#told.set(timestamp, { candle, status, revision: now.revision });
    return now;
  }

  /** An event about a candle that is known, as the next change of that. */
  #asChange(known: Told, event: CandleEvent, status: Told["status"]): CandleEvent {
    const { candle, lateBy } = event;
    // The stream does not know that it was told as closed, and counts from when it should have been.
    const due = (isFirstClose: boolean) => dueAt(this.#watch.rules, candle.timestamp, status, isFirstClose);
    const isTold = known.status === "closed" && status === "final" && event.type === "new";
    const late = isTold && lateBy > 0 ? lateness(due(true) + lateBy, due(false)) : lateBy;
    return follow(known, event, known.candle, status, late);
  }

  #removeUnconfirmed(
    isGone: (timestamp: number) => boolean,
    observedAt: number,
    series: Series,
  ): CandleEvent[] {
    const gone = [...this.#unconfirmed].filter(isGone).sort((a, b) => a - b);
    return gone.map((timestamp) => {
      const { candle, status, revision } = this.#told.get(timestamp)!;
      this.#unconfirmed.delete(timestamp);
      this.#told.delete(timestamp);
      const due = dueAt(this.#watch.rules, timestamp, status, false);
      const lateBy = lateness(observedAt, due);
      return frozenEvent("removed", candle, status, revision + 1, false, lateBy, observedAt, series);
    });
  }
}

function follow(
  known: Told,
  { candle, live, lateBy, observedAt, series, ...event }: CandleEvent,
  what: "removed" | Candle,
  status: Told["status"] = event.status,
  late = lateBy,
): CandleEvent {
  return frozenEvent(what, candle, status, known.revision + 1, live, late, observedAt, series);
}

/** Whether a candle is no flat one that was filled in. */
function isTraded({ volume, swaps }: Candle): boolean {
  return volume !== 0 || swaps !== 0;
}
