import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { makeRows, type Row } from "../../../src/adapters/lightweight-charts/rows.js";
import { SeriesModel } from "./series-model.js";

interface Valued extends Row {
  readonly value: number;
}
const row = (timestamp: number, value = 0): Valued => ({ timestamp, value });

/** What can happen to rows, times being small numbers. */
type Happening =
  | { readonly type: "put"; readonly time: number; readonly value: number }
  | { readonly type: "remove"; readonly time: number }
  | { readonly type: "ask" }
  | { readonly type: "answer"; readonly times: readonly number[] }
  | { readonly type: "draw" };

const happening = (most: number): fc.Arbitrary<Happening> => {
  const time = fc.oneof(fc.integer({ min: 0, max: most }), fc.integer({ min: most - 5, max: most }));
  return fc.oneof(
    { weight: 8, arbitrary: fc.record({ type: fc.constant("put" as const), time, value: fc.nat(9) }) },
    { weight: 3, arbitrary: fc.record({ type: fc.constant("remove" as const), time }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constant("ask" as const) }) },
    {
      weight: 1,
      arbitrary: fc.record({
        type: fc.constant("answer" as const),
        times: fc.array(fc.integer({ min: -most, max: most }), { maxLength: 10 }),
      }),
    },
    { weight: 3, arbitrary: fc.record({ type: fc.constant("draw" as const) }) },
  );
};

/** Rows, a chart and the plainest fold, side by side. */
function play(happenings: readonly Happening[], canCorrect: boolean) {
  const rows = makeRows<Valued>(1_000_000);
  const chart = new SeriesModel<Valued>(canCorrect);
  const fold = new Map<number, Valued>();
  let asked: { readonly before: number; readonly touched: Set<number> } | undefined;
  const draw = () => {
    const calls = chart.calls;
    if (rows.hasChanges()) chart.apply(rows.drain(canCorrect));
    expect(chart.rows).toEqual([...fold.values()].sort((a, b) => a.timestamp - b.timestamp));
    expect(chart.calls - calls).toBeLessThanOrEqual(64);
    expect(rows.hasChanges()).toBe(false);
  };
  for (const one of happenings) {
    if (one.type === "put") {
      rows.put(row(one.time, one.value));
      fold.set(one.time, row(one.time, one.value));
      asked?.touched.add(one.time);
    } else if (one.type === "remove") {
      rows.remove(one.time);
      fold.delete(one.time);
      asked?.touched.add(one.time);
    } else if (one.type === "ask" && asked === undefined && rows.all()[0] !== undefined) {
      asked = { before: rows.all()[0]!.timestamp, touched: new Set() };
      rows.expectOlder();
    } else if (one.type === "answer" && asked !== undefined) {
      const { before, touched } = asked;
      const older = one.times.filter((time) => time < before);
      expect(
        rows.prepend(
          one.times.map((time) => row(time, -1)),
          before,
        ),
      ).toBe(new Set(older).size);
      for (const time of older) if (!touched.has(time) && !fold.has(time)) fold.set(time, row(time, -1));
      asked = undefined;
    } else if (one.type === "draw") draw();
  }
  draw();
}

describe("the rows of a drawing", () => {
  it.each([
    ["few times, so that most is a correction", 12, true],
    ["many times", 2_000, true],
    ["few times, on a chart that cannot correct", 12, false],
    ["many times, on a chart that cannot correct", 300, false],
  ])("bring a chart to the fold of what has happened: %s", (_, most, canCorrect) => {
    fc.assert(
      fc.property(fc.array(happening(most), { maxLength: 300 }), (happenings) =>
        play(happenings, canCorrect),
      ),
      { numRuns: 300 },
    );
  });

  it("bring it there over many rows between two drawings", () => {
    const batch = fc.array(happening(400), { minLength: 60, maxLength: 200 });
    fc.assert(
      fc.property(fc.array(batch, { maxLength: 4 }), (batches) =>
        play(
          batches.flatMap((one) => [...one.filter(({ type }) => type !== "draw"), { type: "draw" as const }]),
          true,
        ),
      ),
      { numRuns: 100 },
    );
  });

  it("keep the newest ones, nine tenths at least, and forget no event about them", () => {
    const keep = 50;
    fc.assert(
      fc.property(fc.array(happening(300), { minLength: 100, maxLength: 600 }), (happenings) => {
        const rows = makeRows<Valued>(keep);
        const chart = new SeriesModel<Valued>();
        const fold = new Map<number, Valued>();
        for (const one of happenings) {
          if (one.type === "put") {
            rows.put(row(one.time, one.value));
            fold.set(one.time, row(one.time, one.value));
          }
          if (one.type === "draw") chart.apply(rows.drain());
        }
        chart.apply(rows.drain());
        const all = [...fold.values()].sort((a, b) => a.timestamp - b.timestamp);
        expect(chart.rows).toEqual(chart.rows.length === 0 ? [] : all.slice(-chart.rows.length));
        expect(chart.rows.length).toBeLessThanOrEqual(keep);
        expect(chart.rows.length).toBeGreaterThanOrEqual(Math.min(all.length, keep * 0.9));
      }),
      { numRuns: 200 },
    );
  });

  it("take the next candle, the running one and a correction in one call each", () => {
    const rows = makeRows<Valued>(1_000);
    for (let time = 0; time < 500; time++) rows.put(row(time));
    expect(rows.drain()).toHaveProperty("all.length", 500);
    rows.put(row(499, 1));
    expect(rows.drain()).toEqual({
      corrected: [{ row: row(499, 1), isOlder: false }],
      popped: 0,
      appended: [],
    });
    rows.put(row(500));
    expect(rows.drain()).toEqual({ corrected: [], popped: 0, appended: [row(500)] });
    rows.put(row(3, 1));
    expect(rows.drain()).toEqual({ corrected: [{ row: row(3, 1), isOlder: true }], popped: 0, appended: [] });
  });

  it("pop back to a late candle or a removed one where that is near, and draw all anew where it is not", () => {
    const rows = makeRows<Valued>(1_000);
    for (let time = 0; time < 500; time++) rows.put(row(time));
    rows.drain();
    rows.remove(497);
    expect(rows.drain()).toEqual({ corrected: [], popped: 3, appended: [row(498), row(499)] });
    rows.put(row(497));
    expect(rows.drain()).toEqual({ corrected: [], popped: 2, appended: [row(497), row(498), row(499)] });
    rows.remove(200);
    expect(rows.drain()).toHaveProperty("all.length", 499);
  });

  it("do nothing for a candle that came and went between two drawings", () => {
    const rows = makeRows<Valued>(1_000);
    for (let time = 0; time < 100; time++) rows.put(row(time));
    rows.drain();
    rows.put(row(100));
    rows.remove(100);
    expect(rows.drain()).toEqual({ corrected: [], popped: 0, appended: [] });
  });

  it("leave out an answer that no longer reaches what is kept", () => {
    const rows = makeRows<Valued>(100);
    for (let time = 0; time < 100; time++) rows.put(row(time));
    rows.expectOlder();
    for (let time = 100; time < 105; time++) rows.put(row(time));
    expect(rows.all()[0]).toEqual(row(11));
    expect(rows.prepend([row(-1)], 0)).toBe(0);
    expect(rows.all()[0]).toEqual(row(11));
  });

  it("hold what is older again once it was asked for, and take events about it", () => {
    const rows = makeRows<Valued>(100);
    for (let time = 0; time < 101; time++) rows.put(row(time));
    expect(rows.all()[0]).toEqual(row(11));
    rows.put(row(5, 1));
    expect(rows.all()[0]).toEqual(row(11));
    rows.expectOlder();
    expect(rows.prepend([row(9), row(10)], 11)).toBe(2);
    rows.put(row(9, 1));
    expect(rows.all()[0]).toEqual(row(9, 1));
  });
});
