import type { Series } from "../contract/model.js";
import type { Intervals } from "../timeframe.js";
import type { CandleChange, CandleEntry, CandleRead } from "./book.js";
import type { CandleEvent } from "./event.js";
import type { CandleState } from "./feed.js";
import { type FillStep, GapFiller } from "./fill.js";
import type { CandleWatch } from "./options.js";

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
  /** Whether what is already there counts as live. */
  readonly isLive: boolean;
}

/**
 * One subscriber's view of the shared book: its history first, then the candles that may still change as they
 * stand when the history is through, then what changes.
 */
export class CandleView {
  readonly #series: Series;
  readonly #intervals: Intervals;
  readonly #filler: GapFiller | undefined;
  /** Nothing older is shown. */
  #start: number;
  #startAnew: (() => number) | undefined;
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
    this.#isLive = options.isLive;
    this.#held = options.hasHistory ? new Map() : undefined;
  }

  /** The events that follow from a step; must be read to their end before the next step. */
  take(step: ViewStep): Iterable<CandleEvent> {
    if (step.type === "history") return this.#history(step.read);
    if (step.type === "history-end") return this.#handOver();
    const isFirst = this.#state === undefined;
    const { epoch, observedAt } = step.state.book;
    const shownFrom = this.#start;
    // Where the service's clock was set back, the running interval may lie before the subscription by the old clock.
    if (!isFirst && epoch !== this.#state?.book.epoch) {
      const running = this.#intervals.start(observedAt);
      this.#start = Math.min(shownFrom, running, this.#startAnew?.() ?? running);
      this.#startAnew = undefined;
    }
    this.#state = step.state;
    const { entries } = step.state.book;
    // What an outage at the beginning has made final is in no book.
    const finals = this.#held === undefined ? step.state.changes.filter(isFinal) : [];
    const isHidden = ({ candle }: CandleEntry) => candle.timestamp < shownFrom;
    const changes = isFirst
      ? [...finals, ...entries].map(asNew)
      : [
          ...(this.#start < shownFrom ? entries.filter(isHidden).map(asNew) : []),
          ...step.state.changes.filter(({ candle }) => candle.timestamp >= shownFrom),
        ];
    if (this.#held === undefined) return this.#present(changes);
    for (const change of changes) hold(this.#held, change);
    return [];
  }

  #history(read: CandleRead): Iterable<CandleEvent> {
    const changes = read.candles.map((candle): CandleChange => {
      return { type: "new", candle, status: "final", revision: 0 };
    });
    const extent = { finalUntil: read.to, coveredFrom: read.from, coveredUntil: read.to };
    return this.#events({ changes, ...extent, uncovered: read.unreadable }, read.provenAt);
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
    const shown = this.#filler === undefined ? changes : this.#filler.fill({ ...step, changes });
    for (const change of shown) yield this.#eventOf(change, observedAt);
  }

  /** Written out, as an object that is spread takes several times as long to make and to freeze. */
  #eventOf({ type, candle, previous, status, revision }: CandleChange, observedAt: number): CandleEvent {
    const live = this.#isLive;
    const series = this.#series;
    return Object.freeze(
      previous === undefined
        ? { type, candle, status, revision, live, observedAt, series }
        : { type, candle, previous, status, revision, live, observedAt, series },
    );
  }
}

function isFinal({ type, status }: CandleChange): boolean {
  return type !== "removed" && status === "final";
}

function asNew({ candle, status, revision }: CandleEntry | CandleChange): CandleChange {
  return { type: "new", candle, status, revision };
}

function hold(held: Map<number, CandleChange>, change: CandleChange): void {
  const { candle, status, revision } = change;
  if (change.type === "removed") held.delete(candle.timestamp);
  else held.set(candle.timestamp, { type: "new", candle, status, revision });
}
