/**
 * The largest of the candle's range and its distances from the previous close (Wilder); NaN if `previousClose` is NaN.
 */
export function rangeSince(high: number, low: number, previousClose: number): number {
  // Without a branch, which would be mispredicted as often as prices jump: at most one of the two is above 0.
  const above = previousClose - high;
  const below = low - previousClose;
  return high - low + (Math.abs(above) + above + (Math.abs(below) + below)) / 2;
}
