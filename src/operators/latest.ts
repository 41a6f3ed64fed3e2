import type { OperatorFunction } from "rxjs";
import type { CandleEvent } from "../candles/event.js";
import { checkNumber } from "../contract/input.js";
import { mapBySeries } from "./by-series.js";

/**
 * Emits the last `n` candles of the event's series as a frozen list, ascending. Each candle is given as its newest
 * event.
 *
 * ```marbles
 * events     a-b-c-d-e-f-|
 * latest(2)  p-q-r-s-t-u-|
 *
 * a: new 12:00 = 1, closed       b: new 12:01 = 2, open         c: new 12:02 = 3, open
 * d: updated 12:01 = 9, closed   e: updated 12:01 = 9, final    f: removed 12:02 = 3, open
 * p: [12:00 = 1]                 q: [12:00 = 1, 12:01 = 2]      r: [12:01 = 2, 12:02 = 3]
 * s: [12:01 = 9, 12:02 = 3]      t: [12:01 = 9, 12:02 = 3]      u: [12:01 = 9]
 * ```
 *
 * It emits after every event about one of these candles, even if only the status or the values have changed. The list
 * is shorter until `n` candles are known. After a removal it is one shorter until the next candle comes, because a
 * candle that has left the window is not kept. An event about a candle older than the window emits nothing.
 *
 * Series may be merged; each is handled on its own and takes the memory of `n` events. If an event is about a candle
 * that is no newer than a final one, a `new` event starts its series over, as after the service's clock was set back.
 * Any other such event is left out, with a warning of the process. Throws an `InvalidInputError` if `n` is not a whole
 * number of at least 1.
 *
 * ```ts
 * import { type CandleEvent, latest } from "pairstream";
 * import type { Observable } from "rxjs";
 *
 * const draw = (events: Observable<CandleEvent>, setData: (closes: number[]) => void) =>
 *   events.pipe(latest(200)).subscribe((window) => setData(window.map(({ candle }) => candle.close)));
 * ```
 */
export function latest<E extends CandleEvent>(n: number): OperatorFunction<E, readonly E[]> {
  checkNumber("n", n, { min: 1, integer: true });
  return mapBySeries<E, EventWindow<E>, readonly E[]>(
    () => new EventWindow(n),
    (window, event) => (window.apply(event) ? window.events() : undefined),
  );
}

/** The newest candles of a series, each as its newest event. */
export class EventWindow<E extends CandleEvent> {
  private readonly kept: E[] = [];
  #leftUntil = -Infinity;

  constructor(private readonly size: number) {}

  /** The newest timestamp that has left the window. Older candles stay out, or the window could have a hole. */
  get leftUntil(): number {
    return this.#leftUntil;
  }

  events(): readonly E[] {
    return Object.freeze([...this.kept]);
  }

  /** Whether the event is about a candle in the window. */
  apply(event: E): boolean {
    const { timestamp } = event.candle;
    const at = this.indexOf(timestamp);
    const isKnown = this.kept[at]?.candle.timestamp === timestamp;
    if (event.type === "removed") {
      if (isKnown) this.kept.splice(at, 1);
      return isKnown;
    }
    if (isKnown) {
      this.kept[at] = event;
      return true;
    }
    if (timestamp < this.#leftUntil) return false;
    this.kept.splice(at, 0, event);
    if (this.kept.length <= this.size) return true;
    this.#leftUntil = this.kept.shift()!.candle.timestamp;
    return at > 0;
  }

  /**
   * The index at which the timestamp is or belongs. The search starts at the end, because nearly all events are there.
   */
  private indexOf(timestamp: number): number {
    let at = this.kept.length;
    while (at > 0 && this.kept[at - 1]!.candle.timestamp >= timestamp) at -= 1;
    return at;
  }
}
