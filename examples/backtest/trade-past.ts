import type { Series } from "pairstream";
import { type BrokerOptions, backtest, type Strategy } from "pairstream/backtest";
import { filter } from "rxjs";
import type { Past } from "./past.js";
import type { Run } from "./report.js";
import type { LoadedStrategy } from "./strategy-file.js";

/** Runs a strategy over a past; it sees what it trades, and not the shorter candles that fill its orders. */
export async function tradePast(past: Past, loaded: LoadedStrategy, broker: BrokerOptions): Promise<Run> {
  const feeds = past.pairs.flatMap((pair) => pair.feeds);
  const strategy = onlyTraded(loaded.strategy, tradedIn(past));
  const rules = rulesFor(past, broker);
  const result = await backtest({ feeds, strategy, broker: rules });
  const kind = await backtest({ feeds, strategy, broker: { ...rules, insideBar: "optimistic" } });
  return { result, kindReturn: kind.statistics.totalReturn, past, loaded };
}

/** The names of the series that a strategy trades. */
export function tradedIn({ pairs }: Past): readonly string[] {
  return pairs.map(({ series }) => nameOf(series));
}

/** Hides from a strategy whatever it does not trade. */
export function onlyTraded(strategy: Strategy, names: readonly string[]): Strategy {
  const traded = new Set(names);
  return (events, account) =>
    strategy(events.pipe(filter(({ series }) => traded.has(nameOf(series)))), account);
}

/** A broker that fills orders by the shorter candles, where there are such. */
export function rulesFor({ within }: Past, broker: BrokerOptions): BrokerOptions {
  return { ...broker, ...(within !== undefined && { within }) };
}

const nameOf = ({ pairAddress, timeframe }: Series) => `${pairAddress} ${timeframe}`;
