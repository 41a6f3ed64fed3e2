import { type Candle, type Client, fetchCandles, intervalOf, type Series } from "pairstream";
import {
  defaultIfEmpty,
  firstValueFrom,
  lastValueFrom,
  map,
  merge,
  type Observable,
  from as observe,
  take,
  takeUntil,
  takeWhile,
  tap,
} from "rxjs";
import { UsageError } from "../terminal/command-line.js";
import type { KeptCandles } from "./candle-file.js";
import type { CandleWriter } from "./candle-writer.js";

/** The candles of `[from, to)`, ms since the epoch. */
export interface Range {
  readonly series: Series;
  readonly from: number;
  readonly to: number;
}

/** Where a download goes to, what it tells, and what ends it. */
export interface DownloadOptions {
  readonly writer: Pick<CandleWriter, "write" | "isFull" | "drained" | "failed">;
  readonly onCandle: (candle: Candle) => void;
  readonly stopped: Observable<unknown>;
  /** The last candle that is there already, which the range begins with: the service has to have it as well. */
  readonly known?: KnownCandle | undefined;
}

/** A candle of a file. */
export interface KnownCandle {
  readonly candle: Candle;
  readonly file: string;
}

/**
 * Writes what is missing of a range, oldest first; resolves when it is complete, or stopped. A stream does not wait for
 * its reader: while the writer is full it is left, and asked anew from there on, so that memory is bounded.
 */
export async function download(
  client: Client,
  { series, from, to }: Range,
  { writer, onCandle, stopped, known }: DownloadOptions,
): Promise<void> {
  let start = from;
  let isLeft = true;
  /** Not shown yet. */
  let expected = known;
  const write = (candle: Candle) => {
    if (expected !== undefined) {
      if (!isSame(candle, expected.candle)) throw otherCandles(expected.file);
      expected = undefined;
      start = candle.timestamp + 1;
      return;
    }
    writer.write(candle);
    start = candle.timestamp + 1;
    onCandle(candle);
  };
  const ends = merge(stopped, observe(writer.failed));
  let isStopped = false;
  const noticing = stopped.subscribe(() => {
    isStopped = true;
  });
  try {
    while (isLeft && !isStopped && start < to) {
      isLeft = false;
      const candles = fetchCandles(client, { ...series, from: start, to }).pipe(
        tap(write),
        takeWhile(() => {
          isLeft = writer.isFull;
          return !isLeft;
        }),
        takeUntil(ends),
      );
      await lastValueFrom(candles, { defaultValue: undefined });
      await writer.drained();
    }
    if (expected !== undefined && !isStopped) throw otherCandles(expected.file);
  } finally {
    noticing.unsubscribe();
  }
}

/**
 * Where a download goes on after what a file holds: with its last candle, which the first page has to show. Throws a
 * `UsageError` where its first candle is not the first of the range at the service.
 */
export async function startAfter(
  client: Client,
  { series, from, to }: Range,
  { kept, file, stopped }: { kept: KeptCandles; file: string; stopped: Observable<unknown> },
): Promise<{ start: number; known?: KnownCandle }> {
  const { first, last } = kept;
  if (first === undefined || last === undefined) return { start: from };
  if (first.timestamp < from || last.timestamp >= to) throw otherCandles(file);
  // No more than that is asked for: what follows it is in the file.
  const { end } = intervalOf(series.timeframe, first.timestamp);
  const served = fetchCandles(client, { ...series, from, to: end }).pipe(
    take(1),
    map((found) => isSame(found, first)),
    defaultIfEmpty(false),
  );
  // Nobody minds once the download is stopped.
  const isFirst = await firstValueFrom(merge(served, stopped.pipe(map(() => true))));
  if (!isFirst) throw otherCandles(file);
  return { start: last.timestamp, known: { candle: last, file } };
}

const isSame = (a: Candle, b: Candle) => JSON.stringify(a) === JSON.stringify(b);

function otherCandles(file: string): UsageError {
  const problem = "holds other candles than the service has for this pair, timeframe, currency and range";
  return new UsageError(`${file} ${problem}; move it away, or name another --output`);
}
