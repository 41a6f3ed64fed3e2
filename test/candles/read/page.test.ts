import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isShown, readOf, type Served, toldOf } from "../../../src/candles/read/page.js";
import type { Candle } from "../../../src/contract/model.js";
import { ContractError } from "../../../src/index.js";
import { intervalsOf } from "../../../src/timeframe.js";
import { MINUTE, minute } from "./archive.js";

const intervals = intervalsOf("1min");
const range = { from: minute(0), to: minute(100) };
const error = new ContractError(["result", 0, "open"], "is no number");

/** A page with candles of these minutes, in this order, and broken rows of those. */
function pageOf(minutes: readonly number[], broken: readonly (number | undefined)[] = []): Served {
  const candles = minutes.map((at) => ({ timestamp: minute(at), swaps: 1, volume: 1 }) as Candle);
  const places = [...minutes, ...broken].filter((at) => at !== undefined).map(minute);
  const [first, last] = [Math.min(...places), Math.max(...places)];
  const rows = candles.length + broken.length;
  return {
    ...{ candles, to: range.to, facts: { cursor: undefined, rows, first, last, mostPages: 2 } },
    broken: broken.map((at) => ({ key: at === undefined ? undefined : minute(at), error })),
  };
}

const minutesOf = ({ candles }: { candles: readonly Candle[] }) =>
  candles.map(({ timestamp }) => (timestamp - minute(0)) / MINUTE);

describe("the pages of an answer, together", () => {
  const question = { range, anchors: [], told: undefined };

  it("show each candle once, ascending, however they are cut and in whatever order rows come", () => {
    const minutes = fc.uniqueArray(fc.integer({ min: 0, max: 99 }), { maxLength: 30 });
    fc.assert(
      fc.property(minutes, fc.array(fc.nat(30), { maxLength: 4 }), (shown, cuts) => {
        const ends = [...cuts.filter((cut) => cut < shown.length).sort((a, b) => a - b), shown.length];
        const pages = ends.map((end, at) => pageOf(shown.slice(ends[at - 1] ?? 0, end)));
        const twice = [...pages, pageOf(shown.slice(0, 3))];
        expect(minutesOf(readOf(twice, question))).toEqual([...shown].sort((a, b) => a - b));
      }),
    );
  });

  it("lack the anchors that none of them shows, or holds broken; a row without a place may be any of them", () => {
    const anchors = [5, 6, 7].map(minute);
    const lackingOf = (...pages: Served[]) => [...readOf(pages, { ...question, anchors }).lacking];
    expect(lackingOf(pageOf([5]), pageOf([8], [7]))).toEqual([minute(6)]);
    expect(lackingOf(pageOf([5]), pageOf([8], [undefined]))).toEqual([]);
  });

  it("hold a row broken only where none shows its candle, and refuse only what is asked for", () => {
    expect(readOf([pageOf([5], [5, 6])], question)).toMatchObject({ broken: [minute(6)], refusal: error });
    expect(readOf([pageOf([5], [101])], question)).toMatchObject({ broken: [], refusal: undefined });
  });

  it("are empty only without any row", () => {
    expect(readOf([pageOf([])], question).isEmpty).toBe(true);
    expect(readOf([pageOf([], [101])], question).isEmpty).toBe(false);
  });
});

describe("the part of a range that the first pages tell of", () => {
  const told = (...pages: Served[]) => toldOf(intervals, range, pages, pages.at(-1));

  it("begins with the last row where rows descend, and ends with it where they ascend", () => {
    expect(told(pageOf([90, 80]), pageOf([70, 60]))).toEqual({ from: minute(60), to: range.to });
    expect(told(pageOf([10, 20]), pageOf([30, 40]))).toEqual({ from: range.from, to: minute(41) });
  });

  it("is the end of the range where a page alone descends: pages of rows that ascend may begin at either side", () => {
    expect(told(pageOf([90, 80]))).toEqual({ from: minute(80), to: range.to });
    expect(told(pageOf([80, 90]))).toBeUndefined();
    expect(told(pageOf([80, 90], [70]))).toBeUndefined();
  });

  it("is not known of a page with one row, nor of rows or pages without an order", () => {
    for (const minutes of [[], [80], [80, 80], [90, 60, 70]]) expect(told(pageOf(minutes))).toBeUndefined();
    expect(told(pageOf([90, 60]), pageOf([70, 50]))).toBeUndefined();
  });

  it("is nothing where all rows lie beside the range", () => {
    expect(told(pageOf([101, 100]))).toBeUndefined();
    expect(told(pageOf([102]), pageOf([101]))).toBeUndefined();
    expect(told(pageOf([-4]), pageOf([-3]))).toBeUndefined();
  });

  it("is what those before it tell of where the last page only shows the order", () => {
    const [first, second] = [pageOf([90, 80]), pageOf([70, 60])];
    expect(toldOf(intervals, range, [first, second], first)).toEqual({ from: minute(80), to: range.to });
  });
});

it("all of a range has been shown once rows run from the newest to one before it", () => {
  const within = { from: minute(50), to: minute(60) };
  expect(isShown([pageOf([65, 55]), pageOf([49])], within)).toBe(true);
  expect(isShown([pageOf([65, 55]), pageOf([50])], within)).toBe(false);
  expect(isShown([pageOf([55, 65]), pageOf([49])], within)).toBe(false);
  expect(isShown([pageOf([65, 49])], within)).toBe(false);
});
