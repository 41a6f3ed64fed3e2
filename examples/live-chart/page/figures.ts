const SUBSCRIPTS = [..."₀₁₂₃₄₅₆₇₈₉"];

/** How many decimals show six digits of a price, at least 2. */
export function decimalsFor(price: number): number {
  const magnitude = Math.floor(Math.log10(Math.abs(price)));
  return Number.isFinite(magnitude) ? Math.min(24, Math.max(2, 5 - magnitude)) : 2;
}

/** A price; of four zeros or more after the point their number is told, as in `0.0₅85012` for 0.0000085012. */
export function priceText(price: number, decimals: number): string {
  return price.toFixed(decimals).replace(/^(-?)0\.(0{4,})(?=[1-9])/, (_, sign: string, zeros: string) => {
    const count = [...String(zeros.length)].map((digit) => SUBSCRIPTS[Number(digit)]).join("");
    return `${sign}0.0${count}`;
  });
}

const SHORT = new Intl.NumberFormat("en-US", { notation: "compact", maximumSignificantDigits: 4 });
const THREE = new Intl.NumberFormat("en-US", {
  notation: "compact",
  minimumSignificantDigits: 3,
  maximumSignificantDigits: 3,
});
const LONG = new Intl.NumberFormat("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 });

/** An amount in few characters, such as `12.3K` or `0.0₄123`. */
export function amountText(amount: number): string {
  const size = Math.abs(amount);
  if (size >= 10_000) return SHORT.format(amount);
  return size >= 0.01 || size === 0 ? LONG.format(amount) : priceText(amount, decimalsFor(amount) - 3);
}

/** US dollars in few characters, such as `−$12.50`, `$745` or `+$1.29K`; a dash where nothing is known. */
export function dollarText(amount: number | null, { signed = false } = {}): string {
  if (amount === null) return "–";
  const sign = amount < 0 ? "−" : signed && amount > 0 ? "+" : "";
  const size = Math.abs(amount);
  return `${sign}$${size < 100 ? LONG.format(size) : size < 999.5 ? size.toFixed(0) : THREE.format(size)}`;
}

/** `14:00:05`, UTC. */
export function timeText(instant: number): string {
  return new Date(instant).toISOString().slice(11, 19);
}

/** `5 Jan 14:00`, or of the present day only the time; UTC. */
export function instantText(instant: number, now: number): string {
  const iso = new Date(instant).toISOString();
  if (iso.slice(0, 10) === new Date(now).toISOString().slice(0, 10)) return timeText(instant);
  const day = new Date(instant).toLocaleDateString("en-GB", {
    day: "numeric",
    month: "short",
    timeZone: "UTC",
  });
  return `${day} ${iso.slice(11, 16)}`;
}

/** An address, by its two ends. */
export function shortened(address: string, ends = 4): string {
  return address.length <= 2 * ends + 1 ? address : `${address.slice(0, ends)}…${address.slice(-ends)}`;
}
