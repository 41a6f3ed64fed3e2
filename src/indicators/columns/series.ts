import { show } from "../../contract/input.js";
import type { Candle } from "../../contract/model.js";
import { checkNames } from "../../contract/names.js";
import { InvalidInputError } from "../../errors.js";
import { checkCandle, LARGEST } from "../finite.js";
import type { CandleColumns } from "../rows.js";

/** How many rows go through all indicators at a time: few enough to stay in the processor's cache. */
export const CHUNK = 2_048;

const NAMES = ["timestamp", "open", "high", "low", "close", "volume", "swaps"] as const;

type Name = (typeof NAMES)[number];

/** Some rows of a series, as columns and, for those who ask, as candles. */
export interface Rows {
  readonly length: number;
  readonly columns: CandleColumns;
  readonly candles: readonly Candle[];
  /** The part of the columns from one of these rows to before another. */
  columnsFrom(from: number, to: number): CandleColumns;
}

/** A whole series. */
export interface WholeSeries {
  readonly length: number;
  /** The user's own arrays; nothing may be written there. */
  readonly memory: readonly Float64Array[];
  /** The rows from `from` to before `to`, at most `CHUNK`; they hold until the next call. */
  rows(from: number, to: number): Rows;
}

/**
 * Throws an `InvalidInputError` unless these are candles, or columns of equal length. Timestamps are checked with the
 * rows that they belong to, and the numbers of a column when they are read.
 */
export function checkSeriesOf(candles: readonly Candle[] | CandleColumns): WholeSeries {
  if (Array.isArray(candles)) return new SeriesOfCandles(checkCandles(candles as readonly Candle[]));
  return new SeriesOfColumns(checkColumns(candles as CandleColumns));
}

class SeriesOfColumns implements WholeSeries {
  readonly length: number;
  readonly memory: readonly Float64Array[];

  constructor(private readonly columns: CandleColumns) {
    this.length = columns.timestamp.length;
    this.memory = Object.values(columns);
  }

  rows(from: number, to: number): Rows {
    checkOrder(this.columns.timestamp, from, to);
    return new RowsOfColumns(this.columns, from, to);
  }
}

class RowsOfColumns implements Rows {
  readonly length: number;
  readonly columns: CandleColumns;
  private made: readonly Candle[] | undefined;

  constructor(
    private readonly whole: CandleColumns,
    private readonly from: number,
    to: number,
  ) {
    this.length = to - from;
    this.columns = new CheckedColumns(whole, from, to);
  }

  columnsFrom(from: number, to: number): CandleColumns {
    return new CheckedColumns(this.whole, this.from + from, this.from + to);
  }

  get candles(): readonly Candle[] {
    const { timestamp, open, high, low, close, volume } = this.columns;
    // A source that reads swaps that are not there is refused, as it is for any other NaN.
    const swaps =
      this.whole.swaps === undefined ? new Float64Array(this.length).fill(Number.NaN) : this.columns.swaps!;
    this.made ??= Array.from(timestamp, (_, at) => ({
      timestamp: timestamp[at]!,
      open: open[at]!,
      high: high[at]!,
      low: low[at]!,
      close: close[at]!,
      volume: volume[at]!,
      swaps: swaps[at]!,
    }));
    return this.made;
  }
}

/** A part of columns. Whoever reads one has its numbers checked: a column that no one reads costs nothing. */
class CheckedColumns implements CandleColumns {
  private readonly read: Partial<Record<Name, Float64Array>> = {};

  constructor(
    private readonly whole: CandleColumns,
    private readonly from: number,
    private readonly to: number,
  ) {}

  get timestamp(): Float64Array {
    return this.whole.timestamp.subarray(this.from, this.to);
  }

  get open(): Float64Array {
    return this.part("open");
  }

  get high(): Float64Array {
    return this.part("high");
  }

  get low(): Float64Array {
    return this.part("low");
  }

  get close(): Float64Array {
    return this.part("close");
  }

  get volume(): Float64Array {
    return this.part("volume");
  }

  get swaps(): Float64Array {
    return this.part("swaps");
  }

  private part(name: Name): Float64Array {
    const part = this.read[name];
    if (part !== undefined) return part;
    const { whole, from, to } = this;
    const column = whole[name];
    if (column === undefined) {
      throw new InvalidInputError(name, "a Float64Array, as an indicator reads it", "is undefined");
    }
    checkNumbers(name, column, from, to);
    const read = column.subarray(from, to);
    this.read[name] = read;
    return read;
  }
}

class SeriesOfCandles implements WholeSeries {
  readonly memory = [];
  private readonly scratch: Required<CandleColumns>;

  constructor(private readonly candles: readonly Candle[]) {
    const size = Math.min(CHUNK, candles.length);
    const columns = Object.fromEntries(NAMES.map((name) => [name, new Float64Array(size)]));
    this.scratch = columns as unknown as Required<CandleColumns>;
  }

  get length(): number {
    return this.candles.length;
  }

  rows(from: number, to: number): Rows {
    const { timestamp, open, high, low, close, volume, swaps } = this.scratch;
    const { candles } = this;
    for (let at = from; at < to; at += 1) {
      const candle = candles[at]!;
      timestamp[at - from] = candle.timestamp;
      open[at - from] = candle.open;
      high[at - from] = candle.high;
      low[at - from] = candle.low;
      close[at - from] = candle.close;
      volume[at - from] = candle.volume;
      swaps[at - from] = candle.swaps;
    }
    const columnsFrom = (begin: number, end: number) => cutColumns(this.scratch, begin, end);
    return {
      length: to - from,
      columns: columnsFrom(0, to - from),
      candles: candles.slice(from, to),
      columnsFrom,
    };
  }
}

function cutColumns(columns: Required<CandleColumns>, from: number, to: number): CandleColumns {
  const { timestamp, open, high, low, close, volume, swaps } = columns;
  return {
    timestamp: timestamp.subarray(from, to),
    open: open.subarray(from, to),
    high: high.subarray(from, to),
    low: low.subarray(from, to),
    close: close.subarray(from, to),
    volume: volume.subarray(from, to),
    swaps: swaps.subarray(from, to),
  };
}

function checkCandles(candles: readonly Candle[]): readonly Candle[] {
  let last = -Infinity;
  for (let at = 0; at < candles.length; at += 1) {
    const candle = candles[at] as Candle | null | undefined;
    if (typeof candle !== "object" || candle === null) {
      throw new InvalidInputError(`candles[${at}]`, "a candle", `is ${show(candle)}`);
    }
    checkCandle(candle);
    const { timestamp, swaps } = candle;
    if (!(isInstant(timestamp) && timestamp > last)) throw outOfOrder(at, timestamp, last);
    if (!Number.isFinite(swaps)) throw notFinite(`candles[${at}].swaps`, swaps);
    last = timestamp;
  }
  return candles;
}

function checkColumns(columns: CandleColumns): CandleColumns {
  if (typeof columns !== "object" || columns === null) {
    const allowed = `an array of candles, or an object of columns: ${NAMES.join(", ")}`;
    throw new InvalidInputError("candles", allowed, `is ${show(columns)}`);
  }
  checkNames(columns, NAMES);
  const checked: Partial<Record<(typeof NAMES)[number], Float64Array>> = {};
  for (const name of NAMES) {
    const column: unknown = columns[name];
    if (name === "swaps" && column === undefined) continue;
    if (!(column instanceof Float64Array)) {
      throw new InvalidInputError(name, "a Float64Array", `is ${kindOf(column)}`);
    }
    checked[name] = column;
    const rows = checked.timestamp!.length;
    if (column.length === rows) continue;
    throw new InvalidInputError(
      name,
      `${rows} numbers, as many as timestamp has`,
      `has ${column.length} numbers`,
    );
  }
  return checked as CandleColumns;
}

/**
 * One sum stands for all numbers: one that is not finite, or too large, is seen in it. Only then is each looked at. It
 * is taken in four parts, which do not wait for one another.
 */
function checkNumbers(name: Name, column: Float64Array, from: number, to: number): void {
  let first = 0;
  let second = 0;
  let third = 0;
  let fourth = 0;
  let at = from;
  for (; at + 3 < to; at += 4) {
    first += Math.abs(column[at]!);
    second += Math.abs(column[at + 1]!);
    third += Math.abs(column[at + 2]!);
    fourth += Math.abs(column[at + 3]!);
  }
  for (; at < to; at += 1) first += Math.abs(column[at]!);
  if (first + second + (third + fourth) <= LARGEST) return;
  for (at = from; at < to; at += 1) {
    if (!(Math.abs(column[at]!) <= LARGEST)) throw notFinite(`${name}[${at}]`, column[at]);
  }
}

function checkOrder(timestamp: Float64Array, from: number, to: number): void {
  if (isAscending(timestamp, from, to) && isInstant(timestamp[from]) && isInstant(timestamp[to - 1])) return;
  for (let at = from; at < to; at += 1) {
    const [before, next] = [timestamp[at - 1] ?? -Infinity, timestamp[at]!];
    if (!(isInstant(next) && next > before)) throw outOfOrder(at, next, before);
  }
}

/** Whether each is later than the one before. */
function isAscending(timestamp: Float64Array, from: number, to: number): boolean {
  let last = from === 0 ? -Infinity : timestamp[from - 1]!;
  for (let at = from; at < to; at += 1) {
    const next = timestamp[at]!;
    if (!(next > last)) return false;
    last = next;
  }
  return true;
}

/** Whether a `Date` can hold it. */
function isInstant(timestamp: unknown): boolean {
  return typeof timestamp === "number" && Math.abs(timestamp) <= 8.64e15;
}

function notFinite(parameter: string, value: unknown): InvalidInputError {
  return new InvalidInputError(
    parameter,
    `a finite number from -${LARGEST} to ${LARGEST}`,
    `is ${show(value)}`,
  );
}

function outOfOrder(at: number, next: unknown, before: unknown): InvalidInputError {
  const problem = `is ${show(next)} at ${at}${at === 0 ? "" : `, after ${show(before)}`}`;
  return new InvalidInputError("timestamp", "ms since the epoch, each larger than the one before", problem);
}

/** What a value is, without its contents. */
export function kindOf(value: unknown): string {
  if (typeof value !== "object" || value === null) return show(value);
  if (value instanceof Float64Array) return "a Float64Array";
  return Array.isArray(value) ? "an array" : ArrayBuffer.isView(value) ? "another typed array" : "an object";
}
