import { Subscription } from "rxjs";
import { onAbort } from "../../../aborts.js";
import { BoundedMap } from "../../../bounded-map.js";
import type { StoreActivity } from "../../../client/activity.js";
import type { StoreMeans } from "../../../client/client-store.js";
import { callAt } from "../../../client/timers.js";
import type { Candle, Series, Timeframe, WeekStart } from "../../../contract/model.js";
import type {
  CandleStore,
  Known,
  Span,
  StoredCandles,
  StoreKey,
  StoreRange,
} from "../../../contract/store.js";
import { type AnyPairstreamError, PairstreamError } from "../../../errors.js";
import { spansWithin, withSpan } from "../../../spans.js";
import { type Intervals, intervalsOf } from "../../../timeframe.js";
import { storeKeyOf } from "../key.js";
import { contradictionIn } from "./contradiction.js";
import { withinLimit } from "./store-limit.js";

/** ms for which writes are joined. */
const JOINED_FOR = 1_000;
/** ms until writes that have failed are tried again: at first, then twice as long each time, up to the last. */
const RETRY = { first: 1_000, last: 60_000 };
/** A store that took too long is not read for so long, in ms: whoever reads would wait again. */
const NOT_READ = 60_000;
/** With more candles than this, nothing is joined any longer: all is written at once. */
const MOST_JOINED = 10_000;
/** Trouble is warned of no more often than so, in ms: a store that fails does so with each call. */
const WARNINGS_APART = 3_600_000;
/** While a store fails, at most so many candles and spans wait. The oldest are given up, and asked for again one day. */
const MOST_WAITING = 50_000;
/** Until no more than so many are left. */
const LEFT_WAITING = 40_000;
/** Of so many series it is remembered where the store was wrong. */
const SERIES_REMEMBERED = 1_000;
const NOTHING: StoredCandles = { candles: [], covered: [] };

interface Waiting {
  readonly series: StoredSeries;
  known: Known;
}

/**
 * A client's store, whose trouble is told and goes no further. What is written is joined for a second, for all series, and
 * written again where that fails.
 */
export class StoreKeeper {
  readonly #store: CandleStore;
  readonly #means: StoreMeans;
  #warnedAt = -Infinity;
  readonly #opened = new Map<string, { readonly series: StoredSeries; users: number }>();
  /** What waits to be written, oldest first. */
  #waiting: Waiting[] = [];
  /** The last of each series that waits and may be joined: with a thousand series nobody looks through them all. */
  readonly #newest = new Map<StoredSeries, Waiting>();
  /** How many candles and spans wait. */
  #size = 0;
  #timer: Subscription | undefined;
  /** What is written now, and tried again if that fails. */
  readonly #underWay = new Set<Waiting>();
  /** The writing and forgetting that has begun. */
  #writing: Promise<unknown> = Promise.resolve();
  /** The last forgetting, until it is done: what is written after it must not go with it. */
  #forgetting: Promise<unknown> | undefined;
  /** The waiting for the store. */
  #limits = new Subscription();
  /** Where series have contradicted themselves: what is said of that a second time is not believed. */
  readonly distrusted = new BoundedMap<string, readonly Span[]>(SERIES_REMEMBERED);
  #failures = 0;
  #lateAt = -Infinity;

  constructor(store: CandleStore, means: StoreMeans) {
    this.#store = store;
    this.#means = means;
  }

  /** What is stored of a series, the same for all who use it at once; each calls `close` once. */
  open(series: Series<Timeframe>, weekStart: WeekStart): StoredSeries {
    const key = storeKeyOf(this.#means.service, series, weekStart);
    const name = Object.values(key).join(" ");
    const known = this.#opened.get(name);
    const opened = known ?? { series: new StoredSeries(this, key, name, () => this.#close(name)), users: 0 };
    opened.users += 1;
    this.#opened.set(name, opened);
    return opened.series;
  }

  #close(name: string): void {
    const opened = this.#opened.get(name)!;
    opened.users -= 1;
    if (opened.users > 0) return;
    this.#opened.delete(name);
    this.#flush();
    if (this.#opened.size > 0) return;
    // While nobody reads, no timer is left, and nobody waits for a store that does not answer.
    this.#limits.unsubscribe();
    this.#limits = new Subscription();
    this.#timer?.unsubscribe();
    this.#timer = undefined;
    this.#writing = Promise.resolve();
    this.#forgetting = undefined;
  }

  /** What the store says of a range; `undefined` where it fails. */
  async read(key: StoreKey, range: StoreRange): Promise<{ readonly said: StoredCandles } | undefined> {
    if (!this.#isLate) {
      this.#flush();
      await this.#writing;
    }
    return this.#use("read", key, range, async () => {
      if (this.#isLate) throw new PairstreamError("The store is not read: too slow");
      return this.#store.read(key, range);
    });
  }

  get #isLate(): boolean {
    return Math.abs(this.#means.scheduler.now() - this.#lateAt) < NOT_READ;
  }

  async forget({ key, name }: StoredSeries, span: Span): Promise<void> {
    const isKept = ({ series, known }: Waiting) =>
      series.name !== name || known.to <= span.from || known.from >= span.to;
    this.#wait(this.#waiting.filter(isKept));
    for (const entry of this.#underWay) if (!isKept(entry)) this.#underWay.delete(entry);
    const limits = this.#limits;
    const forgotten = this.#writing.then(() =>
      this.#use("forget", key, span, () => this.#store.forget(key, span.from, span.to), limits),
    );
    this.#writing = forgotten;
    this.#forgetting = forgotten;
    await forgotten;
    if (this.#forgetting === forgotten) this.#forgetting = undefined;
  }

  write(series: StoredSeries, known: Known): void {
    this.#join(series, known);
    if (this.#failures === 0 && this.#size > MOST_JOINED) {
      this.#flush();
      return;
    }
    this.#giveUp();
    this.#timer ??= this.#after(JOINED_FOR);
  }

  /** Adds to what waits of a series, or to its last span where that ends here. */
  #join(series: StoredSeries, known: Known): void {
    const { length } = known.candles;
    const last = this.#newest.get(series);
    if (last?.known.to === known.from && last.known.candles.length + length <= MOST_JOINED) {
      const { from, candles } = last.known;
      last.known = { from, to: known.to, candles: [...candles, ...known.candles] };
      this.#size += length;
      return;
    }
    const entry = { series, known };
    this.#waiting.push(entry);
    this.#newest.set(series, entry);
    this.#size += sizeOf(entry);
  }

  tell(
    operation: StoreActivity["operation"],
    key: StoreKey,
    { from, to }: Span,
    error: PairstreamError,
  ): void {
    const { scheduler, report, warn } = this.#means;
    const now = scheduler.now();
    if (Math.abs(now - this.#warnedAt) >= WARNINGS_APART) {
      this.#warnedAt = now;
      const next = operation === "read" ? "; the service is asked instead" : "";
      warn?.(`the store is in trouble: ${error.message}${next}`, error);
    }
    report({
      type: "store",
      at: now,
      operation,
      key,
      from,
      to,
      error: error as AnyPairstreamError,
    });
  }

  #wait(entries: readonly Waiting[]): void {
    this.#waiting = [];
    this.#newest.clear();
    this.#size = 0;
    for (const { series, known } of entries) this.#join(series, known);
    this.#giveUp();
  }

  #giveUp(): void {
    if (this.#size <= MOST_WAITING) return;
    const given: Waiting[] = [];
    while (this.#size > LEFT_WAITING && given.length + 1 < this.#waiting.length) {
      const entry = this.#waiting[given.length]!;
      given.push(entry);
      this.#size -= sizeOf(entry);
      if (this.#newest.get(entry.series) === entry) this.#newest.delete(entry.series);
    }
    this.#waiting.splice(0, given.length);
    for (const { series, known } of given) {
      const error = new PairstreamError(
        "The store has failed for too long, so these candles are not written to it",
      );
      this.tell("write", series.key, known, error);
    }
  }

  #after(delay: number): Subscription {
    const { scheduler } = this.#means;
    return callAt(scheduler, scheduler.now() + delay, () => {
      this.#timer = undefined;
      this.#flush();
    });
  }

  /** Writes what waits, all of it at once; a store can do so in one transaction. */
  #flush(): void {
    this.#timer?.unsubscribe();
    this.#timer = undefined;
    const entries = this.#waiting;
    if (entries.length === 0) return;
    this.#wait([]);
    const forgetting = this.#forgetting;
    const limits = this.#limits;
    const writes = entries.map(async (entry) => {
      const { series, known } = entry;
      const { key } = series;
      this.#underWay.add(entry);
      if (forgetting !== undefined) await forgetting;
      return this.#use("write", key, known, () => this.#store.write(key, known), limits);
    });
    this.#writing = Promise.all([this.#writing, ...writes]).then(([, ...written]) => {
      const failed = entries.filter((entry, at) => this.#underWay.delete(entry) && !written[at]);
      this.#failures = failed.length === 0 ? 0 : this.#failures + 1;
      if (failed.length === 0) return;
      this.#wait([...failed, ...this.#waiting]);
      const delay = Math.min(RETRY.first * 2 ** (this.#failures - 1), RETRY.last);
      if (this.#opened.size > 0) this.#timer ??= this.#after(delay);
    });
  }

  /** What the store answers; `undefined` where it fails, or takes too long. */
  async #use<T>(
    operation: StoreActivity["operation"],
    key: StoreKey,
    span: Span,
    use: () => Promise<T>,
    limits = this.#limits,
  ): Promise<{ readonly said: T } | undefined> {
    const { scheduler, timeout } = this.#means;
    const begun = scheduler.now();
    try {
      return { said: await withinLimit(use, this.#means, limits) };
    } catch (cause) {
      const now = scheduler.now();
      if (now - begun >= timeout) this.#lateAt = now;
      this.tell(operation, key, span, troubleOf(cause));
      return undefined;
    }
  }
}

function sizeOf({ known }: Waiting): number {
  return known.candles.length + 1;
}

function troubleOf(cause: unknown): PairstreamError {
  if (cause instanceof PairstreamError) return cause;
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new PairstreamError(`The store failed: ${reason}`, { cause });
}

/** What a client's store holds of one series. Nothing here rejects. */
export class StoredSeries {
  readonly key: StoreKey;
  /** The same for the same key. */
  readonly name: string;
  readonly close: () => void;
  readonly #keeper: StoreKeeper;
  readonly #intervals: Intervals;
  /** Those who wait for their turn, and whether somebody has one. */
  #turns: { readonly from: number; begin(): void }[] = [];
  #isTaken = false;

  constructor(keeper: StoreKeeper, key: StoreKey, name: string, close: () => void) {
    this.#keeper = keeper;
    this.name = name;
    this.key = key;
    this.close = close;
    this.#intervals = intervalsOf(key.timeframe, key.weekStart);
  }

  /** What is held of a range; nothing where that cannot be told, or cannot be. */
  async read(range: StoreRange): Promise<StoredCandles> {
    const answer = await this.#keeper.read(this.key, range);
    if (answer === undefined) return NOTHING;
    const held = answer.said;
    const problem = contradictionIn(range, held, (instant) => this.#intervals.start(instant) === instant);
    if (problem === undefined) return held;
    const error = new PairstreamError(`The store contradicts itself: ${problem}`);
    this.#keeper.tell("read", this.key, range, error);
    const wrong = this.#shownOf(range, held);
    const { distrusted } = this.#keeper;
    const before = distrusted.get(this.name) ?? [];
    if (spansWithin(before, wrong).length > 0) return NOTHING;
    distrusted.set(this.name, withSpan(before, wrong));
    await this.#keeper.forget(this, wrong);
    return NOTHING;
  }

  /** What of a range an answer is about: of the newest candles only, not all that came before them. */
  #shownOf({ from, to, last }: StoreRange, held: StoredCandles | undefined): Span {
    const first = last === undefined ? undefined : held?.candles?.[0]?.timestamp;
    const isIn = typeof first === "number" && first > from && first < to;
    return { from: isIn ? this.#intervals.start(first) : from, to };
  }

  /** Takes in what is final of `[from, to)`, `except` for some intervals of which nothing is known. */
  write({ from, to, candles }: Known, except: ReadonlySet<number>): void {
    const unknown = [...except].filter((start) => start >= from && start < to).sort((a, b) => a - b);
    let start = from;
    for (const end of [...unknown, to]) {
      if (end > start)
        this.#keeper.write(this, { from: start, to: end, candles: within(candles, start, end) });
      start = this.#intervals.end(end);
    }
  }

  /** Takes `[from, to)` out of what is held; default: all from `from` on. */
  forget(from: number, to = Number.MAX_SAFE_INTEGER): Promise<void> {
    return this.#keeper.forget(this, { from, to });
  }

  /**
   * Waits for its turn to ask for what is missing, so that nobody asks for what another one is about to write. Of those who
   * wait, whoever goes back the farthest comes first: what it reads serves the others, too.
   */
  async takeTurn(from: number, signal: AbortSignal): Promise<() => void> {
    const leave = () => {
      this.#isTaken = false;
      this.#passOn();
    };
    const isMine = await new Promise<boolean>((resolve) => {
      const giveUp = () => {
        this.#turns = this.#turns.filter((each) => each !== turn);
        resolve(false);
      };
      const begin = () => {
        stay();
        resolve(true);
      };
      const turn = { from, begin };
      const stay = onAbort(signal, giveUp);
      this.#turns.push(turn);
      if (signal.aborted) giveUp();
      // Not before all that ask at the same instant are here.
      queueMicrotask(() => this.#passOn());
    });
    if (!signal.aborted) return leave;
    if (isMine) leave();
    throw signal.reason;
  }

  #passOn(): void {
    if (this.#isTaken || this.#turns.length === 0) return;
    const next = this.#turns.reduce((first, turn) => (turn.from < first.from ? turn : first));
    this.#turns = this.#turns.filter((each) => each !== next);
    this.#isTaken = true;
    next.begin();
  }
}

function within(candles: readonly Candle[], from: number, to: number): readonly Candle[] {
  return candles.filter(({ timestamp }) => timestamp >= from && timestamp < to);
}
