import type { Series } from "../../contract/model.js";
import type { Intervals } from "../../timeframe.js";
import { type CandleEvent, frozenEvent } from "../event.js";
import type { CandleBook, CandleChange, CandleEntry } from "../live/book.js";
import type { CandleState } from "../live/poll-candles.js";
import type { CandleWatch } from "../options.js";
import type { CandleRead } from "../read/range-reader.js";
import { type FillStep, finalStep, GapFiller } from "./gap-filler.js";

/** What one subscriber gets to know, in order. */
export type ViewStep =
  | { readonly type: "state"; readonly state: CandleState }
  | { readonly type: "history"; readonly read: CandleRead }
  | { readonly type: "history-end" };

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
  readonly #intervals: Intervals;
  #filler: GapFiller | undefined;
  /** Nothing older is shown. */
  #start: number;
  #startAnew: (() => number) | undefined;
  /** The newest candle that was shown, flat ones aside. */
  #newest = Number.NEGATIVE_INFINITY;
  /** What was shown of the time before it is final, although the book has begun anew since and does not know. */
  #finalUntil = Number.NEGATIVE_INFINITY;
  #isLive: boolean;
  #state: CandleState | undefined;
  /** What has happened to the candles since the history began to be read, one entry a candle. */
  #held: Map<number, CandleChange> | undefined;

  constructor(watch: CandleWatch, options: ViewOptions) {
    this.#series = watch.series;
    this.#intervals = watch.rules.intervals;
    this.#filler = watch.fillGaps ? new GapFiller(watch.rules.intervals) : undefined;
    this.#start = options.start;
    this.#startAnew = options.startAnew;
    // Where nothing older was asked for, what is already there counts as live.
    this.#isLive = watch.since === undefined;
    this.#held = options.hasHistory ? new Map() : undefined;
  }

  /** The events that follow from a step; must be read to their end before the next step. */
  take(step: ViewStep): Iterable<CandleEvent> {
    if (step.type === "history") return this.#history(step.read);
    if (step.type === "history-end") return this.#handOver();
    const changes = this.#follow(step.state);
    if (this.#held === undefined) return this.#present(changes);
    for (const change of changes) hold(this.#held, change);
    return [];
  }

  /** What a state changes: all that stands where it is the first. */
  #follow(state: CandleState): readonly CandleChange[] {
    const before = this.#state?.book;
    const { book, changes } = state;
    this.#state = state;
    if (before === undefined) {
      // What an outage at the beginning has made final is in no book.
      const finals = this.#held === undefined ? changes.filter(isFinal) : [];
      return [...finals, ...book.entries].map(asNew);
    }
    if (book.epoch === before.epoch) return changes;
    const shownFrom = this.#start;
    this.#followClock(book, before);
    const uncovered = book.entries.filter(({ candle }) => candle.timestamp < shownFrom).map(asNew);
    return [...uncovered, ...changes.filter(({ candle }) => candle.timestamp >= shownFrom)];
  }

  /** Moves the start where the service's clock has jumped. */
  #followClock({ finalUntil, observedAt }: CandleBook, before: CandleBook): void {
    const running = this.#intervals.start(observedAt);
    // Where it was set back, the running interval may lie before the subscription by the old clock.
    this.#start = Math.min(this.#start, running, this.#startAnew?.() ?? running);
    this.#startAnew = undefined;
    const hasBegunAnew = finalUntil < before.finalUntil;
    if (hasBegunAnew) this.#finalUntil = Math.min(before.finalUntil, this.#newest + 1);
    // By this clock what was final is still to come: it is shown again, or nothing would be heard until then.
    if (this.#finalUntil > this.#intervals.end(observedAt)) return;
    this.#start = Math.max(this.#start, this.#finalUntil);
    // Its flats are of a time that had not come.
    if (hasBegunAnew) this.#filler &&= new GapFiller(this.#intervals);
  }

  #history(read: CandleRead): Iterable<CandleEvent> {
    return this.#events(finalStep(read), read.provenAt);
  }

  *#handOver(): Iterable<CandleEvent> {
    const changes = [...(this.#held?.values() ?? [])];
    this.#held = undefined;
    yield* this.#present(changes.sort((a, b) => a.candle.timestamp - b.candle.timestamp));
  }

  *#present(changes: readonly CandleChange[]): Iterable<CandleEvent> {
    const { finalUntil, coveredFrom, coveredUntil, observedAt } = this.#state!.book;
    yield* this.#events({ changes, finalUntil, coveredFrom, coveredUntil }, observedAt);
    this.#isLive = true;
  }

  *#events(step: FillStep, observedAt: number): Iterable<CandleEvent> {
    const changes = step.changes.filter(({ candle }) => candle.timestamp >= this.#start);
    this.#newest = Math.max(this.#newest, changes.at(-1)?.candle.timestamp ?? this.#newest);
    const shown = this.#filler === undefined ? changes : this.#filler.fill({ ...step, changes });
    for (const change of shown) {
      const { candle, status, revision } = change;
      const what = change.type === "updated" ? change.previous : change.type;
      yield frozenEvent(what, candle, status, revision, this.#isLive, 0, observedAt, this.#series);
    }
  }
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
