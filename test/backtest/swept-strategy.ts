import { type CandleEvent, crosses, ema, withIndicators } from "pairstream";
import type { Order, Strategy } from "pairstream/backtest";
import { from, map, mergeMap, type Observable, toArray } from "rxjs";

/** What strategies of the sweeps in tests are made of: two averages, and what goes wrong. */
export interface Parameters {
  readonly fast: number;
  readonly slow: number;
  readonly trouble?:
    | ("throws" | "later" | "exits" | "looks ahead" | "makes none" | "takes long")
    | ("throws at last" | "is slow" | "ends after");
  /** What those that come at last wait for: a 1 in it. */
  readonly gate?: Int32Array;
}

/** A market order each way, with a stop below. */
export default function crossing({ fast, slow, trouble, gate }: Parameters): Strategy {
  if (trouble === "throws at last" || trouble === "is slow") Atomics.wait(gate!, 0, 0);
  if (trouble === "throws at last") throw new RangeError("at last");
  if (trouble === "ends after") setImmediate(() => process.exit(0));
  if (trouble === "throws") throw new RangeError("no such strategy", { cause: new Error("the reason") });
  if (trouble === "makes none") return undefined as never;
  if (trouble === "looks ahead") return (events) => events.pipe(toArray(), mergeMap(buyCheaply));
  const ordersOf = (events: Observable<CandleEvent>) =>
    events.pipe(
      withIndicators({ fast: ema(fast), slow: ema(slow) }),
      crosses("fast", "slow"),
      mergeMap(({ direction, event: { series, candle } }) => {
        if (direction === "down") {
          return from<Order[]>([{ type: "market", side: "sell", series, size: { position: 1 } }]);
        }
        const id = `in ${candle.timestamp}`;
        const stop = candle.close * 0.97;
        return from<Order[]>([
          { id, type: "market", side: "buy", series, size: { equity: 0.5 } },
          { type: "stop", stop, side: "sell", series, size: { position: 1 }, after: id },
        ]);
      }),
    );
  if (trouble === undefined || trouble === "is slow" || trouble === "ends after") return ordersOf;
  return (events) =>
    ordersOf(events).pipe(
      map((order) => {
        if (trouble === "exits") process.exit(3);
        if (trouble === "later") throw new Error("at the first order");
        for (let end = Date.now() + 600_000; Date.now() < end; );
        return order;
      }),
    );
}

/** Below the mean of all closes, of those to come, too. */
function buyCheaply(events: readonly CandleEvent[]): Observable<Order> {
  const mean = events.reduce((sum, { candle }) => sum + candle.close, 0) / events.length;
  const cheap = events.filter(({ candle }) => candle.close < mean);
  return from(
    cheap.map(({ series }): Order => ({ type: "market", side: "buy", series, size: { amount: mean } })),
  );
}
