// What the page runs: draws the backtest that the page holds as JSON.
import {
  BaselineSeries,
  CandlestickSeries,
  type ChartOptions,
  createChart,
  createSeriesMarkers,
  type DeepPartial,
  LineSeries,
  LineStyle,
  PriceScaleMode,
  type SeriesMarker,
  type UTCTimestamp,
} from "lightweight-charts";
import type { PageData } from "./data.js";

const data: PageData = JSON.parse(document.getElementById("data")!.textContent!);
const container = document.getElementById("chart")!;
const dark = matchMedia("(prefers-color-scheme: dark)");

const colour = (name: string) =>
  getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const time = (ms: number) => (ms / 1_000) as UTCTimestamp;

/** Labels of its own: the library rounds steps below 1e-8 badly. */
const priceFormat = {
  type: "custom",
  minMove: Number(`1e-${data.decimals}`),
  formatter: (value: number) => value.toFixed(data.decimals).replace(/^-(?=0\.?0*$)/, ""),
} as const;
const percentFormat = { type: "custom", formatter: (value: number) => `${value.toFixed(1)} %` } as const;
const moneyFormat = {
  type: "custom",
  formatter: (value: number) => value.toLocaleString("en-US", { maximumFractionDigits: 0 }),
} as const;

const chart = createChart(container, {
  autoSize: true,
  timeScale: { timeVisible: true, secondsVisible: false, minBarSpacing: 0.05 },
  localization: { locale: "en-GB" },
  handleScroll: { vertTouchDrag: false },
});

const price = chart.addSeries(
  CandlestickSeries,
  {
    priceFormat,
    borderVisible: false,
    priceLineVisible: false,
  },
  0,
);
price.setData(
  data.candles.map(([at, open, high, low, close]) => ({ time: time(at), open, high, low, close })),
);
const markers = createSeriesMarkers(price);

const held = chart.addSeries(
  LineSeries,
  {
    title: "hold",
    lineWidth: 1,
    lineStyle: LineStyle.Dashed,
    priceFormat: moneyFormat,
    priceLineVisible: false,
  },
  1,
);
held.setData(data.held.map((value, at) => ({ time: time(data.candles[at]![0]), value })));
const equity = chart.addSeries(
  LineSeries,
  { title: "strategy", lineWidth: 2, priceFormat: moneyFormat, priceLineVisible: false },
  1,
);
equity.setData(data.equity.map((value, at) => ({ time: time(data.candles[at]![0]), value })));

const drawdown = chart.addSeries(
  BaselineSeries,
  {
    title: "drawdown",
    baseValue: { type: "price", price: 0 },
    lineWidth: 1,
    priceFormat: percentFormat,
    priceLineVisible: false,
  },
  2,
);
drawdown.setData(
  data.drawdown.map((share, at) => ({ time: time(data.candles[at]![0]), value: -100 * share })),
);

/** What has grown or shrunk many times over can be read in equal ratios only. */
const SPREAD = 5;
const modeFor = (values: readonly number[]) => {
  const least = values.reduce((low, value) => Math.min(low, value), Number.POSITIVE_INFINITY);
  const most = values.reduce((high, value) => Math.max(high, value), 0);
  return least > 0 && most / least > SPREAD ? PriceScaleMode.Logarithmic : PriceScaleMode.Normal;
};
const prices = data.candles.flatMap(([, , high, low]) => [high, low]);
price.priceScale().applyOptions({ entireTextOnly: true, mode: modeFor(prices) });
equity.priceScale().applyOptions({ entireTextOnly: true, mode: modeFor([...data.equity, ...data.held]) });
drawdown.priceScale().applyOptions({ entireTextOnly: true, scaleMargins: { top: 0.05, bottom: 0.1 } });

const [pricePane, equityPane, drawdownPane] = chart.panes();
pricePane?.setStretchFactor(5);
equityPane?.setStretchFactor(3);
drawdownPane?.setStretchFactor(2);

function paint(): void {
  const [up, down, accent, muted] = [colour("up"), colour("down"), colour("accent"), colour("muted")];
  const [line, text, surface] = [colour("line"), colour("text"), colour("surface")];
  const options: DeepPartial<ChartOptions> = {
    layout: {
      background: { color: surface },
      textColor: text,
      panes: { separatorColor: line, separatorHoverColor: line },
    },
    grid: { vertLines: { color: line }, horzLines: { color: line } },
    rightPriceScale: { borderColor: line },
    timeScale: { borderColor: line },
  };
  chart.applyOptions(options);
  price.applyOptions({ upColor: up, downColor: down, wickUpColor: up, wickDownColor: down });
  equity.applyOptions({ color: accent });
  held.applyOptions({ color: muted });
  drawdown.applyOptions({
    topLineColor: down,
    bottomLineColor: down,
    bottomFillColor1: `${down}11`,
    bottomFillColor2: `${down}55`,
  });
  markers.setMarkers(
    data.fills.map(({ at, side }): SeriesMarker<UTCTimestamp> => {
      return side === "buy"
        ? { time: time(at), position: "belowBar", shape: "arrowUp", color: accent }
        : { time: time(at), position: "aboveBar", shape: "arrowDown", color: text };
    }),
  );
}

paint();
dark.addEventListener("change", paint);
// A little more than all, so that no label is cut off.
const margin = data.candles.length / 50;
chart.timeScale().setVisibleLogicalRange({ from: -margin, to: data.candles.length - 1 + margin });
