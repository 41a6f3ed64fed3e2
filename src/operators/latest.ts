import { defer, filter, map, type OperatorFunction } from "rxjs";
import type { CandleEvent } from "../candles/event.js";
import { isSame } from "../candles/live/book.js";
import { checkNumber } from "../contract/input.js";
import type { Candle } from "../contract/model.js";

/**
 * Emits the last `n` candles of one series, ascending and frozen, whenever they have changed.
 *
 * ```marbles
 * events     a-b-c-d-e-f-|
 * latest(2)  p-q-r-s---t-|
 *
 * a: new 12:00 = 1, closed       b: new 12:01 = 2, open         c: new 12:02 = 3, open
 * d: updated 12:01 = 9, closed   e: updated 12:01 = 9, final    f: removed 12:02 = 3, open
 * p: [12:00 = 1]                 q: [12:00 = 1, 12:01 = 2]      r: [12:01 = 2, 12:02 = 3]
 * s: [12:01 = 9, 12:02 = 3]      t: [12:01 = 9]
 * ```
 *
 * There are fewer than `n` until so many are known, and one fewer after a removal, until the next candle: what has
 * left the window is not kept. An event that changes no candle of the window (a status alone, a candle older than
 * the window) emits nothing. Throws an `InvalidInputError` where `n` is not a whole number of at least 1.
 *
 * ```ts
 * import { type CandleEvent, latest } from "pairstream";
 * import type { Observable } from "rxjs";
 *
 * const draw = (events: Observable<CandleEvent>, setData: (closes: number[]) => void) =>
 *   events.pipe(latest(200)).subscribe((candles) => setData(candles.map((candle) => candle.close)));
 * ```
 */
export function latest(n: number): OperatorFunction<CandleEvent, readonly Candle[]> {
  checkNumber("n", n, { min: 1, integer: true });
  return (events) =>
    defer(() => {
      const window = new CandleWindow(n);
      return events.pipe(
        filter((event) => window.apply(event)),
        map(() => window.candles()),
      );
    });
}

class CandleWindow {
  private readonly kept: Candle[] = [];
  /** The newest timestamp that has left: older ones stay out, or there could be a hole between them and the rest. */
  private leftUntil = Number.NEGATIVE_INFINITY;

  constructor(private readonly size: number) {}

  candles(): readonly Candle[] {
    return Object.freeze([...this.kept]);
  }

  /** Whether the event changed a candle in here. */
  apply({ type, candle }: CandleEvent): boolean {
    const at = this.indexOf(candle.timestamp);
    const known = this.kept[at]?.timestamp === candle.timestamp ? this.kept[at] : undefined;
    if (type === "removed") {
      if (known === undefined) return false;
      this.kept.splice(at, 1);
      return true;
    }
    if (known !== undefined) {
      this.kept[at] = candle;
      return !isSame(known, candle);
    }
    if (candle.timestamp < this.leftUntil) return false;
    this.kept.splice(at, 0, candle);
    if (this.kept.length <= this.size) return true;
    this.leftUntil = this.kept.shift()!.timestamp;
    return at > 0;
  }

  /** Where the timestamp is or belongs; looked for from the end, where nearly all events are. */
  private indexOf(timestamp: number): number {
    let at = this.kept.length;
    while (at > 0 && this.kept[at - 1]!.timestamp >= timestamp) at -= 1;
    return at;
  }
}
