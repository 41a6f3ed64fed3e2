import { type Candle, replayCandles, resample, type Series } from "pairstream";
import type { BacktestResult, EquityPoint } from "pairstream/backtest";
import { lastValueFrom, map, reduce } from "rxjs";
import type { Run } from "../report.js";
import { lengthOf, TIMEFRAMES } from "../timeframes.js";
import type { CurvePoint, PageData, PagePair } from "./data.js";

/** So many candles are a few megabytes, and more than any screen has dots. */
const MOST = 50_000;

export async function dataOf({ result, past }: Run): Promise<PageData> {
  const pairs = await Promise.all(past.pairs.map(({ series, candles }) => shortened(series, candles)));
  const keys = past.pairs.map(({ series }) => series.pairAddress);
  return {
    pairs,
    curve: curveOf(result),
    trades: result.trades.map(({ series, side, from, to, entry, exit, gain }) => ({
      pair: keys.indexOf(series.pairAddress),
      side,
      from,
      entry,
      ...(to !== undefined && { to }),
      ...(exit !== undefined && { exit }),
      ...(gain !== undefined && { gain }),
    })),
  };
}

/** Too many candles become longer ones. */
async function shortened(series: Series, candles: readonly Candle[]): Promise<PagePair> {
  const length = lengthOf(series.timeframe);
  const timeframe =
    TIMEFRAMES.find((each) => {
      return lengthOf(each) >= length && (candles.length * length) / lengthOf(each) <= MOST;
    }) ?? TIMEFRAMES.at(-1)!;
  const shown =
    timeframe === series.timeframe
      ? candles
      : await lastValueFrom(
          replayCandles(candles, series).pipe(
            resample(timeframe),
            reduce((all, { candle }) => all.set(candle.timestamp, candle), new Map<number, Candle>()),
            map((all) => [...all.values()]),
          ),
        );
  return {
    series: { ...series, timeframe },
    candles: shown.map(({ timestamp, open, high, low, close, volume }) => {
      return [timestamp, open, high, low, close, volume];
    }),
  };
}

/** As many points as the page can take, each the last of its stretch, and with the deepest fall within. */
function curveOf({ equity: curve, buyAndHold, statistics }: BacktestResult): CurvePoint[] {
  const stretch = Math.ceil(curve.length / MOST);
  const points: CurvePoint[] = [];
  let [peak, worst] = [statistics.start, 0];
  for (const [at, point] of curve.entries()) {
    peak = Math.max(peak, point.equity);
    worst = Math.max(worst, 1 - point.equity / peak);
    if ((at + 1) % stretch !== 0 && at + 1 < curve.length) continue;
    points.push([point.at, digits(point.equity), digits(equityOf(buyAndHold.equity, at)), digits(worst)]);
    worst = 0;
  }
  return points;
}

// Both accounts have a point at each close.
const equityOf = (curve: readonly EquityPoint[], at: number) => curve[at]!.equity;

/** A page needs no more. */
const digits = (value: number) => Number(value.toPrecision(7));
