import {
  type Client,
  createClient,
  type Series,
  watchCandles,
  watchFeedStatus,
  watchSnipers,
} from "pairstream";
import { ignoreElements, map, merge, type Observable, tap } from "rxjs";
import type { LiveOptions } from "./options.js";
import type { OpenPlace } from "./place.js";
import { jsonPrinter, type LiveEvent, textPrinter } from "./printer.js";

/** Often enough to see the running candle move. */
const LOCAL_EVERY = 2_000;
const LOCAL_SNIPERS_EVERY = 5_000;

/** What is printed while the pair is followed: lines, in the order of events. */
export function linesOf(place: OpenPlace, options: LiveOptions): Observable<readonly string[]> {
  const { network, timeframe, currency, json } = options;
  const client = createClient({ baseUrl: place.baseUrl, apiKey: place.apiKey });
  const series: Series = { network, pairAddress: place.pair, timeframe, currency };
  const clock = serviceClock(client);
  const print = json ? jsonPrinter : textPrinter(series, clock.now);
  return merge(clock.learning, eventsOf(client, series, place.isLocal, options)).pipe(map(print));
}

function eventsOf(
  client: Client,
  series: Series,
  isLocal: boolean,
  { every, since }: LiveOptions,
): Observable<LiveEvent> {
  const polls = every ?? (isLocal ? LOCAL_EVERY : undefined);
  const watch = { ...series, since, ...(polls === undefined ? {} : { every: polls }) };
  // A service elsewhere is asked for snipers as seldom as the library does by itself: polling is spending.
  const { pairAddress } = series;
  const sniperWatch = isLocal ? { pairAddress, every: LOCAL_SNIPERS_EVERY } : { pairAddress };
  const candles = watchCandles(client, watch).pipe(map((event) => ({ stream: "candle" as const, ...event })));
  const candleStatus = watchFeedStatus(client, watch).pipe(
    map((status) => ({ stream: "status" as const, of: "candles" as const, ...status })),
  );
  if (series.network === "devnet") return merge(candles, candleStatus);
  const snipers = watchSnipers(client, sniperWatch).pipe(
    map((event) => ({ stream: "sniper" as const, ...event })),
  );
  const sniperStatus = watchFeedStatus(client, sniperWatch).pipe(
    map((status) => ({ stream: "status" as const, of: "snipers" as const, ...status })),
  );
  // Each stream before its status: what a status speaks of is there when it comes.
  return merge(candles, candleStatus, snipers, sniperStatus);
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
