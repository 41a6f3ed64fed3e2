import type { IChartApi, ISeriesApi, SeriesType } from "lightweight-charts";
import { type Observable, Subscription, tap } from "rxjs";
import type { Sniper } from "../../contract/model.js";
import { checkNames } from "../../contract/names.js";
import { InvalidInputError } from "../../errors.js";
import type { SniperLook } from "../../snipers/look.js";
import { checkMethods, report } from "./draw.js";
import { markerLayerOf } from "./marker-layer.js";
import { checkMarkers, type Marker, sniperMarkers } from "./marks.js";
import { type Drawing, stageOf } from "./stage.js";

/** How to draw snipers. All options may be left out. */
export interface SniperMarkerOptions {
  /** Gives the text at the arrows of a wallet; `undefined` is none. Default: no text. */
  label?: (wallet: Sniper) => string | undefined;
}

/**
 * Draws markers on a series of `drawCandles` or `drawLine`. Each emission of `events` replaces all markers of this drawing.
 *
 * A marker stands at the bar that contains its `timestamp`, whatever the timeframe, also when older bars come, and when the
 * series shows another timeframe. Without such a bar, it is held back until there is one: no marker stands before the first
 * bar, behind the last one or in a gap. Those of a drawing with the same bar, position, shape and colour are one, with their number.
 * Others with the same bar and position are stacked, those of other drawings too.
 *
 * If `events` completes, the markers stay until the drawing is unsubscribed. If it errors, they stay too, and the error is
 * reported as RxJS reports unhandled errors (`config.onUnhandledError`). So is the `InvalidInputError` for a wrong marker.
 * If the chart or the series is removed, the drawing unsubscribes by itself, as that of `drawCandles`. Throws an
 * `InvalidInputError` for wrong arguments.
 *
 * ```ts
 * import { clientSource, createClient, finals } from "pairstream";
 * import { drawCandles, drawMarkers, type Marker } from "pairstream/lightweight-charts";
 * import { CandlestickSeries, createChart } from "lightweight-charts";
 * import { filter, map, scan, share } from "rxjs";
 *
 * const source = clientSource(createClient({ baseUrl: "https://api.example.com", apiKey: "…" }));
 * const pairAddress = "83v8iPyZihDEjDdY8RdZddyZNyUtXngz69Lgo9Kt5d6d";
 * const series = { network: "mainnet", pairAddress, timeframe: "1min", currency: "usd" } as const;
 * const chart = createChart("chart");
 * const candles = chart.addSeries(CandlestickSeries);
 * const events = source.candles({ ...series, since: { candles: 500 } }).pipe(share());
 * const busy = events.pipe(
 *   finals(),
 *   filter(({ candle }) => candle.swaps > 100),
 *   map(({ candle }): Marker => ({ timestamp: candle.timestamp, position: "above", shape: "circle" })),
 *   scan((all, marker) => [...all, marker], [] as Marker[]),
 * );
 * const drawing = drawMarkers(chart, candles, busy);
 * drawing.add(drawCandles(chart, candles, events));
 * ```
 */
export function drawMarkers(
  chart: IChartApi,
  series: ISeriesApi<SeriesType>,
  events: Observable<readonly Marker[]>,
): Subscription {
  checkMethods({ events: [events, "subscribe"] });
  return drawing(chart, series, events, checkMarkers);
}

/**
 * Draws the snipers of a pair on its candles: an arrow below the bar for each snipe, and one above for each sale.
 *
 * The arrows are those of the newest look's report. So what a fork has taken back goes, and no trade is drawn twice. They
 * have the colours of rising and falling candles. Several trades of one bar and side are one arrow with their number. `label`
 * adds a text, such as a name that you know a wallet by. By default there is none, as a pair can have hundreds of wallets.
 * All else is as with `drawMarkers`.
 *
 * ```ts
 * import { clientSource, createClient } from "pairstream";
 * import { drawCandles, drawSnipers } from "pairstream/lightweight-charts";
 * import { CandlestickSeries, createChart } from "lightweight-charts";
 *
 * const source = clientSource(createClient({ baseUrl: "https://api.example.com", apiKey: "…" }));
 * const pairAddress = "83v8iPyZihDEjDdY8RdZddyZNyUtXngz69Lgo9Kt5d6d";
 * const series = { network: "mainnet", pairAddress, timeframe: "1min", currency: "usd" } as const;
 * const chart = createChart("chart");
 * const candles = chart.addSeries(CandlestickSeries);
 * const drawing = drawCandles(chart, candles, source.candles({ ...series, since: { candles: 500 } }));
 * drawing.add(
 *   drawSnipers(chart, candles, source.sniperReport({ pairAddress }), {
 *     label: ({ walletAddress }) => walletAddress.slice(0, 4),
 *   }),
 * );
 * ```
 */
export function drawSnipers(
  chart: IChartApi,
  series: ISeriesApi<SeriesType>,
  looks: Observable<SniperLook>,
  options: SniperMarkerOptions = {},
): Subscription {
  checkNames(options, ["label"]);
  const { label } = options;
  checkMethods({ looks: [looks, "subscribe"], ...(label !== undefined && { label: [label, "call"] }) });
  return drawing(chart, series, looks, (look) => {
    if (!Array.isArray(look?.report?.result)) {
      throw new InvalidInputError("looks", "looks of watchSniperReport", "have a value without a report");
    }
    return sniperMarkers(look.report, label);
  });
}

function drawing<T>(
  chart: IChartApi,
  series: ISeriesApi<SeriesType>,
  values: Observable<T>,
  markersOf: (value: T) => readonly Marker[],
): Subscription {
  checkMethods({ chart: [chart, "timeScale"], series: [series, "attachPrimitive"] });
  const stage = stageOf(chart);
  const layer = markerLayerOf(chart, series);
  const subscription = new Subscription();
  // The layer paints by itself. The stage says when the chart is gone.
  const drawing: Drawing = {
    series,
    look: () => {},
    hasChanges: () => false,
    draw: () => false,
    end: () => subscription.unsubscribe(),
  };
  layer.put(drawing, []);
  stage.add(drawing);
  subscription.add(() => {
    stage.remove(drawing);
    layer.remove(drawing);
  });
  const drawn = values.pipe(
    tap((value) => {
      layer.put(drawing, markersOf(value));
      stage.request(false);
    }),
  );
  subscription.add(drawn.subscribe({ error: report }));
  return subscription;
}
