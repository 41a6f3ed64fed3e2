import {
  applyCandleEvent,
  type Candle,
  type CandleEvent,
  type FeedStatus,
  type PairSource,
} from "pairstream";
import {
  concat,
  defer,
  finalize,
  map,
  mergeMap,
  NEVER,
  of,
  type SchedulerLike,
  Subject,
  startWith,
  timer,
} from "rxjs";
import { SERIES } from "../../candles/minute-candles.js";

const LIVE: FeedStatus = { state: "live", failures: 0 };

/** A source that tells events as they are given to it. Whoever comes later gets the newest candles first. */
export class TestSource {
  readonly fold = new Map<number, CandleEvent>();
  /** Streams of candles and statuses that run. */
  running = 0;
  readonly asked: { to: number; count: number }[] = [];
  readonly #events = new Subject<CandleEvent>();
  readonly #clock: SchedulerLike;
  readonly #latency: () => number;

  constructor(clock: SchedulerLike, latency: () => number = () => 10) {
    this.#clock = clock;
    this.#latency = latency;
  }

  emit(event: CandleEvent): void {
    if (event.type === "removed") this.fold.delete(event.candle.timestamp);
    else this.fold.set(event.candle.timestamp, event);
    this.#events.next(event);
  }

  fail(error: unknown): void {
    this.#events.error(error);
  }

  candles(): readonly Candle[] {
    const candles = new Map<number, Candle>();
    for (const event of this.fold.values()) applyCandleEvent(candles, event);
    return [...candles.values()].sort((a, b) => a.timestamp - b.timestamp);
  }

  readonly source: PairSource = {
    candles: ({ since }) =>
      defer(() => {
        this.running += 1;
        const newest = () => {
          const { candles: count } = since as { candles: number };
          const rows = [...this.fold.values()].sort((a, b) => a.candle.timestamp - b.candle.timestamp);
          return concat(of(...rows.slice(-count).map(asNew)), this.#events);
        };
        return timer(this.#latency(), this.#clock).pipe(
          mergeMap(newest),
          finalize(() => {
            this.running -= 1;
          }),
        );
      }),
    status: () =>
      defer(() => {
        this.running += 1;
        return concat(timer(this.#latency(), this.#clock), NEVER).pipe(
          // Not before the candles.
          mergeMap(() => timer(1_000, this.#clock)),
          map(() => LIVE),
          startWith<FeedStatus>({ state: "starting", failures: 0 }),
          finalize(() => {
            this.running -= 1;
          }),
        );
      }),
    snipers: () => NEVER,
    sniperReport: () => NEVER,
    history: async ({ to, count = 1_000 }) => {
      const until = to === undefined ? Number.POSITIVE_INFINITY : new Date(to).getTime();
      this.asked.push({ to: until, count });
      await new Promise<void>((resolve) => {
        this.#clock.schedule(() => resolve(), this.#latency());
      });
      return this.candles()
        .filter(({ timestamp }) => timestamp < until && this.fold.get(timestamp)!.status !== "open")
        .slice(-count);
    },
  };
}

function asNew(event: CandleEvent): CandleEvent {
  const { candle, status, revision, observedAt, series } = event;
  return { type: "new", candle, status, revision, live: false, lateBy: 0, observedAt, series };
}

/** An event without its candle: a new one that is final, of the past. */
export const NEW_FINAL = {
  type: "new",
  status: "final",
  revision: 0,
  live: false,
  lateBy: 0,
  observedAt: 0,
  series: SERIES,
} as const;
