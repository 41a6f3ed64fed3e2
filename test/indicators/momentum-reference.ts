import type { Candle } from "../../src/contract/model.js";
import {
  closesOf,
  combined,
  exponential,
  meanOf,
  type Numbers,
  sumOf,
  wilder,
  windowed,
} from "./reference.js";

/** The numbers less the ones `n` before; none for the first `n`. */
export function movesSince(numbers: readonly number[], n: number): Numbers {
  return numbers.map((each, at) => (at < n ? undefined : each - numbers[at - n]!));
}

const highsOf = (candles: readonly Candle[]) => candles.map(({ high }) => high);
const lowsOf = (candles: readonly Candle[]) => candles.map(({ low }) => low);
const typicalsOf = (candles: readonly Candle[]) =>
  candles.map(({ high, low, close }) => (high + low + close) / 3);

/** `of` for every number that there is. */
function each<T>(numbers: Numbers, of: (number: number) => T): (T | undefined)[] {
  return combined([numbers], of);
}

/** What `part` is of `whole`, in percent. */
function percent(part: number, whole: number): number {
  return (part / whole) * 100;
}

/** By Wilder's own form, 100 − 100 / (1 + gains / losses). */
export function strengths(numbers: readonly number[], n: number): Numbers {
  const moves = movesSince(numbers, 1);
  const gains = wilder(
    each(moves, (move) => Math.max(move, 0)),
    n,
  );
  const losses = wilder(
    each(moves, (move) => Math.max(-move, 0)),
    n,
  );
  return combined([gains, losses], (gain, loss) => {
    if (loss === 0) return gain === 0 ? 50 : 100;
    return 100 - 100 / (1 + gain / loss);
  });
}

export function balances(numbers: readonly number[], n: number): Numbers {
  const moves = movesSince(numbers, 1);
  const net = wilder(moves, n);
  const path = wilder(each(moves, Math.abs), n);
  return combined([net, path], (change, way) => (way === 0 ? 0 : percent(change, way)));
}

/** The distance of two exponential averages under its name, as `ppo` in percent of the slow one, and its own average. */
export function convergences<Name extends "macd" | "ppo">(
  name: Name,
  numbers: readonly number[],
  [fast, slow, signal]: readonly [number, number, number],
) {
  const distances = combined([exponential(numbers, fast), exponential(numbers, slow)], (short, long) =>
    name === "ppo" ? percent(short, long) - 100 : short - long,
  );
  type Result = Record<Name | "signal" | "histogram", number>;
  return combined(
    [distances, exponential(distances, signal)],
    (distance, average) =>
      ({ [name]: distance, signal: average, histogram: distance - average }) as unknown as Result,
  );
}

/** Where the values stand in the range of the last `n` highs and lows; 50 in one that is but rounding. */
function positions([highs, lows, values]: readonly [Numbers, Numbers, Numbers], n: number): Numbers {
  const tops = windowed(highs, n, (window) => Math.max(...window));
  const bottoms = windowed(lows, n, (window) => Math.min(...window));
  return combined([values, tops, bottoms], (value, top, bottom) =>
    top - bottom <= 1e-13 * top ? 50 : percent(value - bottom, top - bottom),
  );
}

/** The position of the close in the candles' range. */
export function closePositions(candles: readonly Candle[], n: number): Numbers {
  return positions([highsOf(candles), lowsOf(candles), closesOf(candles)], n);
}

/** The position of each number in the range of the last ones. */
export function ownPositions(numbers: Numbers, n: number): Numbers {
  return positions([numbers, numbers, numbers], n);
}

/** Smoothed once, and again. */
export function smoothedTwice(numbers: Numbers, once: number, again: number) {
  const k = windowed(numbers, once, meanOf);
  return combined([k, windowed(k, again, meanOf)], (first, second) => ({ k: first, d: second }));
}

export function channelIndices(candles: readonly Candle[], n: number): Numbers {
  return windowed(typicalsOf(candles), n, (window) => {
    const mean = meanOf(window);
    const deviation = meanOf(window.map((price) => Math.abs(price - mean)));
    return new Set(window).size === 1 ? 0 : (window.at(-1)! - mean) / (0.015 * deviation);
  });
}

export function moneyFlowIndices(candles: readonly Candle[], n: number): Numbers {
  const typicals = typicalsOf(candles);
  const signed = candles.map(({ volume }, at) => {
    if (at === 0) return undefined;
    const isUp = typicals[at]! > typicals[at - 1]!;
    return typicals[at] === typicals[at - 1] ? 0 : typicals[at]! * (isUp ? volume : -volume);
  });
  return windowed(signed, n, (window) => {
    const [rising, falling] = [window.filter((flow) => flow > 0), window.filter((flow) => flow < 0)];
    if (falling.length === 0) return rising.length === 0 ? 50 : 100;
    return 100 - 100 / (1 + sumOf(rising) / -sumOf(falling));
  });
}

export function tripleSlopes(numbers: readonly number[], n: number): Numbers {
  const triple = exponential(exponential(exponential(numbers, n), n), n);
  return triple.map((now, at) => {
    const before = triple[at - 1];
    return before === undefined ? undefined : percent(now!, before) - 100;
  });
}

export function ultimates(candles: readonly Candle[], lengths: readonly [number, number, number]): Numbers {
  const parts = candles.map(({ high, low, close }, at) => {
    const before = candles[at - 1]?.close;
    if (before === undefined) return undefined;
    const bottom = Math.min(low, before);
    return { pressure: close - bottom, range: Math.max(high - low, high - before, before - low) };
  });
  const shares = lengths.map((n) => {
    const pressures = windowed(
      parts.map((part) => part?.pressure),
      n,
      sumOf,
    );
    const ranges = windowed(
      parts.map((part) => part?.range),
      n,
      sumOf,
    );
    return combined([pressures, ranges], (pressure, range) => (range === 0 ? 0.5 : pressure / range));
  });
  return combined(shares, (short, medium, long) => (400 * short + 200 * medium + 100 * long) / 7);
}

export function middleDistances(candles: readonly Candle[], fast: number, slow: number): Numbers {
  const middles = candles.map(({ high, low }) => (high + low) / 2);
  return combined([windowed(middles, fast, meanOf), windowed(middles, slow, meanOf)], (a, b) => a - b);
}
