/** The number below which a share of the numbers lies, from 0 (the least) to 1 (the greatest); `NaN` of none. */
export function quantile(numbers: readonly number[], share: number): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.round(share * (sorted.length - 1))] ?? Number.NaN;
}
