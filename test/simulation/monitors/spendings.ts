import type { Exchange } from "../exchanges.js";
import { askedBy } from "../reads.js";
import type { RunLog } from "../run-log.js";
import type { Context } from "./monitor.js";

/** What a request for candles costs, and any other, in units. */
export const UNITS = { ohlcv: 150, snipers: 50 };

/** Each request, with the units that are spent with it in its period of the service's clock; the number of that. */
export function* spendings({ exchanges }: RunLog, per: number, { serviceClock }: Context) {
  const units = new Map<number, number>();
  for (const exchange of exchanges) {
    const period = periodOf(exchange, per, serviceClock);
    const spent = (units.get(period) ?? 0) + UNITS[askedBy(exchange.url).kind];
    units.set(period, spent);
    yield { exchange, period, spent };
  }
}

function periodOf({ answeredAt, old, sent }: Exchange, per: number, serviceClock: Context["serviceClock"]) {
  return Math.floor(((answeredAt ?? serviceClock(sent)) + old) / per);
}
