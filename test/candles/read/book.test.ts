import { describe, expect, it } from "vitest";
import { laterOf } from "../../../src/candles/event.js";
import { emptyBook } from "../../../src/candles/read/book.js";
import { judge } from "../../../src/candles/read/judge.js";
import { type CandleRules, windowStart } from "../../../src/candles/rules.js";
import { intervalsOf } from "../../../src/timeframe.js";
import { lineOf, MINUTE, MINUTES, minuteCandle, pageOf } from "../minute-candles.js";
import { observe } from "./observed-book.js";

describe("the life of a candle", () => {
  it("is open until its end and settle are over, then closed, then final beyond the window", () => {
    const { see } = observe();
    expect(see(5, 0, { 5: 1 })).toEqual(["new 5=1 open r0"]);
    expect(see(5, 59, { 5: 2 })).toEqual(["updated 5=2 open r1"]);
    expect(see(6, 0.999, { 5: 2 })).toEqual([]);
    expect(see(6, 1, { 5: 2 })).toEqual(["updated 5=2 closed r2"]);
    expect(see(7, 59, { 5: 2 })).toEqual([]);
    expect(see(8, 0, { 5: 2 })).toEqual(["updated 5=2 final r3"]);
    expect(see(9, 0, { 5: 2 })).toEqual([]);
  });

  it("knows the old candle's last state before the new candle", () => {
    const { see } = observe();
    see(5, 30, { 5: 1 });
    expect(see(6, 1, { 5: 2, 6: 3 })).toEqual(["updated 5=2 closed r1", "new 6=3 open r0"]);
  });

  it.each([
    { revisionWindow: 0, settle: 0, closed: undefined, final: 60 },
    { revisionWindow: 0, settle: 1_000, closed: undefined, final: 61 },
    { revisionWindow: 1, settle: 0, closed: 60, final: 120 },
    { revisionWindow: 1, settle: 1_000, closed: 61, final: 120 },
    { revisionWindow: 2, settle: 0, closed: 60, final: 180 },
    { revisionWindow: 2, settle: 1_000, closed: 61, final: 180 },
    { revisionWindow: 0, settle: 150_000, closed: undefined, final: 210 },
    { revisionWindow: 2, settle: 150_000, closed: undefined, final: 210 },
    { revisionWindow: 4, settle: 150_000, closed: 210, final: 300 },
  ])(
    "window $revisionWindow, settle $settle: closed at $closed s, final at $final s",
    ({ closed, final, ...rules }) => {
      const { see } = observe(rules);
      const stages: [number, string][] = [];
      for (let second = 0; second <= 400; second += 1) {
        for (const line of see(0, second, { 0: 1 })) stages.push([second, line.split(" ")[2]!]);
      }
      expect(stages).toEqual([
        [0, "open"],
        ...(closed === undefined ? [] : [[closed, "closed"]]),
        [final, "final"],
      ]);
    },
  );

  it("goes by the calendar for months", () => {
    const intervals = intervalsOf("1M");
    const rules: CandleRules = { intervals, settle: 1_000, revisionWindow: 1 };
    const march = Date.UTC(2024, 2, 1);
    const candle = { ...minuteCandle(0), timestamp: Date.UTC(2024, 1, 1) };
    let book = emptyBook(candle.timestamp);
    const statusAt = (observedAt: number) => {
      const page = { ...pageOf(observedAt, [0, 0], {}), from: candle.timestamp, to: Date.UTC(2025, 0, 1) };
      const turn = judge(rules, book, { ...page, candles: [candle] });
      book = turn.book;
      return turn.changes.map(({ status }) => status);
    };
    expect(statusAt(march - 1)).toEqual(["open"]);
    expect(statusAt(march + 999)).toEqual([]);
    expect(statusAt(march + 1_000)).toEqual(["closed"]);
    expect(statusAt(Date.UTC(2024, 3, 1) - 1)).toEqual([]);
    expect(statusAt(Date.UTC(2024, 3, 1))).toEqual(["final"]);
  });

  it("skips stages: a candle first seen after its end is one new with the status it has", () => {
    const { see } = observe();
    expect(see(6, 30, { 2: 1, 5: 1, 6: 1 })).toEqual([
      "new 2=1 final r0",
      "new 5=1 closed r0",
      "new 6=1 open r0",
    ]);
  });

  it("goes from open to final at once where nobody looked in between", () => {
    const { see } = observe();
    see(5, 0, { 5: 1 });
    expect(see(60, 0, { 5: 2 })).toEqual(["updated 5=2 final r1"]);
  });

  it("takes corrections after closing as updates that are closed", () => {
    const { see } = observe();
    see(6, 1, { 5: 1 });
    expect(see(6, 2, { 5: 2 })).toEqual(["updated 5=2 closed r1"]);
    expect(see(6, 3, { 5: 2 })).toEqual([]);
    expect(see(6, 4, { 5: 1 })).toEqual(["updated 5=1 closed r2"]);
  });

  it("tells the version before", () => {
    const { take } = observe();
    const [first] = take(pageOf(0, [0, 1], { 0: 1 })).changes;
    const [second] = take(pageOf(1, [0, 1], { 0: 2 })).changes;
    expect(first).not.toHaveProperty("previous");
    expect(second).toMatchObject({ previous: first!.candle });
  });

  it.each(["open", "high", "low", "close", "volume", "swaps"] as const)("sees that %s differs", (field) => {
    const { take } = observe();
    const read = pageOf(0, [0, 1], { 0: 5 });
    take(read);
    const candles = read.candles.map((candle) => ({ ...candle, [field]: 6 }));
    expect(take({ ...read, candles }).changes).toHaveLength(1);
  });

  it("never speaks of what is final again, whatever the service says of it", () => {
    const seen = observe();
    const { see } = seen;
    see(8, 0, { 5: 1 });
    expect(see(8, 1, { 4: 9, 5: 2 })).toEqual([]);
    expect(see(8, 2, {})).toEqual([]);
    expect(see(8, 3, {})).toEqual([]);
    expect(seen.kept).toEqual([]);
  });

  it("lets a candle turn up late while its interval is in the window", () => {
    const { see } = observe();
    see(7, 30, { 7: 1 });
    expect(see(7, 31, { 5: 3, 7: 1 })).toEqual(["new 5=3 closed r0"]);
  });
});

describe("what is covered", () => {
  it("reaches to what has ended and settled, within what was read", () => {
    const seen = observe();
    seen.see(5, 0.5, {});
    expect(seen.covered).toEqual([0, 4]);
    seen.see(9, 30, {}, { range: [3, 7] });
    expect(seen.covered).toEqual([0, 7]);
    expect(seen.finalUntil).toBe(7);
    seen.see(9, 30, {}, { range: [7, 10] });
    expect(seen.covered).toEqual([0, 9]);
    // Of what is still to settle nothing is covered, and what was covered stays so.
    seen.see(9, 31, {}, { range: [10, 12] });
    expect(seen.covered).toEqual([0, 9]);
  });

  it("is nothing behind a hole, where what shows is open", () => {
    const seen = observe();
    seen.see(5, 30, { 5: 1 });
    const { changes, doubt } = seen.take(seen.look(60, 30, { 20: 1 }, { range: [20, 100] }));
    expect([changes.map(lineOf), doubt]).toEqual([["new 20=1 open r0"], "time"]);
    expect([seen.covered, seen.finalUntil]).toEqual([[0, 5], 3]);
    expect(seen.see(60, 31, { 5: 1, 10: 1, 20: 1 })).toEqual([
      "updated 5=1 final r1",
      "new 10=1 final r0",
      "updated 20=1 final r1",
    ]);
    expect([seen.covered, seen.finalUntil]).toEqual([[0, 60], 58]);
  });

  it("is no part of what an answer shows whose time is in doubt", () => {
    const seen = observe();
    seen.see(5, 30, { 5: 1 });
    const { changes, doubt } = seen.take(seen.look(9, 1, { 5: 2, 7: 1 }, { isInDoubt: true }));
    expect([changes.map(lineOf), doubt]).toEqual([["updated 5=2 open r1", "new 7=1 open r0"], "time"]);
    expect([seen.covered, seen.finalUntil]).toEqual([[0, 5], 3]);
    // Neither does it count for an absence.
    seen.see(9, 10, {}, { isInDoubt: true });
    expect(seen.see(9, 20, {})).toEqual([]);
  });
});

describe("the service's clock", () => {
  it("does not go back within an epoch", () => {
    const seen = observe();
    seen.see(6, 1, { 5: 1 });
    expect(seen.see(5, 30, { 5: 2, 6: 1 })).toEqual(["updated 5=2 closed r1", "new 6=1 open r0"]);
    expect(seen.book.observedAt).toBe(6 * MINUTE + 1_000);
  });

  it("may go back with another epoch, which takes nothing back that was told", () => {
    const seen = observe();
    seen.see(8, 1, { 4: 1, 6: 1, 8: 1 });
    expect([seen.finalUntil, seen.covered]).toEqual([6, [0, 8]]);
    expect(seen.see(6, 30, { 4: 2, 6: 2, 7: 1, 8: 2 }, { epoch: 1 })).toEqual([
      "updated 6=2 closed r1",
      "new 7=1 open r0",
      "updated 8=2 open r1",
    ]);
    // Behind the newest final candle nothing is final any more.
    expect([seen.finalUntil, seen.covered]).toEqual([5, [0, 6]]);
    expect(seen.book.observedAt).toBe(6.5 * MINUTE);
    expect(seen.see(9, 1, { 5: 3, 6: 2, 7: 1, 8: 2 }, { epoch: 1 })).toEqual([
      "new 5=3 final r0",
      "updated 6=2 final r2",
      "updated 7=1 closed r1",
      "updated 8=2 closed r2",
    ]);
  });

  it.each([
    [-2, 0],
    [-1, 1],
    [0, 2],
  ])("that goes back behind what is covered leaves no hole: to minute %d", (from, minute) => {
    for (const begins of [-5, 0]) {
      const seen = observe({}, []);
      seen.see(2, 1, { 2: 1 });
      expect(seen.covered).toEqual([0, 2]);
      seen.see(minute, 30, { [minute]: 1 }, { epoch: 1, range: [begins, 100] });
      seen.see(minute, 40, { [minute]: 1 }, { epoch: 1, range: [-5, 100] });
      expect([seen.finalUntil, seen.covered]).toEqual([from, [from, minute]]);
    }
  });

  it("goes back only with an answer of which it is known when it was made", () => {
    const seen = observe();
    seen.see(8, 1, { 4: 1, 8: 1 });
    const doubtful = { epoch: 1, isInDoubt: true };
    expect(seen.see(2, 30, { 4: 1, 8: 2 }, doubtful)).toEqual(["updated 8=2 open r1"]);
    expect([seen.finalUntil, seen.covered]).toEqual([6, [0, 8]]);
    seen.see(8, 30, { 8: 2 }, { epoch: 1 });
    expect([seen.finalUntil, seen.covered]).toEqual([6, [0, 8]]);
  });

  it("of another epoch makes an end of what was in doubt by the clock before", () => {
    const seen = observe();
    seen.see(5, 30, { 3: 1, 4: 1, 5: 1 });
    seen.see(5, 31, { 3: 1, 5: 1 });
    expect(seen.see(5, 40, { 3: 1, 5: 1 }, { epoch: 1 })).toEqual([]);
    expect(seen.see(5, 41, { 3: 1, 5: 1 }, { epoch: 1 })).toEqual(["removed 4=1 closed r1"]);
  });
});

describe("a book that has not seen a candle yet", () => {
  it("takes none from before it begins", () => {
    const seen = observe({}, []);
    expect(seen.see(9, 1, { [-3]: 1, 8: 1 }, { range: [0, 10] })).toEqual(["new 8=1 closed r0"]);
  });
});

it("never goes back to an earlier status", () => {
  const statuses = ["open", "closed", "final"] as const;
  for (const [at, before] of statuses.entries()) {
    expect(laterOf(undefined, before)).toBe(before);
    for (const [nowAt, now] of statuses.entries()) {
      expect(laterOf(before, now)).toBe(statuses[Math.max(at, nowAt)]);
    }
  }
});

it("begins at the oldest interval that may still change, settled or in the window", () => {
  const rules = { intervals: MINUTES, revisionWindow: 2 };
  expect(windowStart({ ...rules, settle: 1_000 }, 10 * MINUTE)).toBe(8 * MINUTE);
  expect(windowStart({ ...rules, settle: 5 * MINUTE }, 10 * MINUTE)).toBe(5 * MINUTE);
});
