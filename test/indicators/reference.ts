import type { Candle } from "../../src/contract/model.js";

/** A number for every candle; `undefined` where there is none yet. */
export type Numbers = readonly (number | undefined)[];

export function closesOf(candles: readonly Candle[]): number[] {
  return candles.map(({ close }) => close);
}

/** What `of` makes of each `n` numbers in a row, oldest first; none where they are not all there. */
export function windowed(numbers: Numbers, n: number, of: (window: number[]) => number): Numbers {
  return numbers.map((_, at) => {
    const window = numbers.slice(Math.max(0, at - n + 1), at + 1).filter((each) => each !== undefined);
    return window.length === n ? of(window) : undefined;
  });
}

export function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, each) => sum + each, 0);
}

export function meanOf(numbers: readonly number[]): number {
  return sumOf(numbers) / numbers.length;
}

/** Of the population, in two passes, less what the rounding of the mean adds. */
export function varianceOf(numbers: readonly number[]): number {
  const mean = meanOf(numbers);
  const distances = numbers.map((each) => each - mean);
  return meanOf(distances.map((each) => each ** 2)) - meanOf(distances) ** 2;
}

export function weightedMeanOf(numbers: readonly number[]): number {
  const { length } = numbers;
  return sumOf(numbers.map((each, at) => each * (at + 1))) / ((length * (length + 1)) / 2);
}

/** The exponential averages, from the mean of the first `n` numbers on. */
export function exponential(numbers: Numbers, n: number, weight = 2 / (n + 1)): Numbers {
  const first = numbers.findIndex((each) => each !== undefined);
  const seeds = windowed(numbers, n, meanOf);
  let average: number | undefined;
  return numbers.map((each, at) => {
    if (first < 0 || at < first + n - 1) return undefined;
    average = average === undefined ? seeds[at]! : weight * each! + (1 - weight) * average;
    return average;
  });
}

/** Wilder's averages. */
export function wilder(numbers: Numbers, n: number): Numbers {
  return exponential(numbers, n, 1 / n);
}

/** What `of` makes of the numbers of several series, candle by candle; none where one is missing. */
export function combined<T>(series: readonly Numbers[], of: (...numbers: number[]) => T): (T | undefined)[] {
  return series[0]!.map((_, at) => {
    const numbers = series.map((each) => each[at]).filter((each) => each !== undefined);
    return numbers.length === series.length ? of(...numbers) : undefined;
  });
}
