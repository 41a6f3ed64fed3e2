import type { IChartApi } from "lightweight-charts";
import { config, NEVER, of as stream } from "rxjs";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { drawCandles, drawLine } from "../../../src/adapters/lightweight-charts/index.js";
import type { CandleEvent } from "../../../src/index.js";

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

it.each([
  ["nothing", undefined, "undefined"],
  ["candles without a series", { candle: { timestamp: 1 } }, "an object with candle"],
  ["lists", [], "a list"],
])("a drawing of events says what it was given where they are %s", async (_, event, said) => {
  const reported: unknown[] = [];
  config.onUnhandledError = (error) => reported.push(error);
  for (const name of ["requestAnimationFrame", "cancelAnimationFrame"]) vi.stubGlobal(name, () => 1);
  onTestFinished(() => {
    config.onUnhandledError = null;
    vi.unstubAllGlobals();
  });
  drawCandles(chart, of("Candlestick"), stream(event as unknown as CandleEvent)).unsubscribe();
  await new Promise((resolve) => setTimeout(resolve));
  const message = `events hold ${said}; allowed: events as of watchCandles or replayCandles`;
  expect(reported).toEqual([expect.objectContaining({ name: "InvalidInputError", message })]);
});
