/** How many decimals show six digits of a price: 2 to 24. */
export function decimalsOf(price: number): number {
  const magnitude = Math.floor(Math.log10(Math.abs(price)));
  return Number.isFinite(magnitude) ? Math.min(24, Math.max(2, 5 - magnitude)) : 2;
}
