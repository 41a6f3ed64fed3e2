import fc from "fast-check";
import type { IChartApi } from "lightweight-charts";
import { NEVER } from "rxjs";
import { describe, expect, it } from "vitest";
import { drawMarkers, drawSnipers } from "../../../src/adapters/lightweight-charts/index.js";
import {
  checkMarkers,
  type Marker,
  marksAt,
  sniperMarkers,
} from "../../../src/adapters/lightweight-charts/marks.js";
import { TIMEFRAMES } from "../../../src/contract/model.js";
import { intervalsOf } from "../../../src/timeframe.js";

const START = Date.UTC(2026, 0, 1);
const MINUTE = 60_000;
const at = (minutes: number, position: Marker["position"] = "below", rest: Partial<Marker> = {}): Marker => ({
  timestamp: START + minutes * MINUTE,
  position,
  ...rest,
});
const marks = (starts: readonly number[], markers: readonly Marker[]) =>
  marksAt(
    starts.map((minutes) => START + minutes * MINUTE),
    "1min",
    markers,
  ).map(({ bar, position, text }) => [bar, position, text]);

const markersOf = (longest: number) =>
  fc.array(
    fc.record({
      timestamp: fc.integer({ min: START - 3 * longest, max: START + 30 * longest }),
      position: fc.constantFrom("above" as const, "below" as const),
      shape: fc.constantFrom("arrow" as const, "circle" as const),
      color: fc.constantFrom("red", "blue"),
    }),
    { maxLength: 60 },
  );

/** Bars of any timeframe with gaps, and markers before, between and behind them; weeks may begin on a Thursday. */
const scenes = fc.constantFrom(...TIMEFRAMES).chain((timeframe) =>
  fc.constantFrom("monday" as const, "thursday" as const).chain((weekStart) => {
    const { start, shift, longest } = intervalsOf(timeframe, weekStart);
    const bars = fc
      .uniqueArray(fc.integer({ min: 0, max: 25 }), { maxLength: 20 })
      .map((places) => places.sort((a, b) => a - b).map((place) => shift(start(START), place)));
    return fc.record({
      timeframe: fc.constant(timeframe),
      weekStart: fc.constant(weekStart),
      bars,
      markers: markersOf(longest).map((all) => all.sort((a, b) => a.timestamp - b.timestamp)),
    });
  }),
);

describe("marks", () => {
  it("stand at the bar that contains their instant, each once, and nowhere else", () => {
    fc.assert(
      fc.property(scenes, ({ timeframe, weekStart, bars, markers }) => {
        const intervals = intervalsOf(timeframe, weekStart);
        const expected = new Map<string, number>();
        for (const { timestamp, position, shape, color } of markers) {
          const bar = bars.indexOf(intervals.start(timestamp));
          const key = [bar, position, shape, color].join(" ");
          if (bar >= 0) expected.set(key, (expected.get(key) ?? 0) + 1);
        }
        const found = marksAt(bars, timeframe, markers);
        const counts = found.map(({ bar, position, shape, color, text }) => {
          return [[bar, position, shape, color].join(" "), Number(text ?? 1)] as const;
        });
        expect(new Map(counts)).toEqual(expected);
        expect(counts).toHaveLength(expected.size);
        const order = found.map(({ bar }) => bar);
        expect(order).toEqual([...order].sort((a, b) => a - b));
      }),
    );
  });

  it("of a view are those of the whole chart in it", () => {
    fc.assert(
      fc.property(scenes, fc.nat(20), fc.nat(20), ({ timeframe, bars, markers }, from, count) => {
        const inView = marksAt(bars.slice(from, from + count), timeframe, markers);
        const all = marksAt(bars, timeframe, markers).filter(({ bar }) => bar >= from && bar < from + count);
        expect(inView.map((mark) => ({ ...mark, bar: mark.bar + from }))).toEqual(all);
      }),
    );
  });

  it("wait for a bar before the first, behind the last and in a gap", () => {
    const markers = [at(-1), at(0), at(1.5), at(3)];
    expect(marks([0, 2], markers)).toEqual([[0, "below", undefined]]);
    expect(marks([-1, 0, 1, 2, 3], markers).map(([bar]) => bar)).toEqual([0, 1, 2, 4]);
    expect(marks([], markers)).toEqual([]);
  });

  it("of one bar and side are one, with their number and the text that they share", () => {
    expect(marks([0], [at(0), at(0.1), at(0.2, "above")])).toEqual([
      [0, "below", "2"],
      [0, "above", undefined],
    ]);
    const [ann, bob] = ["ann", "bob"].map((text) => ({ text }));
    expect(marks([0], [at(0, "below", ann)])).toEqual([[0, "below", "ann"]]);
    expect(marks([0], [at(0, "below", ann), at(0.5, "below", ann)])).toEqual([[0, "below", "ann ×2"]]);
    expect(marks([0], [at(0, "below", ann), at(0.5, "below", bob)])).toEqual([[0, "below", "2"]]);
  });
});

describe("markers of snipers", () => {
  const trade = (transactionHash: string, transactionTimestamp: number) => ({
    ...{ transactionHash, transactionTimestamp },
    blocksAfterCreation: null,
  });
  const report = {
    result: [
      {
        walletAddress: "ann",
        snipedTransactions: [trade("a", START)],
        sellTransactions: [trade("b", START + 1), trade("c", START + 2)],
      },
    ],
  } as unknown as Parameters<typeof sniperMarkers>[0];

  it("are below for each snipe and above for each sale, without a text", () => {
    expect(sniperMarkers(report)).toEqual([
      { timestamp: START, position: "below" },
      { timestamp: START + 1, position: "above" },
      { timestamp: START + 2, position: "above" },
    ]);
  });

  it("have the label of their wallet", () => {
    const labelled = sniperMarkers(report, ({ walletAddress }) => walletAddress.toUpperCase());
    expect(labelled.map(({ text }) => text)).toEqual(["ANN", "ANN", "ANN"]);
  });
});

describe("what is no marker", () => {
  const wrong = (value: unknown) => () => checkMarkers(value as readonly Marker[]);
  it.each([
    [undefined, /^events have a value of type undefined; allowed: lists of markers/],
    [[{ position: "above" }], /^timestamp is undefined/],
    [[{ timestamp: Number.NaN, position: "above" }], /^timestamp is NaN/],
    [[{ timestamp: 1, position: "top" }], /^position is "top"; allowed: above, below/],
    [
      [{ timestamp: 1, position: "above", shape: "star" }],
      /^shape is "star"; allowed: arrow, circle, square/,
    ],
    [[undefined], /^timestamp is undefined/],
  ])("%j is refused", (value, message) => {
    expect(wrong(value)).toThrow(message);
  });

  it("is refused at the call, where that shows it", () => {
    const chart = { timeScale() {} } as unknown as IChartApi;
    const series = { attachPrimitive() {} } as never;
    expect(() => drawMarkers({} as IChartApi, series, NEVER)).toThrow("chart has no method timeScale");
    expect(() => drawMarkers(chart, {} as never, NEVER)).toThrow("series has no method attachPrimitive");
    expect(() => drawMarkers(chart, series, [] as never)).toThrow("events has no method subscribe");
    expect(() => drawSnipers(chart, series, [] as never)).toThrow("looks has no method subscribe");
    expect(() => drawSnipers(chart, series, NEVER, { label: "x" as never })).toThrow(
      "label is of type string",
    );
    expect(() => drawSnipers(chart, series, NEVER, { lable: () => "" } as never)).toThrow("lable");
  });
});
