import {
  concat,
  concatMap,
  defer,
  EMPTY,
  finalize,
  mergeMap,
  noop,
  type Observable,
  type ObservableInput,
  of,
  tap,
} from "rxjs";
import { type Client, type ClientCore, coreOf, serviceNow } from "../client/core.js";
import { earliestTime, latestTime, serviceTime } from "../client/service-clock.js";
import { CLOCK_SLACK } from "../client/warn.js";
import type { Series } from "../contract/model.js";
import { joinTeller } from "../poll/shared-poll.js";
import type { CandleEvent } from "./event.js";
import { type CandleState, candleFeed } from "./live/poll-candles.js";
import { type CandleWatch, checkWatch, type WatchOptions } from "./options.js";
import { openStored } from "./read/past.js";
import { enterHistory } from "./view/history-progress.js";
import { HistoryReading } from "./view/history-reading.js";
import { CandleView, type ViewStep } from "./view/view.js";

/**
 * The candles of a series as they appear, change, close and become final. With `since` the history comes first, and then
 * the live candles, without a hole or a duplicate.
 *
 * ```marbles
 * swaps                                       5-7---6-----8-----------
 * watchCandles(client, { …, every: 30_000 })  a--b--(cd)--(ef)--(gh)--
 *
 * -: 10 s                            a: new 12:00 = 5, open           b: updated 12:00 = 5→7, open
 * c: updated 12:00 = 5→7, closed     d: new 12:01 = 6, open           e: updated 12:01 = 6, closed
 * f: new 12:02 = 8, open             g: updated 12:00 = 5→7, final    h: updated 12:02 = 8, closed
 * ```
 *
 * All subscribers of one series on one client share one poll, if it is due at the same times (such as with
 * `every: "close"` and any `every` as long as the timeframe) and they have the same `settle` and `revisionWindow`, and for
 * `1w` the same `weekStart`. Each subscriber has its own `since`, `fillGaps` and `whenMissing`.
 *
 * Temporary failures never end the stream (see `watchFeedStatus`); the client warns of those that last (see its `warn`). It
 * errors with an `AuthenticationError` if the key is rejected, with an `HttpError` for 400 and 410 and, before anything has
 * come, for 402 and redirects. A minute of 404s, or of answers of which nothing can be read, before anything has come ends it,
 * too, unless `whenMissing` says to wait. Throws an `InvalidInputError` at the call.
 *
 * ```ts
 * import { createClient, watchCandles } from "pairstream";
 *
 * const client = createClient({ baseUrl: "https://api.example.com", apiKey: "…" });
 * watchCandles(client, {
 *   network: "mainnet",
 *   pairAddress: "83v8iPyZihDEjDdY8RdZddyZNyUtXngz69Lgo9Kt5d6d",
 *   timeframe: "1min",
 *   currency: "usd",
 *   since: { candles: 100 },
 * }).subscribe(({ type, status, candle }) => console.log(type, status, candle.close));
 * ```
 */
export function watchCandles(client: Client, options: Series & WatchOptions): Observable<CandleEvent> {
  return candleEvents(coreOf(client), checkWatch(options));
}

/** What `watchCandles` gives, its input checked. */
export function candleEvents(core: ClientCore, watch: CandleWatch): Observable<CandleEvent> {
  return defer(() => {
    const [progress, leave] = enterHistory(core, watch);
    const stored = openStored(core, watch);
    const joinedAt = core.scheduler.now();
    const clockAtJoin = core.serviceClock();
    /**
     * The interval of the subscription. The first answer tells the time of that too, where it was not known or a clock has been
     * set since the answer before; without any `Date` the scheduler's clock does.
     */
    const intervalAtJoin = () => {
      const present = core.serviceClock();
      const clock = present.epoch === clockAtJoin.epoch ? clockAtJoin : present;
      // If the scheduler's clock was set back since, the subscription lies ahead.
      return watch.rules.intervals.start(earliestTime(clock, Math.min(joinedAt, core.scheduler.now())));
    };
    /** Says, with the first event, that candles are told: a pair is quiet where none is. */
    let noteTold = () => {
      noteTold = noop;
      const [tell, end] = joinTeller(core, watch.pollKey) ?? [];
      tell?.({ type: "page", hasShown: true });
      end?.();
    };
    let view: CandleView | undefined;
    let history: HistoryReading | undefined;

    const open = (state: CandleState, isRemembered: boolean): Observable<CandleEvent> => {
      const { book } = state;
      warnOfFuture(core, watch);
      const reading = new HistoryReading(core, watch, stored, progress, { book, running: intervalAtJoin() });
      const { start, isNeeded: hasHistory } = reading;
      const opened = new CandleView(watch, { start, startAnew: intervalAtJoin, hasHistory });
      history = reading;
      view = opened;
      const received = isRemembered ? serviceTime(core.serviceClock(), joinedAt) : book.observedAt;
      const first: ViewStep = { type: "state", state, received };
      return concat(of(first), reading.steps()).pipe(concatMap((step) => opened.take(step)));
    };

    /** Whether what is known lies ahead of a clock that was set back since: which interval runs only a `Date` tells. */
    const isAhead = ({ book }: CandleState) => {
      const clock = core.serviceClock();
      const latest = latestTime(clock, core.scheduler.now());
      return watch.since === undefined && clock.answers > 0 && book.observedAt > latest;
    };

    return candleFeed(core, watch).pipe(
      mergeMap(({ state, isFresh }, index): ObservableInput<CandleEvent> => {
        if (state === undefined) return EMPTY;
        // The poll gives its last state, from memory, to whoever joins.
        if (view === undefined) return isAhead(state) ? EMPTY : open(state, index === 0);
        if (!isFresh) return EMPTY;
        history!.follow(state.book);
        return view.take({ type: "state", state });
      }),
      tap(() => noteTold()),
      finalize(() => {
        leave();
        stored?.close();
      }),
    );
  });
}

/** Says that nothing will come for a while: a `since` that is not over by the service's clock is allowed, as clocks differ. */
function warnOfFuture(core: ClientCore, { series, since }: CandleWatch): void {
  const now = serviceNow(core);
  if (typeof since !== "number" || since <= now + CLOCK_SLACK) return;
  const [start, present] = [since, now].map((instant) => new Date(instant).toISOString());
  const text = `since is ${start}, and for the service it is ${present}; nothing comes until then`;
  core.warner?.warn(text, series, undefined, 0);
}
