import { catchError, defer, exhaustMap, Subject, type Subscription, tap, timer } from "rxjs";
import type { Candle } from "../../contract/model.js";
import { report } from "./draw.js";

/** ms until one that failed is asked again, doubling; and the longest such pause. */
const PAUSE = 5_000;
const LONGEST_PAUSE = 60_000;

/**
 * Asks for older candles: once at a time, not while a failure is recent, and not past the beginning.
 *
 * `take` says how many candles it was given. `again`: what was refused for a while may be asked for again.
 */
export function olderCandles(
  ask: (before: number, count: number) => Promise<readonly Candle[]>,
  take: (candles: readonly Candle[], before: number) => number,
  again: () => void,
): { readonly subscription: Subscription; want(before: number, count: number): void } {
  const wants = new Subject<readonly [before: number, count: number]>();
  /** Nothing is older than this. */
  let beginning = -Infinity;
  let pause = PAUSE;
  const answers = wants.pipe(
    exhaustMap(([before, count]) =>
      defer(() => ask(before, count)).pipe(
        tap((candles) => {
          if (take(candles, before) === 0) beginning = before;
          pause = PAUSE;
        }),
        catchError((error: unknown) => {
          if (pause === PAUSE) report(error);
          const wait = timer(pause).pipe(tap(again));
          pause = Math.min(2 * pause, LONGEST_PAUSE);
          return wait;
        }),
      ),
    ),
  );
  return {
    subscription: answers.subscribe(),
    want: (before, count) => {
      if (before > beginning) wants.next([before, count]);
    },
  };
}
