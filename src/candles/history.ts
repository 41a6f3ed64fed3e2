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
 * `until` is asked again before each slice, as it may be learned on the way or move.
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
  while (start < until()) {
    const begin = Math.max(start, Math.min(reader.birth ?? start, intervals.shift(until(), -1)));
    const intervalsLeft = intervals.count(begin, until());
    const end = intervals.shift(begin, Math.min(length, intervalsLeft));
    const read = await reader.read(start, end, { ...options, ...bound(length) });
    if (read === undefined) {
      length = shorter(length);
      continue;
    }
    yield read;
    reader.forgetBefore(read.to);
    start = read.to;
    length = fitted(length, read.candles.length);
  }
}

/**
 * Reads back from `until` until `count` candles are found or the series begins; gives them in ascending slices, the
 * first of which starts at the first of these candles. It holds them all.
 */
export async function readLast(
  reader: SeriesReader,
  intervals: Intervals,
  count: number,
  until: number,
  options: HistoryOptions,
): Promise<CandleRead[]> {
  const reads: CandleRead[] = [];
  let missing = count;
  let end = until;
  let length = Math.min(FULL_PAGE, Math.max(1, count));
  const earliest = intervals.start(EARLIEST);
  while (missing > 0 && end > Math.max(earliest, reader.birth ?? earliest)) {
    const start = intervals.shift(end, -Math.min(length, intervals.count(earliest, end)));
    const read = await reader.read(start, end, { ...options, ...bound(length) });
    if (read === undefined) {
      length = shorter(length);
      continue;
    }
    const surplus = read.candles.length - missing;
    const from = surplus >= 0 ? read.candles[surplus]!.timestamp : read.from;
    reads.unshift({ ...read, from, candles: read.candles.slice(Math.max(0, surplus)) });
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
