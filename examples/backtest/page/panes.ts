// The panes of the chart and their series, and the colours of all of them; what is drawn there is elsewhere.
import {
  BaselineSeries,
  CandlestickSeries,
  ColorType,
  createChart,
  createSeriesMarkers,
  LineSeries,
  LineStyle,
  PriceScaleMode,
  type Time,
} from "lightweight-charts";

export const container = document.getElementById("chart")!;

/** A colour of the page, as its style has it. */
export const colour = (name: string) =>
  getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
export const moneyText = (value: number) =>
  value.toLocaleString("en-US", { maximumFractionDigits: Math.abs(value) < 100 ? 2 : 0 });

export const chart = createChart(container, {
  autoSize: true,
  // The footer says whose it is, with a link.
  layout: { attributionLogo: false, fontSize: 12 },
  rightPriceScale: { borderVisible: false },
  timeScale: { borderVisible: false, timeVisible: true, secondsVisible: false, minBarSpacing: 0.1 },
  localization: {
    locale: "en-GB",
    timeFormatter: (time: Time) =>
      `${new Date(Number(time) * 1_000).toISOString().slice(0, 16).replace("T", " ")} UTC`,
  },
  // The page below scrolls; a chart that takes every drag would be a trap on a phone.
  handleScroll: { vertTouchDrag: false },
});
const moneyFormat = { type: "custom", formatter: moneyText, minMove: 0.01 } as const;
const falls = {
  type: "custom",
  formatter: (value: number) => `${value.toFixed(1)} %`,
  minMove: 0.1,
} as const;
const quiet = { priceLineVisible: false, lastValueVisible: false } as const;

export const price = chart.addSeries(CandlestickSeries, { ...quiet, borderVisible: false }, 0);
export const path = chart.addSeries(LineSeries, { ...quiet, crosshairMarkerVisible: false, lineWidth: 2 }, 0);
export const held = chart.addSeries(
  LineSeries,
  { ...quiet, lineWidth: 1, lineStyle: LineStyle.Dashed, priceFormat: moneyFormat },
  1,
);
export const equity = chart.addSeries(LineSeries, { ...quiet, lineWidth: 2, priceFormat: moneyFormat }, 1);
export const drawdown = chart.addSeries(
  BaselineSeries,
  { ...quiet, baseValue: { type: "price", price: 0 }, lineWidth: 1, priceFormat: falls },
  2,
);
export const markers = createSeriesMarkers<Time>(price, []);

/** What has grown or shrunk many times over can be read in equal ratios only. */
const SPREAD = 5;
export function modeFor(values: Iterable<number>): PriceScaleMode {
  let [least, most] = [Number.POSITIVE_INFINITY, 0];
  for (const value of values) {
    least = Math.min(least, value);
    most = Math.max(most, value);
  }
  return least > 0 && most / least > SPREAD ? PriceScaleMode.Logarithmic : PriceScaleMode.Normal;
}
price.priceScale().applyOptions({ entireTextOnly: true, scaleMargins: { top: 0.1, bottom: 0.1 } });
equity.priceScale().applyOptions({ entireTextOnly: true });
drawdown.priceScale().applyOptions({ entireTextOnly: true, scaleMargins: { top: 0.05, bottom: 0.1 } });
for (const [at, share] of [5, 3, 2].entries()) chart.panes()[at]?.setStretchFactor(share);

/** Gives all panes the colours that the page has now. */
export function paintPanes(): void {
  const [up, down, accent, muted] = [colour("up"), colour("down"), colour("accent"), colour("muted")];
  const [line, surface] = [colour("line"), colour("surface")];
  chart.applyOptions({
    layout: {
      background: { type: ColorType.Solid, color: surface },
      textColor: muted,
      fontFamily: getComputedStyle(document.body).fontFamily,
      panes: { separatorColor: line, separatorHoverColor: line },
    },
    grid: { vertLines: { color: line }, horzLines: { color: line } },
  });
  price.applyOptions({ upColor: up, downColor: down, wickUpColor: up, wickDownColor: down });
  equity.applyOptions({ color: accent });
  held.applyOptions({ color: muted });
  drawdown.applyOptions({
    topLineColor: down,
    bottomLineColor: down,
    bottomFillColor1: `${down}11`,
    bottomFillColor2: `${down}55`,
  });
}
