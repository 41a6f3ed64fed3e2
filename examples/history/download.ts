import { type Candle, type Client, fetchCandles, type Series } from "pairstream";
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
}

/**
 * Writes what is missing of a range, oldest first; resolves when it is complete, or stopped. A stream does not wait for
 * its reader: while the writer is full it is left, and asked anew from there on, so that memory is bounded.
 */
export async function download(
  client: Client,
  { series, from, to }: Range,
  { writer, onCandle, stopped }: DownloadOptions,
): Promise<void> {
  let start = from;
  let isLeft = true;
  const write = (candle: Candle) => {
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
  } finally {
    noticing.unsubscribe();
  }
}

/**
 * Where a download goes on after what a file holds. Throws a `UsageError` where the file is not the beginning of this
 * one: its first and last candles are compared with those of the service.
 */
export async function startAfter(
  client: Client,
  range: Range,
  { kept, file, stopped }: { kept: KeptCandles; file: string; stopped: Observable<unknown> },
): Promise<number> {
  const { series, from, to } = range;
  const { first, last } = kept;
  if (first === undefined || last === undefined) return from;
  /** Whether the first candle of a range is this one; nobody minds once the download is stopped. */
  const isNext = (start: number, candle: Candle) => {
    const served = fetchCandles(client, { ...series, from: start, to }).pipe(
      take(1),
      map((found) => JSON.stringify(found) === JSON.stringify(candle)),
      defaultIfEmpty(false),
    );
    return firstValueFrom(merge(served, stopped.pipe(map(() => true))));
  };
  const isWithin = first.timestamp >= from && last.timestamp < to;
  if (isWithin && (await isNext(from, first)) && (await isNext(last.timestamp, last))) {
    return last.timestamp + 1;
  }
  const problem = "holds other candles than the service has for this pair, timeframe, currency and range";
  throw new UsageError(`${file} ${problem}; move it away, or name another --output`);
}
