import type { IChartApi, ISeriesApi, MismatchDirection, SeriesType, Time } from "lightweight-charts";
import { Subject } from "rxjs";
import type { CandleEvent } from "../../candles/event.js";

/** What one call draws on a chart. */
export interface Drawing {
  readonly series: ISeriesApi<SeriesType>;
  hasChanges(): boolean;
  /** Gives the chart what has changed. Says whether its series now shows another pair, timeframe or currency. */
  draw(): boolean;
  /** Is told that the chart stands still, before anything is drawn. */
  look(): void;
  /** The chart or the series is gone, or has refused what it was given. */
  end(error?: unknown): void;
}

/**
 * All drawings of one chart: one frame for them together, as the place of a bar follows from all series, and the view can
 * be set once a frame only.
 */
export interface Stage {
  add(drawing: Drawing): void;
  remove(drawing: Drawing): void;
  /** Calls for a frame. `hasChanges`: something is to be drawn in it. */
  request(hasChanges: boolean): void;
  /** All candles of a series as history, each time that older ones have come. */
  readonly retold: Subject<readonly CandleEvent[]>;
}

/** Where the right edge of the view is. */
interface View {
  /** In bars from the newest one. */
  readonly offset: number;
  /** The bar at the edge, and how far the edge is from it; none where the view follows the newest bar. */
  readonly anchor: { readonly time: Time; readonly distance: number } | undefined;
}

const STAGES = new WeakMap<IChartApi, Stage>();
const LEFT: MismatchDirection.NearestLeft = -1;

export function stageOf(chart: IChartApi): Stage {
  const stage = STAGES.get(chart) ?? makeStage(chart);
  STAGES.set(chart, stage);
  return stage;
}

function makeStage(chart: IChartApi): Stage {
  const drawings = new Set<Drawing>();
  let isFrameDue = false;
  let isPaintDue = false;
  /** What was shown before the chart was emptied. */
  let lostView: View | undefined;

  const request = (hasChanges: boolean) => {
    if (!isFrameDue) requestAnimationFrame(show);
    isFrameDue = true;
    if (!hasChanges || isPaintDue || [...drawings].some(({ series }) => isGone(series))) return;
    isPaintDue = true;
    // The chart paints in the same frame, after this: nobody sees bars that the view has not been set for.
    chart.timeScale().applyOptions({});
  };

  function show(): void {
    isFrameDue = false;
    isPaintDue = false;
    for (const drawing of drawings) {
      if (isGone(drawing.series)) drawing.end();
      else drawing.look();
    }
    const changed = [...drawings].filter((drawing) => drawing.hasChanges());
    if (changed.length === 0) return;
    // The next frame of this comes before the chart's: bars and view change at once for whoever looks.
    request(false);
    const view = currentView() ?? lostView;
    let isOther = false;
    for (const drawing of changed) {
      try {
        isOther = drawing.draw() || isOther;
      } catch (error) {
        drawing.end(error);
      }
    }
    keep(view, isOther);
  }

  function currentView(): View | undefined {
    const scale = chart.timeScale();
    const edge = scale.getVisibleLogicalRange()?.to;
    if (edge === undefined) return undefined;
    const offset = scale.scrollPosition();
    // The newest bar is seen, if only a part of it: that is what the chart takes for the end, too.
    if (offset > -1 && scale.options().shiftVisibleRangeOnNewBar) return { offset, anchor: undefined };
    const bars = [...drawings].flatMap(({ series }) => series.dataByIndex(Math.floor(edge), LEFT) ?? []);
    const [anchor] = bars
      .map(({ time }) => ({ time, distance: edge - scale.timeToIndex(time)! }))
      .sort((a, b) => a.distance - b.distance);
    return { offset, anchor };
  }

  /** Sets the view back to where it was; to the newest bar where another series is shown. */
  function keep(view: View | undefined, isOther: boolean): void {
    const scale = chart.timeScale();
    const range = scale.getVisibleLogicalRange();
    lostView = range === null ? view : undefined;
    if (range === null || view === undefined) return;
    const { offset, anchor } = view;
    const now = scale.scrollPosition();
    let target = offset;
    if (isOther) target = Math.max(offset, scale.options().rightOffset);
    else if (anchor !== undefined)
      target = scale.timeToIndex(anchor.time, true)! + anchor.distance - Math.round(range.to - now);
    // A call would end an animated scroll of the page.
    if (Math.abs(target - now) > 1e-6) scale.scrollToPosition(target, false);
  }

  return {
    request,
    retold: new Subject(),
    add(drawing) {
      drawings.add(drawing);
      request(true);
    },
    remove(drawing) {
      drawings.delete(drawing);
    },
  };
}

/** Whether the series has been removed from its chart, or the chart from its page. */
export function isGone(series: ISeriesApi<SeriesType>): boolean {
  try {
    series.getPane();
    return false;
  } catch {
    return true;
  }
}
