import {
  BehaviorSubject,
  defer,
  distinctUntilChanged,
  filter,
  finalize,
  map,
  mergeMap,
  type Observable,
  ReplaySubject,
  startWith,
  switchMap,
  tap,
} from "rxjs";
import { checkHistory } from "../../candles/history.js";
import { type CandleWatch, checkWatch, type WatchOptions } from "../../candles/options.js";
import type { Series } from "../../contract/model.js";
import { InvalidInputError } from "../../errors.js";
import { type FeedStatus, isCandleWatch, isSameStatus } from "../../feed-status.js";
import { refuseKnown } from "../../snipers/known.js";
import { checkSniperWatch, type SniperWatch } from "../../snipers/watch.js";
import type { PairSource } from "../../source.js";
import { STARTING } from "../wire/status.js";
import { CandleMirror } from "./candle-mirror.js";
import { queryOf, readGatewayHistory } from "./history-request.js";
import { servedOptions } from "./longer.js";
import { readLonger } from "./longer-history.js";
import { LongerMirror } from "./longer-mirror.js";
import type { Part } from "./mirror.js";
import { checkReceiverOptions, type GatewaySourceOptions } from "./options.js";
import { receiverOf } from "./receiver.js";
import { SniperMirror } from "./sniper-mirror.js";

/**
 * The streams of a gateway made by `createGateway`, for a page or a program without the key: the same as `clientSource`
 * gives, over HTTP.
 *
 * `url` is the address of the gateway, without query; in a page it may be relative. A server that loads such a module may
 * make the source, too: there its streams and histories fail with an `InvalidInputError`. Each subscription has its own
 * connection, but a status shares that of candles or snipers with the same options. Looks at snipers are those of the
 * gateway's client; `snipers` tells what these change. A lost connection is opened again, after 1 s to 5 s, and twice
 * as long each time, up to half a minute. An option that the gateway refuses is an `InvalidInputError`, which names it.
 * Another refusal is an `HttpError`, a `RateLimitError` or an `AuthenticationError`: its message is the gateway's
 * sentence, its `body` the gateway's JSON. An error of the service behind it has its own class, and no body. Throws an
 * `InvalidInputError` at the call for an option that no gateway takes.
 *
 * ```ts
 * import { ema, withIndicators } from "pairstream";
 * import { gatewaySource } from "pairstream/sse";
 *
 * const source = gatewaySource("https://example.com/pairs");
 * const pairAddress = "83v8iPyZihDEjDdY8RdZddyZNyUtXngz69Lgo9Kt5d6d";
 * const series = { network: "mainnet", pairAddress, timeframe: "1min", currency: "usd" } as const;
 * source
 *   .candles({ ...series, since: { candles: 500 } })
 *   .pipe(withIndicators({ fast: ema(9) }))
 *   .subscribe(({ candle, values }) => console.log(candle.close, values.fast));
 * ```
 */
export function gatewaySource(url: string | URL, options: GatewaySourceOptions = {}): PairSource {
  const checked = checkReceiverOptions(url, options);
  const base = baseOf(checked.url);
  const receive = <E>(address: string, makePart: () => Part<E>) =>
    receiverOf({ ...checked, url: base + address }, makePart);
  const connections = new Connected();
  const candlesOf = (asked: Series & WatchOptions) => {
    const watch = checkWatch(asked);
    const address = candlesAddress(asked, watch);
    const { series, since, served } = watch;
    const makePart = () =>
      served.rules.frames === undefined ? new CandleMirror(series) : new LongerMirror(watch);
    // One address serves all that is made of a series.
    const key = JSON.stringify([address, series.timeframe, since]);
    return { key, events: receive(address, makePart) };
  };
  const looksOf = (asked: SniperWatch) => {
    const address = snipersAddress(asked);
    const { query } = checkSniperWatch(asked);
    return { key: address, events: receive(address, () => new SniperMirror(query)) };
  };
  const looks = (asked: SniperWatch) => {
    const { key, events } = looksOf(asked);
    return connections.shown(key, events).pipe(filter((event) => "report" in event));
  };
  return Object.freeze<PairSource>({
    candles: (asked) => {
      const { key, events } = candlesOf(asked);
      return connections.shown(key, events).pipe(filter((event) => "series" in event));
    },
    snipers: (asked) => looks(asked).pipe(mergeMap(({ events }) => events)),
    sniperReport: looks,
    status: (asked) => {
      const { key, events } = isCandleWatch(asked) ? candlesOf(asked) : looksOf(asked);
      return connections.statusOf(key, events);
    },
    history: async (query, callOptions = {}) => {
      const now = checked.scheduler.now();
      const wanted = checkHistory(query, now);
      const read = (asked: typeof query) =>
        readGatewayHistory({ ...checked, url: `${base}/history` }, asked, callOptions);
      return wanted.served.rules.frames === undefined ? read(query) : readLonger(read, wanted, now);
    },
  });
}

const isStatus = (event: object): event is FeedStatus => "state" in event;

/** A connection that is open for events, and the status that has come over it. */
interface Shown {
  readonly key: string;
  readonly statuses: Observable<FeedStatus>;
}

/** The connections that are open for events: a status listens to one of the same key where there is one. */
class Connected {
  readonly #open = new BehaviorSubject<readonly Shown[]>([]);

  /** The same events; while somebody listens, a status of that key needs no connection of its own. */
  shown<E extends object>(key: string, events: Observable<E | FeedStatus>): Observable<E | FeedStatus> {
    return defer(() => {
      const statuses = new ReplaySubject<FeedStatus>(1);
      const shown: Shown = { key, statuses };
      this.#open.next([...this.#open.value, shown]);
      return events.pipe(
        tap({
          next: (event) => {
            if (isStatus(event)) statuses.next(event);
          },
          error: (error) => statuses.error(error),
        }),
        finalize(() => this.#open.next(this.#open.value.filter((one) => one !== shown))),
      );
    });
  }

  /**
   * The status of a key: of the connection that was opened last, which is that of whoever takes events and their status.
   * `own`: the events of a connection of its own, for as long as there is no other.
   */
  statusOf(key: string, own: Observable<object>): Observable<FeedStatus> {
    const isThere = (one: Shown) => one.key === key;
    return defer(() => {
      const last = this.#open.value.findLast(isThere);
      return this.#open.pipe(
        // What is so now: who is told of a change may have made the next one.
        map(
          () => (last && this.#open.value.includes(last) ? last : this.#open.value.find(isThere))?.statuses,
        ),
        distinctUntilChanged(),
        switchMap((statuses) => statuses ?? own.pipe(filter(isStatus))),
        startWith(STARTING),
        distinctUntilChanged(isSameStatus),
      );
    });
  }
}

function candlesAddress(given: Series & WatchOptions, watch: CandleWatch): string {
  const asked = servedOptions(given, watch);
  const { since } = checkWatch(asked);
  const candles = typeof since === "object" ? since.candles : undefined;
  const start = { since: candles === undefined ? since : undefined, "since.candles": candles };
  return `/candles?${queryOf({ ...asked, ...start })}`;
}

function snipersAddress(asked: SniperWatch): string {
  checkSniperWatch(asked);
  refuseKnown(asked, "at a gateway");
  if (asked.missingPace !== undefined) {
    throw new InvalidInputError("missingPace", "nothing: the gateway chooses it", "is given");
  }
  return `/snipers?${queryOf(asked)}`;
}

function baseOf(url: string): string {
  const { search, hash } = new URL(url);
  if (search !== "" || hash !== "") {
    throw new InvalidInputError("url", "the gateway's address, without a query", "has a query");
  }
  return url.replace(/\/+$/, "");
}
