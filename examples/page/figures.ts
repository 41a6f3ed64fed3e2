const SUBSCRIPTS = [..."₀₁₂₃₄₅₆₇₈₉"];

/** Whose clock times are told by: the world's, or that of whoever looks. */
export type Zone = "utc" | "local";

/** How many decimals show so many digits of a number, at least 2. */
function decimalsFor(value: number, digits: number): number {
  const magnitude = Math.floor(Math.log10(Math.abs(value)));
  return Number.isFinite(magnitude) ? Math.min(24, Math.max(2, digits - 1 - magnitude)) : 2;
}

/** Of two zeros or more after the point their number is told, as the scale of the chart does: `0.0₅850120`. */
function withZerosCounted(text: string): string {
  return text.replace(/^0\.(00+)(?=[1-9])/, (_, zeros: string) => {
    const count = [...String(zeros.length)].map((digit) => SUBSCRIPTS[Number(digit)]).join("");
    return `0.0${count}`;
  });
}

/** A price with six digits, such as `1,234.50`, `0.370600` or `0.0₅850120` for 0.00000850120. */
export function priceText(price: number): string {
  if (price >= 1_000) return LONG.format(price);
  return withZerosCounted(price.toFixed(decimalsFor(price, 6)));
}

/** The same price with all its zeros, for whoever hears it or wants to copy it. */
export function plainPrice(price: number): string {
  return price.toFixed(decimalsFor(price, 6));
}

const SHORT = new Intl.NumberFormat("en-US", { notation: "compact", maximumSignificantDigits: 4 });
const THREE = new Intl.NumberFormat("en-US", {
  notation: "compact",
  minimumSignificantDigits: 3,
  maximumSignificantDigits: 3,
});
const LONG = new Intl.NumberFormat("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const WHOLE = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

/** An amount in few characters, such as `12.3K` or `0.0₄123`. */
export function amountText(amount: number): string {
  const size = Math.abs(amount);
  if (size >= 10_000) return SHORT.format(amount);
  if (size >= 0.01 || size === 0) return LONG.format(amount);
  return `${amount < 0 ? "-" : ""}${withZerosCounted(size.toFixed(decimalsFor(size, 3)))}`;
}

/** US dollars in few characters, such as `−$12.50`, `$745` or `+$1.29K`; a dash where nothing is known. */
export function dollarText(amount: number | null | undefined, { signed = false } = {}): string {
  if (amount === null || amount === undefined) return "–";
  const size = Math.abs(amount);
  return `${signOf(amount, signed)}$${size < 100 ? LONG.format(size) : size < 999.5 ? size.toFixed(0) : THREE.format(size)}`;
}

/** Per cent with a sign, such as `+3.20%`, `−12.0%` or `+1,240%`; a dash where nothing is known. */
export function percentText(percent: number | null | undefined): string {
  if (percent === null || percent === undefined) return "–";
  const size = Math.abs(percent);
  const text =
    size < 9.995
      ? size.toFixed(2)
      : size < 99.95
        ? size.toFixed(1)
        : size < 1e5
          ? WHOLE.format(size)
          : THREE.format(size);
  // What is shown as nothing has no sign.
  return `${signOf(Number(size.toFixed(2)) === 0 ? 0 : percent, true)}${text}%`;
}

function signOf(value: number, signed: boolean): string {
  return value < 0 ? "−" : signed && value > 0 ? "+" : "";
}

/** A length of time by its two largest parts, such as `45s`, `12m`, `3h 5m` or `12d 4h`; of ms. */
export function ageText(length: number): string {
  const seconds = Math.max(0, Math.floor(length / 1_000));
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  const days = Math.floor(hours / 24);
  if (days > 0) return `${days}d ${hours % 24}h`;
  if (hours > 0) return `${hours}h ${minutes % 60}m`;
  return minutes > 0 ? `${minutes}m` : `${seconds}s`;
}

/** ISO 8601 without its zone, by the clock of a zone. */
export function isoText(instant: number, zone: Zone = "utc"): string {
  const shift = zone === "utc" ? 0 : new Date(instant).getTimezoneOffset() * 60_000;
  return new Date(instant - shift).toISOString().slice(0, 23);
}

/** `14:00:05`. */
export function timeText(instant: number, zone: Zone = "utc"): string {
  return isoText(instant, zone).slice(11, 19);
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** `5 Jan`. */
export function dayText(instant: number, zone: Zone = "utc"): string {
  const iso = isoText(instant, zone);
  return `${Number(iso.slice(8, 10))} ${MONTHS[Number(iso.slice(5, 7)) - 1]}`;
}

/** `5 Jan 14:00`, or of the present day only the time. */
export function instantText(instant: number, now: number, zone: Zone = "utc"): string {
  const iso = isoText(instant, zone);
  if (iso.slice(0, 10) === isoText(now, zone).slice(0, 10)) return timeText(instant, zone);
  return `${dayText(instant, zone)} ${iso.slice(11, 16)}`;
}

/** An address, by its two ends. */
export function shortened(address: string, ends = 4): string {
  return address.length <= 2 * ends + 1 ? address : `${address.slice(0, ends)}…${address.slice(-ends)}`;
}
