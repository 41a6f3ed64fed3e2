import type { IChartApi, ISeriesApi } from "lightweight-charts";
import type { Observable, Subscription } from "rxjs";
import type { CandleEvent, CandleStatus } from "../../candles/event.js";
import { checkNumber } from "../../contract/input.js";
import type { Candle, Series } from "../../contract/model.js";
import { checkNames, namesOf } from "../../contract/names.js";
import { checkKind, checkMethods, draw, timeOf } from "./draw.js";
import { olderCandles } from "./older.js";
import { fitPriceFormat } from "./price-format.js";
import { makeRows, type Row } from "./rows.js";
import { stageOf } from "./stage.js";

/** How to draw candles. All options may be left out. */
export interface DrawOptions {
  /** The series that shows the volume of each candle, in a paler colour of its direction; default: no volume. */
  volume?: ISeriesApi<"Histogram">;
  /**
   * Reads older candles, such as with `PairSource.history`. It is called when fewer than ten candles are left of the view,
   * for the newest candles before `before` (ms since the epoch, UTC), at most `count`. Default: only the candles of the
   * events are drawn.
   */
  olderFrom?: (before: number, count: number) => Promise<readonly Candle[]>;
  /**
   * The most candles that are kept, 100 to 1,000,000; default 50,000. Beyond that the oldest tenth is forgotten. With
   * `olderFrom` it is read again when it is needed.
   */
  keep?: number;
}

const NAMES = namesOf<DrawOptions>({ volume: true, olderFrom: true, keep: true });
/** How many bars before the view there should be. */
const MARGIN = 10;
/** A page of the service. */
const MOST_AT_ONCE = 1_000;
/** The chart takes over where its view should stand when it paints, which is after the drawing. */
const FRAMES_UNTIL_SETTLED = 2;

interface CandleRow extends Row {
  readonly candle: Candle;
  readonly status: CandleStatus;
}

/**
 * Draws candles, and keeps them correct: new candles, corrections of any age, late candles, removals.
 *
 * The series always holds the candles that the events add up to. It changes at most once a frame, however many events came.
 * A hidden tab has no frames, so the series changes when the tab is shown again. A history is drawn when it is whole. If it
 * takes longer than 5 s, the part that is there is drawn every 5 s.
 *
 * The view never moves by itself. While the newest candle is visible, the view follows it (unless
 * `shiftVisibleRangeOnNewBar` of the time scale is false). Otherwise the candle at the right edge stays there. The first
 * drawing replaces the old content of the series. If that was another pair, timeframe or currency, the view goes to the
 * newest candle.
 *
 * Unless the series has a `priceFormat` of its own, prices get the decimals that they need, and zeros after the point are
 * counted: `0.0₂370600` is 0.003706. A gap has no bar.
 *
 * With `olderFrom`, older candles come when the user reaches the left edge, with one call at a time. An error is reported
 * once, and the call is repeated after 5 s, doubling to a minute. An answer without an older candle is the beginning. If an
 * event has described a candle, an older answer does not change it. Lines with a `pipe` continue over older candles.
 *
 * Events of more than one series are refused with an `InvalidInputError`, as an error of the stream. If `events` errors,
 * the chart keeps what it shows, and the error is reported as RxJS reports unhandled errors (`config.onUnhandledError`),
 * once for all drawings that it ends. To handle it, use `catchError` or `retry` in `events`. After unsubscribing nothing is
 * drawn. If the chart or the series is removed, the drawing unsubscribes by itself in the next frame. Throws an
 * `InvalidInputError` for wrong arguments.
 *
 * ```ts
 * import { clientSource, createClient } from "pairstream";
 * import { drawCandles } from "pairstream/lightweight-charts";
 * import { CandlestickSeries, createChart, HistogramSeries } from "lightweight-charts";
 *
 * const source = clientSource(createClient({ baseUrl: "https://api.example.com", apiKey: "…" }));
 * const pairAddress = "83v8iPyZihDEjDdY8RdZddyZNyUtXngz69Lgo9Kt5d6d";
 * const series = { network: "mainnet", pairAddress, timeframe: "1min", currency: "usd" } as const;
 * const chart = createChart("chart");
 * const drawing = drawCandles(
 *   chart,
 *   chart.addSeries(CandlestickSeries),
 *   source.candles({ ...series, since: { candles: 500 } }),
 *   {
 *     volume: chart.addSeries(HistogramSeries, { priceScaleId: "volume" }),
 *     olderFrom: (before, count) => source.history({ ...series, to: before, count }),
 *   },
 * );
 * drawing.unsubscribe();
 * ```
 */
export function drawCandles(
  chart: IChartApi,
  series: ISeriesApi<"Candlestick">,
  events: Observable<CandleEvent>,
  options: DrawOptions = {},
): Subscription {
  checkNames(options, NAMES);
  const { volume, olderFrom, keep = 50_000 } = options;
  checkNumber("keep", keep, { min: 100, max: 1_000_000, integer: true });
  checkKind("series", series, ["Candlestick", "Bar"]);
  if (volume !== undefined) {
    checkMethods({ volume: [volume, "setData"] });
    checkKind("volume", volume, ["Histogram"]);
  }
  if (olderFrom !== undefined) checkMethods({ olderFrom: [olderFrom, "call"] });
  const rows = makeRows<CandleRow>(keep);
  let shown: Series | undefined;
  let look: ((isWhole: boolean) => void) | undefined;
  let colours: readonly string[] = [];

  const subscription = draw(chart, series, events, {
    rows,
    rowOf({ candle, status, series }) {
      shown = series;
      return { timestamp: candle.timestamp, candle, status };
    },
    targets() {
      const newest = rows.all().at(-1);
      if (newest !== undefined) fitPriceFormat(series, newest.candle.close);
      const barOf = (row: CandleRow) => {
        const { open, high, low, close } = row.candle;
        return { time: timeOf(row), open, high, low, close };
      };
      const bars = [series, barOf] as const;
      if (volume === undefined) return [bars];
      // They may change with the theme of the page.
      const { upColor, downColor } = series.options();
      const [up, down] = [upColor, downColor].map((one) => (/^#[\da-f]{6}$/i.test(one) ? `${one}55` : one));
      if (colours[0] !== up || colours[1] !== down) rows.redraw();
      colours = [up!, down!];
      const columnOf = (row: CandleRow) => {
        const { open, close, volume } = row.candle;
        return { time: timeOf(row), value: volume, color: close < open ? down! : up! };
      };
      return [bars, [volume, columnOf]];
    },
    look: (isWhole) => look?.(isWhole),
  });
  if (olderFrom === undefined) return subscription;

  const stage = stageOf(chart);
  const scale = chart.timeScale();
  const eventOf = ({ timestamp, candle, status }: CandleRow): CandleEvent => ({
    type: "new",
    candle,
    status,
    revision: 0,
    live: false,
    lateBy: 0,
    observedAt: timestamp,
    series: shown!,
  });
  const lookAgain = () => stage.request(false);
  /** The frames until the view stands, after a history or older bars have come. */
  let unsettled = FRAMES_UNTIL_SETTLED;
  const older = olderCandles(
    (before, count) => {
      rows.expectOlder();
      return olderFrom(before, count);
    },
    (candles, before) => {
      const older = candles.map((candle) => ({
        timestamp: candle.timestamp,
        candle,
        status: "final" as const,
      }));
      const count = rows.prepend(older, before);
      unsettled = FRAMES_UNTIL_SETTLED;
      stage.request(true);
      if (count > 0 && stage.retold.observed)
        stage.retold.next(rows.all().map((row) => Object.freeze(eventOf(row))));
      return count;
    },
    lookAgain,
  );
  look = (isWhole) => {
    if (!isWhole) return;
    if (unsettled > 0) {
      unsettled -= 1;
      return lookAgain();
    }
    const range = scale.getVisibleLogicalRange();
    const [oldest] = rows.all();
    const room = keep - rows.all().length;
    const margin = range === null ? undefined : series.barsInLogicalRange(range)?.barsBefore;
    if (oldest === undefined || room < 1 || margin === undefined || margin >= MARGIN) return;
    older.want(oldest.timestamp, Math.min(room, MOST_AT_ONCE));
  };
  scale.subscribeVisibleLogicalRangeChange(lookAgain);
  subscription.add(() => scale.unsubscribeVisibleLogicalRangeChange(lookAgain));
  subscription.add(older.subscription);
  return subscription;
}
