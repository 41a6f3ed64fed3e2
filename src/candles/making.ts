import type { Series, Timeframe, WeekStart } from "../contract/model.js";
import { type Intervals, intervalsOf, servedTimeframe } from "../timeframe.js";
import type { CandleRules } from "./rules.js";

/** A candle counts as settled so long after its interval, in ms. */
export const DEFAULT_SETTLE = 1_000;

/** A series as it is shown, and the one of the service of which its candles are made: often the same. */
export interface Making {
  readonly series: Series;
  readonly weekStart: WeekStart;
  readonly rules: CandleRules;
  readonly served: {
    readonly series: Series<Timeframe>;
    readonly rules: CandleRules;
  };
}

/**
 * How the candles of a checked series are made; `settle` and `revisionWindow` are those of the rules that it is shown by. Default:
 * those of final candles.
 */
export function makingOf(
  series: Series,
  weekStart: WeekStart,
  settle = DEFAULT_SETTLE,
  revisionWindow = 0,
): Making {
  const timeframe = servedTimeframe(series.timeframe);
  const intervals = intervalsOf(series.timeframe, weekStart);
  const rules: CandleRules = { intervals, settle, revisionWindow };
  const served =
    timeframe === series.timeframe
      ? { series: series as Series<Timeframe>, rules }
      : {
          series: Object.freeze({ ...series, timeframe }),
          rules: { ...rules, intervals: intervalsOf(timeframe, weekStart), frames: intervals },
        };
  return { series, weekStart, rules, served };
}

/** The most intervals that one of `frames` holds. */
export function mostIn(frames: Intervals, { shortest }: Intervals): number {
  return Math.floor(frames.longest / shortest);
}
