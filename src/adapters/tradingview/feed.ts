import {
  defer,
  filter,
  finalize,
  from,
  map,
  mergeMap,
  type Observable,
  observeOn,
  of,
  ReplaySubject,
  type SchedulerLike,
  Subscription,
  take,
  takeWhile,
  throwError,
} from "rxjs";
import type { CandleEvent } from "../../candles/event.js";
import { isSame } from "../../candles/event.js";
import type { Candle, Series, WeekStart } from "../../contract/model.js";
import { EventWindow } from "../../operators/latest.js";
import type { PairSource } from "../../source.js";
import { type Intervals, intervalsOf } from "../../timeframe.js";
import type { PeriodParams } from "./library.js";

/** With how much history a stream begins: as much as a chart shows at first. Viewers of one gateway share it. */
const SINCE = 500;
/** How many candles the fold of a stream holds; older ones come from the history. */
const KEEP = 10_000;
/** How many are remembered of a series that nobody follows: more than a stream begins with. */
const REMEMBERED = 1_000;
/** The most candles that are asked for at once. */
const PIECE = 1_000;
/** For how long a first answer waits for its subscription, in ms. */
const PATIENCE = 10_000;

/** Who follows a series. */
export interface Listener {
  onTick(candle: Candle): void;
  onReset(): void;
}

/** What a feed needs of its datafeed. */
export interface FeedContext {
  readonly source: PairSource;
  readonly weekStart: WeekStart;
  readonly scheduler: SchedulerLike;
  /** Is shown every event. */
  hear(event: CandleEvent): void;
}

/**
 * One symbol in one resolution: the fold of its events, and how far the library, which has one cache for it, knows that
 * fold.
 *
 * What has changed is found by comparing the two, once for all events of one instant. So it does not matter when the
 * library subscribes, nor whether it leaves and comes back with the bars that it had.
 */
export class Feed {
  readonly #series: Series;
  readonly #context: FeedContext;
  readonly #intervals: Intervals;
  readonly #listeners = new Map<string, Listener>();
  /** Undefined while nobody needs it. */
  #stream: Subscription | undefined;
  #fold = new EventWindow<CandleEvent>(KEEP);
  /** The oldest candle that the stream has told of. */
  #from = Infinity;
  /** Emits once the stream has told its history. */
  #ready = new ReplaySubject<void>(1);
  #isReady = false;
  /** The candles of the fold as the library knows them; undefined until it has got an answer. */
  #held: readonly Candle[] | undefined;
  /** The newest bar that the library has ever been given since its last beginning: what is older is a "time violation". */
  #last = -Infinity;
  /** Whether the stream was left since, so that candles may be missing between what the library has and the fold. */
  #wasLeft = false;
  /** How many answers are being read. */
  #reading = 0;
  /** Runs while an answer waits for its subscription. */
  #claim: Subscription | undefined;
  #telling: Subscription | undefined;

  constructor(series: Series, context: FeedContext) {
    this.#series = series;
    this.#context = context;
    this.#intervals = intervalsOf(series.timeframe, context.weekStart);
  }

  /** The candles of a period, in another macrotask. Whoever takes them has them: later ticks follow from that. */
  candles(period: PeriodParams): Observable<readonly Candle[]> {
    const end = period.to * 1_000;
    return defer(() => {
      const isPast =
        !period.firstDataRequest && this.#stream === undefined && end <= this.#context.scheduler.now();
      if (!isPast) return this.#present(period, end);
      return this.#past(period, end, 0).pipe(map((past) => within(past, period)));
    });
  }

  subscribe(guid: string, listener: Listener): void {
    this.#listeners.set(guid, listener);
    this.#claim?.unsubscribe();
    this.#claim = undefined;
    this.#open();
    this.#tellSoon();
  }

  unsubscribe(guid: string): void {
    this.#listeners.delete(guid);
    this.#leaveSoon();
  }

  /** Where the fold begins; `Infinity` where there is no candle. */
  #floorOf(rows: readonly Candle[]): number {
    const left = Math.min(this.#fold.leftUntil + 1, rows[0]?.timestamp ?? Infinity);
    return Math.max(this.#from, left);
  }

  #rows(): readonly Candle[] {
    return this.#fold.events().map(({ candle }) => candle);
  }

  #open(): void {
    if (this.#stream !== undefined) return;
    const { source, weekStart, scheduler } = this.#context;
    const options = { ...this.#series, weekStart, since: { candles: SINCE } };
    const stream = new Subscription();
    this.#stream = stream;
    this.#fold = new EventWindow(KEEP);
    this.#from = Infinity;
    this.#ready = new ReplaySubject(1);
    const error = (reason: unknown) => {
      const ready = this.#ready;
      const hasListeners = this.#listeners.size > 0;
      this.#close();
      ready.error(reason);
      // The library has no place for it: RxJS reports it as what nobody handles.
      if (hasListeners) throwError(() => reason).subscribe();
    };
    const next = (event: CandleEvent) => {
      this.#context.hear(event);
      const { timestamp } = event.candle;
      if (this.#fold.apply(event) && event.type !== "removed") this.#from = Math.min(this.#from, timestamp);
      this.#tellSoon();
    };
    stream.add(defer(() => source.candles(options)).subscribe({ next, error }));
    if (stream.closed) return;
    const statuses = defer(() => source.status(options)).pipe(
      filter(({ state }) => state !== "starting"),
      take(1),
      observeOn(scheduler),
    );
    const start = () => {
      this.#isReady = true;
      this.#ready.next();
      this.#tellSoon();
    };
    stream.add(statuses.subscribe({ next: start, error }));
  }

  #close(): void {
    this.#stream?.unsubscribe();
    this.#stream = undefined;
    this.#isReady = false;
    this.#telling?.unsubscribe();
    this.#telling = undefined;
    this.#fold = new EventWindow(KEEP);
    this.#held = this.#held?.slice(-REMEMBERED);
    this.#wasLeft = true;
  }

  #leaveSoon(): void {
    this.#context.scheduler.schedule(() => {
      if (this.#listeners.size === 0 && this.#reading === 0 && this.#claim === undefined) this.#close();
    });
  }

  #present(period: PeriodParams, end: number): Observable<readonly Candle[]> {
    return defer(() => {
      this.#reading += 1;
      this.#open();
      return this.#ready.pipe(
        take(1),
        mergeMap(() => this.#joined(period, end)),
        finalize(() => {
          this.#reading -= 1;
          this.#leaveSoon();
        }),
      );
    });
  }

  /** The candles before the fold, and those of the fold as they stand when the former have come. */
  #joined(period: PeriodParams, end: number): Observable<readonly Candle[]> {
    return defer(() => {
      const stream = this.#stream;
      const isBefore = ({ timestamp }: Candle) => timestamp < end;
      const known = this.#rows().filter(isBefore).length;
      const floor = this.#floorOf(this.#rows());
      return this.#past(period, Math.min(end, floor), known).pipe(
        mergeMap((past) => {
          const rows = this.#rows();
          const floorNow = this.#floorOf(rows);
          // Meanwhile the fold has forgotten what was to follow the past, or the stream has failed.
          if (floorNow > floor || this.#stream !== stream) return this.#present(period, end);
          const older = past.filter(({ timestamp }) => timestamp < floorNow);
          const candles = within([...older, ...rows.filter(isBefore)], period);
          this.#hold(period, candles, rows, end);
          return of(candles);
        }),
      );
    });
  }

  /** Notes what the library has from now on: it begins anew with an answer, or adds it to what it had. */
  #hold(
    { firstDataRequest }: PeriodParams,
    answer: readonly Candle[],
    rows: readonly Candle[],
    end: number,
  ): void {
    const newest = answer.at(-1)?.timestamp ?? -Infinity;
    const held = firstDataRequest ? undefined : this.#held;
    if (held === undefined) this.#wasLeft = false;
    const last = held === undefined ? -Infinity : this.#last;
    const added = rows.filter(({ timestamp }) => timestamp > last && timestamp < end);
    this.#held = [...(held ?? []), ...added];
    this.#last = Math.max(last, newest);
    if (this.#listeners.size > 0) return;
    this.#claim?.unsubscribe();
    this.#claim = this.#context.scheduler.schedule(() => {
      this.#claim = undefined;
      this.#leaveSoon();
    }, PATIENCE);
  }

  /** So many candles before an instant that a period has enough, with the `known` ones that follow. */
  #past(period: PeriodParams, before: number, known: number): Observable<readonly Candle[]> {
    const { source, weekStart, scheduler } = this.#context;
    const start = period.from * 1_000;
    const read = async () => {
      let candles: readonly Candle[] = [];
      let until = before;
      // Where the fold is empty there is nothing before it.
      while (until > 0 && until < Infinity) {
        const missing = Math.max(1, period.countBack) - known - candles.length;
        const count = Math.min(PIECE, missing > 0 ? missing : this.#intervals.count(start, until));
        if (count === 0) break;
        // As a Date: early instants in ms look like seconds.
        const piece = await source.history({ ...this.#series, weekStart, to: new Date(until), count });
        candles = [...piece, ...candles];
        if (piece.length < count) break;
        until = piece[0]!.timestamp;
      }
      return candles;
    };
    return defer(read).pipe(observeOn(scheduler));
  }

  #tellSoon(): void {
    if (this.#listeners.size === 0 || this.#telling !== undefined) return;
    this.#telling = this.#context.scheduler.schedule(() => {
      this.#telling = undefined;
      this.#tell();
    });
  }

  /** Tells the library what has changed since it was last told. */
  #tell(): void {
    const held = this.#held;
    const last = this.#last;
    if (!this.#isReady || held === undefined || this.#listeners.size === 0) return;
    const rows = this.#rows();
    const floor = this.#floorOf(rows);
    const older = (candles: readonly Candle[]) =>
      candles.filter(({ timestamp }) => timestamp >= floor && timestamp < last);
    const isLast = ({ timestamp }: Candle) => timestamp === last;
    const newest = held.find(isLast);
    const isGone = newest !== undefined && last >= floor && !rows.some(isLast);
    // While nobody followed, so much has come that the stream begins later.
    const isTorn = this.#wasLeft && last < floor && rows.length > 0;
    const hasChanged = isGone || isTorn || !areSame(older(held), older(rows));
    const ticks = rows.filter(
      (row) => row.timestamp > last || (isLast(row) && (newest === undefined || !isSame(row, newest))),
    );
    this.#held = rows;
    this.#last = Math.max(last, rows.at(-1)?.timestamp ?? last);
    this.#wasLeft = false;
    for (const [guid, listener] of [...this.#listeners]) {
      // It may have left meanwhile. What it throws is reported as RxJS does, and stops no other one.
      const isThere = () => this.#listeners.get(guid) === listener;
      const told = from(ticks).pipe(takeWhile(isThere));
      told.subscribe((candle) => listener.onTick(candle));
      if (hasChanged && isThere()) of(listener).subscribe((one) => one.onReset());
    }
  }
}

/** The candles of a period, and as many earlier ones as it lacks. */
function within(candles: readonly Candle[], { from, countBack }: PeriodParams): readonly Candle[] {
  const start = from * 1_000;
  const inside = candles.filter(({ timestamp }) => timestamp >= start).length;
  return candles.slice(-Math.max(1, countBack, inside));
}

function areSame(a: readonly Candle[], b: readonly Candle[]): boolean {
  return (
    a.length === b.length &&
    a.every((one, at) => one === b[at] || (one.timestamp === b[at]!.timestamp && isSame(one, b[at]!)))
  );
}
