import type {
  IChartApi,
  ISeriesApi,
  SeriesDataItemTypeMap,
  SeriesType,
  UTCTimestamp,
} from "lightweight-charts";
import {
  auditTime,
  concat,
  connect,
  debounceTime,
  filter,
  type Observable,
  Subject,
  Subscription,
  startWith,
  switchMap,
  tap,
  throwError,
} from "rxjs";
import type { CandleEvent } from "../../candles/event.js";
import type { Series } from "../../contract/model.js";
import { InvalidInputError } from "../../errors.js";
import { checkEvent } from "../../operators/series-states.js";
import type { Row, Rows } from "./rows.js";
import { type Drawing, isGone, stageOf } from "./stage.js";

/** A series, and what a row is in it. */
type Target<R, T extends SeriesType = SeriesType> = readonly [
  series: ISeriesApi<T>,
  pointOf: (row: R) => SeriesDataItemTypeMap[T],
];

/** What events go through; begun anew, with all candles as history, when older ones have come. */
export type Pipe<E> = (events: Observable<CandleEvent>) => Observable<E>;

/** What `draw` draws. */
export interface Part<E extends CandleEvent, R extends Row> {
  readonly rows: Rows<R>;
  readonly pipe?: Pipe<E> | undefined;
  /** What the event's candle is drawn as; `undefined`: not at all. */
  rowOf(event: E): R | undefined;
  /** Called right before a drawing: where it goes, the main series first. */
  targets(): readonly [Target<R>, ...Target<R>[]];
  /** Before a frame in which something may be drawn. `isWhole`: whether no more of a history is to be expected. */
  look?(isWhole: boolean): void;
}

/** A history of which nothing more has come for so long, in ms, is whole: a pair that nobody trades has no more. */
const QUIET = 1_000;
/** How often what there is of a history is drawn while more of it comes, in ms. */
const PATIENCE = 5_000;

/** Which pair, timeframe and currency a series of a chart shows. */
const SHOWN = new WeakMap<object, Series>();

/** What a drawing has put on a series of a chart last; `undefined`: no drawing has. */
export function shownOn(series: object): Series | undefined {
  return SHOWN.get(series);
}

/** Draws what a part makes of events, until it is unsubscribed or the chart is gone. */
export function draw<E extends CandleEvent, R extends Row>(
  chart: IChartApi,
  series: ISeriesApi<SeriesType>,
  events: Observable<CandleEvent>,
  { rows, rowOf, targets, look, pipe }: Part<E, R>,
): Subscription {
  checkMethods({ chart: [chart, "timeScale"], series: [series, "setData"], events: [events, "subscribe"] });
  const stage = stageOf(chart);
  const subscription = new Subscription();
  const growth = new Subject<void>();
  let known: Series | undefined;
  let name: string | undefined;
  /** Whether what the series held before has gone. */
  let isCleared = false;
  /** Whether a part of a history is to be drawn. */
  let isDue = false;
  let isWhole = false;
  const drawing: Drawing = {
    series,
    look: () => look?.(isWhole),
    hasChanges: () => !isCleared || ((isWhole || isDue) && rows.hasChanges()),
    draw: () => {
      const parts = targets();
      const isHeld = !isWhole && !isDue;
      isCleared = true;
      isDue = false;
      // With conflation the chart refuses to change what newer bars follow.
      const plan = isHeld ? { all: [] } : rows.drain(!chart.timeScale().options().enableConflation);
      for (const [target, pointOf] of parts) {
        if (isGone(target)) continue;
        if ("all" in plan) {
          target.setData(plan.all.map(pointOf));
          continue;
        }
        for (const { row, isOlder } of plan.corrected) target.update(pointOf(row), isOlder);
        if (plan.popped > 0) target.pop(plan.popped);
        for (const row of plan.appended) target.update(pointOf(row));
      }
      if (isHeld || known === undefined) return false;
      const before = nameOf(SHOWN.get(series) ?? known);
      SHOWN.set(series, known);
      return before !== name;
    },
    end: (error) => {
      subscription.unsubscribe();
      if (error !== undefined) report(error);
    },
  };
  const release = (whole: boolean) => {
    [isWhole, isDue] = [whole, true];
    stage.request(true);
  };
  const note = (event: CandleEvent) => {
    checkEvent(event);
    if (event.series !== known) {
      known = event.series;
      const other = nameOf(known);
      name ??= other;
      if (name !== other) {
        throw new InvalidInputError("events", "the events of one series", `are of ${name} and ${other}`);
      }
    }
    // The events have come to what can still change.
    if (event.live || event.status !== "final") isWhole = true;
    else if (!isWhole) growth.next();
  };
  const take = (event: E) => {
    const row = event.type === "removed" ? undefined : rowOf(event);
    if (row === undefined) rows.remove(event.candle.timestamp);
    else rows.put(row);
    if (isWhole && rows.hasChanges()) stage.request(true);
  };
  subscription.add(() => stage.remove(drawing));
  stage.add(drawing);
  subscription.add(growth.pipe(debounceTime(QUIET)).subscribe(() => release(true)));
  subscription.add(growth.pipe(auditTime(PATIENCE)).subscribe(() => release(isWhole)));
  const end = () => release(true);
  const fail = (error: unknown) => {
    end();
    report(error);
  };
  const noted = events.pipe(tap({ next: note, complete: end }));
  const piped =
    pipe &&
    connect((live: Observable<CandleEvent>) =>
      stage.retold.pipe(
        filter(([first]) => nameOf(first!.series) === name),
        startWith([]),
        switchMap((past) => pipe(concat(past, live))),
      ),
    );
  const rowed = (piped ? noted.pipe(piped) : (noted as Observable<E>)).pipe(tap(take));
  subscription.add(rowed.subscribe({ error: fail }));
  return subscription;
}

const REPORTED = new WeakSet<object>();

/** Reports as RxJS does what nobody handles: an error once, however many drawings it ends. */
export function report(error: unknown): void {
  if (error instanceof Error) {
    if (REPORTED.has(error)) return;
    REPORTED.add(error);
  }
  throwError(() => error).subscribe();
}

/** Throws an `InvalidInputError` for what has no such method. */
export function checkMethods(
  parts: Readonly<Record<string, readonly [part: unknown, method: string]>>,
): void {
  for (const [name, [part, method]] of Object.entries(parts)) {
    const has = typeof (part as Record<string, unknown> | undefined | null)?.[method] === "function";
    if (has) continue;
    if (method === "call") throw new InvalidInputError(name, "a function", `is of type ${typeof part}`);
    throw new InvalidInputError(name, `an object with the method ${method}`, `has no method ${method}`);
  }
}

/** Refuses a series of another kind, in whose place the chart would show nothing, and would say so only in its own words. */
export function checkKind(
  name: string,
  series: { seriesType?(): string } | undefined,
  kinds: readonly string[],
): void {
  const kind = series?.seriesType?.();
  if (kind === undefined || kinds.includes(kind)) return;
  throw new InvalidInputError(name, `a series of the kind ${kinds.join(" or ")}`, `is of the kind ${kind}`);
}

/** The chart counts seconds. */
export function timeOf({ timestamp }: Row): UTCTimestamp {
  return (timestamp / 1_000) as UTCTimestamp;
}

function nameOf({ network, pairAddress, timeframe, currency }: Series): string {
  return [network, pairAddress, timeframe, currency].join(" ");
}
