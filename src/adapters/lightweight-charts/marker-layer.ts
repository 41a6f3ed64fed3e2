import type {
  AutoscaleInfo,
  IChartApi,
  IPrimitivePaneView,
  ISeriesApi,
  ISeriesPrimitive,
  SeriesType,
  Time,
} from "lightweight-charts";
import { shownOn } from "./draw.js";
import { type Mark, type Marker, marksAt } from "./marks.js";
import { isGone } from "./stage.js";

/** The markers of a series: those of all drawings on it, so that what stands at the same bar is stacked. */
export interface MarkerLayer {
  /** Replaces the markers of one drawing. */
  put(drawing: object, markers: readonly Marker[]): void;
  remove(drawing: object): void;
}

/** Of a marker, in pixels: as wide as a bar, within these. */
const SMALLEST = 9;
const LARGEST = 18;
const GAP = 3;
/** The height of a line of text, in font sizes. */
const LINE = 1.2;

const LAYERS = new WeakMap<object, MarkerLayer>();

export function markerLayerOf(chart: IChartApi, series: ISeriesApi<SeriesType>): MarkerLayer {
  const layer = LAYERS.get(series) ?? makeLayer(chart, series);
  LAYERS.set(series, layer);
  return layer;
}

/** A bar as the chart has it: one of candles, or a point of a line. */
interface Bar {
  readonly time: Time;
  readonly high?: number;
  readonly low?: number;
  readonly value?: number;
}

/**
 * The chart's own markers are not used. They move to the next bar when theirs is missing, and do not let go of their series.
 * What is drawn here is found anew in each paint, from the bars in view: it is right whatever has become of them.
 */
function makeLayer(chart: IChartApi, series: ISeriesApi<SeriesType>): MarkerLayer {
  const parts = new Map<object, readonly Marker[]>();
  let requestPaint = () => {};
  const view: IPrimitivePaneView = {
    renderer: () => ({
      draw: (target) => target.useMediaCoordinateSpace(({ context }) => paint(context)),
    }),
  };
  const views = [view];
  const primitive: ISeriesPrimitive<Time> = {
    attached: ({ requestUpdate }) => {
      requestPaint = requestUpdate;
    },
    paneViews: () => views,
    autoscaleInfo: room,
  };
  series.attachPrimitive(primitive);

  /** Smaller than the scales have it: markers of bars side by side leave little room. */
  const textSize = () => chart.options().layout.fontSize - 2;
  const sizeOf = () => Math.min(LARGEST, Math.max(SMALLEST, chart.timeScale().options().barSpacing));

  function paint(context: CanvasRenderingContext2D): void {
    const range = chart.timeScale().getVisibleLogicalRange();
    const shown = shownOn(series);
    if (range === null || shown === undefined || !series.options().visible) return;
    const bars: Bar[] = [];
    for (let at = Math.max(0, Math.floor(range.from)); at <= Math.ceil(range.to); at++) {
      const bar = series.dataByIndex(at) as Bar | null;
      if (bar !== null) bars.push(bar);
    }
    const starts = bars.map(({ time }) => Number(time) * 1_000);
    const { fontFamily } = chart.options().layout;
    const fontSize = textSize();
    context.font = `${fontSize}px ${fontFamily}`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    const taken = new Map<string, number>();
    for (const markers of parts.values()) {
      for (const mark of marksAt(starts, shown.timeframe, markers)) {
        const place = `${mark.bar} ${mark.position}`;
        const offset = taken.get(place) ?? GAP;
        taken.set(place, offset + stand(context, mark, bars[mark.bar]!, offset, fontSize));
      }
    }
  }

  /** Draws a mark at so many pixels from its bar; says how many it takes. */
  function stand(
    context: CanvasRenderingContext2D,
    { position, shape, color, text }: Mark,
    bar: Bar,
    offset: number,
    fontSize: number,
  ): number {
    const x = chart.timeScale().timeToCoordinate(bar.time);
    const isAbove = position === "above";
    const isUpper = isAbove !== series.priceScale().options().invertScale;
    const price = bar.value ?? (isUpper ? bar.high : bar.low);
    const edge = price === undefined ? null : series.priceToCoordinate(price);
    if (x === null || edge === null) return 0;
    const size = sizeOf();
    const away = isAbove ? -1 : 1;
    const y = edge + away * offset;
    context.fillStyle = color ?? colourOf(isAbove);
    context.beginPath();
    if (shape === "arrow") {
      context.moveTo(x, y);
      context.lineTo(x - size / 2, y + away * size);
      context.lineTo(x + size / 2, y + away * size);
    } else if (shape === "circle") context.arc(x, y + (away * size) / 2, size / 2.5, 0, 2 * Math.PI);
    else context.rect(x - size / 2.8, y + away * size * 0.5 - size / 2.8, size / 1.4, size / 1.4);
    context.fill();
    if (!text) return size + GAP;
    context.fillText(text, x, y + away * (size + (LINE * fontSize) / 2));
    return size + LINE * fontSize + GAP;
  }

  /** As it is now: it may change with the theme of the page. */
  function colourOf(isAbove: boolean): string {
    const options = series.options() as { upColor?: string; downColor?: string; color?: string };
    return (
      (isAbove ? options.downColor : options.upColor) ?? options.color ?? chart.options().layout.textColor
    );
  }

  /** The same for all views, so that the scale does not jump while the user scrolls. */
  function room(): AutoscaleInfo {
    const height = sizeOf() + LINE * textSize() + 2 * GAP;
    const all = [...parts.values()];
    const roomAt = (side: Marker["position"]) =>
      all.some((markers) => markers.some(({ position }) => position === side)) ? height : 0;
    return { priceRange: null, margins: { above: roomAt("above"), below: roomAt("below") } };
  }

  return {
    put(drawing, markers) {
      parts.set(
        drawing,
        [...markers].sort((a, b) => a.timestamp - b.timestamp),
      );
      if (!isGone(series)) requestPaint();
    },
    remove(drawing) {
      parts.delete(drawing);
      if (isGone(series)) return;
      if (parts.size > 0) return requestPaint();
      LAYERS.delete(series);
      series.detachPrimitive(primitive);
    },
  };
}
