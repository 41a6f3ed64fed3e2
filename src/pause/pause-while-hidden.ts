import {
  asyncScheduler,
  catchError,
  concat,
  concatMap,
  defer,
  dematerialize,
  distinctUntilChanged,
  EMPTY,
  filter,
  finalize,
  from,
  map,
  materialize,
  merge,
  mergeMap,
  NEVER,
  type Observable,
  of,
  type SchedulerLike,
  skip,
  switchMap,
  take,
  takeWhile,
  tap,
} from "rxjs";
import type { CandleEvent } from "../candles/event.js";
import { type CandleWatch, checkWatch, type WatchOptions } from "../candles/options.js";
import { checkNumber, LONGEST_DELAY } from "../contract/input.js";
import type { Series } from "../contract/model.js";
import { checkNames } from "../contract/names.js";
import { InvalidInputError } from "../errors.js";
import { type FeedStatus, isCandleWatch, isSameStatus } from "../feed-status.js";
import type { SniperEvent } from "../snipers/event.js";
import { SniperFold } from "../snipers/fold.js";
import { refuseKnown } from "../snipers/known.js";
import { checkSniperWatch, type SniperWatch } from "../snipers/watch.js";
import type { PairSource } from "../source.js";
import { away } from "./away.js";
import { missedCandles, startAfterLongPause } from "./missed-candles.js";
import { ToldCandles } from "./told-candles.js";
import { ToldSnipers } from "./told-snipers.js";

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
 * no history comes again. The longer the pause, the more there is to read. After more than 2,000 intervals, everything
 * older than 1,000 intervals comes from `history`. A wallet or transaction of snipers that the first report after the pause
 * lacks is removed at once. `history` never pauses. On a server nothing pauses.
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
  checkSource(source);
  checkNames(options, ["after", "scheduler"]);
  const { after = DEFAULT_AFTER, scheduler = asyncScheduler } = options;
  checkNumber("after", after, { min: 0, max: LONGEST_DELAY, unit: "ms" });
  const whileSeen = <T>(follow: () => Observable<T>): Observable<T> =>
    away(after, scheduler).pipe(
      switchMap((isAway) => (isAway ? NEVER : follow().pipe(materialize()))),
      dematerialize(),
    );
  const resumptions = new Resumptions();
  return Object.freeze<PairSource>({
    candles: (asked) => {
      source.candles(asked);
      const watch = checkWatch(asked);
      return defer(() => {
        const told = new ToldCandles(watch);
        const leave = resumptions.enter(watch, told);
        const follow = () => followCandles(source, asked, watch, told, scheduler);
        return whileSeen(() => follow().pipe(finalize(() => told.pause()))).pipe(finalize(leave));
      });
    },
    snipers: (asked) => {
      source.snipers(asked);
      const { pairAddress } = checkSniperWatch(asked).query;
      refuseKnown(asked, "in a stream that pauses");
      return defer(() => {
        const told = new ToldSnipers(pairAddress);
        return whileSeen(() => followSnipers(source, asked, told));
      });
    },
    sniperReport: (asked) => {
      source.sniperReport(asked);
      const { known, ...anew } = asked;
      return defer(() => {
        const fold = new SniperFold(checkSniperWatch(asked).query);
        return whileSeen(() =>
          source.sniperReport(fold.version === 0 ? asked : anew).pipe(
            concatMap((look) => {
              const told = fold.take(look);
              return told === undefined ? EMPTY : of(told);
            }),
          ),
        );
      });
    },
    status: (asked) => {
      source.status(asked);
      if (!isCandleWatch(asked)) {
        return whileSeen(() => source.status(asked)).pipe(distinctUntilChanged(isSameStatus));
      }
      const watch = checkWatch(asked);
      return defer(() => {
        let covered: Coverage = {};
        return whileSeen(() => source.status({ ...asked, ...resumptions.startOf(watch) })).pipe(
          map((status) => {
            const now = joined(covered, status);
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

/** What is told of each series, so that a status begins where the candles do and needs no history of its own. */
class Resumptions {
  readonly #told = new Map<string, Set<ToldCandles>>();

  enter(watch: CandleWatch, told: ToldCandles): () => void {
    const key = keyOf(watch);
    const all = this.#told.get(key) ?? new Set();
    this.#told.set(key, all.add(told));
    return () => {
      all.delete(told);
      if (all.size === 0) this.#told.delete(key);
    };
  }

  startOf(watch: CandleWatch): Pick<WatchOptions, "since"> {
    const [told] = this.#told.get(keyOf(watch)) ?? [];
    return told?.start === undefined ? {} : { since: told.start };
  }
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
  told.resume(start);
  if (since === undefined || start === undefined) return resumed(source, asked, told, since);
  const missed = missedCandles(source, watch, { from: since, to: start }, scheduler).pipe(
    concatMap((event) => from(told.take(event))),
  );
  // Flat candles follow from a candle before them.
  return concat(
    missed,
    defer(() => resumed(source, asked, told, watch.fillGaps ? told.since : start)),
  );
}

function resumed(
  source: PairSource,
  asked: Series & WatchOptions,
  told: ToldCandles,
  since: number | undefined,
): Observable<CandleEvent> {
  const options = { ...asked, ...(since !== undefined && { since }) };
  const events = source.candles(options).pipe(concatMap((event) => from(told.take(event))));
  let observedAt = 0;
  const gone = defer(() => source.status(options)).pipe(
    filter(({ state }) => state === "live"),
    distinctUntilChanged((a, b) => a.coveredUntil === b.coveredUntil),
    tap(() => told.caughtUp()),
    takeWhile(() => told.hasUnconfirmed),
    // One answer that lacks a candle proves nothing.
    skip(1),
    mergeMap(({ coveredUntil = 0 }) => told.settle(coveredUntil, Math.max(observedAt, coveredUntil))),
    // Its trouble is that of the candles, too.
    catchError(() => EMPTY),
  );
  const noted = tap((event: CandleEvent) => {
    observedAt = event.observedAt;
  });
  return merge(
    events.pipe(noted, materialize()),
    gone.pipe(
      materialize(),
      filter(({ kind }) => kind === "N"),
    ),
  ).pipe(dematerialize());
}

function followSnipers(source: PairSource, asked: SniperWatch, told: ToldSnipers): Observable<SniperEvent> {
  told.resume();
  const events = source.snipers(asked).pipe(concatMap((event) => told.take(event)));
  const found = source.status(asked).pipe(
    filter(({ state }) => state === "live"),
    take(1),
    mergeMap(({ coveredUntil = 0 }) => told.caughtUp(coveredUntil)),
    catchError(() => EMPTY),
  );
  return merge(events, found);
}

function checkSource(source: PairSource): void {
  for (const method of ["candles", "snipers", "sniperReport", "status", "history"] as const) {
    if (typeof source?.[method] === "function") continue;
    throw new InvalidInputError(
      "source",
      "a source, such as clientSource(client)",
      `has no method ${method}`,
    );
  }
}

type Coverage = Pick<FeedStatus, "coveredFrom" | "coveredUntil">;

/** A status after a pause: what was covered before it still is, where the two meet. */
function joined({ coveredFrom: first, coveredUntil: until }: Coverage, now: FeedStatus): FeedStatus {
  const { coveredFrom } = now;
  if (first === undefined || until === undefined || coveredFrom === undefined) return now;
  return first < coveredFrom && coveredFrom <= until ? Object.freeze({ ...now, coveredFrom: first }) : now;
}
