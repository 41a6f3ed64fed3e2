import type { SchedulerLike } from "rxjs";
import type { CandleEvent } from "../candles/event.js";
import { dueAt } from "../candles/lateness.js";
import type { CandleWatch } from "../candles/options.js";
import { ReaderFold } from "../candles/reader-fold.js";

/** How many candles are held: many more than can still change. */
const KEEP = 10_000;

/** What a subscriber has been told of a series. After a pause its stream begins anew, and the subscriber is told the difference. */
export class ToldCandles {
  readonly #watch: CandleWatch;
  readonly #scheduler: SchedulerLike;
  readonly #fold: ReaderFold;
  /** Of what was told before a pause, that which is as old as this, or older, is not in doubt. */
  #sure = Infinity;
  #observedAt = 0;
  #start: number | undefined;

  constructor(watch: CandleWatch, scheduler: SchedulerLike) {
    this.#watch = watch;
    this.#scheduler = scheduler;
    this.#fold = new ReaderFold(watch.series, KEEP, () => scheduler.now());
  }

  /** Where the stream has to begin after a pause; `undefined` where nothing is told: as its options say. */
  get since(): number | undefined {
    const { since, fillGaps } = this.#watch;
    const rows = this.#fold.rows();
    // Flat candles follow from one that was traded.
    const anchor = rows.findLast(({ status, candle: { volume, swaps } }) => {
      return status === "final" && (!fillGaps || volume !== 0 || swaps !== 0);
    });
    const first = rows[0]?.candle.timestamp;
    return anchor?.candle.timestamp ?? (typeof since === "number" ? first && since : first);
  }

  /** Where the stream has begun that runs now, or will after the pause; `undefined`: as its options say. */
  get start(): number | undefined {
    return this.#start;
  }

  /** Whether there are candles that the stream has not told again. */
  get isInDoubt(): boolean {
    return this.#fold.unseen({ from: this.#sure }).length > 0;
  }

  /** Notes that the stream begins, at `start`, and what comes before it with `since`, where that is told. */
  begin(start = this.since): void {
    this.#start = start;
    this.#sure = this.since ?? Infinity;
    this.#fold.doubt();
  }

  /** Notes that the stream has been left. */
  pause(): void {
    this.#start = this.since;
  }

  /** What the subscriber is to be told for an event of the stream. */
  take(event: CandleEvent): readonly CandleEvent[] {
    const { type, candle, status, observedAt } = event;
    const { timestamp } = candle;
    this.#observedAt = observedAt;
    // Nothing becomes final where one before it may be absent by mistake.
    const isFinal = status === "final" && type !== "removed";
    const gone = isFinal ? this.settle(timestamp) : [];
    const known = this.#fold.get(timestamp);
    // Told as closed already, it is due as final; the stream counts from when it should have been closed.
    const due = (isFirstClose: boolean) => dueAt(this.#watch.rules, timestamp, status, isFirstClose);
    const early = isFinal && type === "new" && known?.status === "closed" ? due(false) - due(true) : 0;
    const next = { ...event, revision: 0, lateBy: Math.max(0, event.lateBy - early) };
    const told = this.#fold.apply(next, this.#scheduler.now());
    return told === undefined ? gone : [...gone, told];
  }

  /** Every interval before that instant has been looked at twice: what was not told again by now is gone. */
  settle(coveredUntil: number): readonly CandleEvent[] {
    const until = this.#watch.rules.intervals.start(coveredUntil);
    const observedAt = Math.max(this.#observedAt, coveredUntil);
    const gone = this.#fold.settle({ from: this.#sure, until }, observedAt, false);
    this.#sure = Math.max(this.#sure, until);
    return gone;
  }
}
