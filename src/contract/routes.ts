import type { Series, SniperQuery } from "./model.js";

/**
 * Path and query of an OHLCV request. The service takes whole seconds, so the range is widened to them. A `from` before
 * 1970, which a safety margin can produce, becomes 1970.
 */
export function ohlcvRoute(
  query: Series & { from: number; to: number; limit?: number | undefined; cursor?: string | undefined },
): string {
  const parameters = new URLSearchParams({
    timeframe: query.timeframe,
    currency: query.currency,
    fromDate: String(Math.max(0, Math.floor(query.from / 1_000))),
    toDate: String(Math.ceil(query.to / 1_000)),
  });
  if (query.limit !== undefined) parameters.set("limit", String(query.limit));
  if (query.cursor !== undefined) parameters.set("cursor", query.cursor);
  return `/token/${query.network}/pairs/${query.pairAddress}/ohlcv?${parameters}`;
}

/** Path and query of a sniper request. */
export function snipersRoute(query: SniperQuery): string {
  const blocks = query.blocksAfterCreation;
  return `/token/mainnet/pairs/${query.pairAddress}/snipers${blocks === undefined ? "" : `?blocksAfterCreation=${blocks}`}`;
}
