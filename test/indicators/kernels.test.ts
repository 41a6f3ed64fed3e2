import { describe, expect, it } from "vitest";
import type { Candle } from "../../src/contract/model.js";
import { sma } from "../../src/indicators/averages/sma.js";
import { candleIndicator, candleResultIndicator } from "../../src/indicators/candle-kernel.js";
import type { Indicator } from "../../src/indicators/kernel.js";
import type { CandleColumns } from "../../src/indicators/rows.js";
import {
  type SeriesKernel,
  seriesIndicator,
  seriesResultIndicator,
} from "../../src/indicators/series-kernel.js";
import { expectColumnsAsStreamed } from "./by-column.js";
import { describeIndicator } from "./contract.js";
import { marketOf } from "./random-candles.js";

/** Notes what it is given, and answers it. */
class Echo<T> {
  readonly given: unknown[] = [];

  constructor(private readonly answer: (given: Candle | number) => T) {}

  push(given: Candle | number): T {
    this.given.push(given);
    return this.answer(given);
  }

  peek(given: Candle | number): T {
    return this.push(given);
  }

  fill(): never {
    throw new Error("An echo is asked one by one.");
  }

  fork(): Echo<T> {
    return new Echo(this.answer);
  }
}

const candle = (close: number): Candle => ({ ...marketOf(1, 1)[0]!, close });
const valuesOf = (made: Indicator<unknown>, closes: number[]) => {
  const kernel = made();
  return closes.map((close) => [kernel.peek(candle(close)), kernel.push(candle(close))]);
};

describe("what is not there yet", () => {
  const price = (given: Candle | number) => (typeof given === "number" ? given : given.close);
  const odd = (given: Candle | number) => (price(given) % 2 === 1 ? price(given) : Number.NaN);
  const oddOnes = (given: Candle | number) => (price(given) % 2 === 1 ? { odd: price(given) } : undefined);

  it.each([
    ["seriesIndicator", seriesIndicator(() => new Echo(odd), undefined)],
    ["candleIndicator", candleIndicator(() => new Echo(odd))],
  ])("is undefined where a kernel of %s gives NaN", (_, made) => {
    expect(valuesOf(made, [1, 2, 3])).toEqual([
      [1, 1],
      [undefined, undefined],
      [3, 3],
    ]);
  });

  it.each([
    ["seriesResultIndicator", seriesResultIndicator(() => new Echo(oddOnes), ["odd"], undefined)],
    ["candleResultIndicator", candleResultIndicator(() => new Echo(oddOnes), ["odd"])],
  ])("is undefined where a kernel of %s says so", (_, made) => {
    expect(valuesOf(made, [1, 2])).toEqual([
      [{ odd: 1 }, { odd: 1 }],
      [undefined, undefined],
    ]);
  });

  it("is not given to a kernel whose source warms up", () => {
    const [numbers, results] = [new Echo(odd), new Echo(oddOnes)];
    const source = sma(3);
    valuesOf(
      seriesIndicator(() => numbers, { source }),
      [1, 2, 3, 4],
    );
    valuesOf(
      seriesResultIndicator(() => results, ["odd"], { source }),
      [1, 2, 3, 4],
    );
    expect([numbers.given, results.given]).toEqual([
      [2, 2, 3, 3],
      [2, 2, 3, 3],
    ]);
  });
});

it("gives a kernel the candle that its number was taken from", () => {
  class Swaps implements SeriesKernel<number> {
    push(value: number, { swaps }: Candle): number {
      return value * swaps;
    }

    peek(value: number, given: Candle): number {
      return this.push(value, given);
    }

    fill(values: Float64Array, out: Float64Array, { swaps }: CandleColumns): void {
      for (let at = 0; at < values.length; at += 1) out[at] = values[at]! * swaps![at]!;
    }

    fork(): Swaps {
      return new Swaps();
    }
  }
  const kernel = seriesIndicator(() => new Swaps(), { source: "high" }, "low")();
  expect(kernel.push({ ...candle(5), high: 20, swaps: 7 })).toBe(140);
  expectColumnsAsStreamed(
    "swaps",
    seriesIndicator(() => new Swaps(), {}),
    marketOf(3, 9),
  );
  expect(seriesIndicator(() => new Swaps(), {}, "low")().peek({ ...candle(5), low: 2, swaps: 7 })).toBe(14);
});

class Body {
  peek({ open, close }: Candle): number {
    return Math.abs(close - open);
  }

  push(given: Candle): number {
    return this.peek(given);
  }

  fill({ open, close }: CandleColumns, out: Float64Array): void {
    for (let at = 0; at < out.length; at += 1) out[at] = Math.abs(close[at]! - open[at]!);
  }

  fork(): Body {
    return new Body();
  }
}

class Shape {
  peek({ open, close, low, volume }: Candle): { body: number; foot: number; flow: number } {
    return { body: Math.abs(close - open), foot: Math.min(open, close) - low, flow: close * volume };
  }

  push(given: Candle): { body: number; foot: number; flow: number } {
    return this.peek(given);
  }

  fill(
    { open, close, low, volume }: CandleColumns,
    out: { body: Float64Array; foot: Float64Array; flow: Float64Array },
  ): void {
    for (let at = 0; at < open.length; at += 1) {
      out.body[at] = Math.abs(close[at]! - open[at]!);
      out.foot[at] = Math.min(open[at]!, close[at]!) - low[at]!;
      out.flow[at] = close[at]! * volume[at]!;
    }
  }

  fork(): Shape {
    return new Shape();
  }
}

const NO_WARM_UP = { warmUp: 0, memory: 1 };

describeIndicator({
  name: "a kernel of numbers over candles",
  indicator: candleIndicator(() => new Body()),
  ...NO_WARM_UP,
  scaling: 1,
  flat: () => 0,
  reference: (candles) => candles.map(({ open, close }) => Math.max(open, close) - Math.min(open, close)),
});

describeIndicator({
  name: "a kernel of objects over candles",
  indicator: candleResultIndicator(() => new Shape(), ["body", "foot", "flow"]),
  ...NO_WARM_UP,
  scaling: { body: 1, foot: 1, flow: 1 },
  volumeScaling: { body: 0, foot: 0, flow: 1 },
  flat: (price) => ({ body: 0, foot: 0, flow: 5 * price }),
  reference: (candles) =>
    candles.map(({ open, close, low, volume }) => ({
      body: Math.max(open, close) - Math.min(open, close),
      foot: Math.min(open - low, close - low),
      flow: volume * close,
    })),
});
