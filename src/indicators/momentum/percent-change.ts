/** How far `value` is from `base`, in percent of `base`; 0 where that is 0. */
export function percentChange(value: number, base: number): number {
  return base === 0 ? 0 : 100 * ((value - base) / base);
}
