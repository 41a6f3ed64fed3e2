import { judged } from "../../../candles/read/asking.js";
import { EARLIEST } from "../../../candles/read/beginning.js";
import { type CandleBook, emptyBook } from "../../../candles/read/book.js";
import type { Page } from "../../../candles/read/page.js";
import { FULL_PAGE, type ReadOptions, type SeriesPages } from "../../../candles/read/pages.js";
import type { Recorder } from "../../../candles/read/past.js";
import { type CandleRules, windowStart } from "../../../candles/rules.js";
import type { ClientCore } from "../../../client/core.js";
import { LATEST_INSTANT } from "../../../contract/input.js";
import { isTrusted, storeRules } from "./stored-past.js";
import type { StoredSeries } from "./stored-series.js";

/**
 * Writes what becomes final in a running poll, by the store's own rules: no sooner than two intervals after an end, however
 * short the caller's window is. It judges the same answers, in a book of its own.
 */
export class FinalRecorder implements Recorder {
  readonly #core: ClientCore;
  readonly #pages: SeriesPages;
  readonly #rules: CandleRules;
  /** How many intervals more may still change by the store's rules than by the caller's. */
  readonly #younger: number;
  readonly #stored: StoredSeries;
  #book: CandleBook | undefined;
  /** What the store has, once it has been asked: where that ends, and its newest candle. */
  #held: { readonly until: number | undefined; readonly newest: readonly number[] } | undefined;

  constructor(core: ClientCore, pages: SeriesPages, rules: CandleRules, stored: StoredSeries) {
    this.#core = core;
    this.#pages = pages;
    this.#rules = storeRules(rules);
    this.#younger = this.#rules.revisionWindow - rules.revisionWindow;
    this.#stored = stored;
  }

  /** Asks the store, once, how far it goes: what is missing since comes with the first answer, where that fits one page. */
  async begin(now: number): Promise<void> {
    if (this.#held !== undefined) return;
    // The machine's clock may be behind all that the store has.
    const from = this.#rules.intervals.start(EARLIEST);
    const { covered, candles } = await this.#stored.read({
      from,
      to: this.#rules.intervals.start(LATEST_INSTANT),
      last: 1,
    });
    const newest = candles.at(-1)?.timestamp;
    const isKnown = newest !== undefined && newest <= now && this.#isNear(newest, now);
    this.#held = { until: covered.at(-1)?.to, newest: isKnown ? [newest] : [] };
  }

  /** From where to read, so that what is not written yet is in the answer; `from`: the first that is read anyway. */
  readsFrom(from: number): number {
    const unwritten = this.#book?.finalUntil ?? this.#held?.until;
    if (this.#isNear(unwritten, from)) return Math.min(unwritten, from);
    // A history writes nothing that is as young, nor reads it again.
    return this.#book === undefined ? this.#rules.intervals.shift(from, -this.#younger) : from;
  }

  /** Whether the store had anything of the series to begin with. */
  get hasPast(): boolean {
    return this.#held?.until !== undefined;
  }

  /** Known candles: an answer has to show them. */
  get anchors(): readonly number[] {
    return this.#book?.anchors ?? this.#held?.newest ?? [];
  }

  #isNear(instant: number | undefined, other: number): instant is number {
    return instant !== undefined && this.#rules.intervals.count(instant, other) <= FULL_PAGE / 2;
  }

  /** Takes an answer in; where it lacks all that the store has last, that is asked for alone. */
  async take(page: Page, options: ReadOptions): Promise<void> {
    // A service that shows nothing at all may show it all again: no silence is written before there is a candle beside it.
    if (page.isEmpty) return;
    const known = this.#book ?? this.#firstBook(page.at);
    // What is missing between may be in the store, or is read another day.
    const before = page.from > known.finalUntil ? emptyBook(page.from) : known;
    const { book, changes, gone = [] } = await judged(this.#pages, this.#rules, before, page, options);
    // Where a clock ran ahead, some of what seemed to be past may be still to come.
    if (before.epoch !== undefined && book.epoch !== before.epoch)
      void this.#stored.forget(Math.min(before.finalUntil, windowStart(this.#rules, page.at)));
    this.#book = book;
    // What every answer was held to is gone.
    for (const anchor of gone) void this.#stored.forget(anchor, this.#rules.intervals.end(anchor));
    if (book.finalUntil <= before.finalUntil || page.hasUnplaced) return;
    if (!isTrusted(this.#core.serviceClock())) return;
    const candles = changes.flatMap(({ type, status, candle }) =>
      type !== "removed" && status === "final" ? [candle] : [],
    );
    const unreadable = new Set([...book.broken.keys(), ...page.broken].filter((row) => row !== undefined));
    this.#stored.write({ from: before.finalUntil, to: book.finalUntil, candles }, unreadable);
  }
  /** What the answers will add to: the store, or nothing, if that is too far away. */
  #firstBook(at: number): CandleBook {
    const begin = this.readsFrom(windowStart(this.#rules, at));
    return emptyBook(
      begin,
      this.anchors.filter((anchor) => anchor < begin),
    );
  }
}
