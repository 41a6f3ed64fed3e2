import type { Candle, CandleEvent, FeedStatus, PairSource, SniperLook } from "pairstream";
import {
  catchError,
  defer,
  EMPTY,
  firstValueFrom,
  merge,
  Observable,
  repeat,
  retry,
  Subject,
  type Subscription,
  share,
  takeUntil,
  tap,
  timer,
} from "rxjs";
import type { Choices, Selection } from "../gateway.js";
import { type ValuedEvent, withValues } from "./indicators.js";
import { MINUTE } from "./price-path.js";

/** ms until a stream that has failed for good is tried again. */
const PAUSE = 5_000;
const LONGEST_PAUSE = MINUTE;
/** How often what lies behind the header is read anew, in ms; between, live candles carry it on. */
const REFRESH = 5 * MINUTE;

/** Asks for at most `count` candles before an instant. */
type OlderFrom = (before: number, count: number) => Promise<readonly Candle[]>;

/** What becomes of what is followed. */
export interface Follower {
  /** Before the first event, and before all of them come again. */
  begin(): void;
  draw(events: Observable<CandleEvent>, looks: Observable<SniperLook>, olderFrom: OlderFrom): Subscription;
  candle(event: ValuedEvent): void;
  snipers(look: SniperLook): void;
  status(status: FeedStatus): void;
  /** A stream has ended with an error; it is tried again. */
  failed(error: unknown): void;
}

/** Follows one series until it is unsubscribed; nothing that fails ends it. */
export function follow(
  source: PairSource,
  { network, watch, snipers }: Choices,
  chosen: Selection,
  follower: Follower,
): Observable<unknown> {
  const series = { network, ...chosen };
  const options = { ...series, ...watch };
  let hasSourceFailed = false;
  let finalUntil = Number.NEGATIVE_INFINITY;
  return defer(() => {
    hasSourceFailed = false;
    finalUntil = Number.NEGATIVE_INFINITY;
    follower.begin();
    const failed = () => {
      hasSourceFailed = true;
    };
    const candles = source.candles(options).pipe(tap({ error: failed }), tap(expectOrder), share());
    const statuses = source.status(options).pipe(tap({ error: failed }));
    // A pair without a sniper report is a chart without a table.
    const { pairAddress } = chosen;
    const reports = snipers === undefined ? EMPTY : source.sniperReport({ pairAddress, ...snipers });
    const looks = reports.pipe(
      catchError(() => EMPTY),
      share(),
    );
    return merge(
      new Observable(() => {
        const left = new Subject<void>();
        // What it fails with is told below.
        const events = candles.pipe(catchError(() => EMPTY));
        const drawing = follower.draw(events, looks, (to, count) => older(to, count, left));
        drawing.add(() => left.next());
        return drawing;
      }),
      candles.pipe(
        withValues,
        tap((event) => follower.candle(event)),
      ),
      looks.pipe(tap((look) => follower.snipers(look))),
      statuses.pipe(tap((status) => follower.status(status))),
    );
  }).pipe(
    retry({
      delay: (error: unknown) => {
        if (!hasSourceFailed) return timer(0);
        follower.failed(error);
        return timer(PAUSE);
      },
    }),
  );

  /** A gateway that has begun anew may correct what was final, which the indicators leave out: the page begins anew, too. */
  function expectOrder({ type, status, candle: { timestamp } }: CandleEvent): void {
    if (timestamp <= finalUntil) throw new Error("a final candle has changed");
    if (status === "final" && type !== "removed") finalUntil = timestamp;
  }

  /** Waits for a gateway that is away: the badge says so already, and the chart shows what it has. */
  function older(to: number, count: number, left: Observable<void>): Promise<readonly Candle[]> {
    const asked = patiently(() => source.history({ ...series, to, count })).pipe(takeUntil(left));
    return firstValueFrom(asked, { defaultValue: [] });
  }
}

/** The last day in candles of five minutes, and the last hour in candles of one, now and then. */
export function followPast(
  source: PairSource,
  { network }: Choices,
  chosen: Selection,
): Observable<readonly [day: readonly Candle[], hour: readonly Candle[]]> {
  const read = (timeframe: "1min" | "5min", count: number) =>
    source.history({ network, ...chosen, timeframe, count });
  return patiently(() => Promise.all([read("5min", 289), read("1min", 61)])).pipe(
    repeat({ delay: () => timer(REFRESH) }),
  );
}

/** Asks until there is an answer, less and less often: that a gateway is away, the badge says. */
function patiently<T>(ask: () => Promise<T>): Observable<T> {
  return defer(ask).pipe(
    retry({ delay: (_, times) => timer(Math.min(LONGEST_PAUSE, PAUSE * 2 ** (times - 1))) }),
  );
}
