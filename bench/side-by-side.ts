import type { GoalResult } from "./bench.js";
import { row, spread } from "./indicators/figures.js";
import { ratioOf, type Spread, type Stopwatch, spreadOf, timeByTurns, type Work } from "./rounds.js";

/** Who takes part; the first one is this package. */
export interface Contestant {
  name: string;
  work: Work;
  /** Whether it does less than ours does, and shows what a machine has to do at least; else it is a peer. */
  isFloor?: boolean;
}

/** What came out for one of them. */
export interface Timed {
  name: string;
  isFloor: boolean;
  /** Nanoseconds a call. */
  time: Spread;
  /** How many times as long as a floor ours takes, or as ours a peer. */
  ratio: Spread;
  /** Nanoseconds a call, round by round. */
  rounds: number[];
}

export async function sideBySide(
  contestants: readonly Contestant[],
  rounds: number,
  stopwatch?: Stopwatch,
): Promise<Timed[]> {
  const works = contestants.map(({ work }) => work);
  const times = await timeByTurns(works, rounds, stopwatch);
  const own = times[0]!;
  return contestants.map(({ name, isFloor = false }, at) => ({
    name,
    isFloor,
    time: spreadOf(times[at]!),
    ratio: isFloor ? ratioOf(own, times[at]!) : ratioOf(times[at]!, own),
    rounds: times[at]!.map((time) => +time.toPrecision(5)),
  }));
}

/** One line a contestant; `shown` gives its time in the unit that the head names. */
export function tableOf(
  timed: readonly Timed[],
  unit: string,
  shown: (nanoseconds: Spread) => string,
): string {
  const lines = timed.map(({ name, isFloor, time, ratio }, at) => {
    const against = isFloor
      ? `ours takes ${spread(ratio)} times as long`
      : `takes ${spread(ratio)} times as long as ours`;
    return row([name, shown(time), at === 0 ? "" : against]);
  });
  return [row(["", unit, ""]), "|---|---:|---|", ...lines].join("\n");
}

/** Times as a multiple of a nanosecond. */
export function inUnitsOf(nanoseconds: number, digits = 1): (time: Spread) => string {
  return ({ median, low, high }) =>
    spread({ median: median / nanoseconds, low: low / nanoseconds, high: high / nanoseconds }, digits);
}

/** A ratio beside its goal; `against`: as in "at most 1.5 times …". */
export function ratioGoal(
  name: string,
  ratio: Spread,
  limit: { readonly most: number } | { readonly least: number },
  against: string,
): GoalResult {
  const isUpper = "most" in limit;
  const bound = isUpper ? limit.most : limit.least;
  return {
    row: name,
    goal: `at ${isUpper ? "most" : "least"} ${bound} times ${against}`,
    figure: spread(ratio),
    met: isUpper ? ratio.median <= bound : ratio.median >= bound,
  };
}

/** What every table of times says about itself. */
export function aboutRounds(rounds: number): string {
  return `Each number is the median of ${rounds} rounds, and the brackets hold the middle half of them; all ran by turns in one process.`;
}
