import type { Candle } from "../../src/contract/model.js";
import { type Indicator, indicator, type Kernel } from "../../src/indicators/kernel.js";

class AverageKernel implements Kernel<number> {
  constructor(
    private readonly weight: number,
    private value: number | undefined,
  ) {}

  push(candle: Candle): number {
    this.value = this.peek(candle);
    return this.value;
  }

  peek({ close }: Candle): number {
    return this.value === undefined ? close : this.value + this.weight * (close - this.value);
  }

  fork(): AverageKernel {
    return new AverageKernel(this.weight, this.value);
  }
}

/** An exponential average that begins with the first close. */
export const average = (weight: number): Indicator<number> =>
  indicator(() => new AverageKernel(weight, undefined));

class WindowKernel<T> implements Kernel<T> {
  constructor(
    private readonly size: number,
    private readonly result: (window: readonly Candle[]) => T,
    private window: readonly Candle[],
  ) {}

  push(candle: Candle): T | undefined {
    this.window = this.moved(candle);
    return this.value(this.window);
  }

  peek(candle: Candle): T | undefined {
    return this.value(this.moved(candle));
  }

  fork(): WindowKernel<T> {
    return new WindowKernel(this.size, this.result, this.window);
  }

  private moved(candle: Candle): readonly Candle[] {
    return [...this.window, candle].slice(-this.size);
  }

  private value(window: readonly Candle[]): T | undefined {
    return window.length < this.size ? undefined : this.result(window);
  }
}

/** Anything about the last `size` candles. */
export function windowed<T>(size: number, result: (window: readonly Candle[]) => T): Indicator<T> {
  return indicator(() => new WindowKernel(size, result, []));
}

/** The mean of the last `size` closes. */
export const mean = (size: number): Indicator<number> =>
  windowed(size, (window) => window.reduce((sum, { close }) => sum + close, 0) / size);

/** The highest and the lowest price of the last `size` candles. */
export const channel = (size: number): Indicator<{ upper: number; lower: number }> =>
  windowed(size, (window) => ({
    upper: Math.max(...window.map(({ high }) => high)),
    lower: Math.min(...window.map(({ low }) => low)),
  }));

/** The close itself, so that a test chooses the value. */
export const closePrice: Indicator<number> = windowed(1, ([candle]) => candle!.close);

/** Counts what is asked of its kernels, which say how many candles they hold. */
export function counted() {
  const calls = { push: 0, peek: 0, fork: 0 };
  const kernel = (count: number): Kernel<number> => {
    let held = count;
    return {
      push: () => {
        calls.push += 1;
        held += 1;
        return held;
      },
      peek: () => {
        calls.peek += 1;
        return held + 1;
      },
      fork: () => {
        calls.fork += 1;
        return kernel(held);
      },
    };
  };
  return { calls, indicator: indicator(() => kernel(0)) };
}
