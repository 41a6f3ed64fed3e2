import {
  type Client,
  type ClientOptions,
  createClient,
  type Series,
  watchCandles,
  watchFeedStatus,
  watchSnipers,
} from "pairstream";
import type { Strategy } from "pairstream/backtest";
import { EMPTY, ignoreElements, map, merge, type Observable, tap } from "rxjs";
import type { LiveOptions } from "./options.js";
import { tradeLive } from "./paper.js";
import type { OpenPlace } from "./place.js";
import { jsonPrinter, type LiveEvent, textPrinter } from "./printer.js";

/** Often enough to see the running candle move. */
const LOCAL_EVERY = 2_000;
const LOCAL_SNIPERS_EVERY = 5_000;

/** The one client of the program: whatever it follows more than once is polled once. */
export function clientOf({ baseUrl, apiKey }: OpenPlace, stored: Pick<ClientOptions, "store"> = {}): Client {
  // The screen shows how the streams stand, and why.
  return createClient({ baseUrl, apiKey, warn: false, ...stored });
}

/** How often to poll; `undefined`: as the library does by itself, since polling a remote service is spending. */
export function pollsOf({ isLocal }: OpenPlace, { every }: LiveOptions) {
  return {
    every: every ?? (isLocal ? LOCAL_EVERY : undefined),
    snipersEvery: isLocal ? LOCAL_SNIPERS_EVERY : undefined,
  };
}

/** What is printed while the pair is followed: lines, in the order of events. */
export function linesOf(
  place: OpenPlace,
  options: LiveOptions,
  client: Client,
  strategy?: Strategy,
  heard: (event: LiveEvent) => void = () => {},
): Observable<readonly string[]> {
  const { network, timeframe, currency, json } = options;
  const series: Series = { network, pairAddress: place.pair, timeframe, currency };
  const clock = serviceClock(client);
  const print = json ? jsonPrinter : textPrinter(series, clock.now);
  return merge(clock.learning, eventsOf(client, series, options, pollsOf(place, options), strategy)).pipe(
    tap(heard),
    map(print),
  );
}

function eventsOf(
  client: Client,
  series: Series,
  { since }: LiveOptions,
  { every, snipersEvery }: ReturnType<typeof pollsOf>,
  strategy: Strategy | undefined,
): Observable<LiveEvent> {
  const watch = { ...series, since, ...(every === undefined ? {} : { every }) };
  const { pairAddress } = series;
  const sniperWatch = snipersEvery === undefined ? { pairAddress } : { pairAddress, every: snipersEvery };
  const candles = watchCandles(client, watch).pipe(map((event) => ({ stream: "candle" as const, ...event })));
  const candleStatus = watchFeedStatus(client, watch).pipe(
    map((status) => ({ stream: "status" as const, of: "candles" as const, ...status })),
  );
  const paper =
    strategy === undefined
      ? EMPTY
      : tradeLive(client, watch, strategy).pipe(map((event) => ({ stream: "paper" as const, ...event })));
  if (series.network === "devnet") return merge(candles, paper, candleStatus);
  const snipers = watchSnipers(client, sniperWatch).pipe(
    map((event) => ({ stream: "sniper" as const, ...event })),
  );
  const sniperStatus = watchFeedStatus(client, sniperWatch).pipe(
    map((status) => ({ stream: "status" as const, of: "snipers" as const, ...status })),
  );
  // Each stream before its status: what a status speaks of is there when it comes.
  return merge(candles, paper, candleStatus, snipers, sniperStatus);
}

/** The service's time, from what the client says it has learned. */
function serviceClock(client: Client) {
  let offset: number | undefined;
  const learning = client.activity.pipe(
    tap((activity) => {
      if (activity.type === "clock") offset = activity.offset;
    }),
    ignoreElements(),
  );
  return { learning, now: () => (offset === undefined ? undefined : Date.now() + offset) };
}
