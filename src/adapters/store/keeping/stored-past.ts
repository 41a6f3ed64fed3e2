import { mostIn } from "../../../candles/making.js";
import { type BackwardOptions, type PastReader, stillWanted } from "../../../candles/read/backward.js";
import { EARLIEST } from "../../../candles/read/beginning.js";
import type { FinalPart, ForwardOptions } from "../../../candles/read/forward.js";
import { FULL_PAGE, type ReadOptions } from "../../../candles/read/pages.js";
import { type CandleRules, windowStart } from "../../../candles/rules.js";
import type { ClientCore } from "../../../client/core.js";
import { earliestTime, isContradicted } from "../../../client/service-clock.js";
import type { Candle } from "../../../contract/model.js";
import type { Span, StoredCandles } from "../../../contract/store.js";
import { withoutSpan } from "../../../spans.js";
import type { StoredSeries } from "./stored-series.js";

/** Intervals that are read from the store at once; more where they hold few candles, so that memory stays bounded. */
const AT_ONCE = { intervals: 20_000, growth: 8, candles: 2_000 };
/** What is written is never younger, in intervals. */
const LEAST_WINDOW = 2;

/**
 * The past of a series: from the client's store as far as it goes, and else from `service`. A service that shows nothing at all
 * may hide it: no silence is written before there is a candle beside it.
 *
 * Rows that cannot be read leave holes in the store. One request asks for all holes of a page. What it tells of the intervals
 * between them is not taken: these are stored.
 */
export class StoredPast implements PastReader {
  readonly #core: ClientCore;
  readonly #rules: CandleRules;
  readonly #stored: StoredSeries;
  readonly #service: PastReader;

  constructor(core: ClientCore, rules: CandleRules, stored: StoredSeries, service: PastReader) {
    this.#core = core;
    this.#rules = rules;
    this.#stored = stored;
    this.#service = service;
  }

  async *parts(query: ForwardOptions, options: ReadOptions): AsyncGenerator<FinalPart> {
    const stored = this.#stored;
    const { intervals } = this.#rules;
    const { until } = query;
    let start = query.from;
    let length = AT_ONCE.intervals;
    let newest = query.anchors?.at(-1);
    while (start < until()) {
      const end = intervals.shift(start, Math.min(length, intervals.count(start, until())));
      const held = await stored.read({ from: start, to: end });
      options.signal.throwIfAborted();
      const span = held.covered[0];
      if (span?.from === start) {
        const candles = held.candles.filter(({ timestamp }) => timestamp < span.to);
        if (candles.length < AT_ONCE.candles) length *= AT_ONCE.growth;
        newest = candles.at(-1)?.timestamp ?? newest;
        yield this.#storedPart({ from: start, to: span.to }, candles);
        start = span.to;
        continue;
      }
      const leave = await stored.takeTurn(start, options.signal);
      try {
        const page = intervals.shift(start, Math.min(FULL_PAGE, intervals.count(start, until())));
        const near = await stored.read({ from: start, to: page });
        // Another one has written it meanwhile.
        if (near.covered[0]?.from === start) continue;
        const next = await this.#missingUntil({ from: start, to: page }, near, until());
        const isNear = newest !== undefined && intervals.count(newest, start) <= FULL_PAGE;
        const missing: ForwardOptions = {
          ...query,
          from: start,
          anchors: isNear ? [newest!] : [],
          until: () => Math.min(next, until()),
          onGone: (anchors) => this.#forget(anchors),
        };
        for await (const served of this.#service.parts(missing, options)) {
          const part = withStored(served, near);
          newest = part.candles.at(-1)?.timestamp ?? newest;
          if (newest !== undefined) this.#keep(part);
          yield part;
          start = part.to;
        }
      } finally {
        leave();
      }
    }
  }

  async newest(query: BackwardOptions, options: ReadOptions): Promise<readonly FinalPart[]> {
    const stored = this.#stored;
    const { intervals } = this.#rules;
    const { until } = query;
    const { parts } = query.walk;
    const earliest = intervals.start(EARLIEST);
    for (;;) {
      const missing = stillWanted(query, parts, intervals);
      const end = parts[0]?.from ?? until();
      if (missing <= 0 || end <= earliest) return parts;
      const held = await stored.read({ from: earliest, to: end, last: missing });
      options.signal.throwIfAborted();
      const span = held.covered.at(-1);
      if (span?.to === end) {
        const candles = held.candles.filter(({ timestamp }) => timestamp >= span.from);
        const [first] = candles;
        const isShort = candles.length < missing;
        const isBeginning = isShort && span.from <= earliest && first !== undefined;
        const from = isShort && !isBeginning ? span.from : first!.timestamp;
        parts.unshift(this.#storedPart({ from, to: end }, candles));
        if (isBeginning) return parts;
      } else {
        const leave = await stored.takeTurn(intervals.shift(end, -missing), options.signal);
        try {
          const from = await this.#missingBefore(end, missing);
          // Another one has written it meanwhile.
          if (from === end) continue;
          await this.#readBack(query, { from, to: end }, options);
          if (from === earliest) return parts;
        } finally {
          leave();
        }
      }
    }
  }

  /** Asks the service for the newest candles of a range, as far as they are wanted, and adds them to the walk. */
  async #readBack(query: BackwardOptions, { from, to }: Span, options: ReadOptions): Promise<void> {
    const stored = this.#stored;
    const { intervals } = this.#rules;
    const { parts } = query.walk;
    const earliest = intervals.start(EARLIEST);
    const near = await stored.read({ from, to });
    const older = await stored.read({ from: earliest, to: from, last: 1 });
    const known = older.candles.map(({ timestamp }) => timestamp);
    const beside = known.filter((timestamp) => intervals.count(timestamp, from) <= FULL_PAGE);
    const onGone = (anchors: readonly number[]) => this.#forget(anchors);
    const isBeside = () => known.length > 0 || parts.some(({ candles }) => candles.length > 0);
    // Written as it comes: what has come before a failure, or an end, is not asked for again.
    const onPart = (served: FinalPart) => {
      const part = withStored(served, near);
      if (part.candles.length > 0 || isBeside()) this.#keep(part);
      return part;
    };
    await this.#service.newest({ ...query, from, beside, onGone, onPart }, options);
    const start = parts[0]?.from ?? to;
    if (start <= from || stillWanted(query, parts, intervals) <= 0) return;
    // It has found fewer than are wanted: the series begins there, or what is stored ends with a silence.
    const silence = withStored(this.#storedPart({ from, to: start }, []), near);
    if (isBeside() && start < to) this.#keep(silence);
    if (from > earliest) parts.unshift(silence);
  }

  /** Until where to ask for what is missing from the start of a page on: for all that is missing of that page. */
  async #missingUntil(page: Span, { covered }: StoredCandles, until: number): Promise<number> {
    const hole = covered.reduce(withoutSpan, [page]).at(-1)!;
    if (hole.to < page.to || page.to >= until) return hole.to;
    const far = await this.#stored.read({ from: page.to, to: until, last: 0 });
    return far.covered[0]?.from ?? Infinity;
  }

  /** The same for what is missing before `end`, from where on, where so many candles are wanted; `end` where nothing is. */
  async #missingBefore(end: number, wanted: number): Promise<number> {
    const { intervals } = this.#rules;
    const earliest = intervals.start(EARLIEST);
    const { candles, covered } = await this.#stored.read({ from: earliest, to: end, last: wanted });
    if (covered.at(-1)?.to === end) return end;
    const page = intervals.shift(end, -Math.min(FULL_PAGE, intervals.count(earliest, end)));
    // What lies before as many stored candles is not wanted.
    const first = candles.length < wanted ? page : Math.max(page, candles[0]!.timestamp);
    const hole = covered.reduce(withoutSpan, [{ from: first, to: end }])[0]!;
    if (hole.from > first) return hole.from;
    return covered.findLast(({ to }) => to <= first)?.to ?? earliest;
  }

  /** What the store has is not so any longer: the candles that every answer was held to are gone. */
  #forget(anchors: readonly number[]): void {
    for (const anchor of anchors) void this.#stored.forget(anchor, this.#rules.intervals.end(anchor));
  }

  /** Writes what of a part is final by the store's rules. */
  #keep({ from, to, candles, unreadable, hasUnplaced, observedAt, epoch }: FinalPart): void {
    if (hasUnplaced) return;
    const clock = this.#core.serviceClock();
    if (!isTrusted(clock) || clock.epoch !== epoch) return;
    const end = Math.min(to, windowStart(storeRules(this.#rules), observedAt));
    if (end <= from) return;
    const known = candles.filter(({ timestamp }) => timestamp < end);
    this.#stored.write({ from, to: end, candles: known }, unreadable);
  }

  #storedPart(span: Span, candles: readonly Candle[]): FinalPart {
    const clock = this.#core.serviceClock();
    return {
      ...span,
      candles,
      unreadable: new Set(),
      hasUnplaced: false,
      observedAt: earliestTime(clock, this.#core.scheduler.now()),
      epoch: clock.epoch,
    };
  }
}

/** A part as the service tells it; its intervals that are stored, as they lie between two holes, are as the store has them. */
function withStored(part: FinalPart, { candles, covered }: StoredCandles): FinalPart {
  if (covered.length === 0) return part;
  const isStored = (start: number) => covered.some(({ from, to }) => start >= from && start < to);
  const stored = candles.filter(({ timestamp }) => timestamp >= part.from && timestamp < part.to);
  const others = part.candles.filter(({ timestamp }) => !isStored(timestamp));
  return {
    ...part,
    candles: [...stored, ...others].sort((a, b) => a.timestamp - b.timestamp),
    unreadable: new Set([...part.unreadable].filter((start) => !isStored(start))),
  };
}

/** The rules by which candles are final enough to be written: each by itself, whatever is made of it. */
export function storeRules({ intervals, settle, revisionWindow, frames }: CandleRules): CandleRules {
  const window = frames === undefined ? revisionWindow : revisionWindow * mostIn(frames, intervals);
  return { intervals, settle, revisionWindow: Math.max(LEAST_WINDOW, window) };
}

/** Whether the service's clock is certain enough to say for good what is past. */
export function isTrusted(clock: ReturnType<ClientCore["serviceClock"]>): boolean {
  return !isContradicted(clock) && (clock.isConfirmed || clock.answers === 0);
}
