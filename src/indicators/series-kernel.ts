import type { Candle } from "../contract/model.js";
import { checkCandle } from "./finite.js";
import { type Indicator, indicator, type Kernel, OwnKernel } from "./kernel.js";
import { type Price, type Reader, readerOf, type SourceOptions } from "./source.js";

/**
 * The state of an indicator over one series of numbers, written like its formula: what it is given is finite, and
 * the candle that the number was taken from is there for those that need more of it.
 *
 * A kernel of numbers gives NaN while it warms up, one of objects `undefined`; neither gets out: users see
 * `undefined`. The pieces in `windows/` and `smoothing.ts` are kernels of numbers that stay as they were where they
 * are given NaN, so a formula of several stages needs no word about warming up.
 *
 * `peek` changes nothing and gives, bit for bit, what `push` would.
 */
export interface SeriesKernel<T> {
  push(value: number, candle: Candle): T;
  peek(value: number, candle: Candle): T;
  fork(): SeriesKernel<T>;
}

/**
 * The indicator with numbers as values that these kernels make over a source.
 *
 * The four makers of indicators differ in what a kernel is given (a number here, a candle in `candle-kernel.ts`) and
 * in what it gives. Each has a wrapper of its own, because a call site that sees few classes, and a result of one
 * known kind, are what keeps eight indicators at once fast.
 */
export function seriesIndicator(
  make: () => SeriesKernel<number>,
  options: SourceOptions | undefined,
  byDefault: Price = "close",
): Indicator<number> {
  const reader = readerOf(options, byDefault);
  return indicator(() => new NumberOverSeries(reader(), make()));
}

/** The indicator with objects as values that these kernels make over a source. */
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
