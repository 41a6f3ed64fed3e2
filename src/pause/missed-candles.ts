import type { SchedulerLike } from "rxjs";
import {
  concatMap,
  defer,
  EMPTY,
  expand,
  finalize,
  from,
  map,
  type Observable,
  retry,
  throwError,
  timer,
} from "rxjs";
import { type CandleEvent, frozenEvent } from "../candles/event.js";
import { dueAt, lateness } from "../candles/lateness.js";
import type { CandleWatch } from "../candles/options.js";
import { GapFiller } from "../candles/view/gap-filler.js";
import type { Candle } from "../contract/model.js";
import { InvalidInputError, PairstreamError, RateLimitError } from "../errors.js";
import { isFatal, isNotFound } from "../poll/fatal.js";
import { MissingPair } from "../poll/missing.js";
import type { PairSource } from "../source.js";
import type { Span } from "../spans.js";

/** How many intervals one piece has; as many are left to the stream. */
const PIECE = 1_000;
/** How long to wait after a failure, in ms: at first, and at most; and how long the other side may ask for. */
const FIRST_WAIT = 5_000;
const LONGEST_WAIT = 60_000;
const LONGEST_HINT = 3_600_000;

/**
 * Where a stream begins after a pause that is too long for it, as a gateway gives no stream from so far back; `undefined`
 * where it is not. What lies before is `missedCandles`.
 */
export function startAfterLongPause({ rules }: CandleWatch, since: number, now: number): number | undefined {
  const { intervals } = rules;
  const running = intervals.start(now);
  const start = intervals.shift(running, -PIECE);
  return intervals.shift(since, PIECE) < start ? start : undefined;
}

/**
 * What a long pause has missed of `[from, to)`, out of the source's history, piece by piece: all of it is final. A failure
 * ends it only where it would end a poll.
 */
export function missedCandles(
  source: PairSource,
  { series, weekStart, fillGaps, whenMissing, rules }: CandleWatch,
  { from: start, to: end }: Span,
  scheduler: SchedulerLike,
): Observable<CandleEvent> {
  const { intervals } = rules;
  const read = (span: Span) => {
    const missing = new MissingPair(whenMissing, scheduler.now());
    return defer(() => {
      const abort = new AbortController();
      const candles = source.history({ ...series, ...span, weekStart }, { signal: abort.signal });
      return from(candles).pipe(finalize(() => abort.abort()));
    }).pipe(
      retry({
        delay: (error, failures) => {
          const wait = waitAfter(error, failures, missing, scheduler.now());
          return wait === undefined ? throwError(() => error) : timer(wait, scheduler);
        },
      }),
      map((candles) => ({ span, candles })),
    );
  };
  const piece = (begin: number) => {
    if (begin >= end) return EMPTY;
    return read({ from: begin, to: Math.min(end, intervals.shift(begin, PIECE)) });
  };
  return defer(() => {
    const filler = fillGaps ? new GapFiller(intervals) : undefined;
    return piece(start).pipe(
      expand(({ span }) => piece(span.to)),
      concatMap(({ span, candles }) => (filler === undefined ? candles : filled(filler, span, candles))),
      map((candle) => {
        const now = scheduler.now();
        const lateBy = lateness(now, dueAt(rules, candle.timestamp, "final", true));
        return frozenEvent("new", candle, "final", 0, false, lateBy, now, series);
      }),
    );
  });
}

function filled(filler: GapFiller, { from, to }: Span, candles: readonly Candle[]): readonly Candle[] {
  const changes = candles.map((candle) => ({ type: "new", candle, status: "final", revision: 0 }) as const);
  const step = { changes, finalUntil: to, coveredFrom: from, coveredUntil: to };
  return [...filler.fill(step)].map(({ candle }) => candle);
}

/** How long to wait after so many failures in a row, in ms; `undefined` where no other attempt can help. */
function waitAfter(error: unknown, failures: number, missing: MissingPair, now: number): number | undefined {
  if (!(error instanceof PairstreamError) || error instanceof InvalidInputError || isFatal(error, true))
    return undefined;
  if (isNotFound(error)) {
    missing.miss(now);
    return missing.isOver ? undefined : missing.asksAgainAt(now, now) - now;
  }
  const wait = Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** (failures - 1));
  const hint = error instanceof RateLimitError ? (error.retryAfter ?? 0) : 0;
  return Math.max(wait, Math.min(hint, LONGEST_HINT));
}
