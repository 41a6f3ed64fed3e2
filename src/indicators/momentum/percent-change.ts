/** The change from `base` to `value`, in percent of `base`; 0 if `base` is 0. */
export function percentChange(value: number, base: number): number {
  return base === 0 ? 0 : 100 * ((value - base) / base);
}
