import type { Series } from "../../../src/index.js";
import type { FeedPlan } from "../plan.js";
import type { Look } from "../reads.js";
import type { RunLog } from "../run-log.js";

export type SeriesName = Pick<Series, "pairAddress" | "timeframe" | "currency">;

/** What monitors need of a run beside its log. Instants are the run's clock where nothing else is said. */
export interface Context {
  /** Notes that a promise was broken. */
  breach(promise: number, what: string, at: number): void;
  /** Notes of a stay with candles of a timeframe whether it could be compared with the truth. */
  compared(timeframe: string, wasPossible: boolean): void;
  looksAt(feed: FeedPlan): readonly Look[];
  /** The looks at a series from which its candles may come: with a store those of earlier lives, too, as before all of this one. */
  answersOf(series: SeriesName): readonly Look[];
  /** The same looks as each who has read the series may know them: from when it came, those of its own life. */
  memoriesOf(series: SeriesName): readonly (readonly Look[])[];
  feedOf(series: string): FeedPlan | undefined;
  /** When a feed was found whose pair had not been known: `Infinity` where it still is not, `-Infinity` where it always was. */
  foundAt(feed: FeedPlan): number;
  /** The service's clock at an instant. */
  serviceClock(at: number): number;
  /** Whether no answer has lied about the time since some that agree, among those that the client has told of by then. */
  isTrusted(order: number): boolean;
  /** Whether it can know the time: its machine's clock has not been set just before, or answers have come since. */
  knowsTime(order: number): boolean;
  /** Whether it may take what a lie said, or the clock before it was set, for another machine that has answered of late. */
  mayBeMachine(order: number): boolean;
  /** The same of what copies say that hide their age. */
  mayBeOfCopies(order: number): boolean;
  /** How far a client may be wrong about the service's clock, ms. */
  readonly clockTolerance: number;
  /** The same once so many exchanges have been told of: of machines whose clocks differ it knows the one behind by then. */
  toleranceAt(order: number): number;
  /** What Dates, of whole seconds, had not told of the service's clock by then, ms. */
  untoldAt(order: number): number;
  /** How long after the end of all trouble a feed may need until it is well again, ms. */
  graceOf(feed: FeedPlan): number;
  sniperGrace(every: number): number;
  /**
   * The newest poll that was due so long ago that the next one is due too, by the service's clock. One that is due just before
   * an interval closes, nearer than `untold` of the time, ms, and a tenth of a second, is the same as the closing one.
   */
  newestDue(feed: FeedPlan, serviceNow: number, untold: number): { readonly at: number } | undefined;
  /** The oldest interval that may change at an instant of the service's clock. */
  changeableFrom(feed: FeedPlan, serviceNow: number): number;
  /** The start of the interval before which there are no swaps. */
  bornAt(feed: FeedPlan): number;
  isWatched(feed: FeedPlan, from: number, until: number): boolean;
  /** Whether somebody reads a range of a feed's series at an instant, which asks for histories alone. */
  isFetched(feed: FeedPlan, at: number): boolean;
  /** Whether a 429 or the rate limit holds requests back at an instant. */
  isThrottled(at: number): boolean;
  sleptWithin(from: number, until: number): boolean;
  clockWasSet(from: number, until: number): boolean;
}

/** Holds some of the promises against a run. */
export type Monitor = (log: RunLog, context: Context) => void | Promise<void>;
