import { emptyBook } from "../../../src/candles/read/book.js";
import { judge } from "../../../src/candles/read/judge.js";
import type { Page } from "../../../src/candles/read/page.js";
import type { CandleRules } from "../../../src/candles/rules.js";
import {
  freezeDeep,
  lineOf,
  MINUTE,
  MINUTES,
  type PageTrouble,
  type Prices,
  pageOf,
} from "../minute-candles.js";

interface Look extends PageTrouble {
  /** The minutes that are asked for; by default [0, 100). */
  readonly range?: readonly [number, number];
}

/**
 * Takes answers into a book that begins at minute 0, one after the other. Each shows the anchors of the book, save those
 * that it is said to lack. `anchors`, by minute: those that are known at first.
 */
export function observe(rules: Partial<CandleRules> = {}, anchors: readonly number[] = [-1]) {
  const all: CandleRules = { intervals: MINUTES, settle: 1_000, revisionWindow: 2, ...rules };
  let book = emptyBook(
    0,
    anchors.map((minute) => minute * MINUTE),
  );
  const take = (page: Page) => {
    const judgement = judge(all, freezeDeep(book), freezeDeep(page));
    book = judgement.book;
    return judgement;
  };
  /** The answer at minute `at` and `seconds`. */
  const look = (at: number, seconds: number, prices: Prices, { range = [0, 100], ...more }: Look = {}) => {
    const shown: Record<number, number> = {};
    for (const anchor of book.anchors) {
      const minute = anchor / MINUTE;
      if (!more.lacking?.includes(minute)) shown[minute] = 1;
    }
    return pageOf(at * MINUTE + seconds * 1_000, range, { ...shown, ...prices }, more);
  };
  return {
    take,
    look,
    /** Gives the changes as lines. */
    see(...answer: Parameters<typeof look>) {
      return take(look(...answer)).changes.map(lineOf);
    },
    /** Gives what is in doubt after the answer. */
    doubt(...answer: Parameters<typeof look>) {
      return take(look(...answer)).doubt;
    },
    get book() {
      return book;
    },
    get covered() {
      const { from, to } = book.covered.at(-1)!;
      return [from / MINUTE, to / MINUTE];
    },
    get finalUntil() {
      return book.finalUntil / MINUTE;
    },
    get kept() {
      return book.entries.map(({ candle }) => candle.timestamp / MINUTE);
    },
    get anchors() {
      return book.anchors.map((anchor) => anchor / MINUTE);
    },
  };
}
