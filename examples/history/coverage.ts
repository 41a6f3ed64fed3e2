import { intervalOf, type Timeframe } from "pairstream";

/** What intervals of these lengths are called; the others have no word of their own. */
const NAMES: { readonly [timeframe in Timeframe]?: string } = {
  "1s": "seconds",
  "1min": "minutes",
  "1h": "hours",
  "1d": "days",
  "1w": "weeks",
  "1M": "months",
};

/** In how many of the intervals of `[from, to)`, ms since the epoch, somebody traded, in a line. */
export function coverage(
  candles: number,
  timeframe: Timeframe,
  { from, to }: { from: number; to: number },
): string {
  const [had, all] = [candles, startsIn(timeframe, from, to)].map((count) => count.toLocaleString("en-US"));
  return `${had} of ${all} ${NAMES[timeframe] ?? `intervals of ${timeframe}`} had swaps\n`;
}

/** How many intervals begin in a range. */
function startsIn(timeframe: Timeframe, from: number, to: number): number {
  const { start, end } = intervalOf(timeframe, from);
  const first = start === from ? start : end;
  if (timeframe !== "1M") return Math.max(0, Math.ceil((to - first) / (end - start)));
  let count = 0;
  for (let at = first; at < to; at = intervalOf(timeframe, at).end) count += 1;
  return count;
}
