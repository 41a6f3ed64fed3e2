import {
  asyncScheduler,
  concat,
  defer,
  dematerialize,
  distinctUntilChanged,
  EMPTY,
  filter,
  finalize,
  map,
  materialize,
  merge,
  mergeMap,
  NEVER,
  type Observable,
  type SchedulerLike,
  skip,
  switchMap,
  takeWhile,
} from "rxjs";
import type { CandleEvent } from "../candles/event.js";
import { type CandleWatch, checkWatch, type WatchOptions } from "../candles/options.js";
import { checkNumber, LONGEST_DELAY } from "../contract/input.js";
import type { Series } from "../contract/model.js";
import { checkNames, checkScheduler, checkSource } from "../contract/names.js";
import { type FeedStatus, isCandleWatch, isSameStatus, joinedStatus } from "../feed-status.js";
import { SniperFold } from "../snipers/fold.js";
import { refuseKnown } from "../snipers/known.js";
import { checkSniperWatch, type SniperWatch } from "../snipers/watch.js";
import type { PairSource } from "../source.js";
import { away } from "./away.js";
import { missedCandles, startAfterLongPause } from "./missed-candles.js";
import { ToldCandles } from "./told-candles.js";

/** When the streams of a hidden page pause. */
export interface PauseOptions {
  /** How long the page has to be hidden, in ms, so that a short look at another tab costs nothing: 0 or more, default 10,000. */
  after?: number;
  /** The source of timers; default: `asyncScheduler`. */
  scheduler?: SchedulerLike;
}

const DEFAULT_AFTER = 10_000;

/**
 * The same source, but its streams pause while the page is hidden or offline: they send no requests meanwhile.
 *
 * When the page is seen again, each stream catches up once and goes on. The subscriber gets what it missed as changes of
 * what it knows: candles that came, closed, changed or were removed. None of these events is `live`, none comes twice, and
 * no history comes again. Read again is what can still change, and the newest final candle: if that differs it is `updated`.
 * The longer the pause, the more there is to read. After more than 2,000 intervals, everything older than 1,000 intervals
 * comes from `history`. The events of `snipers` are those of the looks. A wallet or transaction that the first report after
 * the pause lacks is removed at once. `history` never pauses. On a server nothing pauses.
 *
 * Throws an `InvalidInputError` at the call.
 *
 * ```ts
 * import { clientSource, createClient, pauseWhileHidden } from "pairstream";
 * import { demoService } from "pairstream/service";
 *
 * const source = pauseWhileHidden(clientSource(createClient(demoService().clientOptions)), { after: 60_000 });
 * ```
 */
export function pauseWhileHidden(source: PairSource, options: PauseOptions = {}): PairSource {
  checkSource(source, ["candles", "snipers", "sniperReport", "status", "history"]);
  checkNames(options, ["after", "scheduler"]);
  const { after = DEFAULT_AFTER, scheduler = asyncScheduler } = options;
  checkNumber("after", after, { min: 0, max: LONGEST_DELAY, unit: "ms" });
  checkScheduler(scheduler);
  const whileSeen = <T>(follow: () => Observable<T>): Observable<T> =>
    away(after, scheduler).pipe(
      switchMap((isAway) => (isAway ? NEVER : follow().pipe(materialize()))),
      dematerialize(),
    );
  const looks = (asked: SniperWatch) => {
    source.sniperReport(asked);
    const { query } = checkSniperWatch(asked);
    const { known, ...anew } = asked;
    return defer(() => {
      const fold = new SniperFold(query);
      return whileSeen(() => source.sniperReport(fold.version === 0 ? asked : anew)).pipe(
        map((look) => fold.take(look)),
        filter((look) => look !== undefined),
      );
    });
  };
  /** What is told of each series, so that a status begins where the candles do and needs no history of its own. */
  const running = new Set<readonly [key: string, told: ToldCandles]>();
  const startOf = (watch: CandleWatch): Pick<WatchOptions, "since"> => {
    const since = [...running].find(([key]) => key === keyOf(watch))?.[1].start;
    return since === undefined ? {} : { since };
  };
  return Object.freeze<PairSource>({
    candles: (asked) => {
      source.candles(asked);
      const watch = checkWatch(asked);
      return defer(() => {
        const told = new ToldCandles(watch, scheduler);
        const entry = [keyOf(watch), told] as const;
        running.add(entry);
        const follow = () => followCandles(source, asked, watch, told, scheduler);
        return whileSeen(() => follow().pipe(finalize(() => told.pause()))).pipe(
          finalize(() => running.delete(entry)),
        );
      });
    },
    snipers: (asked) => {
      refuseKnown(asked, "in a stream that pauses");
      return looks(asked).pipe(mergeMap(({ events }) => events));
    },
    sniperReport: looks,
    status: (asked) => {
      source.status(asked);
      const watch = isCandleWatch(asked) ? checkWatch(asked) : undefined;
      return defer(() => {
        let covered: Partial<FeedStatus> = {};
        return whileSeen(() => source.status({ ...asked, ...(watch && startOf(watch)) })).pipe(
          map((status) => {
            const now = joinedStatus(covered, status);
            if (now.state === "live") covered = now;
            return now;
          }),
          distinctUntilChanged(isSameStatus),
        );
      });
    },
    history: (query, callOptions) => source.history(query, callOptions),
  });
}

function keyOf({ pollKey, since, fillGaps }: CandleWatch): string {
  return `${pollKey} ${JSON.stringify(since)} ${fillGaps}`;
}

function followCandles(
  source: PairSource,
  asked: Series & WatchOptions,
  watch: CandleWatch,
  told: ToldCandles,
  scheduler: SchedulerLike,
): Observable<CandleEvent> {
  const { since } = told;
  const start = since === undefined ? undefined : startAfterLongPause(watch, since, scheduler.now());
  told.begin(start);
  const take = mergeMap((event: CandleEvent) => told.take(event));
  const isLong = since !== undefined && start !== undefined;
  const missed = isLong
    ? missedCandles(source, watch, { from: since, to: start }, scheduler).pipe(take)
    : EMPTY;
  const resumed = defer(() => {
    // Flat candles follow from a candle before them.
    const from = start === undefined || watch.fillGaps ? told.since : start;
    const options = from === undefined ? asked : { ...asked, since: from };
    const gone = source.status(options).pipe(
      filter(({ state }) => state === "live"),
      distinctUntilChanged((a, b) => a.coveredUntil === b.coveredUntil),
      takeWhile(() => told.isInDoubt),
      // One answer that lacks a candle proves nothing.
      skip(1),
      mergeMap(({ coveredUntil = 0 }) => told.settle(coveredUntil)),
      materialize(),
      // Its end and its trouble are those of the candles, too.
      filter(({ kind }) => kind === "N"),
    );
    return merge(source.candles(options).pipe(take, materialize()), gone).pipe(dematerialize());
  });
  return concat(missed, resumed);
}
