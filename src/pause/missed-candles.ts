import {
  concatMap,
  defer,
  finalize,
  from,
  map,
  mergeAll,
  type Observable,
  retry,
  type SchedulerLike,
  throwError,
  timer,
} from "rxjs";
import { type CandleEvent, frozenEvent } from "../candles/event.js";
import { dueAt, lateness } from "../candles/lateness.js";
import { mostIn } from "../candles/making.js";
import type { CandleWatch } from "../candles/options.js";
import { GapFiller } from "../candles/view/gap-filler.js";
import type { Candle } from "../contract/model.js";
import { InvalidInputError, PairstreamError } from "../errors.js";
import { isFatal, isNotFound, waitAfter } from "../poll/failure.js";
import { MissingPair } from "../poll/missing.js";
import type { PairSource } from "../source.js";
import type { Span } from "../spans.js";
import type { Intervals } from "../timeframe.js";

/** How many intervals of the service one piece has; as many are left to the stream. */
const PIECE = 1_000;
const WAITS = { first: 5_000, longest: 60_000, longestHint: 3_600_000 };

/**
 * Where a stream begins after a pause that is too long for it, as a gateway gives no stream from so far back; `undefined`
 * where it is not. What lies before is `missedCandles`.
 */
export function startAfterLongPause(watch: CandleWatch, since: number, now: number): number | undefined {
  const { intervals } = watch.rules;
  const piece = pieceOf(watch);
  const start = intervals.shift(intervals.start(now), -piece);
  return intervals.shift(since, piece) < start ? start : undefined;
}

/** A piece in intervals of what is watched. */
function pieceOf({ served: { rules } }: CandleWatch): number {
  const { frames, intervals } = rules;
  return frames === undefined ? PIECE : Math.ceil(PIECE / mostIn(frames, intervals));
}

/**
 * What a long pause has missed of `[from, to)`, out of the source's history, piece by piece: all of it is final. A failure
 * ends it only where it would end a poll.
 */
export function missedCandles(
  source: PairSource,
  watch: CandleWatch,
  { from: start, to: end }: Span,
  scheduler: SchedulerLike,
): Observable<CandleEvent> {
  const { series, weekStart, fillGaps, whenMissing, rules } = watch;
  const { intervals } = rules;
  const read = (span: Span) => {
    const missing = new MissingPair(whenMissing, scheduler.now());
    const delay = (error: unknown, failures: number) => {
      const wait = nextWait(error, failures, missing, scheduler.now());
      return wait === undefined ? throwError(() => error) : timer(wait, scheduler);
    };
    return defer(() => {
      const abort = new AbortController();
      const candles = source.history({ ...series, ...span, weekStart }, { signal: abort.signal });
      return from(candles).pipe(finalize(() => abort.abort()));
    }).pipe(retry({ delay }));
  };
  const filler = fillGaps ? new GapFiller(intervals) : undefined;
  return from(piecesOf({ from: start, to: end }, intervals, pieceOf(watch))).pipe(
    concatMap((span) => read(span).pipe(map((candles) => filled(filler, span, candles)))),
    mergeAll(),
    map((candle) => {
      const now = scheduler.now();
      const lateBy = lateness(now, dueAt(rules, candle.timestamp, "final", true));
      return frozenEvent("new", candle, "final", 0, false, lateBy, now, series);
    }),
  );
}

function* piecesOf({ from, to }: Span, intervals: Intervals, length: number): Generator<Span> {
  for (let begin = from; begin < to; begin = intervals.shift(begin, length)) {
    yield { from: begin, to: Math.min(to, intervals.shift(begin, length)) };
  }
}

/** With flat candles where there is a filler. */
function filled(filler: GapFiller | undefined, span: Span, candles: readonly Candle[]): readonly Candle[] {
  if (filler === undefined) return candles;
  const changes = candles.map((candle) => ({ type: "new", candle, status: "final", revision: 0 }) as const);
  return [...filler.fill({ changes, finalUntil: span.to, covered: [span] })].map(({ candle }) => candle);
}

/** How long to wait after so many failures in a row, in ms; `undefined` where no other attempt can help. */
function nextWait(error: unknown, failures: number, missing: MissingPair, now: number): number | undefined {
  if (!(error instanceof PairstreamError) || error instanceof InvalidInputError || isFatal(error, true))
    return undefined;
  if (!isNotFound(error)) return waitAfter(error, failures, WAITS);
  missing.miss(now);
  return missing.isOver ? undefined : missing.asksAgainAt(now, now) - now;
}
