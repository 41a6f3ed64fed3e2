// Runs in a page, bundled with the real chart: its tests talk to it as `page`.
import {
  CandlestickSeries,
  createChart,
  HistogramSeries,
  type IChartApi,
  type ISeriesApi,
  type ISeriesPrimitive,
  LineSeries,
  type SeriesType,
  type Time,
  type UTCTimestamp,
} from "lightweight-charts";
import { applyCandleEvent, type Candle, type CandleEvent, type Series } from "pairstream";
import { drawCandles, drawLine } from "pairstream/lightweight-charts";
import { Subject } from "rxjs";

export { CandlestickSeries, createChart, HistogramSeries, LineSeries } from "lightweight-charts";
export { indicatorColumns, sma, withIndicators } from "pairstream";
export { drawCandles, drawLine, drawMarkers, drawSnipers } from "pairstream/lightweight-charts";
export { config, of, Subject } from "rxjs";

const MINUTE = 60_000;
/** The first candle of a history. */
export const START = 1_700_000_040_000;

export const SERIES: Series = Object.freeze({
  network: "mainnet",
  pairAddress: "pair1",
  timeframe: "1min",
  currency: "usd",
});

export const frame = () => new Promise<number>(requestAnimationFrame);

/** Until the chart has painted what was drawn, and what that called for. */
export async function settled(): Promise<void> {
  for (let at = 0; at < 3; at++) await frame();
}

/** Numbers from 0 to 1, the same for each seed. */
export function dice(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return (state >>> 8) / 2 ** 24;
  };
}

export function candleAt(timestamp: number, price = 100): Candle {
  const [open, high, low, close] = [price, price * 1.02, price * 0.97, price * 1.01];
  return { timestamp, open, high, low, close, volume: price * 2, swaps: 1 };
}

export function eventOf(
  type: "new" | "updated" | "removed",
  candle: Candle,
  series: Series = SERIES,
): CandleEvent {
  const base = {
    candle,
    status: "closed",
    revision: 0,
    live: true,
    lateBy: 0,
    observedAt: 0,
    series,
  } as const;
  return type === "updated" ? { ...base, type, previous: candle } : { ...base, type };
}

/** A history of `count` candles that ends before `until`. */
export function historyOf(count: number, until = START + count * MINUTE): Candle[] {
  return Array.from({ length: count }, (_, at) => candleAt(until - (count - at) * MINUTE, 100 + (at % 7)));
}

/** A chart of candles, volume, a line over them and one in a pane below. */
export function openChart(width = 800) {
  document.body.replaceChildren();
  const element = document.createElement("div");
  element.style.cssText = `width: ${width}px; height: 400px`;
  document.body.append(element);
  const chart = createChart(element, { width, height: 400 });
  const candles = chart.addSeries(CandlestickSeries);
  const volume = chart.addSeries(HistogramSeries, { priceScaleId: "volume" });
  const line = chart.addSeries(LineSeries);
  const below = chart.addSeries(LineSeries, {}, 1);
  return { chart, candles, volume, line, below };
}

/** The calls that change a series from now on, each with how many bars it holds then. */
export function callsOf(
  series: Pick<ISeriesApi<SeriesType>, "setData" | "update" | "pop" | "data">,
): string[] {
  const calls: string[] = [];
  for (const name of ["setData", "update", "pop"] as const) {
    const real = series[name].bind(series) as (...args: unknown[]) => unknown;
    Object.assign(series, {
      [name]: (...args: unknown[]) => {
        const result = real(...args);
        calls.push(`${name} ${series.data().length}`);
        return result;
      },
    });
  }
  return calls;
}

/** Calls back in each paint of the chart, with what is then seen. */
export function onPaint(opened: ReturnType<typeof openChart>, look: () => void): void {
  const primitive: ISeriesPrimitive<Time> = {
    paneViews: () => [{ renderer: () => ({ draw: look }) }],
  };
  opened.candles.attachPrimitive(primitive);
}

/** Where something is drawn in a colour: at which bar, and whether above or below it. */
export interface SeenMark {
  readonly time: Time;
  readonly isAbove: boolean;
}

/** So many pixels in a column are no text. */
const RUN = 5;

/** What a screenshot of the chart shows in the middle of bars in a colour, `#rrggbb`, with which no bar is drawn. */
export function seenIn({ chart, candles }: ReturnType<typeof openChart>, colour: string): SeenMark[] {
  const shot = chart.takeScreenshot();
  const { height } = shot;
  const wanted = [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));
  const seen: SeenMark[] = [];
  for (const { time, close } of candles.data() as { time: Time; close: number }[]) {
    const x = chart.timeScale().timeToCoordinate(time)!;
    if (x < 0 || x > chart.timeScale().width()) continue;
    const { data } = shot.getContext("2d")!.getImageData(Math.round(x), 0, 1, height);
    const rows = Array.from({ length: height }, (_, y) => y).filter((y) =>
      wanted.every((part, channel) => data[4 * y + channel] === part),
    );
    const middle = candles.priceToCoordinate(close)!;
    for (const isAbove of [true, false]) {
      if (rows.filter((y) => y < middle === isAbove).length >= RUN) seen.push({ time, isAbove });
    }
  }
  return seen;
}

/** The texts that the chart writes in its next paints, each once. */
export async function textsOf({ chart }: ReturnType<typeof openChart>): Promise<string[]> {
  const { fillText } = CanvasRenderingContext2D.prototype;
  const texts: string[] = [];
  CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
    texts.push(text);
    fillText.call(this, text, ...rest);
  };
  chart.applyOptions({});
  await settled();
  CanvasRenderingContext2D.prototype.fillText = fillText;
  return [...new Set(texts)];
}

/** The primitives that a series has from now on. */
export function primitivesOf(series: Pick<ISeriesApi<SeriesType>, "attachPrimitive" | "detachPrimitive">) {
  const held = new Set<unknown>();
  const { attachPrimitive, detachPrimitive } = series;
  series.attachPrimitive = (one) => {
    held.add(one);
    attachPrimitive.call(series, one);
  };
  series.detachPrimitive = (one) => {
    held.delete(one);
    detachPrimitive.call(series, one);
  };
  return held;
}

/** A line that has holes. */
export const pickOf = ({ candle }: CandleEvent) => (candle.swaps % 5 === 0 ? undefined : candle.close);

/** Where a bar is, from the right edge of the view. */
function placeOf(chart: IChartApi, time: Time): number {
  const scale = chart.timeScale();
  return scale.getVisibleLogicalRange()!.to - scale.timeToIndex(time)!;
}

/** The bar at the right edge of the view. */
function barAtEdge({ chart, candles }: ReturnType<typeof openChart>): UTCTimestamp {
  const { to } = chart.timeScale().getVisibleLogicalRange()!;
  return candles.dataByIndex(Math.floor(to), -1)!.time as UTCTimestamp;
}

/**
 * Plays `total` random events in bursts, one a frame, while a user scrolls now and then; says what was wrong, and how
 * long the drawings took.
 */
export async function play(seed: number, total: number) {
  const random = dice(seed);
  const upTo = (count: number) => Math.floor(random() * count);
  const opened = openChart();
  const { chart, candles, volume, line, below } = opened;
  const scale = chart.timeScale();
  const events = new Subject<CandleEvent>();
  const fold = new Map<number, Candle>();
  const values = new Map<number, number>();
  const negatives = new Map<number, number>();
  const problems: string[] = [];
  let next = START + 600 * MINUTE;
  let prepends = 0;
  let inFlight: Set<number> | undefined;
  let swaps = 0;
  const drawing = drawCandles(chart, candles, events, {
    volume,
    olderFrom: async (before, count) => {
      prepends += 1;
      inFlight = new Set();
      await frame();
      await frame();
      // The real beginning is far away; some of it had no swaps.
      const older = historyOf(Math.min(count, 40), before).filter((_, at) => at % 7 !== 3);
      for (const candle of older) {
        if (!inFlight.has(candle.timestamp) && !fold.has(candle.timestamp))
          fold.set(candle.timestamp, candle);
      }
      inFlight = undefined;
      return older;
    },
  });
  drawing.add(drawLine(chart, line, events, pickOf));
  drawing.add(drawLine(chart, below, events, ({ candle }) => -candle.close));

  const emit = (type: "new" | "updated" | "removed", timestamp: number) => {
    const before = fold.get(timestamp);
    const candle =
      type === "removed" ? before! : { ...candleAt(timestamp, 50 + 100 * random()), swaps: ++swaps };
    const event = eventOf(type, candle);
    inFlight?.add(timestamp);
    applyCandleEvent(fold, event);
    const value = type === "removed" ? undefined : pickOf(event);
    if (type === "removed") negatives.delete(timestamp);
    else negatives.set(timestamp, -candle.close);
    if (value === undefined) values.delete(timestamp);
    else values.set(timestamp, value);
    events.next(event);
  };
  for (const candle of historyOf(600)) emit("new", candle.timestamp);
  await settled();

  /** What the view keeps to: a bar at a place, or an offset from the newest bar. */
  let held: { readonly time: UTCTimestamp; readonly place: number } | { readonly offset: number } | undefined;
  const hold = () => {
    const offset = scale.scrollPosition();
    if (offset > -1) return { offset };
    const time = barAtEdge(opened);
    return { time, place: placeOf(chart, time) };
  };
  let paints = 0;
  const look = (when: string) => {
    if (held === undefined) return;
    const is = "offset" in held ? scale.scrollPosition() : placeOf(chart, held.time);
    const should = "offset" in held ? held.offset : held.place;
    if (Math.abs(is - should) > 1e-6) problems.push(`${when} ${paints}: ${is}, not ${should}`);
  };
  onPaint(opened, () => {
    paints += 1;
    look("paint");
  });
  let spent = 0;
  let painting = 0;
  let drawings = 0;
  const measured = requestAnimationFrame;
  window.requestAnimationFrame = (callback) =>
    measured((time) => {
      const start = performance.now();
      callback(time);
      const took = performance.now() - start;
      // The chart's own has no name.
      if (callback.name !== "") spent += took;
      else painting += took;
    });

  let told = 0;
  while (told < total) {
    if (random() < 0.05) {
      held = undefined;
      // To the newest, somewhere in between, or to the left edge, where older ones are asked for.
      const way = random();
      const bars = candles.data().length;
      scale.scrollToPosition(way < 0.2 ? 2 * random() : way < 0.5 ? -bars * random() : -bars + 20, false);
      await settled();
      held = hold();
    }
    const burst = Math.min(total - told, random() < 0.03 ? 300 : 1 + upTo(30));
    for (let at = 0; at < burst; at++) {
      told += 1;
      const known = [...fold.keys()];
      // Mostly of the newest ones, sometimes of any age.
      const near = next - MINUTE * (1 + upTo(random() < 0.8 ? 20 : known.length));
      const kind = random();
      if (kind < 0.35) {
        emit("new", next);
        next += MINUTE * (random() < 0.1 ? 3 : 1);
      } else if (kind < 0.9) emit(fold.has(near) ? "updated" : "new", near);
      else if (fold.has(near)) {
        emit("removed", near);
        // The next one takes its place.
        if (held !== undefined && "time" in held && held.time === near / 1_000) held = undefined;
      }
    }
    drawings += 1;
    await measuredFrame();
    look("frame");
    held ??= hold();
  }
  await settled();
  await settled();
  window.requestAnimationFrame = measured;
  const rows = [...fold.values()].sort((a, b) => a.timestamp - b.timestamp);
  const time = ({ timestamp }: { readonly timestamp: number }) => timestamp / 1_000;
  const expected = rows.map((row) => {
    const { open, high, low, close } = row;
    return { time: time(row), open, high, low, close };
  });
  const columns = rows.map((row) => ({ time: time(row), value: row.volume }));
  const pointsOf = (numbers: ReadonlyMap<number, number>) =>
    [...numbers].sort(([a], [b]) => a - b).map(([timestamp, value]) => ({ time: timestamp / 1_000, value }));
  compare("the candles", candles.data(), expected);
  compare(
    "the volume",
    volume.data().map((point) => ({ time: point.time, value: (point as { value?: number }).value })),
    columns,
  );
  compare("the line", line.data(), pointsOf(values));
  compare("the line below", below.data(), pointsOf(negatives));
  drawing.unsubscribe();
  chart.remove();
  return {
    problems,
    paints,
    drawings,
    prepends,
    bars: rows.length,
    perDrawing: spent / drawings,
    perPaint: painting / paints,
  };

  function compare(what: string, is: readonly object[], should: readonly object[]) {
    if (is.length !== should.length) problems.push(`${what}: ${is.length}, not ${should.length}`);
    const text = (point: object) => JSON.stringify(Object.entries(point).sort());
    const at = is.findIndex((point, at) => text(point) !== text(should[at] ?? {}));
    if (at < 0) return;
    problems.push(
      `${what} at ${at}: ${JSON.stringify(is.slice(at, at + 2))}, not ${JSON.stringify(should.slice(at, at + 2))}`,
    );
  }

  function measuredFrame() {
    return new Promise((resolve) => measured(resolve));
  }
}
