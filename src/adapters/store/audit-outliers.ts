import type { Candle } from "../../contract/model.js";
import type { Finding, OutlierField } from "./audit-finding.js";

/** How many returns a return is judged by at most, the newest before it, and how many at least. */
const WINDOW = 300;
const LEAST = 30;
/** Iglewicz and Hoaglin, How to Detect and Handle Outliers (ASQC, 1993): the third quartile of a normal distribution. */
const NORMAL_QUARTILE = 0.6745;
/** Theirs, too: a score past this, or its negative, is an outlier. */
const THRESHOLD = 3.5;
const FIELDS: readonly OutlierField[] = ["close", "high", "low"];

/** Tells candles, ascending, with a price that lies far from the close before; see `auditCandles` for the rule. */
export class OutlierRule {
  #before: Candle | undefined;
  readonly #window = new ReturnWindow();

  /** Judges a candle by those before it. */
  next(served: Candle): Extract<Finding, { type: "outlier" }> | undefined {
    const before = this.#before;
    this.#before = served;
    if (before === undefined) return undefined;
    const scoreOf = this.#window.scores();
    let worst: { field: OutlierField; logReturn: number; score: number } | undefined;
    for (const field of FIELDS) {
      const logReturn = Math.log(served[field] / before.close);
      // A price of 0 has no return.
      if (!Number.isFinite(logReturn)) continue;
      if (field === "close") this.#window.add(logReturn);
      const score = scoreOf(logReturn);
      if (Math.abs(score) > Math.max(THRESHOLD, Math.abs(worst?.score ?? 0)))
        worst = { field, logReturn, score };
    }
    if (worst === undefined) return undefined;
    return Object.freeze({ type: "outlier", timestamp: served.timestamp, ...worst, served, before });
  }
}

/** The newest returns, in the order of time and in that of their size. */
class ReturnWindow {
  readonly #newest: number[] = [];
  readonly #sorted: number[] = [];

  add(value: number): void {
    if (this.#newest.push(value) > WINDOW)
      this.#sorted.splice(placeIn(this.#sorted, this.#newest.shift()!), 1);
    this.#sorted.splice(placeIn(this.#sorted, value), 0, value);
  }

  /** The modified z-scores of values among these; 0 where these are too few, or all the same. */
  scores(): (value: number) => number {
    const sorted = this.#sorted;
    if (sorted.length < LEAST) return () => 0;
    const middle = medianOf(sorted);
    const deviations = deviationsOf(sorted, middle);
    const scale = medianOf(deviations) || medianOf(deviations.slice(placeIn(deviations, Number.MIN_VALUE)));
    return (value) => (scale > 0 ? (NORMAL_QUARTILE * (value - middle)) / scale : 0);
  }
}

/** How far each of ascending values is from a middle, ascending. */
function deviationsOf(sorted: readonly number[], middle: number): number[] {
  const found: number[] = [];
  let above = placeIn(sorted, middle);
  let below = above - 1;
  while (found.length < sorted.length) {
    const up = above < sorted.length ? sorted[above]! - middle : Infinity;
    const down = below >= 0 ? middle - sorted[below]! : Infinity;
    found.push(Math.min(up, down));
    if (up <= down) above++;
    else below--;
  }
  return found;
}

/** The median of ascending values; `NaN` of none. */
function medianOf(sorted: readonly number[]): number {
  const half = sorted.length / 2;
  return (sorted[Math.ceil(half) - 1]! + sorted[Math.floor(half)]!) / 2;
}

/** How many of ascending values are below one. */
function placeIn(sorted: readonly number[], value: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]! < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
