import type { MonoTypeOperatorFunction } from "rxjs";
import { type CandleEvent, type CandleStatus, frozenEvent } from "../candles/event.js";
import { isSame } from "../candles/live/book.js";
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
 * close = (open + high + low + close) / 4; open = the mean of the last Heikin-Ashi candle's open and close,
 * of the first candle's own ones; high and low are the outermost of the candle's own and these two. Volume,
 * swaps and timestamp stay, and so does the unit. The candle before is the last one known, however many
 * intervals lie between.
 *
 * Each candle rests on all before it. A correction, a removal or a candle that turns up late is therefore
 * followed, at once, by `updated` for each later candle that it changes, ascending, with the `observedAt` of its cause,
 * and `lateBy` and `live` as its own candle has them; revisions count the events that come out, on from the first one's. What changes
 * nothing that is shown emits nothing. It holds what is not final, so do not filter out the final events before
 * it.
 *
 * Series may be merged; each is on its own. An event about a candle no newer than a final one begins its series anew
 * where it is `new`, as after the service's clock was set back; any other is left out, with a warning of the process.
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
  /** `previous`: the Heikin-Ashi candle before. */
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
