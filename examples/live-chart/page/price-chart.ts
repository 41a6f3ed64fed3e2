import {
  type BarData,
  CandlestickSeries,
  ColorType,
  CrosshairMode,
  createChart,
  HistogramSeries,
  type IChartApi,
  type ISeriesApi,
  LineSeries,
  LineStyle,
  type MismatchDirection,
  type MouseEventParams,
  PriceScaleMode,
  type SeriesType,
  TickMarkType,
  type Time,
} from "lightweight-charts";
import { type AnyTimeframe, type Candle, type CandleEvent, emptyReport, type SniperLook } from "pairstream";
import { drawCandles, drawMarkers, drawSnipers, type Marker } from "pairstream/lightweight-charts";
import { BehaviorSubject, combineLatest, map, type Observable, type Subscription, tap } from "rxjs";
import { amountText, dayText, isoText, timeText, type Zone } from "../../page/figures.js";
import { colour } from "../../page/theme.js";
import { correctionMark } from "./chart-marks.js";
import { LINES, type LineId, type SwitchId } from "./indicators.js";
import { type Correction, MOST, type Row } from "./shown-candles.js";

const TIGHT = { priceLineVisible: false, lastValueVisible: false, crosshairMarkerVisible: false } as const;
const VOLUME = { type: "custom", formatter: amountText, minMove: 0.01 } as const;
/** So many candles stay in view, however far it is scrolled. */
const IN_VIEW = 8;
/** Of the room, in bars, right of the newest candle. */
const ROOM = 6;
const NEAREST_LEFT: MismatchDirection.NearestLeft = -1;
const RSI_LINES = { 70: "overbought", 30: "oversold" } as const;
/** Of the scale of the RSI only the labels of its lines are read: those of its steps would lie under them. */
const STRENGTH = {
  type: "custom",
  minMove: 0.1,
  formatter: (strength: number) => strength.toFixed(1),
  tickmarksFormatter: (steps: readonly number[]) => steps.map(() => ""),
} as const;
const LINE_COLOURS: Readonly<Record<LineId, string>> = {
  ...{ fast: "fast", slow: "slow", vwap: "vwap", strength: "strength" },
  ...{ upper: "bands", middle: "bands", lower: "bands" },
};

/** How the chart shows what it is given. */
export interface ChartView {
  readonly isOn: (id: SwitchId) => boolean;
  readonly isLog: boolean;
  readonly zone: Zone;
}

/** Candles, volume, lines over them, and the strength below. */
export class PriceChart {
  readonly #chart: IChartApi;
  readonly #candles: ISeriesApi<"Candlestick">;
  readonly #volume: ISeriesApi<"Histogram">;
  readonly #lines: Readonly<Record<LineId, ISeriesApi<"Line">>>;
  readonly #corrections = new BehaviorSubject<readonly Marker[]>([]);
  /** Whether snipers are switched on. */
  readonly #hasSnipers = new BehaviorSubject(true);
  #report = emptyReport;
  readonly #bounds: ReturnType<ISeriesApi<"Line">["createPriceLine"]>[];
  #hovered: MouseEventParams["seriesData"] = new Map();
  #timeframe: AnyTimeframe = "10s";
  #view: ChartView = { isOn: () => true, isLog: false, zone: "utc" };

  /** `onHover` is told the start of the candle under the pointer; `onDraw` is called when candles have been drawn. */
  constructor(element: HTMLElement, onHover: (timestamp: number | undefined) => void, onDraw: () => void) {
    const chart = createChart(element, {
      autoSize: true,
      crosshair: { mode: CrosshairMode.Normal },
      rightPriceScale: { borderVisible: false, minimumWidth: 84 },
      timeScale: {
        ...{ borderVisible: false, timeVisible: true, rightOffset: ROOM, barSpacing: 7, minBarSpacing: 1 },
        tickMarkFormatter: (time: Time, type: TickMarkType) => this.#tickText(Number(time) * 1_000, type),
      },
      // The page below scrolls; a chart that takes every drag would be a trap on a phone.
      handleScroll: { vertTouchDrag: false },
      localization: { locale: "en-GB", timeFormatter: (time: Time) => this.timeText(Number(time) * 1_000) },
    });
    this.#chart = chart;
    this.#candles = chart.addSeries(CandlestickSeries, { borderVisible: false });
    this.#volume = chart.addSeries(HistogramSeries, {
      ...TIGHT,
      priceScaleId: "volume",
      priceFormat: VOLUME,
    });
    this.#volume.priceScale().applyOptions({ scaleMargins: { top: 0.82, bottom: 0 } });
    const line = (pane = 0) => chart.addSeries(LineSeries, { ...TIGHT, lineWidth: 2 }, pane);
    this.#lines = {
      ...{ upper: line(), middle: line(), lower: line(), vwap: line(), fast: line(), slow: line() },
      strength: line(1),
    };
    for (const id of ["upper", "middle", "lower"] as const) this.#lines[id].applyOptions({ lineWidth: 1 });
    this.#lines.middle.applyOptions({ lineStyle: LineStyle.Dashed });
    this.#lines.strength.applyOptions({
      lastValueVisible: true,
      priceFormat: STRENGTH,
      autoscaleInfoProvider: () => ({ priceRange: { minValue: 0, maxValue: 100 } }),
    });
    this.#bounds = Object.entries(RSI_LINES).map(([price, title]) =>
      this.#lines.strength.createPriceLine({
        ...{ price: Number(price), title, axisLabelVisible: true },
        ...{ lineStyle: LineStyle.Dotted, lineWidth: 1 },
      }),
    );
    this.#candles.subscribeDataChanged(onDraw);
    chart.subscribeCrosshairMove(({ time, seriesData }) => {
      this.#hovered = seriesData;
      onHover(typeof time === "number" ? time * 1_000 : undefined);
    });
    chart.timeScale().subscribeVisibleLogicalRangeChange(() => this.#stayAtCandles());
    this.paint();
  }

  /** What is drawn, as the chart has it. */
  get drawn() {
    const dataOf = (series: ISeriesApi<SeriesType>) => series.data();
    const { fast, slow, strength, upper, middle, lower, vwap } = this.#lines;
    return {
      candles: dataOf(this.#candles),
      volume: dataOf(this.#volume),
      ...{ fast: dataOf(fast), slow: dataOf(slow), strength: dataOf(strength), vwap: dataOf(vwap) },
      ...{ upper: dataOf(upper), middle: dataOf(middle), lower: dataOf(lower) },
      corrections: this.#corrections.value,
      snipers: this.#report.result,
    };
  }

  /** What is seen of it: the range in bars, how many panes there are, what is switched off. */
  get seen() {
    const scale = this.#chart.timeScale();
    return {
      range: scale.getVisibleLogicalRange(),
      position: scale.scrollPosition(),
      panes: this.#chart.panes().length,
      isLog: this.#candles.priceScale().options().mode === PriceScaleMode.Logarithmic,
      hidden: Object.entries(this.#lines).flatMap(([id, line]) => (line.options().visible ? [] : [id])),
    };
  }

  /** Takes the colours of the theme. */
  paint(): void {
    const [text, line, surface] = [colour("muted"), colour("line"), colour("surface")];
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
    for (const [id, series] of Object.entries(this.#lines)) {
      series.applyOptions({ color: colour(LINE_COLOURS[id as LineId]) });
    }
    for (const bound of this.#bounds) {
      bound.applyOptions({ color: colour("edge"), axisLabelColor: line, axisLabelTextColor: text });
    }
  }

  /** Shows what is switched on, on the scale and by the clock that are chosen. */
  show(view: ChartView): void {
    this.#view = view;
    this.#hasSnipers.next(view.isOn("snipers"));
    for (const { id, by } of LINES) this.#lines[id].applyOptions({ visible: view.isOn(by) });
    this.#volume.applyOptions({ visible: view.isOn("volume") });
    const room = view.isOn("volume") ? 0.24 : 0.08;
    this.#candles.priceScale().applyOptions({
      mode: view.isLog ? PriceScaleMode.Logarithmic : PriceScaleMode.Normal,
      scaleMargins: { top: 0.08, bottom: room },
    });
    const { strength } = this.#lines;
    const pane = Number(view.isOn("strength"));
    if (strength.getPane().paneIndex() !== pane) strength.moveToPane(pane);
    if (pane === 1) {
      strength.priceScale().applyOptions({ scaleMargins: { top: 0.08, bottom: 0.08 } });
      for (const [at, share] of [4, 1].entries()) this.#chart.panes()[at]?.setStretchFactor(share);
    }
    // The labels of the time scale are made anew.
    this.#chart.applyOptions({ localization: { locale: "en-GB" } });
    this.setTimeframe(this.#timeframe);
  }

  /** Draws a series and its snipers, in place of those before. */
  draw(
    events: Observable<CandleEvent>,
    looks: Observable<SniperLook>,
    olderFrom: (before: number, count: number) => Promise<readonly Candle[]>,
  ): Subscription {
    const [chart, candles, volume] = [this.#chart, this.#candles, this.#volume];
    const drawing = drawCandles(chart, candles, events, { volume, olderFrom, keep: MOST });
    for (const { id, draw } of LINES) drawing.add(draw(chart, this.#lines[id], events));
    this.#report = emptyReport;
    const shown = combineLatest([looks, this.#hasSnipers]).pipe(
      map(([look, isOn]) => (isOn ? look : { ...look, report: emptyReport })),
      tap(({ report }) => {
        this.#report = report;
      }),
    );
    drawing.add(drawSnipers(chart, candles, shown));
    drawing.add(drawMarkers(chart, candles, this.#corrections));
    return drawing;
  }

  /** Marks what has been corrected. */
  mark(corrections: readonly Correction[]): void {
    const shown = this.#view.isOn("corrections") ? corrections : [];
    this.#corrections.next(shown.map((one) => correctionMark(one, this.#placeOf(one))));
  }

  /** Where a candle is gone, its neighbour carries the mark. */
  #placeOf({ timestamp, kind }: Correction): number {
    if (kind !== "removed") return timestamp;
    const at = this.#chart.timeScale().timeToIndex((timestamp / 1_000) as Time, true);
    const bar = at === null ? null : this.#candles.dataByIndex(at, NEAREST_LEFT);
    return bar === null ? timestamp : Number(bar.time) * 1_000;
  }

  /** The candle under the pointer, and its lines, as they are drawn: of older candles the events tell nothing. */
  hovered(): Pick<Row, "candle" | "values"> | undefined {
    const bar = this.#hovered.get(this.#candles) as BarData | undefined;
    if (bar === undefined) return undefined;
    const drawnValue = (series: ISeriesApi<SeriesType>) =>
      (this.#hovered.get(series) as { value?: number } | undefined)?.value;
    const { fast, slow, vwap, strength, ...bands } = this.#lines;
    const { open, high, low, close } = bar;
    const volume = drawnValue(this.#volume) ?? 0;
    const [upper, middle, lower] = [
      drawnValue(bands.upper),
      drawnValue(bands.middle),
      drawnValue(bands.lower),
    ];
    const hasBands = upper !== undefined && middle !== undefined && lower !== undefined;
    return {
      candle: { timestamp: Number(bar.time) * 1_000, ...{ open, high, low, close, volume, swaps: 0 } },
      values: {
        ...{
          fast: drawnValue(fast),
          slow: drawnValue(slow),
          vwap: drawnValue(vwap),
          strength: drawnValue(strength),
        },
        bands: hasBands ? { upper, middle, lower, percentB: Number.NaN, width: Number.NaN } : undefined,
      },
    };
  }

  /** A price as the scale shows it. */
  priceText(price: number): string {
    return this.#candles.priceFormatter().format(price);
  }

  /** The start of a candle in words; a day begins at 00:00 UTC, whatever the clock. */
  timeText(instant: number): string {
    const { zone } = this.#view;
    if (/[dwM]$/.test(this.#timeframe)) return isoText(instant).slice(0, 10);
    const end = this.#timeframe.endsWith("s") ? 8 : 5;
    return `${dayText(instant, zone)} ${timeText(instant, zone).slice(0, end)}`;
  }

  /** Says how long a candle is, for the labels of the time scale. */
  setTimeframe(timeframe: AnyTimeframe): void {
    this.#timeframe = timeframe;
    this.#chart.timeScale().applyOptions({ secondsVisible: timeframe.endsWith("s") });
  }

  toPresent(): void {
    this.#chart.timeScale().scrollToPosition(ROOM, false);
  }

  /** Moves the view by so many bars, to the past where it is negative. */
  scrollBy(bars: number): void {
    const scale = this.#chart.timeScale();
    scale.scrollToPosition(scale.scrollPosition() + bars, false);
  }

  /** Makes candles wider or narrower by a factor. */
  zoomBy(factor: number): void {
    const scale = this.#chart.timeScale();
    const { barSpacing, minBarSpacing } = scale.options();
    scale.applyOptions({ barSpacing: Math.min(60, Math.max(minBarSpacing, barSpacing * factor)) });
  }

  /** Nobody gets lost where there are no candles. */
  #stayAtCandles(): void {
    const scale = this.#chart.timeScale();
    const range = scale.getVisibleLogicalRange();
    const { length } = this.#candles.data();
    if (range === null || length === 0) return;
    const kept = Math.min(IN_VIEW, length);
    const position = scale.scrollPosition();
    const most = Math.max(ROOM, range.to - range.from - kept);
    const wanted = Math.min(most, Math.max(kept - length, position));
    if (Math.abs(wanted - position) > 0.01) scale.scrollToPosition(wanted, false);
  }

  #tickText(instant: number, type: TickMarkType): string {
    const { zone } = this.#view;
    const isDays = /[dwM]$/.test(this.#timeframe);
    const iso = isoText(instant, isDays ? "utc" : zone);
    const day = dayText(instant, isDays ? "utc" : zone);
    if (isDays && type > TickMarkType.DayOfMonth) return day;
    const isMidnight = isDays || iso.slice(11, 16) === "00:00";
    if (type === TickMarkType.TimeWithSeconds) return iso.slice(11, 19);
    // By a clock elsewhere a day does not begin where the scale has its mark.
    if (type === TickMarkType.Time || !isMidnight) return iso.slice(11, 16);
    if (type === TickMarkType.Year) return iso.slice(0, 4);
    return type === TickMarkType.Month ? day.replace(/^\d+ /, "") : day;
  }
}
