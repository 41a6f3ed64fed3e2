import type { CandleEvent } from "../candles/event.js";
import { intervalsOf } from "../timeframe.js";

/**
 * Lets the history of a pair, and what comes with it, wait until the longer candles reach it: their history may take longer to
 * read. It waits no longer than until the next live close, so that nothing is held back where no longer candle comes.
 */
export class HistoryWait {
  /** The events that wait, in their order; `undefined` once the history is through. */
  private waiting: CandleEvent[] | undefined = [];
  /** Candles that end before it are reached: the longer candle of that time was told, or the one before that. */
  private reached = -Infinity;
  /** Whether what comes at once now began with a history; `undefined` between two turns. */
  private isHistory: boolean | undefined;

  /** The events that may be told now, after one more has come. */
  take(event: CandleEvent): readonly CandleEvent[] {
    if (this.waiting === undefined) return [event];
    this.waiting.push(event);
    // Nothing is to be waited for.
    if (event.live && this.waiting.length === 1) return this.end();
    const isWithHistory = this.isWithHistory(event);
    const isNews = event.live && event.status !== "open" && !isWithHistory;
    return isNews ? this.end() : this.release();
  }

  /** The events that may be told now, after one of a longer candle. */
  hear({ candle, live, series }: CandleEvent): readonly CandleEvent[] {
    if (this.waiting === undefined) return [];
    const until = live ? Infinity : intervalsOf(series.timeframe).shift(candle.timestamp, 2);
    this.reached = Math.max(this.reached, until);
    return this.release();
  }

  /** The events that wait: nothing more is waited for. */
  end(): readonly CandleEvent[] {
    this.reached = Infinity;
    return this.release();
  }

  private release(): readonly CandleEvent[] {
    const waiting = this.waiting ?? [];
    const held = waiting.findIndex((event) => endOf(event) >= this.reached);
    const free = waiting.splice(0, held < 0 ? waiting.length : held);
    // The first live event ends the history.
    if (free.some(({ live }) => live)) this.waiting = undefined;
    return free;
  }

  /** Whether an event is of a history, or comes at once with one. */
  private isWithHistory({ live }: CandleEvent): boolean {
    if (this.isHistory === undefined) {
      this.isHistory = !live;
      void Promise.resolve().then(() => {
        this.isHistory = undefined;
      });
    }
    return this.isHistory;
  }
}

function endOf({ candle, series }: CandleEvent): number {
  return intervalsOf(series.timeframe).shift(candle.timestamp, 1);
}
