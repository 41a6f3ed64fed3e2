// A module of strategies, for the workers of a sweep.
import { crosses, ema, withIndicators } from "pairstream";
import type { Order, Strategy } from "pairstream/backtest";
import { map } from "rxjs";

export default function crossing({ fast, slow }: { fast: number; slow: number }): Strategy {
  return (events) =>
    events.pipe(
      withIndicators({ fast: ema(fast), slow: ema(slow) }),
      crosses("fast", "slow"),
      map(({ direction, event: { series } }): Order => {
        return direction === "up"
          ? { type: "market", side: "buy", series, size: { equity: 1 } }
          : { type: "market", side: "sell", series, size: { position: 1 } };
      }),
    );
}
