import { concat, defer, finalize, from, type Observable, ReplaySubject, share, tap } from "rxjs";
import { type CandleEvent, frozenEvent } from "../../candles/event.js";
import type { FeedStatus } from "../../feed-status.js";
import { EventWindow } from "../../operators/latest.js";

/** How many candles one who comes late is told of. */
const KEPT = 10_000;

/** The streams of a source with some options, each subscribed to once however many follow it. */
export interface CandleFeed {
  /** Begins with the newest candles, where others follow it already: as new, and as history. */
  readonly events: Observable<CandleEvent>;
  readonly status: Observable<FeedStatus>;
}

const ofSource = new WeakMap<object, Map<string, CandleFeed>>();

/** The feed of some options, by their `valueKey`; the streams are taken where nobody follows it yet. */
export function candleFeed(
  source: object,
  key: string,
  candles: Observable<CandleEvent>,
  statuses: Observable<FeedStatus>,
): CandleFeed {
  const feeds = ofSource.get(source) ?? new Map<string, CandleFeed>();
  ofSource.set(source, feeds);
  const known = feeds.get(key);
  if (known !== undefined) return known;
  const kept = new EventWindow<CandleEvent>(KEPT);
  const shared = candles.pipe(
    tap((event) => kept.apply(event)),
    finalize(() => {
      if (feeds.get(key) === feed) feeds.delete(key);
    }),
    share(),
  );
  const feed: CandleFeed = {
    events: defer(() => concat(from(kept.events().map(asHistory)), shared)),
    status: statuses.pipe(share({ connector: () => new ReplaySubject(1) })),
  };
  feeds.set(key, feed);
  return feed;
}

function asHistory({ candle, status, revision, lateBy, observedAt, series }: CandleEvent): CandleEvent {
  return frozenEvent("new", candle, status, revision, false, lateBy, observedAt, series);
}
