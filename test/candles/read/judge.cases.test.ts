import { describe, expect, it } from "vitest";
import { type CandleBook, emptyBook } from "../../../src/candles/read/book.js";
import { judge } from "../../../src/candles/read/judge.js";
import type { CandleRules } from "../../../src/candles/rules.js";
import {
  lineOf,
  MINUTE,
  MINUTES,
  minuteCandle,
  type PageTrouble,
  type Prices,
  pageOf,
} from "../minute-candles.js";

/** 12:00, in minutes; `noon + 2` is 12:02. */
const noon = 720;
const RULES: CandleRules = { intervals: MINUTES, settle: 1_000, revisionWindow: 2 };
const at = (minute: number, second: number) => (noon + minute) * MINUTE + second * 1_000;

/** Final until 12:00, covered until 12:02: 12:00 and 12:01 have closed, and 12:02 was open when the last answer came. */
const BOOK: CandleBook = {
  ...emptyBook(
    noon * MINUTE,
    [-3, -2, -1].map((minute) => (noon + minute) * MINUTE),
  ),
  covered: [{ from: (noon - 60) * MINUTE, to: (noon + 2) * MINUTE }],
  entries: [
    { candle: minuteCandle(noon), status: "closed", revision: 2 },
    { candle: minuteCandle(noon + 1), status: "closed", revision: 1 },
    { candle: minuteCandle(noon + 2), status: "open", revision: 3 },
  ],
  observedAt: at(2, 40),
  epoch: 0,
};
const ANCHORS: Prices = { [noon - 3]: 1, [noon - 2]: 1, [noon - 1]: 1 };
const minutes = (prices: Prices): Prices =>
  Object.fromEntries(Object.entries(prices).map(([minute, price]) => [noon + Number(minute), price]));
/** 12:02 has another close, 12:03 had no swaps. */
const ALL = minutes({ 0: 1, 1: 1, 2: 5, 4: 1 });
const without = (prices: Prices, ...gone: number[]): Prices =>
  Object.fromEntries(Object.entries(prices).filter(([minute]) => !gone.includes(Number(minute) - noon)));

/** Judges answers one after the other; each gives what it changes, how far all is final and covered, and the doubt. */
function judging(start: CandleBook = BOOK) {
  let book = start;
  return (minute: number, second: number, prices: Prices, trouble: PageTrouble = {}, to = 5) => {
    const page = pageOf(at(minute, second), [noon, noon + to], prices, trouble);
    const { book: after, changes, doubt, dropped } = judge(RULES, book, page);
    book = after;
    const lines = changes
      .map(lineOf)
      .map((line) => line.replace(/\d+=/, (text) => `${Number.parseInt(text, 10) - noon}=`));
    const marks = [after.finalUntil, after.covered.at(-1)!.to].map((mark) => mark / MINUTE - noon);
    return { lines, marks, doubt, dropped: dropped.map((start) => start! / MINUTE - noon), book };
  };
}

describe("one answer about a book", () => {
  it("that is whole makes final what has left the window, closes what has settled, and tells what is new", () => {
    expect(judging()(4, 30, { ...ANCHORS, ...ALL })).toMatchObject({
      lines: ["updated 0=1 final r3", "updated 1=1 final r2", "updated 2=5 closed r4", "new 4=1 open r0"],
      marks: [2, 4],
      doubt: undefined,
    });
  });

  it("that goes back before a known candle keeps that as an anchor, as it lies after its range", () => {
    const later = (noon + 60) * MINUTE;
    const back = { ...emptyBook(noon * MINUTE, [later]), epoch: 0 };
    const { book, marks } = judging(back)(90, 0, { ...minutes({ 0: 1, 3: 2, 60: 4 }) });
    expect(marks).toEqual([5, 5]);
    expect(book.anchors).toContain(later);
  });

  it("that lacks a candle holds it and all after it; another one a second later removes it", () => {
    const see = judging();
    const lacking = { ...ANCHORS, ...without(ALL, 1) };
    expect(see(4, 30, lacking)).toMatchObject({
      lines: ["updated 0=1 final r3", "updated 2=5 open r4", "new 4=1 open r0"],
      marks: [1, 2],
      doubt: "rows",
    });
    expect(see(4, 31.2, lacking)).toMatchObject({
      lines: ["removed 1=1 closed r2", "updated 2=5 closed r5"],
      marks: [2, 4],
      doubt: undefined,
    });
  });

  it("that lacks an anchor closes nothing; another one gives the anchor up, and counts", () => {
    const see = judging();
    const prices = { ...without(ANCHORS, -1), ...ALL };
    const lacking = { lacking: [noon - 1] };
    expect(see(4, 30, prices, lacking)).toMatchObject({
      lines: ["updated 2=5 open r4", "new 4=1 open r0"],
      marks: [0, 2],
      doubt: "rows",
    });
    expect(see(4, 31.5, prices, lacking)).toMatchObject({
      lines: ["updated 0=1 final r3", "updated 1=1 final r2", "updated 2=5 closed r5"],
      marks: [2, 4],
      doubt: undefined,
    });
  });

  it("that shows nothing at the newest end may come from a machine that lags: an interval less a second passes before a candle is gone", () => {
    const see = judging();
    const older = { ...ANCHORS, ...minutes({ 0: 1, 1: 1 }) };
    expect(see(4, 5, older)).toMatchObject({
      lines: ["updated 0=1 final r3", "updated 1=1 final r2"],
      marks: [2, 2],
      doubt: "rows",
    });
    expect(see(4, 7, older)).toMatchObject({ lines: [], marks: [2, 2], doubt: undefined });
    expect(see(5, 3, older, {}, 6)).toMatchObject({ lines: [], marks: [2, 2] });
    expect(see(5, 10, older, {}, 6)).toMatchObject({
      lines: ["removed 2=1 open r4"],
      marks: [3, 5],
      doubt: undefined,
    });
  });

  it("that cannot be read at one row holds from there; the third of them gives the row up, and it stays as it was read", () => {
    const see = judging();
    const prices = { ...ANCHORS, ...without(ALL, 1) };
    const broken = { broken: [noon + 1] };
    expect(see(4, 30, prices, broken)).toMatchObject({
      lines: ["updated 0=1 final r3", "updated 2=5 open r4", "new 4=1 open r0"],
      marks: [1, 1],
      doubt: "rows",
    });
    expect(see(4, 31.5, prices, broken)).toMatchObject({
      lines: [],
      marks: [1, 1],
      doubt: "rows",
      dropped: [],
    });
    const { book, ...last } = see(4, 33, prices, broken);
    expect(last).toMatchObject({
      lines: ["updated 1=1 final r2", "updated 2=5 closed r5"],
      marks: [2, 4],
      doubt: undefined,
      dropped: [1],
    });
    expect(book.covered.at(-1)!.from / MINUTE - noon).toBe(2);
  });

  it("that ascends, and ends with a silence, may be cut there: what follows its last row is final with the next one", () => {
    const see = judging();
    const cut = { ...ANCHORS, ...minutes({ 0: 1, 1: 1, 2: 5 }) };
    const ascending = { isAscending: true };
    expect(see(10, 30, cut, ascending, 11)).toMatchObject({
      lines: ["updated 0=1 final r3", "updated 1=1 final r2", "updated 2=5 final r4"],
      marks: [3, 10],
      doubt: undefined,
    });
    const whole = { ...cut, ...minutes({ 4: 1 }) };
    expect(see(11, 30, whole, ascending, 12)).toMatchObject({ lines: ["new 4=1 final r0"], marks: [5, 11] });
    expect(see(12, 30, whole, ascending, 13)).toMatchObject({ lines: [], marks: [10, 12], doubt: undefined });
  });

  it("that begins with a silence closes what it shows; a second one makes the silence final", () => {
    const see = judging(emptyBook(noon * MINUTE));
    const prices = minutes({ 3: 1, 4: 1 });
    expect(see(4, 30, prices)).toMatchObject({
      lines: ["new 3=1 closed r0", "new 4=1 open r0"],
      marks: [0, 4],
      doubt: "silence",
    });
    expect(see(4, 31.5, prices)).toMatchObject({ lines: [], marks: [2, 4], doubt: undefined });
  });
});
