import { useMemo, useSyncExternalStore } from "react";
import { defer, filter, map, type Observable } from "rxjs";
import type { CandleEvent } from "../../candles/event.js";
import type { WatchOptions } from "../../candles/options.js";
import { checkNumber } from "../../contract/input.js";
import type { Series } from "../../contract/model.js";
import { checkNames } from "../../contract/names.js";
import type { FeedStatus } from "../../feed-status.js";
import { EventWindow } from "../../operators/latest.js";
import type { PairSource } from "../../source.js";
import { candleFeed } from "./candle-feed.js";
import { type Follow, type Lease, lease, storesOf } from "./shared-store.js";
import { followFields, STARTING } from "./stream-state.js";
import { valueKey } from "./value-key.js";

/** How a component sees the candles. */
export interface CandlesView<E extends CandleEvent = CandleEvent> {
  /**
   * An operator for the events, such as `withIndicators({ fast: ema(9) })`; join several with `pipe` of RxJS. It is read
   * again when the source, the options or `key` change, but not when the function is another one. Default: none.
   */
  pipe?: (events: Observable<CandleEvent>) => Observable<E>;
  /** A text or number that changes with what `pipe` depends on, such as a period. Another key also tries again after an error. */
  key?: string | number;
  /** How many candles to keep, the newest ones; a whole number of at least 1, default 500. */
  count?: number;
}

/** The candles of a series as of the last frame; frozen. */
export interface CandlesState<E extends CandleEvent = CandleEvent> {
  /** The newest candles, ascending, each as its newest event. The same array until one of them changes. */
  readonly events: readonly E[];
  /** The status of the stream; `starting` until the stream reports one, and `stalled` once it has ended. */
  readonly status: FeedStatus;
  /** The error that ended the stream, or that `pipe` threw. Nothing comes after it. */
  readonly error: Error | undefined;
}

const DEFAULT_COUNT = 500;
const EMPTY: CandlesState<never> = Object.freeze({
  events: Object.freeze([]),
  status: STARTING,
  error: undefined,
});

/**
 * The candles of a series, for a component: the newest ones with the values of `pipe`, the status of the stream, and its
 * error.
 *
 * All components with the same source and options share one subscription. Options are compared by value. The subscription
 * ends a second after the last component is unmounted. A component renders at most once a frame, and not while the page is
 * hidden. On a server, and in the first render, there are no candles. Make the source once, outside of components: two
 * sources share nothing.
 *
 * Temporary failures are in `status`. After an `error` nothing more comes. To try again, give another `key`, or mount the
 * component again. Throws an `InvalidInputError` while rendering if the options are wrong.
 *
 * ```ts
 * import { clientSource, createClient, ema, withIndicators } from "pairstream";
 * import { useCandles } from "pairstream/react";
 * import { demoService } from "pairstream/service";
 *
 * const demo = demoService();
 * const source = clientSource(createClient(demo.clientOptions));
 * const [pairAddress] = demo.pairs;
 *
 * export function LastPrice({ period }: { period: number }) {
 *   const { events, status, error } = useCandles(
 *     source,
 *     { network: "mainnet", pairAddress, timeframe: "1min", currency: "usd", since: { candles: 300 } },
 *     { pipe: withIndicators({ average: ema(period) }), key: period },
 *   );
 *   const last = events.at(-1);
 *   return error?.message ?? `${last?.candle.close} (${last?.values.average}), ${status.state}`;
 * }
 * ```
 */
export function useCandles<E extends CandleEvent = CandleEvent>(
  source: PairSource,
  options: Series & WatchOptions,
  view: CandlesView<E> = {},
): CandlesState<E> {
  const { pipe, key, count } = view;
  const values = valueKey([options, key, count]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `values` stands for the rest, by value.
  const store = useMemo(() => candlesLease(source, options, view), [source, values, pipe === undefined]);
  return useSyncExternalStore(store.subscribe, store.snapshot, store.empty);
}

/** What `useCandles` shows. Throws an `InvalidInputError`. */
export function candlesLease<E extends CandleEvent>(
  source: PairSource,
  options: Series & WatchOptions,
  view: CandlesView<E>,
): Lease<CandlesState<E>> {
  checkNames(view, ["pipe", "key", "count"]);
  const { pipe, key, count = DEFAULT_COUNT } = view;
  checkNumber("count", count, { min: 1, integer: true });
  // Both check the options, and do nothing else until they are subscribed to.
  const [candles, status] = [source.candles(options), source.status(options)];
  const values = valueKey(options);
  const follow: Follow<CandlesState<E>> = (publish, fail) => {
    const feed = candleFeed(source, values, candles, status);
    const events = pipe === undefined ? (feed.events as Observable<E>) : defer(() => pipe(feed.events));
    const window = new EventWindow<E>(count);
    const fields = {
      events: events.pipe(
        filter((event) => window.apply(event)),
        map(() => () => window.events()),
      ),
      status: feed.status.pipe(map((told) => () => told)),
    };
    return followFields<CandlesState<E>>(EMPTY, fields)(publish, fail);
  };
  // Nobody can tell whether two functions do the same, so that a store with a `pipe` is its component's own.
  const stores = pipe === undefined ? storesOf<CandlesState<E>>(source) : new Map();
  return lease(stores, `candles ${valueKey([options, key, count])}`, EMPTY, follow);
}
