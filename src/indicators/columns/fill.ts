import { show } from "../../contract/input.js";
import type { Candle } from "../../contract/model.js";
import { InvalidInputError } from "../../errors.js";
import { NumberOverCandles, ResultOverCandles } from "../candle-kernel.js";
import type { Kernel } from "../kernel.js";
import type { CandleColumns } from "../rows.js";
import { NumberOverSeries, ResultOverSeries, type SeriesKernel } from "../series-kernel.js";
import { checked, FieldReader, IndicatorReader, type Reader } from "../source.js";
import { CHUNK, type Rows } from "./series.js";

/** Where the values of one indicator go: one array, or one by field. */
export type Out = Float64Array | Readonly<Record<string, Float64Array>>;

/** Writes the values of some rows. It keeps the state of its kernel, so they are those after the last ones. */
export type Fill = (rows: Rows, out: Out) => void;

/** Reads the input of an indicator; the array holds until the next call. */
type Read = (rows: Rows) => Float64Array;

/** `name` and `fields` are those of the indicator; other kernels than ours are told by them. */
export function fillOf(kernel: Kernel<unknown>, name: string, fields: readonly string[] | undefined): Fill {
  if (kernel instanceof NumberOverSeries || kernel instanceof ResultOverSeries) {
    const read = readOf(kernel.source);
    const inner = kernel.inner as SeriesKernel<unknown> & { fill: FillSeries };
    if (!(kernel.source instanceof IndicatorReader)) {
      return (rows, out) => inner.fill(read(rows), out, rows.columns);
    }
    return (rows, out) => fillWhereThereIsInput(inner, read(rows), out, rows);
  }
  if (kernel instanceof NumberOverCandles || kernel instanceof ResultOverCandles) {
    const inner = kernel.inner as unknown as { fill(rows: CandleColumns, out: Out): void };
    return ({ columns }, out) => inner.fill(columns, out);
  }
  return fields === undefined ? numbersOf(kernel, name) : objectsOf(kernel, name, fields);
}

/** A part of a place. */
export function cut(out: Out, from: number, to: number): Out {
  if (out instanceof Float64Array) return out.subarray(from, to);
  const entries = Object.entries(out);
  return Object.fromEntries(entries.map(([field, column]) => [field, column.subarray(from, to)]));
}

type FillSeries = (values: Float64Array, out: Out, rows: CandleColumns) => void;

/** A kernel gets no NaN: it waits, as it does candle by candle. */
function fillWhereThereIsInput(
  inner: { fill: FillSeries },
  values: Float64Array,
  out: Out,
  rows: Rows,
): void {
  if (!hasNaN(values)) {
    inner.fill(values, out, rows.columns);
    return;
  }
  for (const column of out instanceof Float64Array ? [out] : Object.values(out)) column.fill(Number.NaN);
  for (let from = 0; from < values.length; ) {
    let to = from;
    while (to < values.length && !Number.isNaN(values[to])) to += 1;
    if (to > from) {
      inner.fill(values.subarray(from, to), cut(out, from, to), rows.columnsFrom(from, to));
    }
    from = to + 1;
  }
}

function readOf(reader: Reader): Read {
  if (reader instanceof FieldReader) return fieldOf(reader);
  const values = new Float64Array(CHUNK);
  if (reader instanceof IndicatorReader) {
    const { kernel } = reader;
    if (kernel instanceof NumberOverSeries || kernel instanceof NumberOverCandles) {
      const fill = fillOf(kernel, "source", undefined);
      return (rows) => {
        const part = values.subarray(0, rows.length);
        fill(rows, part);
        for (const value of part) if (Math.abs(value) === Infinity) checked(value, Number.MAX_VALUE);
        return part;
      };
    }
  }
  return ({ candles }) => {
    for (let at = 0; at < candles.length; at += 1) values[at] = reader.push(candles[at]!);
    return values.subarray(0, candles.length);
  };
}

function fieldOf(reader: FieldReader): Read {
  const { field } = reader;
  if (field === "hl2" || field === "hlc3" || field === "ohlc4") {
    const values = new Float64Array(CHUNK);
    return ({ columns: { open, high, low, close } }) => {
      for (let at = 0; at < close.length; at += 1) {
        values[at] = reader.push({
          open: open[at]!,
          high: high[at]!,
          low: low[at]!,
          close: close[at]!,
        } as Candle);
      }
      return values.subarray(0, close.length);
    };
  }
  return ({ columns }) => columns[field]!;
}

function numbersOf(kernel: Kernel<unknown>, name: string): Fill {
  const parameter = `indicators.${name}`;
  const allowed = "an indicator of numbers, or one that names its fields";
  return ({ candles }, out) => {
    for (let at = 0; at < candles.length; at += 1) {
      const value = kernel.push(candles[at]!);
      (out as Float64Array)[at] = value === undefined ? Number.NaN : numberOf(value, parameter, allowed);
    }
  };
}

function objectsOf(kernel: Kernel<unknown>, name: string, fields: readonly string[]): Fill {
  const parameter = `indicators.${name}`;
  const allowed = `an indicator of objects with the numbers ${fields.join(", ")}`;
  return ({ candles }, out) => {
    const columns = out as Readonly<Record<string, Float64Array>>;
    for (let at = 0; at < candles.length; at += 1) {
      const value = kernel.push(candles[at]!) as Readonly<Record<string, unknown>> | null | undefined;
      for (const field of fields) {
        columns[field]![at] = value === undefined ? Number.NaN : numberOf(value?.[field], parameter, allowed);
      }
    }
  };
}

function numberOf(value: unknown, parameter: string, allowed: string): number {
  if (typeof value === "number") return value;
  throw new InvalidInputError(parameter, allowed, `gave ${show(value)}`);
}

function hasNaN(values: Float64Array): boolean {
  for (let at = 0; at < values.length; at += 1) if (Number.isNaN(values[at])) return true;
  return false;
}
