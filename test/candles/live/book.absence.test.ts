import { describe, expect, it } from "vitest";
import { lineOf, MINUTE, readOf } from "../minute-candles.js";
import { observe, unreadable } from "./observed-book.js";

describe("absence", () => {
  it("is asked for again, and removes at the second time, with the last status", () => {
    const { see, take } = observe();
    see(6, 1, { 5: 1 });
    expect(take(readOf(6 * MINUTE + 2_000, [0, 100], {})).needsSecondLook).toBe(true);
    const again = take(readOf(6 * MINUTE + 3_000, [0, 100], {}));
    expect(again.needsSecondLook).toBe(false);
    expect(again.changes.map(lineOf)).toEqual(["removed 5=1 closed r1"]);
    expect(see(6, 4, {})).toEqual([]);
  });

  it("is forgotten when the candle is back", () => {
    const { see } = observe();
    see(5, 1, { 5: 1 });
    for (let second = 2; second < 50; second += 2) {
      expect(see(5, second, {})).toEqual([]);
      expect(see(5, second + 1, { 5: 1 })).toEqual([]);
    }
  });

  it("does not hide a change of the candle that is back", () => {
    const { see } = observe();
    see(5, 1, { 5: 1 });
    see(5, 2, {});
    expect(see(5, 3, { 5: 2 })).toEqual(["updated 5=2 open r1"]);
    expect(see(5, 4, {})).toEqual([]);
  });

  it("gives a candle that comes back after its removal a new life", () => {
    const { see } = observe();
    see(5, 1, { 5: 1 });
    see(5, 2, { 5: 2 });
    see(5, 3, {});
    expect(see(5, 4, {})).toEqual(["removed 5=2 open r2"]);
    expect(see(6, 1, { 5: 2 })).toEqual(["new 5=2 closed r0"]);
  });

  it("in the middle holds what comes after, and nothing before", () => {
    const seen = observe();
    const rows = { 3: 1, 4: 1, 5: 1 } as const;
    seen.see(5, 30, rows);
    expect(seen.finalUntil).toBe(3);
    expect(seen.covered).toEqual([0, 5]);
    // Unheld, 3 would be final, 4 gone, 5 closed and 6 new and closed.
    expect(seen.see(7, 5, { 3: 1, 5: 2, 6: 1 })).toEqual([
      "updated 3=1 final r1",
      "updated 5=2 open r1",
      "new 6=1 open r0",
    ]);
    expect(seen.finalUntil).toBe(4);
    expect(seen.covered).toEqual([0, 5]);
    expect(seen.see(7, 6, { 5: 2, 6: 1 })).toEqual([
      "removed 4=1 closed r1",
      "updated 5=2 closed r2",
      "updated 6=1 closed r1",
    ]);
    expect(seen.finalUntil).toBe(5);
    expect(seen.covered).toEqual([0, 7]);
  });

  it("keeps a status that was reached, and holds the one to come", () => {
    const { see } = observe();
    see(7, 5, { 5: 1, 6: 1 });
    expect(see(9, 5, { 6: 1 })).toEqual([]);
    expect(see(9, 6, { 5: 1, 6: 1 })).toEqual(["updated 5=1 final r1", "updated 6=1 final r1"]);
  });

  it("of two candles counts for each", () => {
    const { see, take } = observe();
    see(5, 30, { 4: 1, 5: 1 });
    see(5, 31, { 5: 1 });
    const turn = take(readOf(5 * MINUTE + 32_000, [0, 100], {}));
    expect(turn.changes.map(lineOf)).toEqual(["removed 4=1 closed r1"]);
    expect(turn.needsSecondLook).toBe(true);
  });

  it("is what an empty answer says of every candle", () => {
    const { see } = observe();
    see(5, 30, { 4: 1, 5: 1 });
    expect(see(5, 31, {})).toEqual([]);
    expect(see(5, 32, {})).toEqual(["removed 4=1 closed r1", "removed 5=1 open r1"]);
  });

  it("is only inside the range that was asked for", () => {
    const { see } = observe();
    see(5, 30, { 3: 1, 4: 1, 5: 1 });
    for (let second = 31; second < 35; second += 1) {
      expect(see(5, second, { 4: 1 }, { range: [4, 5] })).toEqual([]);
    }
    expect(see(5, 36, {}, { range: [4, 5] })).toEqual([]);
    expect(see(5, 37, {}, { range: [4, 5] })).toEqual(["removed 4=1 closed r1"]);
  });

  it("holds what comes after also through a read that does not ask for it", () => {
    const seen = observe();
    seen.see(5, 30, { 4: 1, 5: 1 });
    seen.see(5, 31, { 5: 1 });
    expect(seen.see(6, 30, { 5: 1, 6: 1 }, { range: [5, 100] })).toEqual(["new 6=1 open r0"]);
    expect(seen.covered).toEqual([0, 5]);
    expect(seen.see(6, 31, { 4: 1, 5: 1, 6: 1 })).toEqual(["updated 5=1 closed r1"]);
  });
});

describe("rows that break the contract", () => {
  it("keep the candle that was known, and leave its interval uncovered", () => {
    const seen = observe();
    seen.see(6, 30, { 4: 1, 5: 1 });
    for (let second = 31; second < 35; second += 1) {
      expect(seen.see(6, second, { 4: 1 }, unreadable(5))).toEqual([]);
    }
    expect(seen.covered).toEqual([0, 5]);
    expect(seen.see(7, 30, { 4: 1, 5: 2 })).toEqual(["updated 4=1 final r1", "updated 5=2 closed r1"]);
    expect(seen.covered).toEqual([0, 7]);
  });

  it("cover nothing before they can be read, and what comes after", () => {
    const seen = observe();
    seen.see(4, 30, { 3: 1 });
    seen.see(6, 30, { 3: 1 }, unreadable(4));
    expect(seen.covered).toEqual([5, 6]);
  });

  it("of the running interval take back nothing that is covered", () => {
    const seen = observe();
    seen.see(6, 30, {}, unreadable(6));
    expect(seen.covered).toEqual([0, 6]);
  });

  it("are no absence: one between two of these does not confirm it", () => {
    const { see } = observe();
    see(5, 30, { 5: 1 });
    see(5, 31, {});
    see(5, 32, {}, unreadable(5));
    expect(see(5, 33, {})).toEqual([]);
    expect(see(5, 34, {})).toEqual(["removed 5=1 open r1"]);
  });

  it("that were there before and are gone count as a first absence of the candle that was known", () => {
    const lost = (...minutes: number[]) => ({
      ...unreadable(...minutes),
      lost: unreadable(...minutes).unreadable,
    });
    const one = observe();
    one.see(5, 30, { 4: 2, 5: 3 });
    expect(one.take(readOf(6 * MINUTE + 1_000, [0, 100], { 4: 2 }, lost(5))).needsSecondLook).toBe(true);
    expect([one.kept, one.covered, one.finalUntil]).toEqual([[4, 5], [0, 5], 4]);
    // The row was there again between the two.
    expect(one.see(6, 10, { 4: 2 }, lost(5))).toEqual([]);
    expect(one.see(6, 20, { 4: 2 })).toEqual(["removed 5=3 open r1"]);
    expect(one.covered).toEqual([0, 6]);
    // Of an interval without a known candle nothing is known.
    one.see(7, 1, { 4: 2 }, lost(6));
    expect(one.covered).toEqual([0, 6]);
  });

  it("let the window pass, and are forgotten then", () => {
    const seen = observe();
    seen.see(5, 30, { 5: 1 });
    expect(seen.see(9, 0, {}, unreadable(5))).toEqual([]);
    expect(seen.kept).toEqual([]);
    expect(seen.see(9, 1, { 5: 1 })).toEqual([]);
  });

  it("that cannot be placed leave every absence open, and cover nothing", () => {
    const seen = observe();
    seen.see(5, 30, { 5: 1 });
    for (let second = 0; second < 5; second += 1) {
      const turn = seen.take(readOf(6 * MINUTE + 1_000 + second, [0, 100], {}, { hasUnidentifiedRow: true }));
      expect(turn.changes).toEqual([]);
      expect(turn.needsSecondLook).toBe(false);
    }
    expect(seen.covered).toEqual([0, 5]);
    expect(seen.see(6, 31, { 5: 1 })).toEqual(["updated 5=1 closed r1"]);
    expect(seen.covered).toEqual([0, 6]);
  });
});
