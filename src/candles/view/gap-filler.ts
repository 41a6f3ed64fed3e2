import { type Span, withoutSpan } from "../../spans.js";
import type { Intervals } from "../../timeframe.js";
import { type CandleChange, type CandleEntry, changeOf } from "../read/book.js";
import type { FinalPart } from "../read/forward.js";

/** What is new about a series, and how far it is known. */
export interface FillStep {
  /** Ascending by timestamp. */
  readonly changes: readonly CandleChange[];
  readonly finalUntil: number;
  /** The spans whose intervals are all known, ascending. */
  readonly covered: readonly Span[];
}

/** What a part of the past has to fill: all of it is final. */
export function finalStep(intervals: Intervals, { from, to, candles, unreadable }: FinalPart): FillStep {
  const changes = candles.map((candle): CandleChange => {
    return { type: "new", candle, status: "final", revision: 0 };
  });
  const ofRow = (row: number) => ({ from: row, to: intervals.end(row) });
  const covered = [...unreadable].map(ofRow).reduce(withoutSpan, [{ from, to }]);
  return { changes, finalUntil: to, covered };
}

interface Shown extends CandleEntry {
  /** Whether the service has shown it; else it fills a gap. */
  readonly isReal: boolean;
  /** Whether its interval has been covered; what is covered later does not always begin as early. */
  readonly isKnown: boolean;
}

/**
 * Puts flat candles (the last close, volume 0, swaps 0) where covered intervals have none, from the first known
 * candle on, and takes them back or mends them as real candles come, go and are corrected.
 *
 * It holds what is not final yet.
 */
export class GapFiller {
  readonly #intervals: Intervals;
  /** What was last given out of each interval that may still change. */
  readonly #shown = new Map<number, Shown>();
  /** The first interval of which anything was ever given. */
  #first = Infinity;
  /** The first interval that may still change. */
  #next = -Infinity;
  /** The last close before it. */
  #close: number | undefined;
  /** Flat candles were given as final from `#next` until here, with this close. */
  #given: { readonly until: number; readonly close?: number | undefined } = {
    until: -Infinity,
  };

  constructor(intervals: Intervals) {
    this.#intervals = intervals;
  }

  /**
   * Goes back to `next`: the service's clock was set back (`isSet`), or the first candles of a series show late. If the clock was
   * not set, what was given as final stays so. Since `next` only flat candles were final. Those before `running`, the interval that
   * runs by the right clock, are not given again unless they change; the others were of a time that had not come.
   */
  setBack(next: number, running: number, isSet: boolean): void {
    for (const [timestamp, { isReal }] of this.#shown)
      if (timestamp >= running && !isReal) this.#shown.delete(timestamp);
    if (next >= this.#next || (!isSet && next >= this.#first)) return;
    this.#given = { until: Math.min(this.#next, running), close: this.#close };
    this.#next = next;
  }

  /** Gives what a step changes, gaps filled, ascending; must be read to its end before the next step. */
  *fill(step: FillStep): Generator<CandleChange> {
    // What is final stays so, whatever a book says that has begun anew.
    const changes = step.changes.filter(({ candle }) => candle.timestamp >= this.#next);
    const changed = new Map(changes.map((change) => [change.candle.timestamp, change]));
    const [first = Infinity] = changed.keys();
    let last = changes.at(-1)?.candle.timestamp ?? -Infinity;
    for (const timestamp of this.#shown.keys()) last = Math.max(last, timestamp);

    const isStarted = this.#close !== undefined || this.#shown.size > 0;
    let close = this.#close;
    let timestamp = isStarted ? this.#next : Math.max(this.#next, first);
    while (timestamp < (step.covered.at(-1)?.to ?? -Infinity) || timestamp <= last) {
      const wanted = this.#wanted(timestamp, changed.get(timestamp), close, step);
      if (!this.#wasGiven(timestamp, wanted)) yield* this.#turn(timestamp, wanted);
      close = wanted?.candle.close ?? close;
      if (timestamp < step.finalUntil) {
        this.#shown.delete(timestamp);
        this.#next = this.#intervals.end(timestamp);
        this.#close = close;
      }
      timestamp = this.#intervals.end(timestamp);
    }
    this.#next = Math.max(this.#next, step.finalUntil);
  }

  #wanted(
    timestamp: number,
    change: CandleChange | undefined,
    close: number | undefined,
    step: FillStep,
  ): Shown | undefined {
    const before = this.#shown.get(timestamp);
    const isCovered = step.covered.some(({ from, to }) => timestamp >= from && timestamp < to);
    const isKnown = before?.isKnown || isCovered;
    if (change === undefined ? before?.isReal : change.type !== "removed") {
      const { candle, status, revision } = change ?? before!;
      return { candle, status, revision, isReal: true, isKnown };
    }
    if (close === undefined || !isKnown) return undefined;
    const status = timestamp < step.finalUntil ? "final" : "closed";
    const candle = { timestamp, open: close, high: close, low: close, close, volume: 0, swaps: 0 };
    return { candle: Object.freeze(candle), status, revision: 0, isReal: false, isKnown };
  }

  /** Whether this flat candle was given before the clock was set back, and nothing has come in its place. */
  #wasGiven(timestamp: number, wanted: Shown | undefined): boolean {
    const { until, close } = this.#given;
    if (timestamp >= until || this.#shown.has(timestamp) || wanted?.isReal) return false;
    return wanted?.candle.close === close;
  }

  *#turn(timestamp: number, wanted: Shown | undefined): Generator<CandleChange> {
    const before = this.#shown.get(timestamp);
    if (wanted === undefined) {
      this.#shown.delete(timestamp);
      if (before === undefined) return;
      const { candle, status, revision } = before;
      yield { type: "removed", candle, status, revision: revision + 1 };
      return;
    }
    this.#first = Math.min(this.#first, timestamp);
    // Where a flat candle had closed, a real one that turns up is a correction, held open by the book or not.
    const change = changeOf(before, wanted.candle, wanted.status);
    const { status, revision } = before === undefined ? wanted : (change ?? before);
    this.#shown.set(timestamp, { ...wanted, status, revision });
    if (change !== undefined) yield { ...change, revision };
  }
}
