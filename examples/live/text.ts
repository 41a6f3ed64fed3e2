/** An amount of tokens, of money or of percent: two decimals, more below 1, thousands set apart. */
export function amount(value: number | null): string {
  if (value === null) return "?";
  const decimals = decimalsFor(value, { digits: 3, least: 2 });
  return value.toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
}

/** US dollars with their sign, such as `-$12.50`. */
export function dollars(value: number | null, { signed = false } = {}): string {
  if (value === null) return "$?";
  const sign = value < 0 ? "-" : signed ? "+" : "";
  return `${sign}$${amount(Math.abs(value))}`;
}

/**
 * Prices with as many decimals as show six digits of the first of them, so that they can be compared at a glance;
 * never in exponents.
 */
export function prices(values: readonly number[]): string[] {
  const decimals = decimalsFor(values[0] ?? 0, { digits: 6, least: 2 });
  return values.map((value) => value.toFixed(decimals));
}

/** How many decimals show so many digits of a number, at least `least`, at most 20. */
function decimalsFor(value: number, { digits, least }: { digits: number; least: number }): number {
  const magnitude = Math.floor(Math.log10(Math.abs(value)));
  return Number.isFinite(magnitude) ? Math.min(20, Math.max(least, digits - 1 - magnitude)) : least;
}

/** `14:00:05`, UTC. */
export function timeOfDay(instant: number): string {
  return new Date(instant).toISOString().slice(11, 19);
}

/** `2024-01-05 14:00:05`, UTC. */
export function dateAndTime(instant: number): string {
  return new Date(instant).toISOString().slice(0, 19).replace("T", " ");
}

/** An address or a hash, by its two ends. */
export function shortened(address: string): string {
  return address.length <= 13 ? address : `${address.slice(0, 6)}…${address.slice(-6)}`;
}
