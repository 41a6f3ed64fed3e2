import type { ClientCore } from "../../client/core.js";
import type { StoredSeries } from "../../client/stored-series.js";
import { type CandleRead, FULL_PAGE, type SeriesRead, type SeriesReader } from "../read/range-reader.js";
import { isTrusted, type PastReader, storeRules } from "../read/stored.js";
import { type CandleRules, windowStart } from "../rules.js";
import { applyRead, type CandleBook, emptyBook } from "./book.js";

/**
 * Writes what becomes final in a running poll, by the store's own rules: no sooner than two intervals after an end, however
 * short the caller's window is. It holds what is read against what was, as the caller's book does.
 */
export class FinalRecorder {
  readonly #core: ClientCore;
  readonly #reader: SeriesReader;
  readonly #rules: CandleRules;
  readonly #stored: StoredSeries;
  #book: CandleBook | undefined;
  /** Where what is covered ends, as the store has it. */
  #storedUntil: number | undefined;
  #isAsked = false;

  constructor(core: ClientCore, reader: SeriesReader, rules: CandleRules, stored: StoredSeries) {
    this.#core = core;
    this.#reader = reader;
    this.#rules = storeRules(rules);
    this.#stored = stored;
  }

  /** Asks the store, once, how far it goes: what is missing since comes with the first answer, where that fits one page. */
  async begin(past: PastReader, now: number): Promise<void> {
    if (this.#isAsked) return;
    this.#isAsked = true;
    const { coveredUntil, candle } = await past.newest(windowStart(this.#rules, now));
    this.#storedUntil = coveredUntil;
    // Whatever has come since is in the answer that has to hold it.
    if (this.#isNear(candle?.timestamp, now)) this.#reader.seriesStart.newest = candle?.timestamp;
  }

  /** From where to read, so that what is not written yet is in the answer; `from`: the first that is asked for anyway. */
  readFrom(from: number): number {
    const wanted = this.#book?.finalUntil ?? this.#storedUntil ?? from;
    return this.#isNear(wanted, from) ? Math.min(wanted, from) : from;
  }

  #isNear(instant = Number.NEGATIVE_INFINITY, other: number): boolean {
    return this.#rules.intervals.count(instant, other) <= FULL_PAGE / 2;
  }

  take(read: CandleRead & Pick<SeriesRead, "isStored">): void {
    const { from, observedAt, epoch } = read;
    let book = this.#book;
    if (book !== undefined && epoch !== book.epoch) {
      // By another clock, some of what seemed to be past may still be to come.
      void this.#stored.forget(Math.min(book.finalUntil, windowStart(this.#rules, observedAt)));
      book = undefined;
    }
    const hasHole = book !== undefined && from > book.finalUntil;
    const before =
      book === undefined || hasHole
        ? { ...emptyBook(Math.min(from, windowStart(this.#rules, observedAt))), epoch }
        : book;
    const { book: after, changes } = applyRead(this.#rules, before, read);
    this.#book = after;
    if (after.finalUntil === before.finalUntil || read.hasUnidentifiedRow || read.isStored) return;
    if (!isTrusted(this.#core.serviceClock())) return;
    const candles = changes.flatMap(({ type, status, candle }) =>
      type !== "removed" && status === "final" ? [candle] : [],
    );
    this.#stored.write({ from: before.finalUntil, to: after.finalUntil, candles }, read.unreadable);
  }
}
