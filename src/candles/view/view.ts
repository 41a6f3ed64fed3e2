import type { Series } from "../../contract/model.js";
import { type Span, withoutSpan, withSpan } from "../../spans.js";
import { type CandleEvent, frozenEvent } from "../event.js";
import { dueAt, isInTime, lateness } from "../lateness.js";
import type { CandleState } from "../live/poll-candles.js";
import type { CandleWatch } from "../options.js";
import { type CandleChange, type CandleEntry, isFinal } from "../read/book.js";
import type { FinalPart } from "../read/forward.js";
import type { CandleRules } from "../rules.js";
import { type FillStep, finalStep, GapFiller } from "./gap-filler.js";

/** What one subscriber gets to know, in order; `received`: when, by the service's clock, where that is not just read. */
export type ViewStep =
  | {
      readonly type: "state";
      readonly state: CandleState;
      readonly received?: number;
    }
  | { readonly type: "history"; readonly part: FinalPart }
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
  /** The interval of the subscription by the clock as it is known then. */
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
  #filler: GapFiller | undefined;
  /** Nothing older is shown. */
  #start: number;
  readonly #startAnew: (() => number) | undefined;
  /** As in `Delivery`, of the next one. */
  #historyUntil: number;
  /** The newest candle of the history, which has been told for good. */
  #newestPast = -Infinity;
  /** The candles that were shown as closed and can change still. */
  readonly #closed = new Set<number>();
  #state: CandleState | undefined;
  /** What has happened to the candles since the history began to be read, one entry a candle. */
  #held: Map<number, CandleChange> | undefined;
  /** What has been covered and not yet presented: a book may cover less later on. */
  #covered: Span[] = [];

  constructor(watch: CandleWatch, options: ViewOptions) {
    this.#series = watch.series;
    this.#rules = watch.rules;
    this.#filler = watch.fillGaps ? new GapFiller(watch.rules.intervals) : undefined;
    this.#start = options.start;
    this.#startAnew = options.startAnew;
    this.#historyUntil = watch.since === undefined ? -Infinity : Infinity;
    this.#held = options.hasHistory ? new Map() : undefined;
  }

  /** The events that follow from a step; must be read to their end before the next step. */
  take(step: ViewStep): Iterable<CandleEvent> {
    if (step.type === "history") return this.#history(step.part);
    if (step.type === "history-end") return this.#handOver(step.received);
    const { state, received = state.book.observedAt } = step;
    const isFirst = this.#state === undefined;
    const changes = this.#follow(state);
    if (this.#held === undefined) return this.#present(changes, received);
    // What closes while the history is read is none of it.
    if (isFirst) this.#historyUntil = received;
    for (const change of changes) hold(this.#held, change);
    return [];
  }

  /** What a state changes: all that stands where it is the first. */
  #follow(state: CandleState): readonly CandleChange[] {
    const { book, changes } = state;
    const before = this.#state?.book;
    const shownFrom = this.#start;
    this.#state = state;
    // By a clock that ran ahead more was covered than there was.
    if (book.epoch !== before?.epoch)
      this.#covered = withoutSpan(this.#covered, { from: book.covered.at(-1)!.to, to: Infinity });
    this.#covered = book.covered.reduce(withSpan, this.#covered);
    if (before === undefined) {
      // Candles that became final during the first catch-up are only in `changes`.
      const finals = this.#held === undefined ? changes.filter(isFinal) : [];
      return [...finals, ...book.entries].map(asNew);
    }
    const running = this.#rules.intervals.start(book.observedAt);
    const isSet = book.epoch !== before.epoch;
    this.#filler?.setBack(book.finalUntil, running, isSet);
    if (!isSet) return changes;
    // Where the clock was set back, the running interval may lie before the subscription by the old one.
    if (running < shownFrom) this.#start = Math.min(running, this.#startAnew?.() ?? running);
    const uncovered = book.entries.filter(({ candle }) => candle.timestamp < shownFrom).map(asNew);
    return [...uncovered, ...changes.filter(({ candle }) => candle.timestamp >= shownFrom)];
  }

  #history(part: FinalPart): Iterable<CandleEvent> {
    const { observedAt, candles } = part;
    this.#newestPast = candles.at(-1)?.timestamp ?? this.#newestPast;
    const delivery = { observedAt, received: observedAt, historyUntil: Infinity, endsEarly: false };
    return this.#events(finalStep(this.#rules.intervals, part), delivery);
  }

  #handOver(received = this.#state!.book.observedAt): Iterable<CandleEvent> {
    const changes = [...this.#held!.values()];
    this.#held = undefined;
    changes.sort((a, b) => a.candle.timestamp - b.candle.timestamp);
    return this.#present(changes, received);
  }

  #present(told: readonly CandleChange[], received: number): Iterable<CandleEvent> {
    const { book, endsEarly } = this.#state!;
    // The book may go back to what a history has told for good.
    const changes = told.filter(({ candle }) => candle.timestamp > this.#newestPast);
    const { finalUntil, observedAt } = book;
    const historyUntil = this.#historyUntil;
    this.#historyUntil = -Infinity;
    const covered = this.#covered;
    this.#covered = [];
    return this.#events({ changes, finalUntil, covered }, { observedAt, received, historyUntil, endsEarly });
  }

  *#events(step: FillStep, delivery: Delivery): Iterable<CandleEvent> {
    const changes = step.changes.filter(({ candle }) => candle.timestamp >= this.#start);
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
    const isHistory = due <= historyUntil || (status === "open" && historyUntil > -Infinity);
    const isLive = !isHistory && isInTime(lateBy, this.#rules.intervals.end(timestamp) - timestamp);
    const what = change.type === "updated" ? change.previous : change.type;
    return frozenEvent(what, candle, status, revision, isLive, lateBy, observedAt, this.#series);
  }

  /** Whether a change is the first that shows its candle as closed, or as final. */
  #noteClose({ type, candle: { timestamp }, status }: CandleChange): boolean {
    // What is told anew, as its time had not come, closes anew.
    const wasClosed = type !== "new" && this.#closed.has(timestamp);
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

function asNew({ candle, status, revision }: CandleEntry | CandleChange): CandleChange {
  return { type: "new", candle, status, revision };
}

function hold(held: Map<number, CandleChange>, change: CandleChange): void {
  const { timestamp } = change.candle;
  if (change.type === "removed") held.delete(timestamp);
  else held.set(timestamp, asNew(change));
}
