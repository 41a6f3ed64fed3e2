import {
  CandlestickSeries,
  type CandlestickSeriesPartialOptions,
  ColorType,
  CrosshairMode,
  createChart,
  createSeriesMarkers,
  HistogramSeries,
  type IChartApi,
  type ISeriesApi,
  LineSeries,
  LineStyle,
  type SeriesMarker,
  type SeriesType,
  type Time,
  type UTCTimestamp,
} from "lightweight-charts";
import { amountText, decimalsFor, priceText } from "./figures.js";
import type { Changes, Correction, Row, ShownCandles } from "./shown-candles.js";
import { colour } from "./theme.js";

const TIGHT = { priceLineVisible: false, lastValueVisible: false, crosshairMarkerVisible: false } as const;

type Point = { readonly time: UTCTimestamp; readonly [field: string]: unknown };

/** Candles, volume, two averages and the strength below; drawn from what is held elsewhere. */
export class PriceChart {
  readonly #chart: IChartApi;
  readonly #candles: ISeriesApi<"Candlestick">;
  readonly #volume: ISeriesApi<"Histogram">;
  readonly #fast: ISeriesApi<"Line">;
  readonly #slow: ISeriesApi<"Line">;
  readonly #strength: ISeriesApi<"Line">;
  readonly #markers: ReturnType<typeof createSeriesMarkers<Time>>;
  readonly #bounds: ReturnType<ISeriesApi<"Line">["createPriceLine"]>[];
  #decimals = 2;
  /** The newest point drawn. */
  #last = Number.NEGATIVE_INFINITY;

  /** `onHover` is told the start of the candle under the pointer. */
  constructor(element: HTMLElement, onHover: (timestamp: number | undefined) => void) {
    const chart = createChart(element, {
      autoSize: true,
      crosshair: { mode: CrosshairMode.Normal },
      rightPriceScale: { borderVisible: false, minimumWidth: 84 },
      timeScale: { borderVisible: false, timeVisible: true, rightOffset: 6, barSpacing: 7, minBarSpacing: 1 },
      // The page below scrolls; a chart that takes every drag would be a trap on a phone.
      handleScroll: { vertTouchDrag: false },
      localization: { locale: "en-GB" },
    });
    this.#chart = chart;
    this.#candles = chart.addSeries(CandlestickSeries, { borderVisible: false });
    this.#candles.priceScale().applyOptions({ scaleMargins: { top: 0.08, bottom: 0.24 } });
    this.#volume = chart.addSeries(HistogramSeries, {
      ...TIGHT,
      priceScaleId: "volume",
      priceFormat: VOLUME,
    });
    this.#volume.priceScale().applyOptions({ scaleMargins: { top: 0.82, bottom: 0 } });
    this.#fast = chart.addSeries(LineSeries, { ...TIGHT, lineWidth: 2 });
    this.#slow = chart.addSeries(LineSeries, { ...TIGHT, lineWidth: 2 });
    this.#strength = chart.addSeries(
      LineSeries,
      {
        ...TIGHT,
        lastValueVisible: true,
        lineWidth: 2,
        priceFormat: { type: "price", precision: 1, minMove: 0.1 },
      },
      1,
    );
    this.#strength.applyOptions({
      autoscaleInfoProvider: () => ({ priceRange: { minValue: 0, maxValue: 100 } }),
    });
    this.#strength.priceScale().applyOptions({ scaleMargins: { top: 0.08, bottom: 0.08 } });
    this.#bounds = [30, 70].map((price) =>
      this.#strength.createPriceLine({
        price,
        lineStyle: LineStyle.Dotted,
        lineWidth: 1,
        axisLabelVisible: false,
      }),
    );
    const [upper, lower] = chart.panes();
    upper?.setStretchFactor(4);
    lower?.setStretchFactor(1);
    this.#markers = createSeriesMarkers(this.#candles, []);
    chart.subscribeCrosshairMove(({ time }) => onHover(typeof time === "number" ? time * 1_000 : undefined));
    this.paint();
  }

  /** What is drawn, as the chart has it. */
  get drawn() {
    const dataOf = (series: ISeriesApi<SeriesType>) => series.data();
    return {
      candles: dataOf(this.#candles),
      volume: dataOf(this.#volume),
      fast: dataOf(this.#fast),
      slow: dataOf(this.#slow),
      strength: dataOf(this.#strength),
      markers: this.#markers.markers(),
    };
  }

  /** Takes the colours of the theme. */
  paint(): void {
    const [text, line, surface] = [colour("text-quiet"), colour("line"), colour("surface")];
    this.#chart.applyOptions({
      layout: {
        background: { type: ColorType.Solid, color: surface },
        textColor: text,
        fontFamily: getComputedStyle(document.body).fontFamily,
        fontSize: 12,
        // The footer says whose it is, with a link.
        attributionLogo: false,
        panes: { separatorColor: line, separatorHoverColor: line },
      },
      grid: { vertLines: { color: line }, horzLines: { color: line } },
    });
    const [up, down] = [colour("up"), colour("down")];
    this.#candles.applyOptions({ upColor: up, downColor: down, wickUpColor: up, wickDownColor: down });
    this.#fast.applyOptions({ color: colour("fast") });
    this.#slow.applyOptions({ color: colour("slow") });
    this.#strength.applyOptions({ color: colour("strength") });
    for (const bound of this.#bounds) bound.applyOptions({ color: text });
  }

  /** Draws what has changed; the time scale stays where it is. */
  draw(shown: ShownCandles, changes: Changes): void {
    const { newest } = shown;
    if (newest !== undefined) this.#adaptPrecision(newest.candle.close);
    if (changes === "all") this.#drawAll(shown.all());
    else for (const row of changes) this.#drawRow(row);
    this.#markers.setMarkers(markersOf(shown.corrections));
  }

  /** Shows the newest candles. */
  toNewest(): void {
    this.#chart.timeScale().resetTimeScale();
  }

  /** Says how long a candle is, for the labels of the time scale. */
  setTimeframe(timeframe: string): void {
    this.#chart.timeScale().applyOptions({ secondsVisible: timeframe.endsWith("s") });
  }

  #drawAll(rows: readonly Row[]): void {
    for (const [series, point] of this.#parts()) series.setData(rows.map(point) as never[]);
    this.#last = rows.at(-1)?.candle.timestamp ?? Number.NEGATIVE_INFINITY;
  }

  #drawRow(row: Row): void {
    const { timestamp } = row.candle;
    const isHistory = timestamp < this.#last;
    for (const [series, point] of this.#parts()) {
      const drawn = point(row);
      // A point of a line that is not warm yet has nothing to correct.
      if (isHistory && Object.keys(drawn).length === 1) continue;
      series.update(drawn as never, isHistory);
    }
    this.#last = Math.max(this.#last, timestamp);
  }

  #parts(): [ISeriesApi<SeriesType>, (row: Row) => Point][] {
    const [up, down] = [colour("up-quiet"), colour("down-quiet")];
    const timeOf = ({ candle }: Row) => (candle.timestamp / 1_000) as UTCTimestamp;
    const line = (name: keyof Row["values"]) => (row: Row) => {
      const value = row.values[name];
      return value === undefined ? { time: timeOf(row) } : { time: timeOf(row), value };
    };
    return [
      [
        this.#candles,
        (row) => {
          const { open, high, low, close } = row.candle;
          return { time: timeOf(row), open, high, low, close };
        },
      ],
      [
        this.#volume,
        (row) => {
          const { open, close, volume } = row.candle;
          return { time: timeOf(row), value: volume, color: close < open ? down : up };
        },
      ],
      [this.#fast, line("fast")],
      [this.#slow, line("slow")],
      [this.#strength, line("strength")],
    ];
  }

  #adaptPrecision(price: number): void {
    const decimals = decimalsFor(price);
    // A price that goes to and fro around a power of ten does not make the scale jump.
    if (decimals === this.#decimals || decimals === this.#decimals - 1) return;
    this.#decimals = decimals;
    const priceFormat: CandlestickSeriesPartialOptions["priceFormat"] = {
      type: "custom",
      formatter: (value: number) => priceText(value, decimals),
      minMove: 10 ** -decimals,
      base: 10 ** decimals,
    };
    for (const series of [this.#candles, this.#fast, this.#slow]) series.applyOptions({ priceFormat });
  }
}

const VOLUME = { type: "custom", formatter: amountText, minMove: 0.01 } as const;

function markersOf(corrections: readonly Correction[]): SeriesMarker<Time>[] {
  const shapes = { corrected: "circle", late: "arrowUp", removed: "square" } as const;
  return corrections
    .map(({ timestamp, kind }): SeriesMarker<Time> => {
      const time = (timestamp / 1_000) as UTCTimestamp;
      // Where a candle is gone, its neighbour carries the mark.
      const position = kind === "late" ? "belowBar" : "aboveBar";
      return { id: kind, time, position, shape: shapes[kind], color: colour(kind), size: 0.8 };
    })
    .sort((a, b) => Number(a.time) - Number(b.time));
}
