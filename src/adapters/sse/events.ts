import type { CandleEvent } from "../../candles/event.js";
import type { FeedStatus } from "../../feed-status.js";
import type { SniperEvent } from "../../snipers/event.js";

/**
 * An event of a channel: one of `watchCandles`, `watchSnipers` or `watchFeedStatus`.
 *
 * ```ts
 * import type { ChannelEvent } from "pairstream/sse";
 *
 * const show = (event: ChannelEvent) => ("state" in event ? event.state : event.type);
 * ```
 */
export type ChannelEvent = CandleEvent | SniperEvent | FeedStatus;

/**
 * Whether an event is about a candle; use it with `filter` before operators on candles.
 *
 * ```ts
 * import { closes } from "pairstream";
 * import { fromServerSentEvents, isCandleEvent } from "pairstream/sse";
 * import { filter } from "rxjs";
 *
 * const closed = fromServerSentEvents("https://example.com/events").pipe(filter(isCandleEvent), closes());
 * closed.subscribe(({ candle }) => console.log(candle.close));
 * ```
 */
export function isCandleEvent(event: ChannelEvent): event is CandleEvent {
  return "series" in event;
}

/**
 * Whether an event is about a sniper.
 *
 * ```ts
 * import { applySniperEvent, emptyReport } from "pairstream";
 * import { fromServerSentEvents, isSniperEvent } from "pairstream/sse";
 * import { filter, scan } from "rxjs";
 *
 * const reports = fromServerSentEvents("https://example.com/events").pipe(
 *   filter(isSniperEvent),
 *   scan(applySniperEvent, emptyReport),
 * );
 * reports.subscribe(({ result }) => console.log(result.length));
 * ```
 */
export function isSniperEvent(event: ChannelEvent): event is SniperEvent {
  return "pairAddress" in event;
}

/**
 * Whether an event is a status of the stream, which includes its connection.
 *
 * ```ts
 * import { fromServerSentEvents, isFeedStatus } from "pairstream/sse";
 * import { filter } from "rxjs";
 *
 * const statuses = fromServerSentEvents("https://example.com/events").pipe(filter(isFeedStatus));
 * statuses.subscribe(({ state, lastError }) => console.log(state, lastError?.message ?? ""));
 * ```
 */
export function isFeedStatus(event: ChannelEvent): event is FeedStatus {
  return "state" in event;
}
