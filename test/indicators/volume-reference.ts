import type { Candle } from "../../src/contract/model.js";
import { combined, type Numbers, sumOf, windowed } from "./reference.js";

/** The volume of each candle, by where in its range it has closed. */
export function moneyFlows(candles: readonly Candle[]): number[] {
  return candles.map(({ high, low, close, volume }) =>
    high === low ? 0 : ((2 * close - low - high) / (high - low)) * volume,
  );
}

function volumesOf(candles: readonly Candle[]): number[] {
  return candles.map(({ volume }) => volume);
}

/** All sums from the first number on. */
export function runningSums(numbers: readonly number[]): number[] {
  return numbers.map((_, at) => sumOf(numbers.slice(0, at + 1)));
}

export function volumeBalances(candles: readonly Candle[]): number[] {
  return runningSums(
    candles.map(({ close, volume }, at) => {
      const before = candles[at - 1]?.close ?? 0;
      if (close === before) return 0;
      return close > before ? volume : -volume;
    }),
  );
}

/** Averages that begin with the first number. */
function averagesFromFirst(numbers: readonly number[], n: number): number[] {
  let average = numbers[0]!;
  return numbers.map((number) => {
    average = (2 / (n + 1)) * number + (1 - 2 / (n + 1)) * average;
    return average;
  });
}

export function chaikinOscillators(candles: readonly Candle[], fast: number, slow: number): Numbers {
  const line = runningSums(moneyFlows(candles));
  const slows = averagesFromFirst(line, slow);
  return averagesFromFirst(line, fast).map((each, at) => (at < slow - 1 ? undefined : each - slows[at]!));
}

export function moneyFlowShares(candles: readonly Candle[], n: number): Numbers {
  const sums = [moneyFlows(candles), volumesOf(candles)].map((numbers) => windowed(numbers, n, sumOf));
  return combined(sums, (flow, volume) => flow / volume);
}

/** What was paid on average since the session of each candle began. */
export function sessionPrices(
  candles: readonly Candle[],
  sessionOf: (timestamp: number) => unknown,
): Numbers {
  return candles.map(({ timestamp }, at) => {
    const session = candles
      .slice(0, at + 1)
      .filter((candle) => sessionOf(candle.timestamp) === sessionOf(timestamp));
    return paidOnAverage(session);
  });
}

export function paidOnAverage(candles: readonly Candle[]): number {
  const amounts = candles.map(({ high, low, close, volume }) => ((high + low + close) / 3) * volume);
  return sumOf(amounts) / sumOf(volumesOf(candles));
}
