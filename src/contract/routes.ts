import type { Series, SniperQuery } from "./model.js";

/**
 * Path and query of an OHLCV request. The service takes whole seconds, so the range is widened to them. A `from` before
 * 1970, which a safety margin can produce, becomes 1970.
 */
export function ohlcvRoute(
  query: Series & { from: number; to: number; limit?: number | undefined; cursor?: string | undefined },
): string {
  const { timeframe, currency, limit, cursor } = query;
  const from = Math.max(0, Math.floor(query.from / 1_000));
  const to = Math.ceil(query.to / 1_000);
  const range = `timeframe=${timeframe}&currency=${currency}&fromDate=${from}&toDate=${to}`;
  const most = limit === undefined ? "" : `&limit=${limit}`;
  // Only a cursor can hold characters that have to be escaped.
  const start = cursor === undefined ? "" : `&${new URLSearchParams({ cursor })}`;
  return `/token/${query.network}/pairs/${query.pairAddress}/ohlcv?${range}${most}${start}`;
}

/** Path and query of a sniper request. */
export function snipersRoute(query: SniperQuery): string {
  const blocks = query.blocksAfterCreation;
  return `/token/mainnet/pairs/${query.pairAddress}/snipers${blocks === undefined ? "" : `?blocksAfterCreation=${blocks}`}`;
}
