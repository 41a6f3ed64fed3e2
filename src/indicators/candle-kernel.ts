import type { Candle } from "../contract/model.js";
import { checkCandle } from "./finite.js";
import { type Indicator, indicator, type Kernel, OwnKernel } from "./kernel.js";

/**
 * The state of an indicator over whole candles. All numbers in them are finite. Results and `peek` follow the rules of
 * a `SeriesKernel`.
 */
export interface CandleKernel<T> {
  push(candle: Candle): T;
  peek(candle: Candle): T;
  fork(): CandleKernel<T>;
}

/** Makes an indicator with number values from these kernels. */
export function candleIndicator(make: () => CandleKernel<number>): Indicator<number> {
  return indicator(() => new NumberOverCandles(make()));
}

/** Makes an indicator with object values from these kernels. */
export function candleResultIndicator<T extends object>(
  make: () => CandleKernel<T | undefined>,
): Indicator<T> {
  return indicator(() => new ResultOverCandles(make()));
}

class NumberOverCandles extends OwnKernel implements Kernel<number> {
  constructor(private readonly inner: CandleKernel<number>) {
    super();
  }

  push(candle: Candle): number | undefined {
    checkCandle(candle);
    const value = this.inner.push(candle);
    return Number.isNaN(value) ? undefined : value;
  }

  peek(candle: Candle): number | undefined {
    checkCandle(candle);
    const value = this.inner.peek(candle);
    return Number.isNaN(value) ? undefined : value;
  }

  fork(): Kernel<number> {
    return new NumberOverCandles(this.inner.fork());
  }
}

class ResultOverCandles<T extends object> extends OwnKernel implements Kernel<T> {
  constructor(private readonly inner: CandleKernel<T | undefined>) {
    super();
  }

  push(candle: Candle): T | undefined {
    checkCandle(candle);
    return this.inner.push(candle);
  }

  peek(candle: Candle): T | undefined {
    checkCandle(candle);
    return this.inner.peek(candle);
  }

  fork(): Kernel<T> {
    return new ResultOverCandles(this.inner.fork());
  }
}
