/** The largest price, and the largest volume of a candle: sums and squares of such numbers are finite. */
export const LARGEST_AMOUNT = 1e100;

/** Whether a value can be a price or a volume. */
export function isAmount(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && value <= LARGEST_AMOUNT;
}
