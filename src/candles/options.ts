import { checkFlag, checkNumber, checkSeries, checkWeekStart, show, toInstant } from "../contract/input.js";
import type { DateLike, Series, WeekStart } from "../contract/model.js";
import { checkNames, namesOf, SERIES_NAMES } from "../contract/names.js";
import { InvalidInputError } from "../errors.js";
import { checkWhenMissing, type WhenMissing } from "../poll/missing.js";
import { plainPace } from "../poll/schedule.js";
import { DEFAULT_SETTLE, type Making, makingOf, mostIn } from "./making.js";
import { type CandleRules, MOST_WINDOW } from "./rules.js";

/** How to watch the candles of a series. */
export interface WatchOptions {
  /**
   * The start of the history, which comes first: a point in time, rounded down to the start of its interval, or a number
   * of candles before the running one, 1 to 100,000. Default: no history; the stream begins with the running interval.
   */
  since?:
    | DateLike
    | {
        /** The number of candles, a whole number from 1 to 100,000. */
        candles: number;
      };
  /**
   * The time between two polls, in ms, at least 250, counted from the start of the running interval. There is always one
   * poll after its end; `"close"`: only that one. Default: the length of the timeframe, at most 60,000.
   */
  every?: number | "close";
  /** How long after the end of an interval to poll, in ms, so that its swaps are indexed: 0 to 60 intervals of
   * the timeframe that the service has, at most an hour; default 1,000. */
  settle?: number;
  /**
   * How many intervals before the running one are read again by every poll, 0 to 900; default 2. Where the service has only
   * a shorter timeframe: as many as 900 of its intervals hold, the running one included.
   */
  revisionWindow?: number;
  /**
   * Whether to add flat candles (volume 0, swaps 0) for covered intervals without swaps, from the first known candle on;
   * default false. A number of candles in `since` counts those with swaps alone.
   */
  fillGaps?: boolean;
  /** Where weeks begin; default `"monday"`. */
  weekStart?: WeekStart;
  /**
   * What to do while the service does not know the pair and answers 404, as it does for young pairs. `"fail"`, the default:
   * polls as usual, at most half a minute apart, and errors after three such answers, if the first is at least a minute ago.
   * `"wait"`: polls again after a minute, then after twice as long each time, up to an hour, without end. Each subscriber
   * has its own. It holds until the first successful answer: after that a 404 is a temporary failure. An answer of which
   * nothing can be read counts as a 404 does.
   */
  whenMissing?: "fail" | "wait";
}

/** Checked options: the poll that they need, and the subscriber's own view of it. */
export interface CandleWatch extends Making {
  /** The plain pace: the same for all that poll at the same instants. */
  readonly every: number | "close";
  /** The start of an interval, or a number of candles before the running one. */
  readonly since: number | { readonly candles: number } | undefined;
  readonly fillGaps: boolean;
  readonly whenMissing: WhenMissing;
  /** Same for all watches that one poll can serve. */
  readonly pollKey: string;
}

/** Every poll reads what has not settled yet. */
const LONGEST_SETTLE = 3_600_000;
/** The longest history that is asked for by its number of candles. */
export const MOST_CANDLES = 100_000;
const LONGEST_SETTLE_INTERVALS = 60;
const LONGEST_DEFAULT_EVERY = 60_000;
const SHORTEST_EVERY = 250;

export const WATCH_NAMES = /* @__PURE__ */ namesOf<WatchOptions>({
  since: true,
  every: true,
  settle: true,
  revisionWindow: true,
  fillGaps: true,
  weekStart: true,
  whenMissing: true,
});

/** Checks what a user has asked to watch; throws an `InvalidInputError` that says what is allowed. */
export function checkWatch(options: Series & WatchOptions): CandleWatch {
  const series = checkSeries(options, [...SERIES_NAMES, ...WATCH_NAMES]);
  const weekStart = checkWeekStart(options.weekStart);
  const { rules, served } = makingOf(series, weekStart);
  const { intervals } = rules;
  const pace = checkEvery(options.every, Math.min(intervals.shortest, LONGEST_DEFAULT_EVERY));
  const longestSettle = Math.min(LONGEST_SETTLE, LONGEST_SETTLE_INTERVALS * served.rules.intervals.shortest);
  const settle = checkNumber("settle", options.settle ?? DEFAULT_SETTLE, {
    min: 0,
    max: longestSettle,
    unit: "ms",
  });
  const longestWindow = longestWindowOf(served.rules);
  const revisionWindow = checkNumber("revisionWindow", options.revisionWindow ?? Math.min(2, longestWindow), {
    min: 0,
    max: longestWindow,
    integer: true,
  });
  const every = plainPace(intervals, pace, settle);
  const weeks = series.timeframe.endsWith("w") ? weekStart : "";
  return {
    ...makingOf(series, weekStart, settle, revisionWindow),
    every,
    since: checkSince(options.since, intervals.start),
    fillGaps: checkFlag("fillGaps", options.fillGaps),
    whenMissing: checkWhenMissing(options.whenMissing),
    pollKey: [pollPrefixOf(series), every, settle, revisionWindow, weeks].join(" "),
  };
}

/** What the key of every poll of a series begins with. */
export function pollPrefixOf({ network, pairAddress, timeframe, currency }: Series): string {
  return `candles ${network} ${pairAddress} ${timeframe} ${currency} `;
}

/** A poll reads the running interval and those of the window in one page, or nearly so. */
function longestWindowOf({ intervals, frames }: CandleRules): number {
  return frames === undefined
    ? MOST_WINDOW
    : Math.max(0, Math.floor(MOST_WINDOW / mostIn(frames, intervals)) - 1);
}

function checkEvery(every: number | "close" | undefined, standard: number): number | "close" {
  if (every === undefined || every === "close") return every ?? standard;
  if (typeof every === "number" && Number.isFinite(every) && every >= SHORTEST_EVERY) return every;
  const allowed = `"close", or a number of ms of at least ${SHORTEST_EVERY}`;
  throw new InvalidInputError("every", allowed, `is ${show(every)}`);
}

/** Where candles begin. `floor`: gives the start of an instant's interval. Throws an `InvalidInputError`. */
export function checkSince(
  since: WatchOptions["since"],
  floor: (instant: number) => number,
): CandleWatch["since"] {
  if (since === undefined) return undefined;
  if (typeof since === "object" && since !== null && !(since instanceof Date)) {
    checkNames(since, ["candles"], "since.");
    return {
      candles: checkNumber("since.candles", since.candles, { min: 1, max: MOST_CANDLES, integer: true }),
    };
  }
  if (typeof since !== "number" || since <= 0 || since > MOST_CANDLES)
    return floor(toInstant("since", since));
  const allowed = `a later instant, or { candles: ${since} } for so many candles`;
  throw new InvalidInputError("since", allowed, `is ${since}, in ms an instant of 1970`);
}
