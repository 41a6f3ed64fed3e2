import type { Candle, CandleStatus, IndicatorEvent } from "pairstream";

/** What is worked out for every candle. */
export interface Lines {
  readonly fast: number | undefined;
  readonly slow: number | undefined;
  readonly strength: number | undefined;
}

export interface Row {
  readonly candle: Candle;
  readonly status: CandleStatus;
  readonly values: Lines;
}

/** Something that happened to a candle after it had closed. */
export interface Correction {
  readonly timestamp: number;
  readonly kind: "corrected" | "late" | "removed";
  /** When it was seen, by the service's clock. */
  readonly observedAt: number;
}

/** What has to be drawn: everything, or these rows, each at the end or in the place of one that is there. */
export type Changes = "all" | readonly Row[];

/** More than a channel keeps. */
const MOST = 4_000;
const LEFT = 3_000;
const CORRECTIONS = 200;

/** The candles of a series as they stand, and what of them is to be drawn. */
export class ShownCandles {
  readonly #rows = new Map<number, Row>();
  readonly #changed = new Set<number>();
  readonly #corrections = new Map<number, Correction>();
  #newest = Number.NEGATIVE_INFINITY;
  /** What is older has been forgotten. */
  #oldest = Number.NEGATIVE_INFINITY;
  #isToBeDrawnAnew = true;
  /** When the first event was true. What was true by then is history; a correction after it is one, though it is not live. */
  #historyUntil: number | undefined;

  get corrections(): readonly Correction[] {
    return [...this.#corrections.values()];
  }

  get newest(): Row | undefined {
    return this.#rows.get(this.#newest);
  }

  at(timestamp: number): Row | undefined {
    return this.#rows.get(timestamp);
  }

  /** Ascending. */
  all(): readonly Row[] {
    return [...this.#rows.values()].sort((a, b) => a.candle.timestamp - b.candle.timestamp);
  }

  take(event: IndicatorEvent<Lines>): void {
    const { candle, status, values, observedAt } = event;
    const { timestamp } = candle;
    if (timestamp < this.#oldest) return;
    this.#historyUntil ??= observedAt;
    const isNews = observedAt > this.#historyUntil;
    const before = this.#rows.get(timestamp);
    const correct = (kind: Correction["kind"]) => {
      if (isNews) this.#correct({ timestamp, kind, observedAt });
    };
    if (event.type === "removed") {
      this.#rows.delete(timestamp);
      this.#changed.delete(timestamp);
      this.#isToBeDrawnAnew = true;
      if (timestamp === this.#newest) this.#newest = Math.max(...this.#rows.keys());
      correct("removed");
      return;
    }
    this.#rows.set(timestamp, { candle, status, values });
    this.#changed.add(timestamp);
    if (before === undefined && timestamp < this.#newest) {
      this.#isToBeDrawnAnew = true;
      correct("late");
    }
    // A line that begins earlier than it did has points where there were none.
    if (before !== undefined && hasMore(before.values, values)) this.#isToBeDrawnAnew = true;
    const wasOver = before !== undefined && before.status !== "open";
    if (wasOver && event.type === "updated" && !isSame(event.previous, candle)) correct("corrected");
    this.#newest = Math.max(this.#newest, timestamp);
    if (this.#rows.size > MOST) this.#forget();
  }

  /** What has changed since this was asked last. */
  drain(): Changes {
    const isAnew = this.#isToBeDrawnAnew;
    const changed = [...this.#changed].sort((a, b) => a - b);
    this.#isToBeDrawnAnew = false;
    this.#changed.clear();
    return isAnew ? "all" : changed.map((timestamp) => this.#rows.get(timestamp)!);
  }

  #correct(correction: Correction): void {
    this.#corrections.delete(correction.timestamp);
    this.#corrections.set(correction.timestamp, correction);
    if (this.#corrections.size <= CORRECTIONS) return;
    const [first] = this.#corrections.keys();
    this.#corrections.delete(first!);
  }

  #forget(): void {
    const timestamps = [...this.#rows.keys()].sort((a, b) => a - b);
    const surplus = timestamps.slice(0, timestamps.length - LEFT);
    for (const timestamp of surplus) {
      this.#rows.delete(timestamp);
      this.#changed.delete(timestamp);
    }
    this.#oldest = timestamps[surplus.length]!;
    this.#isToBeDrawnAnew = true;
  }
}

function isSame(a: Candle, b: Candle): boolean {
  return (
    a.open === b.open &&
    a.high === b.high &&
    a.low === b.low &&
    a.close === b.close &&
    a.volume === b.volume &&
    a.swaps === b.swaps
  );
}

function hasMore(before: Lines, now: Lines): boolean {
  return (["fast", "slow", "strength"] as const).some(
    (name) => (before[name] === undefined) !== (now[name] === undefined),
  );
}
