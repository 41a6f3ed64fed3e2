import { meanSpread, type Spread } from "./rounds.js";

/** How much slower than the saved ratio a ratio may be. */
export const TOLERANCE = 1.15;

/** Two times that were taken side by side: of one contestant, or the mean of all rows of a contestant. */
export interface Ratio extends Spread {
  name: string;
  /** Whether ours is what is divided, so that less is better. */
  isCost: boolean;
}

/** A ratio that has become worse. */
export interface Drift {
  name: string;
  was: number;
  is: number;
  /** How many times as slow as it was. */
  slower: number;
}

/**
 * The ratios among the figures of a bench, as they are saved. Whatever has a `ratio` and says whether it is a cost
 * (`isCost`, `isFloor`) is one; rows of one contestant count as one, because each by itself depends on how the engine
 * happens to compile it. Those of wrong results are left out.
 */
export function ratiosIn(results: object): Ratio[] {
  const rows = new Map<string, Omit<Ratio, "name">[]>();
  for (const { name, ...ratio } of allIn(results, [])) rows.set(name, [...(rows.get(name) ?? []), ratio]);
  return [...rows].map(([name, all]) => ({ name, isCost: all[0]!.isCost, ...meanSpread(all) }));
}

/**
 * Which ratios are past the tolerance, the worst first. A ratio whose rounds still reach into the saved ones has not
 * moved. What only one side has is not compared.
 */
export function driftsOf(saved: readonly Ratio[], now: readonly Ratio[]): Drift[] {
  const drifts = now.flatMap((is): Drift[] => {
    const was = saved.find(({ name }) => name === is.name);
    if (was === undefined) return [];
    const slower = is.isCost ? is.median / was.median : was.median / is.median;
    const isApart = is.isCost ? is.low > was.high : is.high < was.low;
    return slower > TOLERANCE && isApart ? [{ name: is.name, was: was.median, is: is.median, slower }] : [];
  });
  return drifts.sort((one, other) => other.slower - one.slower);
}

function allIn(value: unknown, path: readonly string[]): Ratio[] {
  if (typeof value !== "object" || value === null) return [];
  if (Array.isArray(value)) return value.flatMap((each) => allIn(each, path));
  const { name, mode, contestant, ratio, isCost, isFloor, wrong } = value as Readonly<
    Record<string, unknown>
  >;
  const own = [mode, contestant ?? name].filter((each) => typeof each === "string") as string[];
  const kind = isCost ?? isFloor;
  if (typeof kind !== "boolean") {
    return Object.entries(value).flatMap(([key, each]) => {
      const isList = typeof each === "object" && each !== null;
      return isList ? allIn(each, [...path, ...(own.length > 0 ? own : [key])]) : [];
    });
  }
  if (wrong !== undefined && wrong !== null) return [];
  return [{ ...(ratio as Spread), name: [...path, ...own].join(", "), isCost: kind }];
}
