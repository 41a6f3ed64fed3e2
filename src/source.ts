import type { Observable } from "rxjs";
import type { CandleEvent } from "./candles/event.js";
import { type HistoryQuery, readHistory } from "./candles/history.js";
import type { WatchOptions } from "./candles/options.js";
import { watchCandles } from "./candles/watch.js";
import { type CallOptions, type Client, coreOf } from "./client/core.js";
import type { Candle, Series } from "./contract/model.js";
import { type FeedStatus, watchFeedStatus } from "./feed-status.js";
import type { SniperEvent } from "./snipers/event.js";
import type { SniperLook } from "./snipers/look.js";
import { watchSniperReport } from "./snipers/report.js";
import { type SniperWatch, watchSnipers } from "./snipers/watch.js";

/**
 * The streams of a page: from a client in the same process (`clientSource`), or from a gateway that holds the key
 * (`gatewaySource` of `pairstream/sse`). A page that takes a `PairSource` works with both.
 */
export interface PairSource {
  /** As `watchCandles`. */
  candles(options: Series & WatchOptions): Observable<CandleEvent>;
  /** As `watchSnipers`. */
  snipers(options: SniperWatch): Observable<SniperEvent>;
  /** As `watchSniperReport`. */
  sniperReport(options: SniperWatch): Observable<SniperLook>;
  /** As `watchFeedStatus`. */
  status(options: (Series & WatchOptions) | SniperWatch): Observable<FeedStatus>;
  /**
   * Closed candles, ascending: all of a range, or only its newest ones. Rejects with an `InvalidInputError` before any
   * request, with another `PairstreamError` if it fails, and with the signal's reason when the signal aborts.
   */
  history(query: Series & HistoryQuery, options?: CallOptions): Promise<readonly Candle[]>;
}

/**
 * The streams of a client, for a page in the same process: a demo, a test, a server.
 *
 * `history` reads from the client's store as far as that reaches. Throws an `InvalidInputError` if `client` is not a client.
 *
 * ```ts
 * import { clientSource, createClient } from "pairstream";
 *
 * const source = clientSource(createClient({ baseUrl: "https://api.example.com", apiKey: "…" }));
 * const older = await source.history({
 *   network: "mainnet",
 *   pairAddress: "83v8iPyZihDEjDdY8RdZddyZNyUtXngz69Lgo9Kt5d6d",
 *   timeframe: "1h",
 *   currency: "usd",
 *   to: "2024-02-01",
 *   count: 500,
 * });
 * console.log(older.length);
 * ```
 */
export function clientSource(client: Client): PairSource {
  coreOf(client);
  const source = Object.freeze<PairSource>({
    candles: (options) => watchCandles(client, options),
    snipers: (options) => watchSnipers(client, options),
    sniperReport: (options) => watchSniperReport(client, options),
    status: (options) => watchFeedStatus(client, options),
    history: (query, options = {}) =>
      readHistory(client, query, options.signal ?? new AbortController().signal),
  });
  CLIENTS.set(source, client);
  return source;
}

const CLIENTS = /* @__PURE__ */ new WeakMap<object, Client>();

/** The client of a source that `clientSource` has made. */
export function clientBehind(source: PairSource): Client | undefined {
  return CLIENTS.get(source);
}
