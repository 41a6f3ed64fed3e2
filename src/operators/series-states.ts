import type { CandleEvent } from "../candles/event.js";
import type { Series } from "../contract/model.js";

interface Entry<S> {
  state: S;
  /** The newest candle that is final: it and all before it are not heard of again. */
  finalUntil: number;
  hasReported: boolean;
}

/**
 * What an operator remembers, of each series apart, so that any number of them can be merged.
 *
 * What is final is folded up and forgotten, so no event can follow on one about a candle no newer than that. Where it is
 * `new` the series begins anew, as after the service's clock was set back, or with a history that is told again. Any
 * other is left out, and reported once.
 */
export class SeriesStates<S extends object> {
  // Events of one series come in rows, and nearly always with one object for their series.
  private series: Series | undefined;
  private entry: Entry<S> | undefined;
  private readonly byObject = new WeakMap<Series, Entry<S>>();
  private readonly byName = new Map<string, Entry<S>>();

  /** `make`: the state of a series that begins; `former`: the one that it had before, where it begins anew. */
  constructor(private readonly make: (former?: S) => S) {}

  /** The state of the event's series; `undefined` where the event is to be left out. */
  admit(event: CandleEvent): S | undefined {
    const entry = event.series === this.series ? this.entry! : this.find(event.series);
    const { timestamp } = event.candle;
    if (timestamp <= entry.finalUntil) {
      if (event.type !== "new") {
        if (!entry.hasReported) report(event, entry.finalUntil);
        entry.hasReported = true;
        return undefined;
      }
      entry.state = this.make(entry.state);
      entry.finalUntil = Number.NEGATIVE_INFINITY;
      entry.hasReported = false;
    }
    if (event.status === "final" && event.type !== "removed") entry.finalUntil = timestamp;
    return entry.state;
  }

  private find(series: Series): Entry<S> {
    let entry = this.byObject.get(series);
    if (entry === undefined) {
      const name = nameOf(series);
      entry = this.byName.get(name);
      if (entry === undefined) {
        entry = { state: this.make(), finalUntil: Number.NEGATIVE_INFINITY, hasReported: false };
        this.byName.set(name, entry);
      }
      this.byObject.set(series, entry);
    }
    this.series = series;
    this.entry = entry;
    return entry;
  }
}

function nameOf({ network, pairAddress, timeframe, currency }: Series): string {
  return `${network} ${pairAddress} ${timeframe} ${currency}`;
}

/**
 * Says that an event was left out, where neither an error may end the stream nor a client is at hand: on Node as a
 * warning of the process, which prints it and hands it to who listens; elsewhere in the console.
 */
function report({ type, candle, series }: CandleEvent, finalUntil: number): void {
  const [about, final] = [candle.timestamp, finalUntil].map((instant) => new Date(instant).toISOString());
  const message =
    `An event (${type}) of ${nameOf(series)} is about the candle of ${about} although that of ${final} is final: ` +
    "it is left out, and so are others like it. The events are not in their order, or the same series is merged twice";
  const { process, console } = globalThis as {
    process?: { emitWarning?: (message: string, options: { type: string; code: string }) => void };
    console?: { warn(message: string): void };
  };
  if (typeof process?.emitWarning !== "function") console?.warn(message);
  else process.emitWarning(message, { type: "PairstreamWarning", code: "PAIRSTREAM_EVENT_LEFT_OUT" });
}
