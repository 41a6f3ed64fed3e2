import {
  BehaviorSubject,
  defer,
  distinctUntilChanged,
  filter,
  finalize,
  map,
  type Observable,
  ReplaySubject,
  startWith,
  switchMap,
  tap,
} from "rxjs";
import type { CandleEvent } from "../../candles/event.js";
import { checkHistory } from "../../candles/history.js";
import { makingOf } from "../../candles/making.js";
import {
  type CandleWatch,
  checkWatch,
  DEFAULT_SETTLE,
  WATCH_NAMES,
  type WatchOptions,
} from "../../candles/options.js";
import type { Series } from "../../contract/model.js";
import { SERIES_NAMES } from "../../contract/names.js";
import { InvalidInputError } from "../../errors.js";
import { type FeedStatus, isCandleWatch, isSameStatus } from "../../feed-status.js";
import type { SniperEvent } from "../../snipers/event.js";
import { refuseKnown } from "../../snipers/known.js";
import type { SniperLook } from "../../snipers/look.js";
import { checkSniperWatch, type SniperWatch } from "../../snipers/watch.js";
import type { PairSource } from "../../source.js";
import { readGatewayHistory } from "./history-request.js";
import { longerStatus, madeOf, servedOptions } from "./longer.js";
import { readLonger } from "./longer-history.js";
import { type MirrorEvent, type MirrorRules, STARTING, type StartRule } from "./mirror.js";
import { checkReceiverOptions, type GatewayFetch, type GatewaySourceOptions } from "./options.js";
import { receiverOf } from "./receiver.js";

/**
 * The streams of a gateway made by `createGateway`, for a page or a program without the key: the same as `clientSource`
 * gives, over HTTP.
 *
 * `url` is the address of the gateway, without query; in a page it may be relative. Each subscription has its own
 * connection, but a status shares that of candles or snipers with the same options. Looks at snipers are those of the
 * gateway's client; `snipers` tells what these change. A lost connection is opened again, as
 * `fromServerSentEvents` says. An option that the gateway refuses is an `InvalidInputError`, which names it. Another refusal
 * is an `HttpError`, a `RateLimitError` or an `AuthenticationError`: its message is the gateway's sentence, its `body` the
 * gateway's JSON. An error of the service behind it has its own class, and no body. Needs the package
 * `eventsource-parser`. Throws an `InvalidInputError` at the call for an option that no gateway takes.
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
  const checked = checkReceiverOptions<GatewayFetch>(url, options);
  const base = baseOf(checked.url);
  const receive = (address: string, rules?: MirrorRules) =>
    receiverOf({ ...checked, url: base + address }, rules);
  const connections = new Connected();
  return Object.freeze<PairSource>({
    candles: (asked) => {
      const watch = checkWatch(asked);
      const address = candlesAddress(asked, watch);
      const isServed = watch.served.rules.frames === undefined;
      const rules = isServed || typeof watch.since === "number" ? { startAt: startOf(watch) } : {};
      const events = connections.shown(address, receive(address, rules));
      return isServed ? events.pipe(filter(isCandle)) : events.pipe(filter(isOfCandles), madeOf(watch));
    },
    snipers: (asked) => {
      const address = snipersAddress(asked);
      return connections.shown(address, receive(address)).pipe(filter(isSniper));
    },
    sniperReport: (asked) => {
      const address = snipersAddress(asked);
      const { query } = checkSniperWatch(asked);
      return connections.shown(address, receive(address, { looksOf: query })).pipe(filter(isLook));
    },
    status: (asked) => {
      if (!isCandleWatch(asked)) {
        const address = snipersAddress(asked);
        return connections.statusOf(address, receive(address));
      }
      const watch = checkWatch(asked);
      const address = candlesAddress(asked, watch);
      return connections.statusOf(address, receive(address)).pipe(
        map((status) => longerStatus(watch, status)),
        distinctUntilChanged(isSameStatus),
      );
    },
    history: async (query, callOptions = {}) => {
      const now = checked.scheduler.now();
      const wanted = checkHistory(query, now);
      const making = makingOf(wanted.series, wanted.weekStart, DEFAULT_SETTLE, 0);
      const read = (asked: typeof query) =>
        readGatewayHistory({ ...checked, url: `${base}/history` }, asked, callOptions);
      return making.served.rules.frames === undefined ? read(query) : readLonger(read, making, wanted, now);
    },
  });
}

const isCandle = (event: MirrorEvent): event is CandleEvent => "series" in event;
const isStatus = (event: MirrorEvent): event is FeedStatus => "state" in event;
const isOfCandles = (event: MirrorEvent): event is CandleEvent | FeedStatus =>
  isCandle(event) || isStatus(event);
const isLook = (event: MirrorEvent): event is SniperLook => "report" in event;
const isSniper = (event: MirrorEvent): event is SniperEvent => "pairAddress" in event && !isLook(event);

type Statuses = ReplaySubject<FeedStatus>;

/** The connections that are open for events, by address: a status listens to one of them where there is one. */
class Connected {
  readonly #open = new Map<string, BehaviorSubject<readonly Statuses[]>>();

  /** The same events; while somebody listens, a status of that address needs no connection of its own. */
  shown(address: string, events: Observable<MirrorEvent>): Observable<MirrorEvent> {
    return defer(() => {
      const statuses: Statuses = new ReplaySubject(1);
      const open = this.#at(address);
      open.next([...open.value, statuses]);
      return events.pipe(
        tap({
          next: (event) => {
            if (isStatus(event)) statuses.next(event);
          },
          error: (error) => statuses.error(error),
        }),
        finalize(() => {
          open.next(open.value.filter((one) => one !== statuses));
          this.#tidy(address);
        }),
      );
    });
  }

  /** The status at an address; `own`: the events of a connection of its own, for as long as there is no other. */
  statusOf(address: string, own: Observable<MirrorEvent>): Observable<FeedStatus> {
    return defer(() =>
      this.#at(address).pipe(
        map(([first]) => first),
        distinctUntilChanged(),
        switchMap((statuses) => statuses ?? own.pipe(filter(isStatus))),
        startWith(STARTING),
        distinctUntilChanged(isSameStatus),
        finalize(() => this.#tidy(address)),
      ),
    );
  }

  #at(address: string): BehaviorSubject<readonly Statuses[]> {
    const known = this.#open.get(address) ?? new BehaviorSubject<readonly Statuses[]>([]);
    this.#open.set(address, known);
    return known;
  }

  #tidy(address: string): void {
    const open = this.#open.get(address);
    if (open !== undefined && open.value.length === 0 && !open.observed) this.#open.delete(address);
  }
}

/** Where a viewer's candles begin, as `watchCandles` has it: its channel may have begun long before. */
function startOf({ since, fillGaps, rules: { intervals } }: CandleWatch): StartRule {
  if (typeof since === "number") return () => since;
  return (candles, now) => {
    const running = intervals.start(now);
    if (since === undefined) return running;
    const counted = candles.filter(({ timestamp, swaps }) => timestamp < running && (swaps > 0 || !fillGaps));
    return counted.at(-since.candles)?.timestamp ?? -Infinity;
  };
}

function candlesAddress(given: Series & WatchOptions, watch: CandleWatch): string {
  const asked = servedOptions(given, watch);
  const { since } = checkWatch(asked);
  const names = [...SERIES_NAMES, ...WATCH_NAMES.filter((name) => name !== "since")] as const;
  const values = names.map((name) => [name, asked[name]] as const);
  const start =
    typeof since === "object" ? (["since.candles", since.candles] as const) : (["since", since] as const);
  return `/candles?${queryOf([...values, start])}`;
}

function snipersAddress(asked: SniperWatch): string {
  checkSniperWatch(asked);
  refuseKnown(asked, "at a gateway");
  if (asked.missingPace !== undefined) {
    throw new InvalidInputError("missingPace", "nothing at a gateway, which chooses it", "is given");
  }
  const names = ["pairAddress", "blocksAfterCreation", "every", "whenMissing"] as const;
  return `/snipers?${queryOf(names.map((name) => [name, asked[name]] as const))}`;
}

function queryOf(values: readonly (readonly [name: string, value: unknown])[]): string {
  const given = values.filter(([, value]) => value !== undefined);
  return new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
}

function baseOf(url: string): string {
  const { search, hash } = new URL(url);
  if (search !== "" || hash !== "") {
    throw new InvalidInputError("url", "the address of the gateway, without a query", "has a query");
  }
  return url.replace(/\/+$/, "");
}
