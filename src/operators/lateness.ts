import type { CandleEvent, CandleStatus } from "../candles/event.js";
import type { Timeframe } from "../contract/model.js";
import { type Intervals, intervalsOf } from "../timeframe.js";

/** What an event says of when it came. */
export type Coming = Pick<CandleEvent, "live" | "lateBy" | "observedAt">;

/**
 * Judges the events that follow from others by their own candle: how late they are, and whether they are live.
 *
 * A candle is due at its interval's end, and as closed `settle` later. How long that is, is learned from what has closed:
 * `lateBy` counts from there.
 */
export class Lateness {
  /** Before it has heard of anything live, all is history. */
  private hasBeenLive = false;
  private settle = 0;
  private timeframe: Timeframe | undefined;
  private intervals: Intervals | undefined;

  hear(event: CandleEvent): void {
    if (event.live) this.hasBeenLive = true;
    if (event.status !== "closed") return;
    const settle = event.observedAt - event.lateBy - this.endOf(event);
    if (settle > this.settle) this.settle = settle;
  }

  /** The end of the interval that an event is about. */
  endOf({ series: { timeframe }, candle }: CandleEvent): number {
    if (timeframe !== this.timeframe) this.intervals = intervalsOf(timeframe);
    this.timeframe = timeframe;
    // By its length, and not by where weeks begin, which a series does not say.
    return this.intervals!.shift(candle.timestamp, 1);
  }

  /** Of an event that is about an interval with this end, and has this status. */
  judge(cause: CandleEvent, timeframe: Timeframe, end: number, status: CandleStatus): Coming {
    const due = status === "open" ? end : end + this.settle;
    return this.coming(cause, timeframe, Math.max(0, this.receivedAt(cause) - due));
  }

  coming({ observedAt }: CandleEvent, timeframe: Timeframe, lateBy: number): Coming {
    return { live: this.hasBeenLive && lateBy <= longestLive(timeframe), lateBy, observedAt };
  }

  /** What comes from memory was true before it is received. */
  private receivedAt(cause: CandleEvent): number {
    const { lateBy, observedAt, status } = cause;
    if (lateBy === 0) return observedAt;
    return Math.max(observedAt, this.endOf(cause) + lateBy + (status === "closed" ? this.settle : 0));
  }
}

/** How late an event may be and still be live. */
function longestLive(timeframe: Timeframe): number {
  const { shortest } = intervalsOf(timeframe);
  return Math.min(Math.max(shortest / 2, 5_000), Math.max(60_000, shortest / 100));
}
