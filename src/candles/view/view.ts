import type { Series } from "../../contract/model.js";
import type { Intervals } from "../../timeframe.js";
import { type CandleEvent, frozenEvent } from "../event.js";
import { dueAt, isInTime, lateness } from "../lateness.js";
import type { CandleChange, CandleEntry } from "../live/book.js";
import type { CandleState, ClockJump } from "../live/poll-candles.js";
import type { CandleWatch } from "../options.js";
import type { CandleRead } from "../read/range-reader.js";
import type { CandleRules } from "../rules.js";
import { type FillStep, finalStep, GapFiller } from "./gap-filler.js";

/** What one subscriber gets to know, in order; `received`: when, by the service's clock, where that is not just read. */
export type ViewStep =
  | {
      readonly type: "state";
      readonly state: CandleState;
      readonly received?: number;
      /** Nothing older is shown from now on; given where the book begins anew before its history was read. */
      readonly start?: number | undefined;
    }
  | { readonly type: "history"; readonly read: CandleRead }
  | { readonly type: "history-end"; readonly received?: number };

/** When something reaches the subscriber, and what of it can be live. */
interface Delivery {
  /** The service's clock as of the answer, and at delivery. */
  readonly observedAt: number;
  readonly received: number;
  /** What closed by then is the subscriber's history, with the running candle; `-Infinity` where that is over. */
  readonly historyUntil: number;
  /** Whether a later answer tells of newer closes. */
  readonly endsEarly: boolean;
}

interface ViewOptions {
  /** Nothing older is shown. */
  readonly start: number;
  /** Says `start` once more when the service's clock has been found, where that was not certain before. */
  readonly startAnew?: () => number;
  /** Whether a history will follow the first state. */
  readonly hasHistory: boolean;
}

/**
 * One subscriber's view of the shared book: its history first, then the candles that may still change as they
 * stand when the history is through, then what changes.
 */
export class CandleView {
  readonly #series: Series;
  readonly #rules: CandleRules;
  readonly #intervals: Intervals;
  #filler: GapFiller | undefined;
  /** Nothing older is shown. */
  #start: number;
  #startAnew: (() => number) | undefined;
  /** The newest candle that was shown, flat ones aside. */
  #newest = Number.NEGATIVE_INFINITY;
  /** What was shown of the time before it is final, although the book has begun anew since and does not know. */
  #finalUntil = Number.NEGATIVE_INFINITY;
  /** As in `Delivery`, of the next one. */
  #historyUntil: number;
  /** The candles that were shown as closed and can change still. */
  readonly #closed = new Set<number>();
  #state: CandleState | undefined;
  /** What has happened to the candles since the history began to be read, one entry a candle. */
  #held: Map<number, CandleChange> | undefined;

  constructor(watch: CandleWatch, options: ViewOptions) {
    this.#series = watch.series;
    this.#rules = watch.rules;
    this.#intervals = watch.rules.intervals;
    this.#filler = watch.fillGaps ? new GapFiller(watch.rules.intervals) : undefined;
    this.#start = options.start;
    this.#startAnew = options.startAnew;
    this.#historyUntil = watch.since === undefined ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
    this.#held = options.hasHistory ? new Map() : undefined;
  }

  /** The events that follow from a step; must be read to their end before the next step. */
  take(step: ViewStep): Iterable<CandleEvent> {
    if (step.type === "history") return this.#history(step.read);
    if (step.type === "history-end") return this.#handOver(step.received);
    const { state, received = state.book.observedAt, start } = step;
    const isFirst = this.#state === undefined || start !== undefined;
    this.#start = start ?? this.#start;
    const changes = this.#follow(state, isFirst);
    if (this.#held === undefined) return this.#present(changes, received);
    // What closes while the history is read is none of it.
    if (isFirst) {
      this.#historyUntil = state.book.observedAt;
      this.#held.clear();
    }
    for (const change of changes) hold(this.#held, change);
    return [];
  }

  /** What a state changes: all that stands where it is the first. */
  #follow(state: CandleState, isFirst: boolean): readonly CandleChange[] {
    const { book, changes, jump } = state;
    const shownFrom = this.#start;
    if (this.#state !== undefined && jump !== undefined) this.#followJump(jump, book.observedAt);
    this.#state = state;
    if (isFirst) {
      // Candles that became final during the first catch-up are only in `changes`.
      const finals = this.#held === undefined ? changes.filter(isFinal) : [];
      return [...finals, ...book.entries].map(asNew);
    }
    if (jump === undefined) return changes;
    const uncovered = book.entries.filter(({ candle }) => candle.timestamp < shownFrom).map(asNew);
    return [...uncovered, ...changes.filter(({ candle }) => candle.timestamp >= shownFrom)];
  }

  /** Moves the start where the service's clock has jumped, and begins anew where the book has. */
  #followJump({ ranAheadUntil }: ClockJump, observedAt: number): void {
    const running = this.#intervals.start(observedAt);
    // Where it was set back, the running interval may lie before the subscription by the old clock.
    this.#start = Math.min(this.#start, running, this.#startAnew?.() ?? running);
    this.#startAnew = undefined;
    if (ranAheadUntil !== undefined) this.#finalUntil = Math.min(ranAheadUntil, this.#newest + 1);
    // By this clock what was final is still to come: it is shown again, or nothing would be heard until then.
    if (this.#finalUntil > this.#intervals.end(observedAt)) return;
    this.#start = Math.max(this.#start, this.#finalUntil);
    if (ranAheadUntil === undefined) return;
    this.#filler = this.#filler?.setBack(this.#finalUntil, running);
    this.#closed.clear();
  }

  #history(read: CandleRead): Iterable<CandleEvent> {
    const { observedAt } = read;
    const historyUntil = Number.POSITIVE_INFINITY;
    return this.#events(finalStep(read), {
      observedAt,
      received: observedAt,
      historyUntil,
      endsEarly: false,
    });
  }

  #handOver(received = this.#state!.book.observedAt): Iterable<CandleEvent> {
    const changes = [...this.#held!.values()];
    this.#held = undefined;
    changes.sort((a, b) => a.candle.timestamp - b.candle.timestamp);
    return this.#present(changes, received);
  }

  #present(changes: readonly CandleChange[], received: number): Iterable<CandleEvent> {
    const { book, endsEarly = false } = this.#state!;
    const { finalUntil, coveredFrom, coveredUntil, observedAt } = book;
    const historyUntil = this.#historyUntil;
    this.#historyUntil = Number.NEGATIVE_INFINITY;
    return this.#events(
      { changes, finalUntil, coveredFrom, coveredUntil },
      { observedAt, received, historyUntil, endsEarly },
    );
  }

  *#events(step: FillStep, delivery: Delivery): Iterable<CandleEvent> {
    const changes = step.changes.filter(({ candle }) => candle.timestamp >= this.#start);
    this.#newest = Math.max(this.#newest, changes.at(-1)?.candle.timestamp ?? this.#newest);
    const shown = this.#filler === undefined ? changes : this.#filler.fill({ ...step, changes });
    /** A first close that is live unless a newer one follows, and what comes after it. */
    let waiting: CandleEvent[] = [];
    for (const change of shown) {
      const isFirstClose = this.#noteClose(change);
      const event = this.#eventOf(change, delivery, isFirstClose);
      if (isFirstClose && event.live) {
        yield* overtaken(waiting);
        waiting = [event];
      } else if (waiting.length > 0) waiting.push(event);
      else yield event;
    }
    yield* delivery.endsEarly ? overtaken(waiting) : waiting;
  }

  #eventOf(change: CandleChange, delivery: Delivery, isFirstClose: boolean): CandleEvent {
    const { candle, status, revision } = change;
    const { observedAt, received, historyUntil } = delivery;
    const { timestamp } = candle;
    const due = dueAt(this.#rules, timestamp, status, isFirstClose);
    const lateBy = lateness(received, due);
    const isHistory = due <= historyUntil || (status === "open" && historyUntil > Number.NEGATIVE_INFINITY);
    const isLive = !isHistory && isInTime(lateBy, this.#intervals.end(timestamp) - timestamp);
    const what = change.type === "updated" ? change.previous : change.type;
    return frozenEvent(what, candle, status, revision, isLive, lateBy, observedAt, this.#series);
  }

  /** Whether a change is the first that shows its candle as closed, or as final. */
  #noteClose({ type, candle: { timestamp }, status }: CandleChange): boolean {
    const wasClosed = this.#closed.has(timestamp);
    if (type !== "removed" && status === "closed") this.#closed.add(timestamp);
    else this.#closed.delete(timestamp);
    return type !== "removed" && status !== "open" && !wasClosed;
  }
}

/** Takes back that the first of some events is live: of the closes that one answer tells of only the newest is. */
function* overtaken([first, ...others]: readonly CandleEvent[]): Iterable<CandleEvent> {
  if (first !== undefined) yield Object.freeze({ ...first, live: false });
  yield* others;
}

function isFinal({ type, status }: CandleChange): boolean {
  return type !== "removed" && status === "final";
}

function asNew({ candle, status, revision }: CandleEntry | CandleChange): CandleChange {
  return { type: "new", candle, status, revision };
}

function hold(held: Map<number, CandleChange>, change: CandleChange): void {
  const { timestamp } = change.candle;
  if (change.type === "removed") held.delete(timestamp);
  else held.set(timestamp, asNew(change));
}
