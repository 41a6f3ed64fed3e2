import { applyRead, emptyBook } from "../../../src/candles/live/book.js";
import type { CandleRead } from "../../../src/candles/read/range-reader.js";
import type { CandleRules } from "../../../src/candles/rules.js";
import { freezeDeep, lineOf, MINUTE, MINUTES, type Prices, readOf } from "../minute-candles.js";

/** Reads one after the other into a book that begins at minute 0; every read covers [0, 100) unless told. */
export function observe(rules: Partial<CandleRules> = {}) {
  const all: CandleRules = { intervals: MINUTES, settle: 1_000, revisionWindow: 2, ...rules };
  let book = emptyBook(0);
  const take = (read: CandleRead) => {
    const turn = applyRead(all, freezeDeep(book), freezeDeep(read));
    book = turn.book;
    return turn;
  };
  return {
    take,
    /** At minute `at` and `seconds`; gives the changes as lines. */
    see(
      at: number,
      seconds: number,
      prices: Prices,
      { range = [0, 100], ...more }: Partial<CandleRead> & { range?: readonly [number, number] } = {},
    ) {
      return take(readOf(at * MINUTE + seconds * 1_000, range, prices, more)).changes.map(lineOf);
    },
    get book() {
      return book;
    },
    get covered() {
      return [book.coveredFrom / MINUTE, book.coveredUntil / MINUTE];
    },
    get finalUntil() {
      return book.finalUntil / MINUTE;
    },
    get kept() {
      return book.entries.map(({ candle }) => candle.timestamp / MINUTE);
    },
  };
}

export const unreadable = (...minutes: number[]) => ({
  unreadable: new Set(minutes.map((at) => at * MINUTE)),
});
