import type { Candle } from "../contract/model.js";
import { checkCandle } from "./finite.js";
import { branded, type Indicator, type Kernel, OwnKernel } from "./kernel.js";
import type { CandleColumns, ColumnsOf } from "./rows.js";

/**
 * The state of an indicator over whole candles. All numbers in them are finite. Results and `peek` follow the rules of
 * a `SeriesKernel`; so does `fill`, which pushes all rows.
 */
export interface CandleKernel<T> {
  push(candle: Candle): T;
  peek(candle: Candle): T;
  fill(rows: CandleColumns, out: ColumnsOf<T>): void;
  fork(): CandleKernel<T>;
}

/** Makes an indicator with number values from these kernels. */
export function candleIndicator(make: () => CandleKernel<number>): Indicator<number> {
  return branded(() => new NumberOverCandles(make()));
}

/** Makes an indicator from these kernels, whose values are objects of numbers, named by `fields`. */
export function candleResultIndicator<T extends object>(
  make: () => CandleKernel<T | undefined>,
  fields: readonly (keyof T & string)[],
): Indicator<T> {
  return branded(() => new ResultOverCandles(make()), fields);
}

export class NumberOverCandles extends OwnKernel implements Kernel<number> {
  constructor(readonly inner: CandleKernel<number>) {
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

export class ResultOverCandles<T extends object> extends OwnKernel implements Kernel<T> {
  constructor(readonly inner: CandleKernel<T | undefined>) {
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
