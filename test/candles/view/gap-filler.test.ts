import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isSame } from "../../../src/candles/event.js";
import { type CandleChange, emptyBook } from "../../../src/candles/read/book.js";
import { type Judgement, judge } from "../../../src/candles/read/judge.js";
import type { CandleRules } from "../../../src/candles/rules.js";
import { type FillStep, GapFiller } from "../../../src/candles/view/gap-filler.js";
import type { Candle } from "../../../src/contract/model.js";
import { type Span, withoutSpan } from "../../../src/spans.js";
import { intervalsOf } from "../../../src/timeframe.js";
import {
  filledBatch,
  lineOf,
  MINUTE,
  MINUTES,
  minuteCandle,
  type PageTrouble,
  type Prices,
  pageOf,
} from "../minute-candles.js";
import { HONEST, play, scenes, someRules } from "../scenes.js";

/** As `lineOf`, a flat candle with `~` in place of `=`. */
function flatLineOf(change: CandleChange): string {
  const { open, high, low, close, volume, swaps } = change.candle;
  const isFlat = volume === 0 && swaps === 0 && [open, high, low].every((price) => price === close);
  return isFlat ? lineOf(change).replace("=", "~") : lineOf(change);
}

/** Reads into a book, the changes filled; settle 1 s, window 2. */
function watch() {
  const rules: CandleRules = { intervals: MINUTES, settle: 1_000, revisionWindow: 2 };
  const filler = new GapFiller(MINUTES);
  let book = emptyBook(0, [-MINUTE]);
  return (at: number, seconds: number, prices: Prices, more: PageTrouble = {}) => {
    const known = Object.fromEntries(book.anchors.map((anchor) => [anchor / MINUTE, 1]));
    const page = pageOf(at * MINUTE + seconds * 1_000, [0, 100], { ...known, ...prices }, more);
    const judgement = judge(rules, book, page);
    book = judgement.book;
    return [...filler.fill(stepOf(judgement))].map(flatLineOf);
  };
}

const span = (from: number, to: number): Span => ({ from: from * MINUTE, to: to * MINUTE });

function stepOf({ changes, book: { finalUntil, covered } }: Judgement): FillStep {
  return { changes, finalUntil, covered };
}

/** Fills steps of final candles, as a history gives them. */
function history() {
  const filler = new GapFiller(MINUTES);
  return ([from, to]: readonly [number, number], prices: Prices, uncovered: number[] = []) => {
    const changes = pageOf(0, [0, 0], prices).candles.map((candle): CandleChange => {
      return { type: "new", candle, status: "final", revision: 0 };
    });
    const covered = uncovered.reduce((spans, at) => withoutSpan(spans, span(at, at + 1)), [span(from, to)]);
    return [...filler.fill({ changes, finalUntil: to * MINUTE, covered })].map(flatLineOf);
  };
}

describe("flat candles", () => {
  it("begin at the first known candle and take the close before", () => {
    const see = watch();
    expect(see(4, 30, {})).toEqual([]);
    expect(see(5, 30, { 5: 7 })).toEqual(["new 5=7 open r0"]);
    expect(see(7, 30, { 5: 7 })).toEqual(["updated 5=7 closed r1", "new 6~7 closed r0"]);
  });

  it("come when their interval has settled, and become final when it leaves the window", () => {
    const see = watch();
    see(5, 30, { 5: 7 });
    expect(see(7, 0.5, { 5: 7 })).toEqual(["updated 5=7 closed r1"]);
    expect(see(7, 1, { 5: 7 })).toEqual(["new 6~7 closed r0"]);
    expect(see(8, 1, { 5: 7 })).toEqual(["updated 5=7 final r2", "new 7~7 closed r0"]);
    expect(see(9, 1, {})).toEqual(["updated 6~7 final r1", "new 8~7 closed r0"]);
    expect(see(60, 1, {}).length).toBe(53);
  });

  it("give way to a real candle that turns up late, and the flats behind follow its close", () => {
    const see = watch();
    see(7, 30, { 5: 7 });
    see(8, 30, { 5: 7 });
    expect(see(8, 31, { 6: 9 })).toEqual(["updated 6=9 closed r1", "updated 7~9 closed r1"]);
    expect(see(8, 32, { 6: 9, 7: 9 })).toEqual(["updated 7=9 closed r2"]);
  });

  it("come back where a real candle goes", () => {
    const see = watch();
    see(7, 30, { 5: 7, 6: 9, 7: 9 });
    see(7, 31, { 5: 7, 7: 9 });
    expect(see(7, 32, { 5: 7, 7: 9 })).toEqual(["updated 6~7 closed r1"]);
    expect(see(7, 33, { 5: 7, 6: 8, 7: 9 })).toEqual(["updated 6=8 closed r2"]);
  });

  it("do not stand in for a running candle that goes", () => {
    const see = watch();
    see(6, 30, { 5: 7, 6: 9 });
    see(6, 31, { 5: 7 });
    // It has settled by the time that it is gone for sure.
    expect(see(7, 29, { 5: 7 })).toEqual([]);
    expect(see(7, 30, { 5: 7 })).toEqual(["updated 6~7 closed r1"]);
  });

  it("follow a corrected close, as far as the next real candle", () => {
    const see = watch();
    see(7, 30, { 5: 7 });
    see(8, 30, { 5: 7, 8: 1 });
    expect(see(8, 31, { 5: 7, 6: 8, 8: 1 })).toEqual(["updated 6=8 closed r1", "updated 7~8 closed r1"]);
    expect(see(8, 32, { 5: 7, 6: 9, 8: 1 })).toEqual(["updated 6=9 closed r2", "updated 7~9 closed r2"]);
  });

  it("go with the first known candle on which they stand", () => {
    const see = watch();
    see(6, 30, { 6: 7 });
    see(8, 30, { 6: 7, 8: 5 });
    see(8, 31, { 8: 5 });
    expect(see(8, 32, { 8: 5 })).toEqual(["removed 6=7 closed r2", "removed 7~7 closed r1"]);
    expect(see(9, 30, { 8: 5 })).toEqual(["updated 8=5 closed r1"]);
  });

  it("reach further back when an earlier candle turns up", () => {
    const see = watch();
    see(8, 30, { 8: 7 });
    expect(see(8, 31, { 6: 3, 8: 7 })).toEqual(["new 6=3 closed r0", "new 7~3 closed r0"]);
  });

  it("hold where an absence is in doubt", () => {
    const see = watch();
    see(7, 30, { 5: 7, 6: 8, 7: 9 });
    expect(see(10, 30, { 5: 7, 7: 9 })).toEqual(["updated 5=7 final r1"]);
    expect(see(10, 31, { 6: 8, 7: 9 })).toEqual([
      "updated 6=8 final r1",
      "updated 7=9 final r1",
      "new 8~9 closed r0",
      "new 9~9 closed r0",
    ]);
  });

  it("take the place of a real candle that goes after its interval was covered, though it is not by then", () => {
    const filler = new GapFiller(MINUTES);
    const see = (coveredUntil: number, changes: readonly CandleChange[]) => {
      const covered = [span(0, coveredUntil)];
      return [...filler.fill({ changes, finalUntil: 5 * MINUTE, covered })].map(flatLineOf);
    };
    const [first, second] = [5, 6].map(
      (minute) => ({ candle: minuteCandle(minute, minute), status: "closed" }) as const,
    );
    const begun = [first!, second!].map((each) => ({ ...each, type: "new", revision: 0 }) as const);
    expect(see(6, begun)).toEqual(["new 5=5 closed r0", "new 6=6 closed r0"]);
    expect(see(7, [])).toEqual([]);
    expect(see(6, [{ ...second!, type: "removed", revision: 1 }])).toEqual(["updated 6~5 closed r1"]);
  });

  it("never lead back from closed to open", () => {
    const see = watch();
    see(7, 30, { 5: 7 });
    see(8, 30, { 5: 7, 6: 8 });
    // 6 is in doubt, so that 7, which was flat and closed, is open by the book.
    expect(see(8, 31, { 7: 9 })).toEqual(["updated 7=9 closed r1"]);
    expect(see(8, 32, { 6: 8, 7: 9 })).toEqual([]);
  });

  it("stay where their interval is uncovered later, and follow on", () => {
    const see = watch();
    see(7, 30, { 5: 7 });
    see(8, 30, { 5: 7, 8: 1 });
    expect(see(8, 31, { 6: 9, 8: 1 }, { broken: [7] })).toEqual([
      "updated 6=9 closed r1",
      "updated 7~9 closed r1",
    ]);
    see(8, 32, { 8: 1 });
    expect(see(8, 33, { 8: 1 })).toEqual(["updated 6~7 closed r2", "updated 7~7 closed r2"]);
  });

  it("may come wherever an interval was covered once, told or not", () => {
    const see = watch();
    see(5, 30, { 4: 7 });
    expect(see(6, 30, { 4: 7, 5: 8 })).toEqual(["new 5=8 closed r0"]);
    see(7, 30, { 4: 7, 5: 8, 7: 1 }, { broken: [6] });
    see(7, 31, { 7: 1 });
    expect(see(7, 32, { 7: 1 })).toEqual(["updated 5~7 closed r1", "new 6~7 closed r0"]);
  });

  it("are not put where a row broke the contract", () => {
    const see = watch();
    see(5, 30, { 5: 7 });
    expect(see(7, 30, { 5: 7 }, { broken: [6] })).toEqual(["updated 5=7 closed r1"]);
    // From the third answer on it is left out, and holds nothing any more.
    expect(see(8, 30, { 5: 7 }, { broken: [6] })).toEqual(["updated 5=7 final r2"]);
    expect(see(8, 31, { 5: 7 }, { broken: [6] })).toEqual(["new 7~7 closed r0"]);
  });

  it("follow the calendar", () => {
    const filler = new GapFiller(intervalsOf("1M"));
    const month = (index: number) => Date.UTC(2024, index, 1);
    const candle = { ...minuteCandle(0, 5), timestamp: month(0) };
    const flats = filler.fill({
      changes: [{ type: "new", candle, status: "final", revision: 0 }],
      covered: [{ from: month(0), to: month(4) }],
      finalUntil: month(3),
    });
    const got = [...flats].map(({ candle: { timestamp }, status }) => [timestamp, status]);
    expect(got).toEqual([
      [month(0), "final"],
      [month(1), "final"],
      [month(2), "final"],
      [month(3), "closed"],
    ]);
  });

  it("are frozen and whole", () => {
    const filler = new GapFiller(MINUTES);
    const [, flat] = filler.fill({
      changes: [{ type: "new", candle: { ...minuteCandle(0, 5), close: 3 }, status: "final", revision: 0 }],
      covered: [span(0, 2)],
      finalUntil: 2 * MINUTE,
    });
    expect(flat!.candle).toEqual({
      timestamp: MINUTE,
      open: 3,
      high: 3,
      low: 3,
      close: 3,
      volume: 0,
      swaps: 0,
    });
    expect(Object.isFrozen(flat!.candle)).toBe(true);
  });
});

describe("a history", () => {
  it("is filled across its slices, with the last close", () => {
    const take = history();
    expect(take([0, 3], {})).toEqual([]);
    expect(take([3, 6], { 4: 7 })).toEqual(["new 4=7 final r0", "new 5~7 final r0"]);
    expect(take([6, 8], {})).toEqual(["new 6~7 final r0", "new 7~7 final r0"]);
    expect(take([8, 10], { 9: 8 })).toEqual(["new 8~7 final r0", "new 9=8 final r0"]);
  });

  it("stays open where it is not known", () => {
    const take = history();
    expect(take([0, 5], { 1: 7 }, [3])).toEqual(["new 1=7 final r0", "new 2~7 final r0", "new 4~7 final r0"]);
    expect(take([8, 10], {})).toEqual(["new 8~7 final r0", "new 9~7 final r0"]);
  });
});

it("after every read equals a batch fill over the candles as they stand, in lives without echo", () => {
  fc.assert(
    fc.property(someRules, scenes("unplaced"), (rules, list) => {
      const filler = new GapFiller(MINUTES);
      const real = new Map<number, Candle>();
      const known = new Set<number>();
      const shown = new Map<number, CandleChange>();
      let passed = Number.NEGATIVE_INFINITY;
      for (const { now, judgement } of play(rules, [...list, HONEST, HONEST])) {
        const { covered, finalUntil } = judgement.book;
        for (const { type, candle } of judgement.changes) {
          // The first candle of all may lie before what was final as a silence, in which nothing was told.
          if (candle.timestamp < passed) continue;
          if (type === "removed") real.delete(candle.timestamp);
          else real.set(candle.timestamp, candle);
        }
        passed = Math.max(passed, finalUntil);
        for (const { from, to } of covered) for (let at = from; at < to; at += MINUTE) known.add(at);
        let last = Number.NEGATIVE_INFINITY;
        for (const change of filler.fill(stepOf(judgement))) {
          const { timestamp } = change.candle;
          const before = shown.get(timestamp);
          expect(timestamp).toBeGreaterThan(last);
          last = timestamp;
          expect(change.type === "new").toBe(before === undefined);
          if (before !== undefined) {
            expect(before.status).not.toBe("final");
            expect(change.revision).toBe(before.revision + 1);
            if (before.status === "closed") expect(change.status).not.toBe("open");
          }
          if (change.type === "updated") {
            expect(change.previous).toEqual(before!.candle);
            expect(change.status !== before!.status || !isSame(change.candle, before!.candle)).toBe(true);
          }
          if (change.status === "final") expect(timestamp).toBeLessThan(finalUntil);
          if (change.type === "removed") shown.delete(timestamp);
          else shown.set(timestamp, change);
        }
        const folded = [...shown.values()].map(({ candle }) => candle);
        folded.sort((a, b) => a.timestamp - b.timestamp);
        expect(folded).toEqual(filledBatch(real, (at) => known.has(at), now + 2 * MINUTE));
      }
    }),
    { numRuns: 500 },
  );
});

it("looks at what may still change, and not at what it has given out", () => {
  const filler = new GapFiller(MINUTES);
  let asked = 0;
  const counted: FillStep = {
    changes: [],
    get covered() {
      asked += 1;
      return [span(0, 1_000_000)];
    },
    finalUntil: 999_998 * MINUTE,
  };
  const first: CandleChange = { type: "new", candle: minuteCandle(0), status: "final", revision: 0 };
  let given = 0;
  for (const _ of filler.fill({ ...counted, changes: [first] })) given += 1;
  expect(given).toBe(1_000_000);
  asked = 0;
  expect([...filler.fill(counted)]).toEqual([]);
  expect(asked).toBeLessThan(20);
});
