import { type ClientCore, serviceNow } from "../../client/core.js";
import { serviceTimeBounds } from "../../client/service-clock.js";
import type { StoredSeries } from "../../client/stored-series.js";
import type { Candle } from "../../contract/model.js";
import type { Span } from "../../contract/store.js";
import { type CandleRules, windowStart } from "../rules.js";
import {
  FULL_PAGE,
  type ReadOptions,
  type SeriesRead,
  type SeriesReader,
  UnfinishedError,
} from "./range-reader.js";
import { EARLIEST } from "./series-start.js";
import { readLast, readSlices } from "./slices.js";

/** Intervals that are read from the store at once; more where they hold few candles, so that memory stays bounded. */
const AT_ONCE = { intervals: 20_000, growth: 8, candles: 2_000 };
/** What is written is never younger, in intervals. */
const LEAST_WINDOW = 2;

type HistoryOptions = Pick<ReadOptions, "priority" | "signal">;

interface PastReaderOptions {
  /** Whether to wait while another one asks for the same series, which may be until the next period of a quota; default false. */
  readonly takesTurns?: boolean;
  /** Whether what is final goes into the store; default true. */
  readonly writes?: boolean;
}

/** Reads what is past of one series: from the client's store as far as it goes, and else from the service. */
export class PastReader {
  readonly #core: ClientCore;
  readonly #reader: SeriesReader;
  readonly #rules: CandleRules;
  readonly #stored: StoredSeries | undefined;
  readonly #takesTurns: boolean;
  readonly #writes: boolean;

  /** `stored`: absent where the client has no store. */
  constructor(
    core: ClientCore,
    reader: SeriesReader,
    rules: CandleRules,
    stored: StoredSeries | undefined,
    { takesTurns = false, writes = true }: PastReaderOptions = {},
  ) {
    this.#takesTurns = takesTurns;
    this.#writes = writes;
    this.#core = core;
    this.#reader = reader;
    this.#rules = storeRules(rules);
    this.#stored = stored;
  }

  /** As `readSlices`, the spans that are covered out of the store; `known`: the stored candle before the first of them. */
  async *slices(
    from: number,
    until: () => number,
    options: HistoryOptions,
    known?: number,
  ): AsyncGenerator<SeriesRead> {
    const stored = this.#stored;
    const { intervals } = this.#rules;
    if (stored === undefined) {
      yield* readSlices(this.#reader, intervals, from, until, options);
      return;
    }
    let start = from;
    let length = AT_ONCE.intervals;
    let newest = known;
    while (start < until()) {
      const end = intervals.shift(start, Math.min(length, intervals.count(start, until())));
      const held = await stored.read({ from: start, to: end });
      options.signal.throwIfAborted();
      const span = held.covered[0];
      if (span?.from === start) {
        const candles = held.candles.filter(({ timestamp }) => timestamp < span.to);
        if (candles.length < AT_ONCE.candles) length *= AT_ONCE.growth;
        newest = candles.at(-1)?.timestamp ?? newest;
        yield this.#storedRead({ from: start, to: span.to }, candles);
        start = span.to;
        continue;
      }
      const leave = this.#takesTurns ? await stored.takeTurn(start, options.signal) : () => {};
      try {
        const next = await this.#nextCovered(stored, start, end, until());
        // Another one has written it meanwhile.
        if (next === start) continue;
        this.#reader.seriesStart.newest = newest;
        const gapEnd = () => Math.min(next, until());
        for await (const read of readSlices(this.#reader, intervals, start, gapEnd, options)) {
          this.#keep(read);
          yield read;
          start = read.to;
        }
      } catch (error) {
        // What the store has is no longer so: the candle that every answer was held to is gone.
        if (newest === undefined || !isGone(error, newest)) throw error;
        await stored.forget(newest, intervals.end(newest));
        newest = undefined;
      } finally {
        leave();
      }
    }
  }

  /** Where the next covered span begins. */
  async #nextCovered(stored: StoredSeries, start: number, end: number, until: number): Promise<number> {
    const near = await stored.read({ from: start, to: end, last: 0 });
    if (near.covered[0] !== undefined || end >= until)
      return near.covered[0]?.from ?? Number.POSITIVE_INFINITY;
    const far = await stored.read({ from: end, to: until, last: 0 });
    return far.covered[0]?.from ?? Number.POSITIVE_INFINITY;
  }

  /** As `readLast`, what is covered out of the store. */
  async last(
    count: number,
    until: number,
    options: HistoryOptions,
    found: SeriesRead[],
  ): Promise<readonly SeriesRead[]> {
    const stored = this.#stored;
    const { intervals } = this.#rules;
    if (stored === undefined) return readLast(this.#reader, intervals, count, until, options, found);
    const earliest = intervals.start(EARLIEST);
    for (;;) {
      const missing = found.reduce((left, { candles }) => left - candles.length, count);
      const end = found[0]?.from ?? until;
      if (missing <= 0 || end <= earliest) return found;
      const held = await stored.read({ from: earliest, to: end, last: missing });
      options.signal.throwIfAborted();
      const span = held.covered.at(-1);
      if (span?.to === end) {
        const candles = held.candles.filter(({ timestamp }) => timestamp >= span.from);
        const from = candles.length < missing ? span.from : candles[0]!.timestamp;
        found.unshift(this.#storedRead({ from, to: end }, candles));
      } else if (
        span !== undefined &&
        this.#isWorthFilling({ from: span.to, to: end }, held.candles, missing)
      ) {
        const reads: SeriesRead[] = [];
        const known = held.candles.at(-1)?.timestamp;
        for await (const read of this.slices(span.to, () => end, options, known)) reads.push(read);
        found.unshift(...newestOf(reads, missing));
      } else {
        const about = intervals.shift(end, -missing);
        const leave = this.#takesTurns ? await stored.takeTurn(about, options.signal) : () => {};
        try {
          const again = await stored.read({ from: earliest, to: end, last: 0 });
          if (again.covered.at(-1)?.to === end) continue;
          const before = new Set(found);
          const reads = await readLast(this.#reader, intervals, count, until, options, found);
          for (const [at, read] of reads.entries()) {
            // All of the silence before the first candle has been shown, slice by slice.
            const to = Math.max(read.to, reads[at + 1]?.from ?? read.to);
            if (!before.has(read)) this.#keep({ ...read, to });
          }
          return reads;
        } finally {
          leave();
        }
      }
    }
  }

  /** What of a series the store covers without a break up to, at most, an instant; and its newest candle before that. */
  async newest(until: number): Promise<{ readonly coveredUntil?: number; readonly candle?: Candle }> {
    const from = this.#rules.intervals.start(EARLIEST);
    const held = await this.#stored?.read({ from, to: until, last: 1 });
    const coveredUntil = held?.covered.at(-1)?.to;
    const candle = held?.candles.at(-1);
    return {
      ...(coveredUntil === undefined ? {} : { coveredUntil }),
      ...(candle === undefined ? {} : { candle }),
    };
  }

  /**
   * Whether to read all that lies between what is covered and now, and not only as many candles as are wanted: where it
   * holds few more, if it holds them as densely as what came before.
   */
  #isWorthFilling({ from, to }: Span, before: readonly Candle[], wanted: number): boolean {
    const { intervals } = this.#rules;
    const gap = intervals.count(from, to);
    if (gap <= FULL_PAGE || before.length === 0) return true;
    const density = before.length / intervals.count(before[0]!.timestamp, from);
    return gap * density <= wanted + FULL_PAGE;
  }

  /** Writes what of an answer is final, and cannot be a silence that only seems to be one. */
  #keep(read: SeriesRead): void {
    const { from, candles, unreadable, lacks } = read;
    if (!this.#writes) return;
    if (read.hasUnidentifiedRow || read.isUnproven || lacks !== undefined) return;
    if (candles.length === 0 && !this.#reader.isProven(read)) return;
    const clock = this.#core.serviceClock();
    if (!isTrusted(clock) || clock.epoch !== read.epoch) return;
    const to = Math.min(read.to, windowStart(this.#rules, read.observedAt));
    if (to <= from) return;
    this.#stored!.write({ from, to, candles: candles.filter(({ timestamp }) => timestamp < to) }, unreadable);
  }

  #storedRead(span: Span, candles: readonly Candle[]): SeriesRead {
    const clock = this.#core.serviceClock();
    const sentAt = this.#core.scheduler.now();
    return {
      ...span,
      candles,
      unreadable: new Set(),
      hasUnidentifiedRow: false,
      lacks: undefined,
      isWitnessed: true,
      sentAt,
      observedAt:
        clock.bounds === undefined ? serviceNow(this.#core) : serviceTimeBounds(clock, sentAt).earliest,
      epoch: clock.epoch,
      isStored: true,
    };
  }
}

/** The rules by which candles are final enough to be written. */
export function storeRules(rules: CandleRules): CandleRules {
  return { ...rules, revisionWindow: Math.max(LEAST_WINDOW, rules.revisionWindow) };
}

/** Whether the service's clock is certain enough to say for good what is past. */
export function isTrusted(clock: ReturnType<ClientCore["serviceClock"]>): boolean {
  return !clock.isContradicted && (clock.isConfirmed || clock.bounds === undefined);
}

function isGone(error: unknown, timestamp: number): boolean {
  return error instanceof UnfinishedError && error.isGone && error.lacks === timestamp;
}

/** The newest candles of ascending reads, in reads that begin with the first of them. */
function newestOf(reads: readonly SeriesRead[], count: number): SeriesRead[] {
  const found: SeriesRead[] = [];
  let missing = count;
  for (const read of [...reads].reverse()) {
    if (missing <= 0) break;
    const surplus = read.candles.length - missing;
    const candles = read.candles.slice(Math.max(0, surplus));
    found.unshift(surplus >= 0 ? { ...read, from: candles[0]!.timestamp, candles } : read);
    missing -= candles.length;
  }
  return found;
}
