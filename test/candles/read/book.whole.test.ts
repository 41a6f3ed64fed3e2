import { describe, expect, it } from "vitest";
import { withoutAnchors } from "../../../src/candles/read/book.js";
import { lacksAllAnchors, pauseFor } from "../../../src/candles/read/judge.js";
import { MINUTE, MINUTES } from "../minute-candles.js";
import { observe } from "./observed-book.js";

describe("the known candles that an answer has to show", () => {
  it("are the newest four that are final", () => {
    const seen = observe();
    seen.see(9, 1, { 0: 1, 2: 1, 3: 1, 5: 1, 6: 1, 7: 1, 9: 1 });
    expect([seen.finalUntil, seen.anchors]).toEqual([7, [2, 3, 5, 6]]);
    seen.see(10, 1, { 7: 1, 9: 1 });
    expect(seen.anchors).toEqual([3, 5, 6, 7]);
  });

  it("leave all in doubt where one is lacking: what shows is open, and nothing is absent", () => {
    const seen = observe({}, [-3, -1]);
    seen.see(5, 30, { 3: 1, 4: 1, 5: 1 });
    expect(seen.see(7, 1, { 3: 1, 5: 2, 6: 1 }, { lacking: [-1] })).toEqual([
      "updated 5=2 open r1",
      "new 6=1 open r0",
    ]);
    expect([seen.finalUntil, seen.covered]).toEqual([3, [0, 5]]);
    expect(seen.see(7, 2, { 3: 1, 5: 2, 6: 1 })).toEqual(["updated 3=1 final r1"]);
  });

  it("are gone one by one if a second answer lacks one as well, and shows another", () => {
    const seen = observe({}, [-3, -2, -1]);
    expect(seen.doubt(5, 1, { 4: 1 }, { lacking: [-2] })).toBe("rows");
    expect(seen.doubt(5, 1.9, { 4: 1 }, { lacking: [-2] })).toBe("rows");
    expect(seen.anchors).toEqual([-3, -2, -1]);
    expect(seen.doubt(5, 2, { 4: 1 }, { lacking: [-2] })).toBeUndefined();
    expect(seen.anchors).toEqual([-3, -1]);
    expect(seen.covered).toEqual([0, 5]);
  });

  it("are gone, too, where one is lacking sooner than another", () => {
    const seen = observe({}, [-3, -2, -1]);
    seen.see(5, 1, { 4: 1 }, { lacking: [-2] });
    for (const second of [2, 3]) seen.see(5, second, { 4: 1 }, { lacking: [-2, -1] });
    expect([seen.anchors, seen.covered]).toEqual([[-3], [0, 5]]);
  });

  it("are asked for again for two seconds where nothing newer shows, and after that by the regular polls", () => {
    const seen = observe();
    seen.see(9, 1, { 2: 1, 5: 1, 6: 1 });
    const doubts = [11, 12, 12.9, 13, 40].map((second) => seen.doubt(9, second, {}, { lacking: [6] }));
    expect(doubts).toEqual(["rows", "rows", "rows", "anchors", "anchors"]);
    expect(seen.doubt(10, 11, {}, { lacking: [6] })).toBeUndefined();
    expect(seen.anchors).toEqual([-1, 2, 5]);
  });

  it("are in doubt each for itself", () => {
    const seen = observe({}, [-3, -2, -1]);
    seen.doubt(5, 1, { 4: 1 }, { lacking: [-2] });
    // The second of these is a copy of the first.
    for (const second of [2, 2]) seen.see(5, second, { 4: 1 }, { lacking: [-1] });
    expect(seen.anchors).toEqual([-3, -2, -1]);
  });

  it("are no less in doubt where all are lacking, and need a look at themselves", () => {
    const seen = observe({}, [-2, -1]);
    const rules = { intervals: MINUTES, settle: 1_000, revisionWindow: 2 };
    const areLost = (second: number) =>
      lacksAllAnchors(rules, seen.book, seen.look(5, second, { 4: 1 }, { lacking: [-2, -1] }));
    for (const second of [1, 1.5]) {
      expect(seen.doubt(5, second, { 4: 1 }, { lacking: [-2, -1] })).toBe("rows");
      expect(areLost(second)).toBe(false);
    }
    expect(seen.doubt(5, 2, { 4: 1 }, { lacking: [-2, -1] })).toBe("rows");
    expect(areLost(2)).toBe(true);
    expect([seen.finalUntil, seen.covered, seen.anchors]).toEqual([0, [0, 0], [-2, -1]]);
    expect(withoutAnchors(seen.book)).toMatchObject({ anchors: [], lacking: new Map(), finalUntil: 0 });
  });

  it("are asked for again where others than those of the book are lacking, which says nothing of the book", () => {
    const seen = observe({}, [-1]);
    expect(seen.doubt(5, 1, { 4: 1 }, { lacking: [-7] })).toBeUndefined();
  });
});

describe("a silence at the beginning of an answer", () => {
  it("is proven by a candle from before it", () => {
    const seen = observe();
    expect(seen.doubt(9, 1, {})).toBeUndefined();
    expect([seen.finalUntil, seen.covered]).toEqual([7, [0, 9]]);
  });

  it("counts without one once a second answer, made a second later, has shown it", () => {
    const seen = observe({}, []);
    expect(seen.doubt(9, 1, {})).toBe("silence");
    expect(seen.doubt(9, 1.999, {})).toBe("silence");
    expect([seen.finalUntil, seen.covered]).toEqual([0, [0, 0]]);
    expect(seen.doubt(9, 2, {})).toBeUndefined();
    expect([seen.finalUntil, seen.covered]).toEqual([7, [0, 9]]);
  });

  it("counts where what is certain of the service's clock has faded a little in that second", () => {
    const seen = observe({}, []);
    expect(seen.doubt(9, 1, {})).toBe("silence");
    expect(seen.doubt(9, 1.9999, {})).toBeUndefined();
    expect([seen.finalUntil, seen.covered]).toEqual([7, [0, 9]]);
  });

  it("before a first row holds back what is final, and no closing", () => {
    const seen = observe({}, []);
    expect(seen.see(9, 1, { 5: 1, 8: 1, 9: 1 })).toEqual([
      "new 5=1 closed r0",
      "new 8=1 closed r0",
      "new 9=1 open r0",
    ]);
    expect([seen.finalUntil, seen.book.silence]).toEqual([0, { until: 5 * MINUTE, at: 9 * MINUTE + 1_000 }]);
    expect(seen.see(9, 2, { 5: 1, 8: 1, 9: 1 })).toEqual(["updated 5=1 final r1"]);
    expect(seen.finalUntil).toBe(7);
  });

  it("counts as far as both answers show it", () => {
    const seen = observe({}, []);
    seen.see(9, 1, { 3: 1 });
    expect(seen.see(9, 2, {})).toEqual([]);
    // 3 may have been cut off this time.
    expect([seen.finalUntil, seen.kept]).toEqual([3, [3]]);
  });

  it("is none before the pair was created", () => {
    const seen = observe({}, []);
    expect(seen.see(9, 1, { 5: 1, 8: 1 }, { bornAt: 5 * MINUTE })).toEqual([
      "new 5=1 final r0",
      "new 8=1 closed r0",
    ]);
    expect([seen.finalUntil, seen.covered]).toEqual([7, [0, 9]]);
    expect(observe({}, []).doubt(9, 1, {}, { bornAt: 20 * MINUTE, range: [0, 10] })).toBeUndefined();
    expect(observe({}, []).doubt(9, 1, {}, { bornAt: 5 * MINUTE })).toBe("silence");
  });

  it("of one interval is left to the next slot", () => {
    const seen = observe({}, []);
    expect(seen.doubt(1, 1, {})).toBeUndefined();
    expect([seen.finalUntil, seen.covered]).toEqual([0, [0, 0]]);
    expect(seen.doubt(1, 10, {})).toBeUndefined();
    expect(seen.covered).toEqual([0, 1]);
  });

  it("is no absence of what is known to lie in it", () => {
    const seen = observe({}, []);
    seen.see(5, 1, { 3: 1, 4: 1, 5: 1 });
    seen.see(5, 2, { 3: 1, 4: 1, 5: 1 });
    expect(seen.see(6, 1, { 5: 1 })).toEqual([]);
    expect([seen.kept, seen.finalUntil]).toEqual([[3, 4, 5], 3]);
  });
});

it("asks again at once where a time is in doubt, and else in a second", () => {
  const pauses = [undefined, "time", "rows", "silence"] as const;
  expect(pauses.map(pauseFor)).toEqual([undefined, 0, 1_000, 1_000]);
});
