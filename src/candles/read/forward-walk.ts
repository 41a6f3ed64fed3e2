import type { PairstreamError } from "../../errors.js";
import { type CandleRules, windowStart } from "../rules.js";
import { EARLIEST } from "./beginning.js";
import type { CandleBook } from "./book.js";
import { firstRowOf } from "./evidence.js";
import type { Doubt } from "./judge.js";
import type { Page } from "./page.js";
import type { ReadOptions, SeriesPages, Wanted } from "./pages.js";
import {
  coveredBy,
  endOfRange,
  FIRST_STRIDE,
  isSilent,
  limitOf,
  type Stride,
  shorterStride,
  strideAfter,
} from "./stride.js";

/** How far a series has been read. */
type Place = Pick<CandleBook, "finalUntil" | "anchors" | "silence" | "epoch">;

/** How a series is read on: it keeps how far to go next and what pages have told of what follows, also where one fails. */
export class ForwardWalk {
  /** All that is known of what comes next. */
  book?: CandleBook;
  readonly #pages: SeriesPages;
  readonly #rules: CandleRules;
  #stride: Stride = FIRST_STRIDE;
  /** What pages have told for good of the ends of ranges, the nearest one last: they are read up to the first row of that. */
  readonly #ends: Page[] = [];
  /** An answer that begins with a silence: it counts once another one has shown that, too. */
  #waiting: Page | undefined;
  /** What has cut the last answer short. */
  #failure: PairstreamError | undefined;

  constructor(pages: SeriesPages, rules: CandleRules) {
    this.#pages = pages;
    this.#rules = rules;
  }

  /** The next answer about what is wanted, all of it or its beginning. Rejects with what has cut the last one short. */
  async next(place: Place, wanted: Omit<Wanted, "mostCandles">, options: ReadOptions): Promise<Page> {
    const failure = this.#failure;
    this.#failure = undefined;
    if (failure !== undefined) throw failure;
    const { silence, epoch } = place;
    const { from, to: end } = wanted;
    // Where the first row of the one that waits is gone by then, what follows is another silence.
    const isConfirming =
      silence !== undefined && from <= (this.#waiting ? firstRowOf(this.#waiting) : -Infinity);
    const waiting = isConfirming || this.#waiting?.epoch !== epoch ? undefined : this.#waiting;
    if (!isConfirming) this.#waiting = undefined;
    const kept = waiting ?? this.#endAt(place, end);
    if (kept !== undefined) return kept;
    const intervals = this.#rules.intervals;
    for (;;) {
      const known = Math.min(end, intervals.end(this.#ends.at(-1)?.from ?? end));
      const to = isConfirming
        ? Math.min(intervals.end(silence.until), known)
        : endOfRange(intervals, this.#stride, from, this.#pages.beginning.start ?? EARLIEST, known);
      const endAt = to < end ? undefined : wanted.endAt;
      const part = { ...wanted, to, endAt, searchUntil: end, ...limitOf(this.#stride) };
      const page = await this.#pages.read(part, options);
      if (page === undefined || page.from > from) {
        if (page !== undefined) this.#keep(page);
        this.#stride = shorterStride(this.#stride, intervals, { from, to });
      } else if (!isConfirming && isSilent(page) && page.to < end) {
        this.#stride = { ...strideAfter(this.#stride, page), silentTo: page.to };
      } else {
        this.#failure = page.to < end ? page.failure : undefined;
        return page;
      }
      if (page?.failure !== undefined) throw page.failure;
    }
  }

  /** Takes note of why the last answer leaves something open. */
  note(page: Page, doubt: Doubt | undefined): void {
    if (doubt === "silence") this.#waiting ??= page;
    else if (doubt === undefined && this.#waiting === undefined)
      this.#stride = strideAfter(coveredBy(this.#stride, this.#rules.intervals, page), page);
  }

  /** Keeps what a page has told of the end of a range for good: what may still change is asked anew. */
  #keep(page: Page): void {
    const to = Math.min(page.to, windowStart(this.#rules, page.at));
    if (to <= page.from) return;
    const candles = page.candles.filter(({ timestamp }) => timestamp < to);
    this.#ends.push({ ...page, to, candles, broken: page.broken.filter((start) => start < to) });
  }

  /** The end of a range that has been told, once all before its first candle is read, and the newest of that is this candle. */
  #endAt({ finalUntil, anchors, epoch }: Place, until: number): Page | undefined {
    while (this.#ends.length > 0) {
      const page = this.#ends.at(-1)!;
      if (page.from >= finalUntil && page.to <= until) return undefined;
      this.#ends.pop();
      const follows = page.from === anchors.at(-1) && this.#rules.intervals.end(page.from) === finalUntil;
      if (follows && page.to > finalUntil && page.to <= until && page.epoch === epoch)
        return { ...page, from: finalUntil, lacking: [], failure: undefined };
    }
    return undefined;
  }
}
