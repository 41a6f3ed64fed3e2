import type { ISeriesApi, SeriesType } from "lightweight-charts";
import { decimalsOf } from "../price-decimals.js";

/** The code of ₀; those of ₁ to ₉ follow. */
const SUBSCRIPT = 0x2080;

/** Beyond its six digits, a price has so many decimals at most. */
const MORE = 2;

/**
 * A price with as many decimals as the others on its scale; one that is far larger gets fewer, as the chart makes its
 * scale as wide as some price between 0 and 1 would be.
 *
 * Of two zeros or more after the point their number is told: `0.0₂370600` for 0.003706.
 */
export function priceText(price: number, decimals: number): string {
  if (price === 0) return "0";
  return price
    .toFixed(Math.min(decimals, decimalsOf(price) + MORE))
    .replace(/^(-?)0\.(00+)(?=[1-9])/, (_, sign: string, zeros: string) => {
      const digits = [...String(zeros.length)].map((digit) => SUBSCRIPT + Number(digit));
      return `${sign}0.0${String.fromCharCode(...digits)}`;
    });
}

/** How many decimals the series shows by a format that was set here. */
const FORMATS = new WeakMap<object, number>();

/** Lets a series show as many decimals as `price` needs. A format that somebody else has given it stays. */
export function fitPriceFormat(series: ISeriesApi<SeriesType>, price: number): void {
  const shown = FORMATS.get(series);
  const decimals = decimalsOf(price);
  // A price that goes to and fro around a power of ten does not make the scale jump.
  if (decimals === shown || (shown !== undefined && decimals === shown - 1)) return;
  const { priceFormat } = series.options();
  const isStandard =
    priceFormat.type === "price" && priceFormat.precision === 2 && priceFormat.minMove === 0.01;
  if (shown === undefined && !isStandard) return;
  FORMATS.set(series, decimals);
  series.applyOptions({
    priceFormat: {
      type: "custom",
      formatter: (value: number) => priceText(value, decimals),
      minMove: 10 ** -decimals,
      base: 10 ** decimals,
    },
  });
}
