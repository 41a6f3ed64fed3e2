import { merge, Subscription, tap } from "rxjs";
import type { CandleEvent } from "../../candles/event.js";
import { CandleFold } from "../../candles/fold.js";
import { checkWatch, type WatchOptions } from "../../candles/options.js";
import type { CandleRules } from "../../candles/rules.js";
import type { Series } from "../../contract/model.js";
import type { FeedStatus } from "../../feed-status.js";
import { coveredFromStatus } from "../wire/status.js";
import { Feed, type FeedOptions, type Viewer } from "./feed.js";
import { covers, furtherReach, type ReachRules, type Since, startOf, type Told } from "./reach.js";
import { writeCandle, writeMessage } from "./wire.js";

/** How many candles are kept: twice the longest history, and at least and at most so many. */
const KEPT = { least: 1_000, most: 100_000 };

interface CandleFeedOptions extends FeedOptions {
  /** What to watch; each viewer has a `since` of its own. */
  readonly options: Series & Omit<WatchOptions, "since">;
  /** The most candles of a history. */
  readonly most: number;
}

/** One subscription to the source, from its history on. */
interface Run {
  readonly reach: Since;
  readonly epoch: number;
  readonly streams: Subscription;
  /** The oldest candle that it has told, and the newest that was forgotten before the next run began. */
  first: number;
  after: number;
  /** Whether it has told its history. */
  isSettled: boolean;
  /** Whether it has told all that there was when it began. */
  isThrough: boolean;
  status: FeedStatus | undefined;
}

/**
 * The candles of a series, for viewers who begin anywhere. One who asks for more history than there is makes the source begin
 * anew, further back; what that tells again is nothing new to the others.
 */
export class CandleFeed extends Feed {
  readonly #options: CandleFeedOptions;
  readonly #rules: ReachRules & CandleRules;
  readonly #fold: CandleFold;
  /** The last run that has told its history, and the last one of all. */
  #settled: Run | undefined;
  #latest: Run | undefined;
  #observedAt = 0;
  /** How many candles are kept once a run has told its history. */
  #kept = KEPT.least;

  constructor(options: CandleFeedOptions) {
    super(options);
    const { rules, fillGaps, series } = checkWatch(options.options);
    this.#options = options;
    this.#rules = { ...rules, fillGaps, most: options.most };
    // The clock stands still: how late events are is worked out by each viewer, with a clock of its own.
    this.#fold = new CandleFold(series, KEPT.least, () => 0);
  }

  get version(): number {
    return this.#fold.version;
  }

  want({ since, cameAt }: Viewer): void {
    const latest = this.#latest;
    if (this.ending !== undefined || (latest !== undefined && this.#covers(latest, since, cameAt))) return;
    const now = this.#nowAt(cameAt);
    // The first one gets what it would get of the source itself.
    const reach = latest && furtherReach(latest.reach, since, latest.isSettled, now, this.#rules);
    this.#run(latest === undefined ? since : reach);
  }

  startFor(viewer: Viewer): number | undefined {
    const { since, cameAt } = viewer;
    const settled = this.#settled;
    const isEnough = () => settled !== undefined && !viewer.isWaiting && this.#covers(settled, since, cameAt);
    if (settled === undefined || (this.#latest !== settled && !isEnough())) {
      viewer.isWaiting = true;
      return undefined;
    }
    const candles = this.#fold.rows().map(({ candle }) => candle);
    return startOf(since, candles, this.#nowAt(cameAt), this.#rules);
  }

  protected statusFor({ since }: Viewer, start: number | undefined): FeedStatus | undefined {
    const { status, reach } = (start === undefined ? this.#latest : this.#settled) ?? {};
    // Where nobody has asked for a history, the stream covers what the source says.
    const isOwn = since === undefined && reach === undefined;
    return status === undefined || start === undefined || isOwn
      ? status
      : coveredFromStatus(status, this.#from(start));
  }

  snapshot(start: number): readonly string[] {
    const from = this.#from(start);
    const { keep } = this.#fold;
    const { settle, revisionWindow } = this.#rules;
    const facts = { from, keep, observedAt: this.#observedAt, now: this.now, settle, revisionWindow };
    const opening = writeMessage("snapshot", facts);
    return [opening, ...this.#fold.rows(from).map((row) => this.textOf(row, writeCandle))];
  }

  since(version: number, start: number): readonly string[] | undefined {
    return this.#fold.since(version, start)?.map((row) => this.textOf(row, writeCandle));
  }

  /** Where the candles of a viewer begin that are held. */
  #from(start: number): number {
    return Math.max(start, this.#fold.after + 1);
  }

  /** The service's clock as far as it is known, when the channel's own showed that. */
  #nowAt(own: number): number {
    const now = this.clock.at(own);
    return Number.isFinite(now) ? now : own;
  }

  #covers(run: Run, since: Since, cameAt: number): boolean {
    const told: Told | undefined = run.isSettled
      ? {
          candles: this.#fold.rows().map(({ candle }) => candle),
          after: Math.max(run.after, this.#fold.after),
        }
      : undefined;
    return covers(run.reach, since, told, this.#nowAt(cameAt), this.#rules);
  }

  #run(reach: Since): void {
    const { source, options } = this.#options;
    if (this.#latest !== this.#settled) this.#latest?.streams.unsubscribe();
    if (this.#settled !== undefined) {
      this.#settled.after = Math.max(this.#settled.after, this.#fold.after);
    }
    // How long the history is shows once it is told: with filled gaps it may hold many times as many candles as it counts.
    this.#fold.widen(KEPT.most);
    const streams = new Subscription();
    const epoch = this.#fold.doubt();
    const untold = { isSettled: false, isThrough: false, status: undefined };
    const run: Run = { reach, epoch, streams, first: Infinity, after: -Infinity, ...untold };
    this.#latest = run;
    const watched = reach === undefined ? options : { ...options, since: reach };
    const told = () =>
      merge(
        source.candles(watched).pipe(tap((event) => this.#takeCandle(run, event))),
        source.status(watched).pipe(tap((status) => this.#takeStatus(run, status))),
      );
    this.follow(streams, told, () => {
      if (run !== this.#latest) return false;
      this.#settle(run, Infinity);
      return true;
    });
  }

  #takeCandle(run: Run, event: CandleEvent): void {
    const { candle, status, live, lateBy, observedAt } = event;
    const now = this.#options.scheduler.now();
    this.clock.hear(observedAt, now);
    this.#observedAt = observedAt;
    run.first = Math.min(run.first, candle.timestamp);
    this.#fold.apply(event, this.clock.at(now), run.epoch);
    // After a history, a close may be live although the running candle is still to come.
    if (live && (status === "open" || lateBy === 0)) this.#settle(run, candle.timestamp);
  }

  #takeStatus(run: Run, status: FeedStatus): void {
    run.status = status;
    if (status.state === "live") this.#settle(run, Infinity);
  }

  /** Notes that the history was told, and what follows on it before `until`: what was not told again is gone. */
  #settle(run: Run, until: number): void {
    if (run.isThrough || run !== this.#latest) return;
    run.isThrough = until === Infinity;
    this.#fold.settle({ from: run.first, until }, this.#observedAt);
    if (run.isSettled) return;
    run.isSettled = true;
    this.#kept = Math.max(this.#kept, 2 * this.#fold.rows().length);
    this.#fold.resize(Math.min(this.#kept, KEPT.most));
    this.#settled?.streams.unsubscribe();
    this.#settled = run;
  }
}
