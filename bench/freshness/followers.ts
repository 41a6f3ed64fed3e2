import { type Candle, createClient, type FetchLike, type Series, watchCandles } from "pairstream";
import {
  catchError,
  concatMap,
  distinctUntilChanged,
  EMPTY,
  from,
  map,
  type Observable,
  type SchedulerLike,
  switchMap,
  timer,
} from "rxjs";

export const MINUTE = 60_000;
export const SERVICE = "https://service.test";

/** What a follower has from now on: a closed candle, for the first time or anew; absent: there is none after all. */
export interface Sighting {
  readonly timestamp: number;
  readonly candle?: Candle;
}

/** One way to follow the closed candles of a series. */
export interface Follower {
  readonly name: string;
  follow(series: Series, fetch: FetchLike, scheduler: SchedulerLike): Observable<Sighting>;
}

/** Ours first. */
export const FOLLOWERS: readonly Follower[] = [
  { name: 'watchCandles, `every: "close"`', follow: watchingEvery("close") },
  { name: "watchCandles, `every: 10_000`", follow: watchingEvery(10_000) },
  { name: "`timer(0, 60_000)`", follow: pollingEvery(MINUTE) },
  { name: "`timer(0, 10_000)`", follow: pollingEvery(10_000) },
];

function watchingEvery(every: number | "close"): Follower["follow"] {
  return (series, fetch, scheduler) => {
    const client = createClient({ baseUrl: SERVICE, apiKey: "key", fetch, scheduler });
    return watchCandles(client, { ...series, every }).pipe(
      concatMap(({ type, status, candle }): Sighting[] => {
        if (status === "open") return [];
        const { timestamp } = candle;
        return [type === "removed" ? { timestamp } : { timestamp, candle }];
      }),
    );
  };
}

/** As it is written for want of better, at its best: it outlives errors, and looks at values, not at times alone. */
function pollingEvery(period: number): Follower["follow"] {
  return (series, fetch, scheduler) =>
    timer(0, period, scheduler).pipe(
      switchMap(() => from(lastClosed(series, fetch, scheduler.now())).pipe(catchError(() => EMPTY))),
      distinctUntilChanged((a, b) => JSON.stringify(a) === JSON.stringify(b)),
      concatMap((candle) => (candle === undefined ? [] : [candle])),
      map((candle) => ({ timestamp: candle.timestamp, candle })),
    );
}

/** The newest candle whose minute is over. */
async function lastClosed(series: Series, fetch: FetchLike, now: number): Promise<Candle | undefined> {
  const { network, pairAddress, timeframe, currency } = series;
  const seconds = Math.ceil(now / 1_000);
  const range = { fromDate: String(seconds - 600), toDate: String(seconds) };
  const query = new URLSearchParams({ timeframe, currency, ...range });
  const url = `${SERVICE}/token/${network}/pairs/${pairAddress}/ohlcv?${query}`;
  const answer = await fetch(url, { headers: { "X-API-Key": "key" } });
  if (answer.status !== 200) throw new Error(`status ${answer.status}`);
  const { result } = JSON.parse(await answer.text()) as { result: (Candle & { timestamp: string })[] };
  const candles = result.map((row): Candle => ({ ...row, timestamp: Date.parse(row.timestamp) }));
  return candles.find(({ timestamp }) => timestamp + MINUTE <= now);
}
