import { describe, expect, it } from "vitest";
import { emptyBook } from "../../../src/candles/read/book.js";
import { judge } from "../../../src/candles/read/judge.js";
import { intervalsOf } from "../../../src/timeframe.js";
import { minuteCandle, pageOf } from "../minute-candles.js";
import { observe } from "./observed-book.js";

describe("absence", () => {
  it("is asked for again, and removes at the second time, with the last status", () => {
    const { see, doubt } = observe();
    see(6, 1, { 5: 1, 6: 1 });
    expect(doubt(6, 2, { 6: 1 })).toBe("rows");
    expect(see(6, 3, { 6: 1 })).toEqual(["removed 5=1 closed r1"]);
    expect(doubt(6, 4, { 6: 1 })).toBeUndefined();
  });

  it("is one where the service made both answers within a second, as copies of one are", () => {
    const seen = observe();
    seen.see(5, 30, { 3: 1, 4: 1, 5: 1 });
    for (const second of [31, 31, 31.5, 31.999]) {
      expect(seen.see(5, second, { 3: 1, 5: 1 })).toEqual([]);
      expect(seen.kept).toEqual([3, 4, 5]);
    }
    expect(seen.see(5, 32, { 3: 1, 5: 1 })).toEqual(["removed 4=1 closed r1"]);
  });

  it("counts from the first answer that lacks it: when a cache made an older one is known to a second", () => {
    const { see } = observe();
    see(5, 30, { 4: 1, 5: 1 });
    see(5, 40, { 5: 1 });
    // A cache gives an older answer.
    expect(see(5, 39.5, { 5: 1 })).toEqual([]);
    expect(see(5, 40.5, { 5: 1 })).toEqual([]);
    expect(see(5, 41, { 5: 1 })).toEqual(["removed 4=1 closed r1"]);
  });

  it("counts from an answer that shows the known candles on: what is lacking along with one of these is unknown", () => {
    const seen = observe();
    const { see } = seen;
    see(5, 30, { 2: 1, 3: 1, 4: 1, 5: 1 });
    see(6, 30, { 3: 1, 4: 1, 5: 1 });
    expect(seen.anchors).toEqual([-1, 2, 3]);
    expect(see(6, 40, { 4: 1 }, { lacking: [3] })).toEqual([]);
    expect(see(6, 41, { 4: 1, 6: 1 })).toEqual(["new 6=1 open r0"]);
    expect(see(6, 42, { 4: 1, 6: 1 })).toEqual(["removed 5=1 closed r2"]);
  });

  it("counts from the answer with which known candles are gone on", () => {
    const seen = observe({}, [-3, -2, -1]);
    const { see } = seen;
    see(5, 30, { 4: 1, 5: 1 });
    for (const second of [40, 41]) see(5, second, { 5: 1 }, { lacking: [-2, -1] });
    expect(seen.anchors).toEqual([-3]);
    expect(see(5, 42, { 5: 1 })).toEqual(["removed 4=1 closed r1"]);
  });

  it("is forgotten when the candle is back", () => {
    const { see } = observe();
    see(5, 1, { 4: 1, 5: 1 });
    for (let second = 2; second < 50; second += 2) {
      expect(see(5, second, { 5: 1 })).toEqual([]);
      expect(see(5, second + 1, { 4: 1, 5: 1 })).toEqual([]);
    }
  });

  it("does not hide a change of the candle that is back", () => {
    const { see } = observe();
    see(5, 1, { 4: 1, 5: 1 });
    see(5, 2, { 5: 1 });
    expect(see(5, 3, { 4: 2, 5: 1 })).toEqual(["updated 4=2 closed r1"]);
    expect(see(5, 4, { 5: 1 })).toEqual([]);
  });

  it("gives a candle that comes back after its removal a new life", () => {
    const { see } = observe();
    see(5, 1, { 4: 1, 5: 1 });
    see(5, 2, { 4: 2, 5: 1 });
    see(5, 3, { 5: 1 });
    expect(see(5, 4, { 5: 1 })).toEqual(["removed 4=2 closed r2"]);
    expect(see(6, 1, { 4: 2, 5: 1 })).toEqual(["new 4=2 closed r0", "updated 5=1 closed r1"]);
  });

  it("in the middle holds what comes after, and nothing before", () => {
    const seen = observe();
    seen.see(5, 30, { 3: 1, 4: 1, 5: 1 });
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
    const { see, doubt } = observe();
    see(5, 30, { 3: 1, 4: 1, 5: 1 });
    see(5, 31, { 4: 1, 5: 1 });
    expect(see(5, 32, { 5: 1 })).toEqual(["removed 3=1 closed r1"]);
    expect(doubt(5, 32.5, { 5: 1 })).toBe("rows");
    expect(see(5, 33, { 5: 1 })).toEqual(["removed 4=1 closed r1"]);
  });

  it("is only inside the range that was asked for", () => {
    const { see } = observe();
    see(5, 30, { 3: 1, 4: 1, 5: 1 });
    for (let second = 31; second < 40; second += 1) {
      expect(see(5, second, { 4: 1 }, { range: [4, 5] })).toEqual([]);
      expect(see(5, second, { 3: 1 }, { range: [0, 4] })).toEqual([]);
    }
  });

  it("holds what comes after also through an answer that does not ask for it", () => {
    const seen = observe();
    seen.see(5, 30, { 3: 1, 4: 1, 5: 1 });
    seen.see(5, 31, { 3: 1, 5: 1 });
    // It ends before 4.
    expect(seen.see(6, 30, { 3: 1 }, { range: [0, 4] })).toEqual(["updated 3=1 final r1"]);
    expect([seen.kept, seen.covered]).toEqual([
      [4, 5],
      [0, 5],
    ]);
    expect(seen.see(6, 31, { 4: 1, 5: 1 })).toEqual(["updated 5=1 closed r1"]);
  });
});

describe("what is absent at the newest end", () => {
  it("is gone once answers have lacked it for an interval less a second, which a `Date` may leave out: a replica may lag", () => {
    const { see } = observe();
    see(5, 30, { 4: 1, 5: 1 });
    for (const second of [31, 32, 40, 59]) expect(see(5, second, { 4: 1 })).toEqual([]);
    expect(see(6, 29.999, { 4: 1 })).toEqual([]);
    expect(see(6, 30, { 4: 1 })).toEqual(["removed 5=1 open r1"]);
  });

  it("is asked for again for two seconds, and then with the next slots", () => {
    const { see, doubt } = observe();
    see(5, 30, { 4: 1, 5: 1 });
    expect([31, 32, 32.9, 33, 50].map((second) => doubt(5, second, { 4: 1 }))).toEqual([
      "rows",
      "rows",
      "rows",
      undefined,
      undefined,
    ]);
  });

  it("is all of it, and holds what comes after", () => {
    const seen = observe();
    seen.see(5, 30, { 3: 1, 4: 1, 5: 1 });
    expect(seen.see(6, 1, {})).toEqual([]);
    expect(seen.see(6, 59, {})).toEqual([]);
    expect([seen.kept, seen.finalUntil, seen.covered]).toEqual([[3, 4, 5], 3, [0, 5]]);
    expect(seen.see(7, 1, {})).toEqual([
      "removed 3=1 closed r1",
      "removed 4=1 closed r1",
      "removed 5=1 open r1",
    ]);
    expect(seen.covered).toEqual([0, 7]);
  });

  it("is no newest end any more once a newer candle, or a broken row, shows", () => {
    for (const newer of [{}, { broken: [6] }]) {
      const { see } = observe();
      see(5, 30, { 4: 1, 5: 1 });
      see(5, 59, { 4: 1 });
      const prices = "broken" in newer ? { 4: 1 } : { 4: 1, 6: 1 };
      expect(see(6, 0, prices, newer)).toContain("removed 5=1 open r1");
    }
  });

  it("counts for at least five seconds where intervals are short", () => {
    const rules = { intervals: intervalsOf("1s"), settle: 0, revisionWindow: 60 };
    const candle = (second: number) => ({ ...minuteCandle(0), timestamp: second * 1_000 });
    const page = (at: number, seconds: readonly number[]) =>
      pageOf(at * 1_000, [0, 1], {}, { candles: seconds.map(candle), isEmpty: seconds.length === 0 });
    let { book } = judge(rules, emptyBook(0), page(10, [8, 9]));
    const changesAt = (at: number) => {
      const judgement = judge(rules, book, page(at, [8]));
      book = judgement.book;
      return judgement.changes.map(({ type }) => type);
    };
    expect([11, 12, 15.999].flatMap(changesAt)).toEqual([]);
    expect(changesAt(16)).toEqual(["removed"]);
  });
});

describe("rows that break the contract", () => {
  it("keep the candle that was known, and leave its interval uncovered", () => {
    const seen = observe();
    seen.see(6, 30, { 4: 1, 5: 1 });
    for (let second = 31; second < 35; second += 1) {
      expect(seen.see(6, second, { 4: 1 }, { broken: [5] })).toEqual([]);
    }
    expect(seen.covered).toEqual([0, 5]);
    expect(seen.see(7, 30, { 4: 1, 5: 2 })).toEqual(["updated 4=1 final r1", "updated 5=2 closed r1"]);
    expect(seen.covered).toEqual([0, 7]);
  });

  it("let other rows of the answer be taken at once", () => {
    const { see } = observe();
    expect(see(6, 30, { 4: 1, 6: 1 }, { broken: [5] })).toEqual(["new 4=1 closed r0", "new 6=1 open r0"]);
  });

  it("are given up when a third answer, made apart, holds them, and said so once", () => {
    const seen = observe();
    const droppedAt = (second: number) => seen.take(seen.look(6, second, { 4: 1 }, { broken: [5] })).dropped;
    expect([1, 1, 1.9, 2, 2.5].flatMap(droppedAt)).toEqual([]);
    expect(droppedAt(3)).toEqual([300_000]);
    expect([4, 5, 6].flatMap(droppedAt)).toEqual([]);
  });

  it("hold what comes after until they are given up", () => {
    const seen = observe();
    seen.see(5, 30, { 4: 1, 5: 1 });
    expect(seen.see(6, 30, { 5: 1 }, { broken: [4] })).toEqual([]);
    expect(seen.doubt(6, 31, { 5: 1 }, { broken: [4] })).toBe("rows");
    expect(seen.see(6, 32, { 5: 1 }, { broken: [4] })).toEqual(["updated 5=1 closed r1"]);
    expect(seen.doubt(6, 33, { 5: 1 }, { broken: [4] })).toBeUndefined();
  });

  it("are counted anew once they were read well", () => {
    const seen = observe();
    const droppedAt = (second: number) => seen.take(seen.look(6, second, { 4: 1 }, { broken: [5] })).dropped;
    expect([1, 2].flatMap(droppedAt)).toEqual([]);
    expect(seen.see(6, 3, { 4: 1, 5: 1 })).toEqual(["new 5=1 closed r0"]);
    expect([4, 5].flatMap(droppedAt)).toEqual([]);
    expect(droppedAt(6)).toEqual([300_000]);
  });

  it("that are gone again hold what comes after until a second answer lacks them", () => {
    const seen = observe();
    seen.see(5, 30, { 3: 1, 5: 1 }, { broken: [4] });
    expect(seen.see(6, 1, { 3: 1, 5: 1 })).toEqual(["updated 3=1 final r1"]);
    expect(seen.see(6, 2, { 5: 1 })).toEqual(["updated 5=1 closed r1"]);
  });

  it("cover nothing before they can be read, and what comes after", () => {
    const seen = observe();
    seen.see(4, 30, { 3: 1 });
    for (const second of [30, 31, 32]) seen.see(6, second, { 3: 1, 5: 1 }, { broken: [4] });
    expect(seen.covered).toEqual([5, 6]);
    // Once it shows after all, nothing is missing any more.
    seen.see(6, 33, { 3: 1, 4: 1, 5: 1 });
    expect(seen.covered).toEqual([0, 6]);
  });

  it("of the running interval take back nothing that is covered", () => {
    const seen = observe();
    seen.see(6, 30, { 5: 1 }, { broken: [6] });
    expect(seen.covered).toEqual([0, 6]);
  });

  it("are no absence: one between two of these does not confirm it", () => {
    const { see } = observe();
    see(5, 30, { 4: 1, 5: 1 });
    see(5, 31, { 5: 1 });
    see(5, 32, { 5: 1 }, { broken: [4] });
    expect(see(5, 33, { 5: 1 })).toEqual([]);
    expect(see(5, 34, { 5: 1 })).toEqual(["removed 4=1 closed r1"]);
  });

  it("let the window pass: what had closed becomes final as it was, and what was open is told no more", () => {
    const seen = observe();
    seen.see(6, 30, { 5: 1, 6: 1 });
    for (const second of [0, 1])
      expect(seen.see(10, second, { 8: 1 }, { broken: [5, 6] }).slice(1)).toEqual([]);
    expect(seen.see(10, 2, { 8: 1 }, { broken: [5, 6] })).toEqual([
      "updated 5=1 final r1",
      "updated 8=1 closed r1",
    ]);
    expect([seen.kept, seen.finalUntil, seen.covered]).toEqual([[8], 8, [7, 10]]);
    expect(seen.see(10, 3, { 5: 1, 6: 1, 8: 1 })).toEqual([]);
  });
});

describe("a row that may be that of any interval", () => {
  it("leaves every absence open, and covers nothing", () => {
    const seen = observe();
    seen.see(5, 30, { 4: 1, 5: 1 });
    for (let second = 1; second < 9; second += 1) {
      expect(
        seen.see(6, second, { 5: 1 }, { hasUnplaced: true }).filter((line) => /removed/.test(line)),
      ).toEqual([]);
    }
    expect([seen.kept, seen.covered]).toEqual([
      [4, 5],
      [0, 5],
    ]);
    expect(seen.see(6, 31, { 4: 1, 5: 1 })).toEqual([]);
    expect(seen.covered).toEqual([0, 6]);
  });

  it("is given up like one that has a place, and then what shows closes", () => {
    const seen = observe();
    seen.see(5, 30, { 5: 1 });
    const dropped = [1, 1.5, 2].flatMap(
      (second) => seen.take(seen.look(6, second, { 5: 1 }, { hasUnplaced: true })).dropped,
    );
    expect([dropped, seen.book.entries[0]!.status]).toEqual([[], "open"]);
    const third = seen.take(seen.look(6, 3, { 5: 1 }, { hasUnplaced: true }));
    expect([third.dropped, third.doubt]).toEqual([[undefined], undefined]);
    expect(seen.book.entries[0]!.status).toBe("closed");
    expect(seen.covered).toEqual([0, 5]);
  });
});
