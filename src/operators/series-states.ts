import type { CandleEvent } from "../candles/event.js";
import type { Series } from "../contract/model.js";
import { InvalidInputError } from "../errors.js";
import { showFields } from "../given.js";
import { warnProcess } from "../warning.js";

interface SeriesEntry<S> {
  state: S;
  /** The newest final candle. No event may follow about it or about a candle before it. */
  finalUntil: number;
  hasReported: boolean;
}

/**
 * What an operator remembers of each series, so that any number of series can be merged.
 *
 * Final candles are folded up and forgotten, so an event about a candle no newer than a final one cannot be applied. If
 * such an event is `new`, the series begins anew, as after the service's clock was set back or when a history is
 * emitted again. Any other such event is left out, and reported once.
 */
export class SeriesStates<S extends object> {
  // Events of one series mostly come one after another, and nearly always share one series object.
  private series: Series | undefined;
  private entry: SeriesEntry<S> | undefined;
  private readonly byObject = new WeakMap<Series, SeriesEntry<S>>();
  private readonly byName = new Map<string, SeriesEntry<S>>();

  /** `make`: makes the state of a series that begins. `former`: the state that it had before, if it begins anew. */
  constructor(private readonly make: (former?: S) => S) {}

  /** The state of the event's series; `undefined` if the event has to be left out. */
  admit(event: CandleEvent): S | undefined {
    const entry = (event?.series === this.series ? this.entry : undefined) ?? this.find(event);
    const { timestamp } = event.candle;
    if (timestamp <= entry.finalUntil) {
      if (event.type !== "new") {
        if (!entry.hasReported) report(event, entry.finalUntil);
        entry.hasReported = true;
        return undefined;
      }
      entry.state = this.make(entry.state);
      entry.finalUntil = -Infinity;
      entry.hasReported = false;
    }
    if (event.status === "final" && event.type !== "removed") entry.finalUntil = timestamp;
    return entry.state;
  }

  private find(event: CandleEvent): SeriesEntry<S> {
    checkEvent(event);
    const { series } = event;
    let entry = this.byObject.get(series);
    if (entry === undefined) {
      const name = nameOf(series);
      entry = this.byName.get(name);
      if (entry === undefined) {
        entry = { state: this.make(), finalUntil: -Infinity, hasReported: false };
        this.byName.set(name, entry);
      }
      this.byObject.set(series, entry);
    }
    this.series = series;
    this.entry = entry;
    return entry;
  }
}

/** Only what is met outside a known series is checked, so events cost nothing more. */
function checkEvent(event: Partial<CandleEvent> | null | undefined): void {
  if (event?.series && event.candle) return;
  const allowed = "events as of watchCandles or replayCandles";
  throw new InvalidInputError("events", allowed, `hold ${showFields(event)}`);
}

function nameOf({ network, pairAddress, timeframe, currency }: Series): string {
  return `${network} ${pairAddress} ${timeframe} ${currency}`;
}

/** Warns that an event was left out. An error would end the stream, and an operator has no client to report to. */
function report({ type, candle, series }: CandleEvent, finalUntil: number): void {
  const [about, final] = [candle.timestamp, finalUntil].map((instant) => new Date(instant).toISOString());
  warnProcess(
    `A "${type}" event of ${nameOf(series)} is left out, and so are others like it: its candle of ${about} is not ` +
      `newer than that of ${final}, which is final. The events are out of order, or the same series is merged twice`,
    "EVENT_LEFT_OUT",
  );
}
