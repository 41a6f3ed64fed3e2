import type { Candle } from "../contract/model.js";
import { checkCandle } from "./finite.js";
import { type Indicator, indicator, type Kernel, OwnKernel } from "./kernel.js";
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
 */
export interface SeriesKernel<T> {
  push(value: number, candle: Candle): T;
  peek(value: number, candle: Candle): T;
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
  return indicator(() => new NumberOverSeries(reader(), make()));
}

/** Makes an indicator with object values from kernels over a source. */
export function seriesResultIndicator<T extends object>(
  make: () => SeriesKernel<T | undefined>,
  options: SourceOptions | undefined,
  byDefault: Price = "close",
): Indicator<T> {
  const reader = readerOf(options, byDefault);
  return indicator(() => new ResultOverSeries(reader(), make()));
}

class NumberOverSeries extends OwnKernel implements Kernel<number> {
  constructor(
    private readonly source: Reader,
    private readonly inner: SeriesKernel<number>,
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

class ResultOverSeries<T extends object> extends OwnKernel implements Kernel<T> {
  constructor(
    private readonly source: Reader,
    private readonly inner: SeriesKernel<T | undefined>,
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
