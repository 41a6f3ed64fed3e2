import type { CandleEvent } from "../candles/event.js";
import type { Series } from "../contract/model.js";
import { InvalidInputError, PairstreamError } from "../errors.js";

/**
 * Holds events to what an operator with memory relies on: they are of one series, and none is about a candle
 * that is final, or older than one that is. Only then can what is final be folded up and forgotten.
 */
export class SeriesGuard {
  /** The newest candle that is final: it and all before it are not heard of again. */
  finalUntil = Number.NEGATIVE_INFINITY;
  private series: Series | undefined;

  /** Throws what the stream is to fail with where the event does not follow on those before it. */
  admit(event: CandleEvent): void {
    const { timestamp } = event.candle;
    if (event.series !== this.series) this.checkSeries(event.series);
    if (timestamp <= this.finalUntil) throw tooLate(timestamp, this.finalUntil);
    if (event.status === "final" && event.type !== "removed") this.finalUntil = timestamp;
  }

  private checkSeries(series: Series): void {
    const known = this.series ?? series;
    if (!isSameSeries(known, series)) {
      const allowed = "events of one series; of a merged stream, split by groupBy first";
      throw new InvalidInputError("events", allowed, `are of ${nameOf(known)} and of ${nameOf(series)}`);
    }
    this.series = series;
  }
}

function isSameSeries(a: Series, b: Series): boolean {
  return (
    a.pairAddress === b.pairAddress &&
    a.timeframe === b.timeframe &&
    a.currency === b.currency &&
    a.network === b.network
  );
}

function nameOf({ network, pairAddress, timeframe, currency }: Series): string {
  return `${network} ${pairAddress} ${timeframe} ${currency}`;
}

function tooLate(timestamp: number, finalUntil: number): PairstreamError {
  const [late, final] = [new Date(timestamp).toISOString(), new Date(finalUntil).toISOString()];
  const reason = "the service's clock was set back, or the events are not in their order";
  return new PairstreamError(
    `An event is about the candle of ${late} although that of ${final} was final: ${reason}. ` +
      "What follows from it cannot be worked out again; subscribe anew, with the history",
  );
}
