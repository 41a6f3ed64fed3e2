import type { Candle } from "../contract/model.js";
import { checkCandle } from "./finite.js";
import { branded, type Indicator, type Kernel, OwnKernel } from "./kernel.js";
import type { CandleColumns, ColumnsOf } from "./rows.js";
import { type Price, type Reader, readerOf, type SourceOptions } from "./source.js";

/**
 * The state of an indicator over one series of numbers. A kernel reads like its formula: the numbers it gets are
 * finite, and the candle of each number is at hand.
 *
 * During the warm-up a kernel of numbers returns NaN, and a kernel of objects `undefined`; users always see
 * `undefined`. The classes in `windows/` and `smoothing.ts` ignore NaN, so a formula of several stages needs no code
 * for the warm-up.
 *
 * `peek` changes nothing and returns, bit for bit, the result of `push`.
 *
 * `fill` pushes `values`, the numbers of the candles `rows`, and writes each result to its place in `out`, NaN for none.
 * Every kernel has a loop of its own over its own `push`, so a formula stands once. The loops are alike and cannot be
 * shared: V8 keeps what it learns with the code, so one loop for all kernels would call a `push` that it cannot know,
 * eight times as slow from the fifth kernel on. In a loop of its own `push` is inlined, and an object that it returns,
 * or is given, is never made.
 */
export interface SeriesKernel<T> {
  push(value: number, candle: Candle): T;
  peek(value: number, candle: Candle): T;
  fill(values: Float64Array, out: ColumnsOf<T>, rows: CandleColumns): void;
  fork(): SeriesKernel<T>;
}

/**
 * Makes an indicator with number values from kernels over a source.
 *
 * There are four such functions: kernels take a number (here) or a candle (`candle-kernel.ts`), and return a number or
 * an object. Each has a wrapper class of its own. That keeps many indicators at once fast: each call site sees few
 * classes and one kind of result.
 */
export function seriesIndicator(
  make: () => SeriesKernel<number>,
  options: SourceOptions | undefined,
  byDefault: Price = "close",
): Indicator<number> {
  const reader = readerOf(options, byDefault);
  return branded(() => new NumberOverSeries(reader(), make()));
}

/** Makes an indicator from kernels over a source, whose values are objects of numbers, named by `fields`. */
export function seriesResultIndicator<T extends object>(
  make: () => SeriesKernel<T | undefined>,
  fields: readonly (keyof T & string)[],
  options: SourceOptions | undefined,
  byDefault: Price = "close",
): Indicator<T> {
  const reader = readerOf(options, byDefault);
  return branded(() => new ResultOverSeries(reader(), make()), fields);
}

export class NumberOverSeries extends OwnKernel implements Kernel<number> {
  constructor(
    readonly source: Reader,
    readonly inner: SeriesKernel<number>,
  ) {
    super();
  }

  push(candle: Candle): number | undefined {
    checkCandle(candle);
    const number = this.source.push(candle);
    if (Number.isNaN(number)) return undefined;
    const value = this.inner.push(number, candle);
    return Number.isNaN(value) ? undefined : value;
  }

  peek(candle: Candle): number | undefined {
    checkCandle(candle);
    const number = this.source.peek(candle);
    if (Number.isNaN(number)) return undefined;
    const value = this.inner.peek(number, candle);
    return Number.isNaN(value) ? undefined : value;
  }

  fork(): Kernel<number> {
    return new NumberOverSeries(this.source.fork(), this.inner.fork());
  }
}

export class ResultOverSeries<T extends object> extends OwnKernel implements Kernel<T> {
  constructor(
    readonly source: Reader,
    readonly inner: SeriesKernel<T | undefined>,
  ) {
    super();
  }

  push(candle: Candle): T | undefined {
    checkCandle(candle);
    const number = this.source.push(candle);
    return Number.isNaN(number) ? undefined : this.inner.push(number, candle);
  }

  peek(candle: Candle): T | undefined {
    checkCandle(candle);
    const number = this.source.peek(candle);
    return Number.isNaN(number) ? undefined : this.inner.peek(number, candle);
  }

  fork(): Kernel<T> {
    return new ResultOverSeries(this.source.fork(), this.inner.fork());
  }
}
