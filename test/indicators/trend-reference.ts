import type { Candle } from "../../src/contract/model.js";
import type { DirectionalMovement } from "../../src/indicators/trend/adx.js";
import type { Aroon } from "../../src/indicators/trend/aroon.js";
import type { Ichimoku } from "../../src/indicators/trend/ichimoku.js";
import type { Supertrend } from "../../src/indicators/trend/supertrend.js";
import { combined, meanOf, type Numbers, sumOf, wilder, windowed } from "./reference.js";

/** Of the first candle, which has nothing before it, none. */
function trueRanges(candles: readonly Candle[]): Numbers {
  return candles.map(({ high, low }, at) => {
    const before = candles[at - 1]?.close;
    return before === undefined
      ? undefined
      : Math.max(high - low, Math.abs(high - before), Math.abs(low - before));
  });
}

/** Wilder's sums as TA-Lib makes them: of the moves of `n − 1` candles at first, which gives no value yet. */
function wilderSums(moves: readonly number[], n: number): Numbers {
  let sum = sumOf(moves.slice(1, n));
  return moves.map((move, at) => {
    if (at < n) return undefined;
    sum = sum - sum / n + move;
    return sum;
  });
}

export function directionalMovements(candles: readonly Candle[], n: number) {
  const moves = candles.map(({ high, low }, at) => {
    const before = candles[at - 1] ?? candles[0]!;
    const [rise, fall] = [high - before.high, before.low - low];
    return { plus: rise > 0 && rise > fall ? rise : 0, minus: fall > 0 && fall > rise ? fall : 0 };
  });
  const ranges = wilderSums(
    trueRanges(candles).map((range) => range ?? 0),
    n,
  );
  const shareOf = (sum: number, range: number) => (range === 0 ? 0 : (100 * sum) / range);
  const indicatorsOf = (side: "plus" | "minus") => {
    const sums = wilderSums(
      moves.map((move) => move[side]),
      n,
    );
    return combined([sums, ranges], shareOf);
  };
  const [plusDi, minusDi] = [indicatorsOf("plus"), indicatorsOf("minus")];
  const indices = combined([plusDi, minusDi], (plus, minus) =>
    plus + minus === 0 ? 0 : (100 * Math.abs(plus - minus)) / (plus + minus),
  );
  return combined<DirectionalMovement>([wilder(indices, n), plusDi, minusDi], (adx, plus, minus) => ({
    adx,
    plusDi: plus,
    minusDi: minus,
  }));
}

export function aroons(candles: readonly Candle[], n: number) {
  const agesOf = (numbers: number[], extreme: (...numbers: number[]) => number) =>
    windowed(numbers, n + 1, (window) => n - window.lastIndexOf(extreme(...window)));
  const highest = agesOf(
    candles.map(({ high }) => high),
    Math.max,
  );
  const lowest = agesOf(
    candles.map(({ low }) => low),
    Math.min,
  );
  return combined<Aroon>([highest, lowest], (sinceHigh, sinceLow) => {
    const [up, down] = [(100 * (n - sinceHigh)) / n, (100 * (n - sinceLow)) / n];
    return { up, down, oscillator: up - down };
  });
}

/** As TA-Lib has it, with either side written out. */
export function parabolicStops(candles: readonly Candle[], step: number, max: number): Numbers {
  const [first, second] = candles;
  if (first === undefined || second === undefined) return candles.map(() => undefined);
  const fall = first.low - second.low;
  let isRising = !(fall > 0 && fall > second.high - first.high);
  let stop = isRising ? first.low : first.high;
  let extreme = isRising ? second.high : second.low;
  let acceleration = step;
  const stops = candles.slice(1).map(({ high, low }, at) => {
    const before = at === 0 ? second : candles[at]!;
    let current = stop;
    if (isRising && low <= stop) {
      current = Math.max(extreme, before.high, high);
      isRising = false;
      extreme = low;
      acceleration = step;
    } else if (!isRising && high >= stop) {
      current = Math.min(extreme, before.low, low);
      isRising = true;
      extreme = high;
      acceleration = step;
    } else if (isRising ? high > extreme : low < extreme) {
      extreme = isRising ? high : low;
      acceleration = Math.min(max, acceleration + step);
    }
    stop = current + acceleration * (extreme - current);
    stop = isRising ? Math.min(stop, before.low, low) : Math.max(stop, before.high, high);
    return current;
  });
  return [undefined, ...stops];
}

/** TradingView's published formula, over average true ranges without the first candle's, and with our direction. */
export function supertrends(candles: readonly Candle[], n: number, factor: number) {
  const ranges = wilder(trueRanges(candles), n);
  let [lower, upper, value] = [0, 0, Number.NaN];
  return candles.map(({ high, low, close }, at): Supertrend | undefined => {
    const range = ranges[at];
    if (range === undefined) return undefined;
    const isFirst = ranges[at - 1] === undefined;
    const closeBefore = candles[at - 1]!.close;
    const [lowerBefore, upperBefore, valueBefore] = [lower, upper, value];
    lower = (high + low) / 2 - factor * range;
    upper = (high + low) / 2 + factor * range;
    if (!(lower > lowerBefore || closeBefore < lowerBefore)) lower = lowerBefore;
    if (!(upper < upperBefore || closeBefore > upperBefore)) upper = upperBefore;
    let direction: 1 | -1 = -1;
    if (!isFirst && valueBefore === upperBefore) direction = close > upper ? 1 : -1;
    else if (!isFirst) direction = close < lower ? -1 : 1;
    value = direction === 1 ? lower : upper;
    return { value, direction };
  });
}

export function ichimokuLines(candles: readonly Candle[], lengths: readonly [number, number, number]) {
  const middles = lengths.map((n) => {
    const highest = windowed(
      candles.map(({ high }) => high),
      n,
      (window) => Math.max(...window),
    );
    const lowest = windowed(
      candles.map(({ low }) => low),
      n,
      (window) => Math.min(...window),
    );
    return combined([highest, lowest], (high, low) => meanOf([high, low]));
  });
  return combined<Ichimoku>(middles, (conversion, base, spanB) => ({
    conversion,
    base,
    spanA: meanOf([conversion, base]),
    spanB,
  }));
}
