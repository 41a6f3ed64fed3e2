import type { MonoTypeOperatorFunction } from "rxjs";
import { type CandleEvent, type CandleStatus, frozenEvent, isSame } from "../candles/event.js";
import type { Candle } from "../contract/model.js";
import { reduceBySeries } from "./by-series.js";
import type { Coming } from "./lateness.js";
import { type Recursion, ReplayedChain } from "./replayed-chain.js";

/**
 * Turns the candles of each series into Heikin-Ashi candles, which smooth each candle with the one before it.
 *
 * ```marbles
 * events        a-b-c-d----|
 * heikinAshi()  p-q-r-(stu)|
 *
 * a: new 12:00 = 8, closed       b: new 12:01 = 16, closed         c: new 12:02 = 16, open
 * d: updated 12:00 = 12, final
 * p: new 12:00 = 8, closed       q: new 12:01 = 8→16, closed       r: new 12:02 = 12→16, open
 * s: updated 12:00 = 12, final   t: updated 12:01 = 12→16, closed  u: updated 12:02 = 14→16, open
 * ```
 *
 * close = (open + high + low + close) / 4; open = the mean of open and close of the Heikin-Ashi candle before (for the
 * first candle, of its own). High and low are the highest and the lowest of the candle's own values and these two.
 * Volume, swaps, timestamp and unit stay the same. The candle before is the last known one, however many intervals lie
 * between.
 *
 * Each candle depends on all candles before it. A correction, a removal or a late candle is therefore followed at once
 * by an `updated` event for each later candle that it changes, ascending. Such an event has the `observedAt` of its
 * cause; `lateBy` and `live` are those of its own candle. Revisions count the events that are emitted, starting at the
 * revision of the first one. A change that does not show emits nothing. The operator holds every candle until it is
 * final, so do not filter out the final events before it.
 *
 * Series may be merged; each is handled on its own. If an event is about a candle that is no newer than a final one, a
 * `new` event starts its series over, as after the service's clock was set back. Any other such event is left out, with
 * a warning of the process.
 *
 * ```ts
 * import { type CandleEvent, heikinAshi, latest } from "pairstream";
 * import type { Observable } from "rxjs";
 *
 * const draw = (events: Observable<CandleEvent>, setData: (closes: number[]) => void) =>
 *   events
 *     .pipe(heikinAshi(), latest(200))
 *     .subscribe((window) => setData(window.map(({ candle }) => candle.close)));
 * ```
 */
export function heikinAshi(): MonoTypeOperatorFunction<CandleEvent> {
  return reduceBySeries(() => new HeikinAshiChain(new HeikinAshiRecursion(undefined)));
}

class HeikinAshiRecursion implements Recursion<Candle> {
  /** `previous`: the Heikin-Ashi candle before this one. */
  constructor(private previous: Candle | undefined) {}

  push(candle: Candle): Candle {
    this.previous = this.peek(candle);
    return this.previous;
  }

  peek(candle: Candle): Candle {
    const { previous } = this;
    const { timestamp, volume, swaps } = candle;
    const close = (candle.open + candle.high + candle.low + candle.close) / 4;
    const open =
      previous === undefined ? (candle.open + candle.close) / 2 : (previous.open + previous.close) / 2;
    const high = Math.max(candle.high, open, close);
    const low = Math.min(candle.low, open, close);
    return Object.freeze({ timestamp, open, high, low, close, volume, swaps });
  }

  fork(): HeikinAshiRecursion {
    return new HeikinAshiRecursion(this.previous);
  }
}

class HeikinAshiChain extends ReplayedChain<Candle, CandleEvent> {
  protected override shown(_candle: Candle, value: Candle): Candle {
    return value;
  }

  protected override isSameValue(a: Candle, b: Candle): boolean {
    return isSame(a, b);
  }

  protected override eventOf(
    change: "new" | "removed" | Candle,
    candle: Candle,
    _value: Candle,
    status: CandleStatus,
    revision: number,
    { series }: CandleEvent,
    { live, lateBy, observedAt }: Coming,
  ): CandleEvent {
    return frozenEvent(change, candle, status, revision, live, lateBy, observedAt, series);
  }
}
