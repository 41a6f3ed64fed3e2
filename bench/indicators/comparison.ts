import type { Contestant } from "./contestants.js";
import type { Rows } from "./rows.js";

/** What begins otherwise has faded by this candle. */
const SETTLED = 1_000;
/** How far from the loop a number may lie, of its size. */
const TOLERANCE = 1e-6;

/** The numbers of every row, by column. */
export function resultsOf({ run, numbersOf }: Contestant, rows: Rows): number[][] {
  const kept = new Array<unknown>(2 ** Math.ceil(Math.log2(rows.candles.length))).fill(undefined);
  run(rows, kept);
  const results = kept.slice(0, rows.candles.length);
  return results.map((result) => (result === undefined || result === null ? [] : [...numbersOf(result)]));
}

/** How a contestant's results differ from the right ones, in words; `undefined` where they do not. */
export function differenceOf(
  results: readonly number[][],
  right: readonly number[][],
  { step }: Rows,
  settled = SETTLED,
): string | undefined {
  const begin = settled * step;
  const width = Math.max(...results.map((numbers) => numbers.length));
  let wrong = 0;
  let worst = 0;
  for (let column = 0; column < Math.max(1, width); column += 1) {
    const level = Math.max(...right.slice(begin).map((numbers) => Math.abs(numbers[column]!)));
    for (let at = begin; at < right.length; at += 1) {
      const expected = right[at]![column]!;
      const distance = Math.abs((results[at]![column] ?? Number.NaN) - expected);
      const relative = distance / Math.max(Math.abs(expected), 1e-3 * level);
      if (relative <= TOLERANCE) continue;
      wrong += 1;
      worst = Math.max(worst, Number.isNaN(relative) ? Number.POSITIVE_INFINITY : relative);
    }
  }
  if (wrong === 0) return undefined;
  const share = percent(wrong / ((right.length - begin) * Math.max(1, width)));
  return `${share} of its numbers are off, ${worst === Number.POSITIVE_INFINITY ? "some missing" : `the worst by ${percent(worst)}`}`;
}

function percent(share: number): string {
  return `${Number((100 * share).toPrecision(2))} %`;
}
