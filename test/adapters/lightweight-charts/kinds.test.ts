import type { IChartApi } from "lightweight-charts";
import { NEVER } from "rxjs";
import { describe, expect, it } from "vitest";
import { drawCandles, drawLine } from "../../../src/adapters/lightweight-charts/index.js";

const chart = { timeScale() {} } as unknown as IChartApi;
const of = (kind: string) => ({ setData() {}, seriesType: () => kind }) as never;

describe("a series of another kind", () => {
  it("is refused for candles", () => {
    expect(() => drawCandles(chart, of("Line"), NEVER)).toThrow(
      "series is of the kind Line; allowed: a series of the kind Candlestick or Bar",
    );
  });

  it("is refused for volume", () => {
    expect(() => drawCandles(chart, of("Candlestick"), NEVER, { volume: of("Line") })).toThrow(
      "volume is of the kind Line; allowed: a series of the kind Histogram",
    );
  });

  it("is refused for a line", () => {
    expect(() => drawLine(chart, of("Candlestick"), NEVER, () => 1)).toThrow(
      "series is of the kind Candlestick; allowed: a series of the kind Line or Area or Baseline or Histogram",
    );
  });
});
