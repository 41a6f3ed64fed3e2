import type { Intervals } from "../timeframe.js";
import type { CandleRead } from "./book.js";
import { FULL_PAGE, type ReadOptions, type SeriesReader } from "./reader.js";

/** Slices are sized to hold about this many candles. */
const AIMED_CANDLES = 900;
/** How much longer a slice may be than the one before. */
const GROWTH = 8;
/** A long slice that turns out to hold more candles is read again in shorter ones. */
const MAX_CANDLES = 3_000;
/** No chain with token pairs is older. */
const EARLIEST = Date.UTC(2009, 0, 1);

type HistoryOptions = Pick<ReadOptions, "priority" | "signal">;

/**
 * Reads `[from, until)` in ascending slices, each as long as the candles it is expected to hold fit one page, so
 * that memory is bounded although pages come newest first, and silences cost few requests.
 *
 * A silence that no answer proves is held back until one does: the first candles after it, or else any that are found
 * from its end on back. `until` is asked again before each slice, as it may be learned on the way or move.
 */
export async function* readSlices(
  reader: SeriesReader,
  intervals: Intervals,
  from: number,
  until: () => number,
  options: HistoryOptions,
): AsyncGenerator<CandleRead> {
  let start = from;
  let length = FULL_PAGE;
  let held: CandleRead | undefined;
  while (start < until()) {
    const begin = Math.max(start, Math.min(reader.birth ?? start, intervals.shift(until(), -1)));
    const intervalsLeft = intervals.count(begin, until());
    const end = intervals.shift(begin, Math.min(length, intervalsLeft));
    const read = await reader.read(start, end, { ...options, ...bound(length) });
    const isProven = read === undefined || reader.isProven(read);
    if (!isProven) held = { ...read, from: held?.from ?? read.from };
    if (held !== undefined && (isProven || end >= until())) {
      const hasCandles = read === undefined || read.candles.length > 0;
      const opening = await openingWithin(reader, intervals, held, hasCandles ? end : undefined, options);
      if (opening === undefined || opening > held.from) yield { ...held, to: opening ?? held.to };
      reader.forgetBefore(opening ?? held.to);
      held = undefined;
      if (opening !== undefined) {
        start = opening;
        length = FULL_PAGE;
        continue;
      }
    }
    if (read === undefined) {
      length = shorter(length);
      continue;
    }
    start = read.to;
    length = fitted(length, read.candles.length);
    if (!isProven) continue;
    yield read;
    reader.forgetBefore(read.to);
  }
}

/**
 * From where to read a held silence again, as candles are hidden in it; `undefined` where none are, or none is found.
 * `candlesBefore`: where candles have been found that follow it, the end of their range.
 */
async function openingWithin(
  { opening }: SeriesReader,
  intervals: Intervals,
  held: CandleRead,
  candlesBefore: number | undefined,
  options: HistoryOptions,
): Promise<number | undefined> {
  const from = intervals.shift(held.from, -1);
  // A range that was asked for before the time was known can end in the future, where nothing is.
  const to = Math.min(held.to, intervals.end(held.provenAt));
  // Any candle will do, of after the range too.
  const end = intervals.end(candlesBefore ?? Math.max(held.to, held.provenAt));
  const answered =
    candlesBefore === undefined ? await opening.gallop(from, to, end, options) : intervals.shift(held.to, -1);
  if (answered === undefined || (await opening.answers(from, end, options))) return undefined;
  const found = await opening.find(from, answered, end, options);
  return found === undefined ? undefined : Math.max(held.from, found);
}

/**
 * Reads back from `until` until `count` candles are found or the series begins; gives them in ascending slices, the
 * first of which starts at the first of these candles. It holds them all: in `reads`, from which a walk that has
 * failed goes on.
 *
 * Each slice is asked for together with the oldest candle known by then, so that its silence is proven by that one.
 */
export async function readLast(
  reader: SeriesReader,
  intervals: Intervals,
  count: number,
  until: number,
  options: HistoryOptions,
  reads: CandleRead[] = [],
): Promise<readonly CandleRead[]> {
  const { opening } = reader;
  let missing = reads.reduce((left, { candles }) => left - candles.length, count);
  let end = reads[0]?.from ?? until;
  let length = Math.min(FULL_PAGE, Math.max(1, count));
  let witness = reads.flatMap(({ candles }) => candles)[0]?.timestamp;
  const earliest = intervals.start(EARLIEST);
  while (missing > 0 && end > Math.max(earliest, reader.birth ?? earliest)) {
    const start = intervals.shift(end, -Math.min(length, intervals.count(earliest, end)));
    const read = await reader.read(start, end, { ...options, ...bound(length), witness });
    if (read === undefined) {
      length = shorter(length);
      continue;
    }
    if (read.candles.length === 0) await opening.learnCreation(read.provenAt, options);
    if (!reader.isProven(read)) {
      if (witness === undefined) {
        // Without any candle no slice would prove anything: they are not walked through.
        const now = intervals.start(Math.max(until, read.provenAt));
        const last = intervals.end(now);
        const isFound =
          (await opening.answers(earliest, last, options)) ||
          (await opening.gallop(earliest, end, last, options)) !== undefined;
        if (!isFound) return [read, ...reads];
        witness = now;
        if (!reader.isProven(read)) continue;
      } else {
        const from = intervals.shift(start, -1);
        const found = await opening.find(from, opening.answersFrom, intervals.end(witness), options);
        if (found !== undefined || reader.isProven(read)) continue;
      }
    }
    const surplus = read.candles.length - missing;
    const from = surplus >= 0 ? read.candles[surplus]!.timestamp : read.from;
    reads.unshift({ ...read, from, candles: read.candles.slice(Math.max(0, surplus)) });
    witness = read.candles[0]?.timestamp ?? witness;
    missing -= read.candles.length;
    end = read.from;
    length = fitted(length, read.candles.length);
  }
  return reads;
}

function bound(length: number): { maxCandles?: number } {
  return length > FULL_PAGE ? { maxCandles: MAX_CANDLES } : {};
}

function shorter(length: number): number {
  return Math.max(FULL_PAGE, Math.floor(length / GROWTH));
}

/** The length of the next slice, if it holds candles as densely as the last one did. */
function fitted(length: number, candles: number): number {
  const fitting = Math.floor((length * AIMED_CANDLES) / Math.max(1, candles));
  return Math.max(FULL_PAGE, Math.min(fitting, length * GROWTH));
}
