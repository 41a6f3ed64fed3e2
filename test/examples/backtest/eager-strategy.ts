import { closes } from "pairstream";
import type { Order, Strategy } from "pairstream/backtest";
import { filter, map } from "rxjs";

export const title = "Eager";

/** Turns round at every candle that closes. */
export default (): Strategy => (events) =>
  events.pipe(
    closes(),
    filter(({ live }) => live),
    map(({ series }, at): Order => {
      return at % 2 === 0
        ? { type: "market", side: "buy", series, size: { equity: 1 } }
        : { type: "market", side: "sell", series, size: { position: 1 } };
    }),
  );
