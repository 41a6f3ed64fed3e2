import type { CandleWatch } from "../../candles/options.js";
import type { Candle } from "../../contract/model.js";
import type { Intervals } from "../../timeframe.js";

/** Where candles begin: with the running interval, at an instant, or so many candles before the running one. */
export type Since = CandleWatch["since"];

/** What a reach is counted by. */
export interface ReachRules {
  readonly intervals: Intervals;
  readonly fillGaps: boolean;
  /** The most candles of a history. */
  readonly most: number;
}

/** Histories begin so many intervals back, or twice, four times … as many, so that few of them are read. */
const LEAST = 10;

/** The candles before the running interval that count for a number of candles. */
function counted(
  candles: readonly Candle[],
  running: number,
  { fillGaps }: Pick<ReachRules, "fillGaps">,
): readonly Candle[] {
  return candles.filter(({ timestamp, swaps }) => timestamp < running && (swaps > 0 || !fillGaps));
}

/** Where a viewer's candles begin. `candles`: all that there are, ascending. `now`: when it came. */
export function startOf(
  since: Since,
  candles: readonly Candle[],
  now: number,
  rules: Omit<ReachRules, "most">,
): number {
  if (typeof since === "number") return since;
  const running = rules.intervals.start(now);
  if (since === undefined) return running;
  return counted(candles, running, rules).at(-since.candles)?.timestamp ?? 0;
}

/** What a stream has told: all candles that are held, ascending, and the newest that was forgotten. */
export interface Told {
  readonly candles: readonly Candle[];
  readonly after: number;
}

/** Whether a stream that began at `reach` is enough for `since`. `told`: absent while it is still telling its history. */
export function covers(
  reach: Since,
  since: Since,
  told: Told | undefined,
  now: number,
  rules: ReachRules,
): boolean {
  if (since === undefined) return true;
  if (told === undefined || told.after === -Infinity) {
    if (typeof since === "number" && typeof reach === "number" && reach <= since) return true;
    // So many intervals hold no more candles.
    if (typeof reach === "object" && intervalsBack(since, now, rules) <= reach.candles) return true;
    if (told === undefined) return false;
  }
  const { candles } = told;
  if (typeof since === "number") return (candles[0]?.timestamp ?? Infinity) <= since;
  return counted(candles, rules.intervals.start(now), rules).length >= since.candles;
}

/** Where a stream begins that covers both: rounded, so that those who ask for about the same cause one history. */
export function furtherReach(
  reach: Since,
  since: Since,
  isTold: boolean,
  now: number,
  rules: ReachRules,
): Since {
  const back = (one: Since) => intervalsBack(one, now, rules);
  const rounded = Math.min(rules.most, LEAST * 2 ** Math.max(0, Math.ceil(Math.log2(back(since) / LEAST))));
  const { intervals } = rules;
  const wide: Since =
    typeof since === "object"
      ? { candles: rounded }
      : since && Math.min(since, intervals.shift(intervals.start(now), -rounded));
  // What was told is not enough, so this lies before it.
  if (isTold || reach === undefined) return wide;
  if (typeof reach === "number" && typeof wide === "number") return Math.min(reach, wide);
  return { candles: Math.min(rules.most, Math.max(back(reach), rounded)) };
}

/** How many intervals of history a stream begins with, at most. */
export function intervalsBack(
  since: Since,
  now: number,
  { intervals }: Pick<ReachRules, "intervals">,
): number {
  if (since === undefined) return 0;
  return typeof since === "number" ? intervals.count(since, now) : since.candles;
}
