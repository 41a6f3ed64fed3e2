import { checkTimeframe, checkWeekStart, show } from "../../contract/input.js";
import type { AnyTimeframe, Candle, WeekStart } from "../../contract/model.js";
import { checkNames } from "../../contract/names.js";
import { InvalidInputError } from "../../errors.js";
import { type Intervals, intervalsOf } from "../../timeframe.js";
import { vwma } from "../averages/vwma.js";

import type { Indicator } from "../kernel.js";
import { checkPeriod } from "../parameters.js";
import type { CandleColumns } from "../rows.js";
import { type SeriesKernel, seriesIndicator } from "../series-kernel.js";
import type { SourceOptions } from "../source.js";

/** The range of a volume-weighted average price. */
export interface VwapOptions extends SourceOptions {
  /**
   * A timeframe: the average begins anew at the start of each of its intervals, UTC. `{ candles: n }`: a sliding window
   * of the last `n` candles. The default is `"1d"`.
   */
  readonly session?:
    | AnyTimeframe
    | {
        /** The number of candles, a whole number from 1 to 100,000. */
        readonly candles: number;
      };
  /** The day on which a session of `1w` begins; the default is `"monday"`. */
  readonly weekStart?: WeekStart;
}

/**
 * The volume-weighted average price (TradingView's `ta.vwap`): the average price since the session began, each candle
 * weighted by its volume.
 *
 * ```text
 * vwap = Σ hlc3 · volume / Σ volume        over the candles of the session so far
 * ```
 *
 * In the unit of the price. With a timeframe there is a value from the first candle on, even if that is in the middle
 * of a session. With `{ candles: n }` it is `undefined` for the first `n − 1` candles and equals `vwma(n, { source:
 * "hlc3" })`. It is also `undefined` without volume; the price in a flat market. A candle belongs to the session in
 * which it starts. Defaults: `session` `"1d"`, `weekStart` `"monday"`, `source` `"hlc3"`. Throws an `InvalidInputError`
 * unless `session` is a timeframe or a whole number of candles from 1 to 100,000, `weekStart` is `"monday"` or
 * `"thursday"`, and the source is valid.
 *
 * ```ts
 * import { vwap } from "pairstream";
 *
 * const paid = { today: vwap(), thisWeek: vwap({ session: "1w" }), lately: vwap({ session: { candles: 50 } }) };
 * ```
 */
export function vwap(options?: VwapOptions): Indicator<number> {
  if (options !== undefined && (typeof options !== "object" || options === null)) {
    const allowed = 'an object such as { session: "1d" }';
    throw new InvalidInputError("options", allowed, `is ${show(options)}`);
  }
  if (options !== undefined) checkNames(options, ["session", "weekStart", "source"]);
  const weekStart = checkWeekStart(options?.weekStart);
  const source = options?.source ?? "hlc3";
  const session: unknown = options?.session ?? "1d";
  if (typeof session === "object" && session !== null && "candles" in session) {
    const n = checkPeriod("session.candles", session.candles as number);
    checkNames(session, ["candles"], "session.");
    return vwma(n, { source });
  }
  if (typeof session === "object") {
    const allowed = "a timeframe, or an object such as { candles: 20 }";
    throw new InvalidInputError("session", allowed, `is ${show(session)}`);
  }
  const timeframe = checkTimeframe("session", session as AnyTimeframe);
  const sessions = intervalsOf(timeframe, weekStart);
  return seriesIndicator(() => new SessionAverage(sessions), { source }, "hlc3");
}

class SessionAverage implements SeriesKernel<number> {
  /** The start and the end of the session. */
  private from = Number.NaN;
  private to = Number.NaN;
  /** The first price of the session. Amounts are summed up relative to it, so equal prices give exactly that price. */
  private anchor = Number.NaN;
  private amount = Number.NaN;
  private volume = Number.NaN;

  constructor(private readonly sessions: Intervals) {}

  push(price: number, candle: Pick<Candle, "timestamp" | "volume">): number {
    if (!this.isIn(candle)) this.begin(price, candle);
    const { anchor } = this;
    this.amount += (price - anchor) * candle.volume;
    this.volume += candle.volume;
    // Without volume this is 0 / 0: NaN, which means no value.
    return anchor + this.amount / this.volume;
  }

  peek(price: number, candle: Pick<Candle, "timestamp" | "volume">): number {
    const { volume } = candle;
    if (!this.isIn(candle)) return volume === 0 ? Number.NaN : price;
    return this.anchor + (this.amount + (price - this.anchor) * volume) / (this.volume + volume);
  }

  fill(values: Float64Array, out: Float64Array, { timestamp, volume }: CandleColumns): void {
    for (let at = 0; at < values.length; at += 1) {
      out[at] = this.push(values[at]!, { timestamp: timestamp[at]!, volume: volume[at]! });
    }
  }

  fork(): SessionAverage {
    const copy = new SessionAverage(this.sessions);
    copy.from = this.from;
    copy.to = this.to;
    copy.anchor = this.anchor;
    copy.amount = this.amount;
    copy.volume = this.volume;
    return copy;
  }

  private isIn({ timestamp }: Pick<Candle, "timestamp" | "volume">): boolean {
    return timestamp >= this.from && timestamp < this.to;
  }

  private begin(price: number, { timestamp }: Pick<Candle, "timestamp" | "volume">): void {
    this.from = this.sessions.start(timestamp);
    this.to = this.sessions.end(timestamp);
    this.anchor = price;
    this.amount = 0;
    this.volume = 0;
  }
}
