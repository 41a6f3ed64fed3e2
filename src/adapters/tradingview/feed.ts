import {
  catchError,
  defer,
  filter,
  finalize,
  from,
  map,
  mergeMap,
  type Observable,
  type ObservableInput,
  observeOn,
  ReplaySubject,
  type SchedulerLike,
  Subscription,
  take,
  takeWhile,
  throwError,
} from "rxjs";
import { type CandleEvent, isSame } from "../../candles/event.js";
import { ReaderFold } from "../../candles/reader-fold.js";
import type { Candle, Series, WeekStart } from "../../contract/model.js";
import { InvalidInputError } from "../../errors.js";
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

/** What the library has of a series, as far as that can be told by ticks. */
interface Given {
  /** The newest bar that it has ever been given since its last beginning: what is older is a "time violation". */
  readonly last: number;
  /** That bar; absent where it has gone since. */
  readonly candle: Candle | undefined;
  /** Whether an older bar has changed since. */
  readonly isStale: boolean;
}

/**
 * One symbol in one resolution: the fold of its events, and what the library, which has one cache for it, has of that.
 *
 * The fold outlives its stream. So it does not matter when the library subscribes, nor whether it leaves and comes back with
 * the bars that it had: of a stream that begins anew the fold tells what differs.
 */
export class Feed {
  readonly #series: Series;
  readonly #context: FeedContext;
  readonly #intervals: Intervals;
  readonly #listeners = new Map<string, Listener>();
  /** Its clock stands still, as bars do not say how late they are. */
  readonly #fold: ReaderFold;
  /** Undefined while nobody needs it. */
  #stream: Subscription | undefined;
  /** The oldest candle that the stream has told of. */
  #from = Infinity;
  /** Emits once the stream has told its history. */
  #ready = new ReplaySubject<void>(1);
  #isReady = false;
  /** Undefined until the library has got an answer. */
  #given: Given | undefined;
  /** How many answers are being read. */
  #reading = 0;
  /** Runs while an answer waits for its subscription. */
  #claim: Subscription | undefined;
  #telling: Subscription | undefined;

  constructor(series: Series, context: FeedContext) {
    this.#series = series;
    this.#context = context;
    this.#intervals = intervalsOf(series.timeframe, context.weekStart);
    this.#fold = new ReaderFold(series, KEEP, () => 0);
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

  /** The newest closed candle, in another macrotask; where the history fails, the stream's newest, which waits as bars do. */
  newest(): Observable<Candle | undefined> {
    const { source, scheduler } = this.#context;
    return defer(() => source.history({ ...this.#series, count: 1 })).pipe(
      observeOn(scheduler),
      catchError((error) => {
        // No wait helps a question that the source does not take. Of all else the stream knows.
        if (error instanceof InvalidInputError) throw error;
        return this.#whenReady(() => [this.#rows()]);
      }),
      map((candles) => candles.at(-1)),
    );
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

  /** Where what the stream has told begins; `Infinity` where there is no candle. */
  get #floor(): number {
    return Math.max(this.#from, this.#fold.after + 1);
  }

  #rows(from = -Infinity): readonly Candle[] {
    return this.#fold.rows(Math.max(this.#floor, from)).map(({ candle }) => candle);
  }

  #open(): void {
    if (this.#stream !== undefined) return;
    const { source, weekStart, scheduler } = this.#context;
    const options = { ...this.#series, weekStart, since: { candles: SINCE } };
    const stream = new Subscription();
    this.#stream = stream;
    const newest = this.#fold.newest?.candle.timestamp ?? -Infinity;
    this.#fold.doubt();
    this.#fold.widen(KEEP);
    this.#from = Infinity;
    this.#ready = new ReplaySubject(1);
    const error = (reason: unknown) => {
      this.#close();
      this.#ready.error(reason);
      // The library has no place for it: RxJS reports it as what nobody handles.
      if (this.#listeners.size > 0) throwError(() => reason).subscribe();
    };
    const next = (event: CandleEvent) => {
      this.#context.hear(event);
      if (event.type !== "removed") this.#from = Math.min(this.#from, event.candle.timestamp);
      this.#note(this.#fold.apply(event, 0));
      this.#tellSoon();
    };
    stream.add(defer(() => source.candles(options)).subscribe({ next, error }));
    if (stream.closed) return;
    const statuses = defer(() => source.status(options)).pipe(
      // One that has read nothing yet may have lost its gateway.
      filter(({ state, coveredUntil }) => {
        return state === "live" || (state === "stalled" && coveredUntil !== undefined);
      }),
      take(1),
      observeOn(scheduler),
    );
    const start = () => {
      // What it does not reach any more is not known: candles may be missing in between.
      const from = this.#from <= newest ? this.#from : -Infinity;
      for (const gone of this.#fold.settle({ from }, 0)) this.#note(gone);
      const given = this.#given;
      if (given !== undefined && given.last < this.#from) this.#given = { ...given, isStale: true };
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
    this.#fold.resize(REMEMBERED);
  }

  #leaveSoon(): void {
    this.#context.scheduler.schedule(() => {
      if (this.#listeners.size === 0 && this.#reading === 0 && this.#claim === undefined) this.#close();
    });
  }

  #present(period: PeriodParams, end: number): Observable<readonly Candle[]> {
    return this.#whenReady(() => this.#joined(period, end));
  }

  /** What is read of the stream, once that has told its history. It runs at least until then. */
  #whenReady<T>(read: () => ObservableInput<T>): Observable<T> {
    return defer(() => {
      this.#reading += 1;
      this.#open();
      return this.#ready.pipe(
        take(1),
        mergeMap(read),
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
      const floor = this.#floor;
      return this.#past(period, Math.min(end, floor), known).pipe(
        mergeMap((past) => {
          const rows = this.#rows();
          const floorNow = this.#floor;
          // Meanwhile the fold has forgotten what was to follow the past, or the stream has failed.
          if (floorNow > floor || this.#stream !== stream) return this.#present(period, end);
          const older = past.filter(({ timestamp }) => timestamp < floorNow);
          const candles = within([...older, ...rows.filter(isBefore)], period);
          this.#give(period, candles);
          return [candles];
        }),
      );
    });
  }

  /** Notes what the library has from now on: it begins anew with an answer, or adds it to what it had. */
  #give({ firstDataRequest }: PeriodParams, answer: readonly Candle[]): void {
    const candle = answer.at(-1);
    const last = candle?.timestamp ?? -Infinity;
    if (firstDataRequest || this.#given === undefined) this.#given = { last, candle, isStale: false };
    else if (last > this.#given.last) this.#given = { ...this.#given, last, candle };
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

  /** Notes a change that no tick can tell. */
  #note(event: CandleEvent | undefined): void {
    const given = this.#given;
    if (event === undefined || given === undefined || event.candle.timestamp > given.last) return;
    const isLast = event.candle.timestamp === given.last;
    const isKept = event.type === "updated" && isSame(event.previous, event.candle);
    if (isLast ? event.type !== "removed" : isKept) return;
    this.#given = { ...given, candle: isLast ? undefined : given.candle, isStale: true };
  }

  /** Tells the library what has changed since it was last told. */
  #tell(): void {
    const given = this.#given;
    if (!this.#isReady || given === undefined || this.#listeners.size === 0) return;
    const { last, candle, isStale } = given;
    const ticks = this.#rows(last).filter((row) => {
      return row.timestamp > last || candle === undefined || !isSame(row, candle);
    });
    const newest = ticks.at(-1) ?? candle;
    this.#given = { last: newest?.timestamp ?? last, candle: newest, isStale: false };
    for (const [guid, listener] of [...this.#listeners]) {
      // It may have left meanwhile. What it throws is reported as RxJS does, and stops no other one.
      const isThere = () => this.#listeners.get(guid) === listener;
      const told = from(ticks).pipe(takeWhile(isThere));
      told.subscribe((candle) => listener.onTick(candle));
      if (isStale && isThere()) from([listener]).subscribe((one) => one.onReset());
    }
  }
}

/** The candles of a period, and as many earlier ones as it lacks. */
function within(candles: readonly Candle[], { from, countBack }: PeriodParams): readonly Candle[] {
  const start = from * 1_000;
  const inside = candles.filter(({ timestamp }) => timestamp >= start).length;
  return candles.slice(-Math.max(1, countBack, inside));
}
