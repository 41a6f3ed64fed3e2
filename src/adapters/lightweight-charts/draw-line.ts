import type { IChartApi, ISeriesApi } from "lightweight-charts";
import type { Observable, Subscription } from "rxjs";
import type { CandleEvent } from "../../candles/event.js";
import { checkNames } from "../../contract/names.js";
import { checkKind, checkMethods, draw, timeOf } from "./draw.js";
import { fitPriceFormat } from "./price-format.js";
import { makeRows, type Row } from "./rows.js";

/** The most points of a line. */
const KEEP = 50_000;
/** A line that swings around zero has decimals for its swings. */
const SWINGS = 100;

interface Point extends Row {
  readonly value: number;
}

/** How to draw a line. All options may be left out. */
export interface LineOptions<E extends CandleEvent = CandleEvent> {
  /**
   * An operator for the events before `pick`, such as `withIndicators({ fast: ema(9) })`. It begins again when
   * `drawCandles` on the same chart has read older candles of the series, so that the line continues over them. Default:
   * none, and the line begins where the events begin.
   */
  pipe?: (events: Observable<CandleEvent>) => Observable<E>;
}

/**
 * Draws one number of each event as a line, such as an indicator of `withIndicators`, over the candles or in a pane below.
 *
 * `pick` gives the number. If it is `undefined` or not finite, there is no point, and the line goes from the point before
 * to the one after. Corrections, removals and late candles of any age are drawn, at most once a frame together with
 * everything on this chart. The view stays as `drawCandles` says. At most 50,000 points are kept. Unless the series has a
 * `priceFormat` of its own, its decimals fit its values.
 *
 * Give it the same shared events as `drawCandles`, so that both have the same times. With a `pipe`, the line continues over
 * older candles. An error of `events`, `pipe` or `pick`, or events of more than one series, end the drawing; the error is
 * reported as RxJS reports unhandled errors. Throws an `InvalidInputError` for wrong arguments.
 *
 * ```ts
 * import { clientSource, createClient, ema, withIndicators } from "pairstream";
 * import { drawCandles, drawLine } from "pairstream/lightweight-charts";
 * import { CandlestickSeries, createChart, LineSeries } from "lightweight-charts";
 * import { share } from "rxjs";
 *
 * const chart = createChart("chart");
 * const source = clientSource(createClient({ baseUrl: "https://api.example.com", apiKey: "…" }));
 * const pairAddress = "83v8iPyZihDEjDdY8RdZddyZNyUtXngz69Lgo9Kt5d6d";
 * const series = { network: "mainnet", pairAddress, timeframe: "1min", currency: "usd" } as const;
 * const events = source.candles({ ...series, since: { candles: 500 } }).pipe(share());
 * const pipe = withIndicators({ fast: ema(9) });
 * const drawing = drawLine(chart, chart.addSeries(LineSeries), events, ({ values }) => values.fast, { pipe });
 * drawing.add(drawCandles(chart, chart.addSeries(CandlestickSeries), events));
 * ```
 */
export function drawLine<E extends CandleEvent, P extends CandleEvent = E>(
  chart: IChartApi,
  series: ISeriesApi<"Line">,
  events: Observable<E>,
  pick: (event: P) => number | undefined,
  options: LineOptions<P> = {},
): Subscription {
  checkNames(options, ["pipe"]);
  const { pipe } = options;
  checkMethods({ pick: [pick, "call"], ...(pipe !== undefined && { pipe: [pipe, "call"] }) });
  checkKind("series", series, ["Line", "Area", "Baseline", "Histogram"]);
  const rows = makeRows<Point>(KEEP);
  return draw<P, Point>(chart, series, events, {
    ...{ rows, pipe },
    rowOf(event) {
      const value = pick(event);
      return Number.isFinite(value) ? { timestamp: event.candle.timestamp, value: value! } : undefined;
    },
    targets() {
      fitPriceFormat(
        series,
        Math.max(
          0,
          ...rows
            .all()
            .slice(-SWINGS)
            .map(({ value }) => Math.abs(value)),
        ),
      );
      return [[series, (point: Point) => ({ time: timeOf(point), value: point.value })]];
    },
  });
}
