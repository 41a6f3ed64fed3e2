import type { OhlcvPage, Series, Timeframe } from "pairstream";
import type { Asker } from "./asker.js";

/** What is asked about, and what the first answer has shown. */
export interface Subject {
  readonly asker: Asker;
  readonly series: Series<Timeframe>;
  /** What the first question asks for, ms since the epoch. */
  readonly range: { readonly fromDate: number; readonly toDate: number };
  first?: OhlcvPage;
}

/** Path and query of what the client would not ask: `given` is in place of what is right. */
export function routeOf(
  { network, pairAddress, timeframe, currency }: Series,
  given: Readonly<Record<string, string | number>>,
): string {
  const query = { timeframe, currency, limit: "1", ...given };
  const parameters = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]));
  return `/token/${network}/pairs/${pairAddress}/ohlcv?${parameters}`;
}
