import type { CandleEvent, CandleStatus } from "../candles/event.js";
import { isInTime } from "../candles/lateness.js";
import type { AnyTimeframe } from "../contract/model.js";
import { type Intervals, intervalsOf } from "../timeframe.js";

/** The fields of an event that say when it came. */
export type Coming = Pick<CandleEvent, "live" | "lateBy" | "observedAt">;

/**
 * Works out `lateBy` and `live` for events that follow from other events, by the candle that they are about.
 *
 * A candle is due at the end of its interval, as closed `settle` later, and as final once it has left the revision
 * window. These lengths are learned from closes and finals, because their `lateBy` counts from the instant at which they
 * were due.
 */
export class Lateness {
  /** Until a live event has come, every event is history. */
  private hasBeenLive = false;
  /** How long after its interval's end a candle is due with a status, in ms. */
  private readonly dueAfter: Record<CandleStatus, number> = { open: 0, closed: 0, final: 0 };
  private timeframe: AnyTimeframe | undefined;
  private intervals: Intervals | undefined;

  hear(event: CandleEvent): void {
    if (event.live) this.hasBeenLive = true;
    const { status } = event;
    if (status === "open") return;
    const after = event.observedAt - event.lateBy - this.endOf(event);
    if (after > this.dueAfter[status]) this.dueAfter[status] = after;
  }

  /** The end of the interval that an event is about. */
  endOf({ series: { timeframe }, candle }: CandleEvent): number {
    if (timeframe !== this.timeframe) this.intervals = intervalsOf(timeframe);
    this.timeframe = timeframe;
    // It goes by the length of a week, because a series does not say on which day weeks begin.
    return this.intervals!.shift(candle.timestamp, 1);
  }

  /** For an event with this status about the interval that ends at `end`. */
  judge(cause: CandleEvent, timeframe: AnyTimeframe, end: number, status: CandleStatus): Coming {
    const due = end + this.dueAfter[status === "open" ? "open" : "closed"];
    return this.coming(cause, timeframe, Math.max(0, this.receivedAt(cause) - due));
  }

  /**
   * For the close of an interval that ends at `end` and is closed by a silence that lasts until `until`: such a silence is
   * found out when the interval that ends at `until` closes.
   */
  covered(timeframe: AnyTimeframe, end: number, until: number): Coming {
    const observedAt = until + this.dueAfter.closed;
    return this.coming({ observedAt }, timeframe, until - end);
  }

  coming({ observedAt }: Pick<Coming, "observedAt">, timeframe: AnyTimeframe, lateBy: number): Coming {
    return {
      live: this.hasBeenLive && isInTime(lateBy, intervalsOf(timeframe).shortest),
      lateBy,
      observedAt,
    };
  }

  /** An event from memory was true before it is received. */
  private receivedAt(cause: CandleEvent): number {
    const { lateBy, observedAt, status } = cause;
    if (lateBy === 0) return observedAt;
    return Math.max(observedAt, this.endOf(cause) + lateBy + this.dueAfter[status]);
  }
}
