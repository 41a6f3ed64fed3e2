import { crosses, ema, rsi, withIndicators } from "pairstream";
import type { Order, Strategy } from "pairstream/backtest";
import { mergeMap } from "rxjs";

/** What the strategy of the bench is made of. */
export interface Parameters {
  /** Of the EMA and the RSI, in candles. */
  readonly average: number;
  readonly strength: number;
  /** The RSI above which it buys. */
  readonly level: number;
}

/** How far below and above the close of its entry a position ends, as shares of it. */
export const STOP = 0.05;
export const TARGET = 0.1;

/** Buys as the RSI crosses a level above the EMA, for half of the account, with a stop and a target. */
export default function bracketed({ average, strength, level }: Parameters): Strategy {
  return (events) =>
    events.pipe(
      withIndicators({ average: ema(average), strength: rsi(strength) }),
      crosses("strength", level),
      mergeMap(({ direction, event: { series, candle, values } }): Order[] => {
        if (direction === "down" || !(candle.close > (values.average ?? Number.POSITIVE_INFINITY))) return [];
        const id = `${candle.timestamp}`;
        const exit = { series, side: "sell", size: { position: 1 }, after: id, group: id } as const;
        return [
          { id, type: "market", side: "buy", series, size: { equity: 0.5 } },
          { ...exit, type: "stop", stop: candle.close * (1 - STOP) },
          { ...exit, type: "take-profit", target: candle.close * (1 + TARGET) },
        ];
      }),
    );
}
