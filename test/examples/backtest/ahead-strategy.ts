import type { Order, Strategy } from "pairstream/backtest";
import { mergeMap, toArray } from "rxjs";

export const title = "Of tomorrow";
export const parameters = { share: 0.5 };

/** Buys below the mean of all closes, of those to come, too. */
export default ({ share }: typeof parameters): Strategy =>
  (events) =>
    events.pipe(
      toArray(),
      mergeMap((all) => {
        const mean = all.reduce((sum, { candle }) => sum + candle.close, 0) / all.length;
        return all
          .filter(({ candle }) => candle.close < mean)
          .map(
            ({ series }): Order => ({ type: "market", side: "buy", series, size: { amount: share * mean } }),
          );
      }),
    );
