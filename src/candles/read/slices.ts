import type { Intervals } from "../../timeframe.js";
import {
  FULL_PAGE,
  type ReadOptions,
  type SeriesRead,
  type SeriesReader,
  UnfinishedError,
} from "./range-reader.js";
import { EARLIEST } from "./series-start.js";

/** Slices are sized to hold about this many candles. */
const AIMED_CANDLES = 900;
/** How much longer a slice may be than the one before. */
const GROWTH = 8;
/** A long slice with more candles than this is read again in shorter ones. */
const MAX_CANDLES = 3_000;

type HistoryOptions = Pick<ReadOptions, "priority" | "signal">;

/**
 * Reads `[from, until)` in ascending slices, each as long as the candles it is expected to hold fit one page, so
 * that memory is bounded although pages come newest first, and silences cost few requests.
 *
 * A slice ends with its last candle, which the next answer has to hold as well: one that lacks it was cut. The silence
 * after it is read again with what follows, and counts once an answer proves it: one with a candle after it, one that
 * holds the candle before it and cannot have been cut behind that, or a second one.
 *
 * Before the first candle an empty answer can be that of a range which starts before the pair's creation. It is held back
 * until candles follow, which are read again together with it, or until any are found from its end on back.
 *
 * `until` is asked again before each slice, as it may be learned on the way or move.
 */
export async function* readSlices(
  reader: SeriesReader,
  intervals: Intervals,
  from: number,
  until: () => number,
  options: HistoryOptions,
): AsyncGenerator<SeriesRead> {
  let start = from;
  let length = FULL_PAGE;
  let held: SeriesRead | undefined;
  /** The end of a silence from `start` on that one answer has shown. */
  let silentUntil = Number.NEGATIVE_INFINITY;
  while (start < until()) {
    const earliest = reader.startsAt ?? Math.max(start, intervals.start(EARLIEST));
    const begin = Math.max(start, silentUntil, Math.min(earliest, intervals.shift(until(), -1)));
    const intervalsLeft = intervals.count(begin, until());
    const end = intervals.shift(Math.min(begin, until()), Math.min(length, intervalsLeft));
    const read = await reader.readWhole(start, end, { ...options, ...bound(length) });
    if (read === undefined) {
      length = shorter(length);
      continue;
    }
    const last = read.candles.at(-1);
    if (last === undefined && !reader.isProven(read)) {
      held = { ...read, from: held?.from ?? read.from };
      if (end < until()) {
        start = end;
        length = longer(length);
        continue;
      }
    }
    if (held !== undefined) {
      const counts = await silenceOf(reader, intervals, held, last && end, options);
      if (counts > held.from) yield { ...held, to: counts };
      reader.forgetBefore(counts);
      start = counts;
      length = Math.max(FULL_PAGE, intervals.count(start, end));
      held = undefined;
      continue;
    }
    length = fitted(length, read.candles.length);
    const heard = last === undefined ? start : intervals.end(last.timestamp);
    const isUnborn = reader.startsAt !== undefined && read.to <= reader.startsAt;
    const isSilent = isUnborn || ((read.isWitnessed || last !== undefined) && reader.isNewestFirst);
    const isProven = heard === read.to || (end >= until() && (isSilent || silentUntil >= read.to));
    const to = isProven ? read.to : heard;
    if (to > start) {
      yield { ...read, to, unreadable: new Set([...read.unreadable].filter((timestamp) => timestamp < to)) };
      reader.forgetBefore(to);
    } else if (end >= until()) {
      // A cache may give the same answer again.
      await reader.pause(options.signal);
    }
    silentUntil = read.to;
    start = to;
  }
}

/**
 * Until where a held silence is one: all of it, or until candles that are hidden in it; none of it where only another
 * read can tell. `candlesBefore`: where candles have been found that follow it, the end of their range.
 */
async function silenceOf(
  { seriesStart }: SeriesReader,
  intervals: Intervals,
  held: SeriesRead,
  candlesBefore: number | undefined,
  options: HistoryOptions,
): Promise<number> {
  const from = intervals.shift(held.from, -1);
  // A range asked for before the time was known can end in the future.
  const to = Math.min(held.to, intervals.end(held.observedAt));
  // Any candle will do, of after the range too.
  const end = intervals.end(candlesBefore ?? Math.max(held.to, held.observedAt));
  if (await seriesStart.answers(from, end, options)) return held.from;
  const answered =
    candlesBefore === undefined
      ? await seriesStart.gallop(from, to, end, options)
      : intervals.shift(held.to, -1);
  const found =
    answered === undefined ? undefined : await seriesStart.findFirstAnswered(from, answered, end, options);
  return found === undefined ? held.to : Math.max(held.from, found);
}

/**
 * Reads back from `until` until `count` candles are found or the series begins; gives them in ascending slices, the
 * first of which starts at the first of these candles. It holds them all: in `reads`, from which a walk that has
 * failed goes on.
 *
 * Each slice begins with its first candle, which the next answer, about what lies before, has to hold as well. The silence
 * before the series is asked for twice.
 */
export async function readLast(
  reader: SeriesReader,
  intervals: Intervals,
  count: number,
  until: number,
  options: HistoryOptions,
  reads: SeriesRead[] = [],
): Promise<readonly SeriesRead[]> {
  const { seriesStart } = reader;
  const earliest = intervals.start(EARLIEST);
  let missing = reads.reduce((left, { candles }) => left - candles.length, count);
  let end = reads[0]?.from ?? until;
  let length = Math.min(FULL_PAGE, Math.max(1, count));
  let witness = reads[0]?.candles[0]?.timestamp;
  /** While there is no witness, an interval by which a row has been seen. */
  let askedUntil: number | undefined;
  /** The start of a silence before `end` that one answer has shown. */
  let silentFrom = Number.POSITIVE_INFINITY;
  while (missing > 0 && end > Math.max(earliest, reader.startsAt ?? earliest)) {
    const known = Math.min(end, silentFrom);
    const start = intervals.shift(known, -Math.min(length, intervals.count(earliest, known)));
    const asked = { ...options, ...bound(length), witness, askedUntil };
    const read = await reader.readWhole(start, end, asked).catch((error: unknown) => {
      if (error instanceof UnfinishedError && error.lacks === witness && error.isGone) forgetFirst(reads);
      throw error;
    });
    if (read === undefined) {
      length = shorter(length);
      continue;
    }
    if (read.candles.length === 0) await seriesStart.learnCreatedAt(read.observedAt, options);
    if (!reader.isProven(read)) {
      if (witness === undefined && askedUntil === undefined) {
        // Without any candle no slice proves anything: do not walk through them.
        const now = intervals.start(Math.max(until, read.observedAt));
        const last = intervals.end(now);
        const isFound =
          (await seriesStart.answers(earliest, last, options)) ||
          (await seriesStart.gallop(earliest, end, last, options)) !== undefined;
        if (!isFound) return [read, ...reads];
        if (!reader.isProven(read)) {
          askedUntil = now;
          continue;
        }
      } else {
        const { lacks } = read;
        const from = intervals.shift(start, -1);
        const last = intervals.end(witness ?? askedUntil!);
        // A witness that comes from a store is no answer: it may be hidden, or the service may have nothing to say now.
        const isUnseen = lacks !== undefined && lacks < seriesStart.firstAnsweredSoFar;
        if (isUnseen && !(await seriesStart.answers(lacks, last, options))) {
          const error = await reader.unfinished(lacks, options);
          if (error.isGone) throw error;
        }
        const found = await seriesStart.findFirstAnswered(
          from,
          seriesStart.firstAnsweredSoFar,
          last,
          options,
        );
        if (found !== undefined || reader.isProven(read)) continue;
        if (read.lacks !== undefined) throw await reader.unfinished(read.lacks, options);
      }
    }
    const surplus = read.candles.length - missing;
    const first = read.candles[Math.max(0, surplus)];
    length = fitted(length, read.candles.length);
    if (first !== undefined) {
      const from = first.timestamp;
      reads.unshift({ ...read, from, candles: read.candles.slice(Math.max(0, surplus)) });
      missing -= read.candles.length;
      end = from;
      witness = from;
    } else if (silentFrom === read.from && read.from <= Math.max(earliest, reader.startsAt ?? earliest)) {
      return [read, ...reads];
    }
    silentFrom = first === undefined ? read.from : Number.POSITIVE_INFINITY;
  }
  return reads;
}

/** Takes the first candle, which is gone, out of the reads: the range up to the next candle is read again. */
function forgetFirst(reads: SeriesRead[]): void {
  const [read, ...later] = reads;
  const candles = read?.candles.slice(1) ?? [];
  const kept = candles.length > 0 ? [{ ...read!, from: candles[0]!.timestamp, candles }] : [];
  reads.splice(0, reads.length, ...kept, ...later);
}

function bound(length: number): { maxCandles?: number } {
  return length > FULL_PAGE ? { maxCandles: MAX_CANDLES } : {};
}

function longer(length: number): number {
  return length * GROWTH;
}

function shorter(length: number): number {
  return Math.max(FULL_PAGE, Math.floor(length / GROWTH));
}

/** The length of the next slice, if its candles are as dense as those of the last one. */
function fitted(length: number, candles: number): number {
  const fitting = Math.floor((length * AIMED_CANDLES) / Math.max(1, candles));
  return Math.max(FULL_PAGE, Math.min(fitting, length * GROWTH));
}
