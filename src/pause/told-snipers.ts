import type { SniperReport } from "../contract/model.js";
import { bookOfAbsent, readReport } from "../snipers/diff.js";
import { applySniperEvent, emptyReport, type SniperEvent } from "../snipers/event.js";

/** What a subscriber has been told of a pair's snipers; as `ToldCandles`. */
export class ToldSnipers {
  readonly #pairAddress: string;
  #told: SniperReport = emptyReport;
  /** What the stream has told since it began anew, as long as that is not all. */
  #found: SniperReport | undefined;
  #hasBegun = false;

  constructor(pairAddress: string) {
    this.#pairAddress = pairAddress;
  }

  /** Notes that the stream begins anew. */
  resume(): void {
    this.#found = this.#hasBegun ? emptyReport : undefined;
  }

  /** Notes that the first report of the stream has been told: the changes that lead to it. */
  caughtUp(observedAt: number): readonly SniperEvent[] {
    this.#hasBegun = true;
    const found = this.#found;
    if (found === undefined) return [];
    this.#found = undefined;
    const read = { report: found, unreadable: new Set<string>(), hasUnidentifiedRow: false, observedAt };
    const { events } = readReport(bookOfAbsent(this.#pairAddress, this.#told.result, observedAt), read);
    this.#told = found;
    return events;
  }

  /** What the subscriber is to be told for an event of the stream. */
  take(event: SniperEvent): readonly SniperEvent[] {
    if (event.initial && this.#found !== undefined) {
      this.#found = applySniperEvent(this.#found, event);
      return [];
    }
    const before = this.caughtUp(event.observedAt);
    this.#told = applySniperEvent(this.#told, event);
    return [...before, event];
  }
}
