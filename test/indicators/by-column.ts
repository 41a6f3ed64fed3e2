import { expect } from "vitest";
import type { Candle } from "../../src/contract/model.js";
import { indicatorColumns } from "../../src/indicators/columns/indicator-columns.js";
import type { Indicator } from "../../src/indicators/kernel.js";
import type { CandleColumns } from "../../src/indicators/rows.js";
import { numbersOf } from "./values.js";

/** The candles as columns. */
export function columnsOf(candles: readonly Candle[]): Required<CandleColumns> {
  const column = (field: keyof Candle) => Float64Array.from(candles, (candle) => candle[field]);
  return {
    timestamp: column("timestamp"),
    open: column("open"),
    high: column("high"),
    low: column("low"),
    close: column("close"),
    volume: column("volume"),
    swaps: column("swaps"),
  };
}

/** The columns of one indicator, by field; those of numbers under `value`. */
export function columnsIn(
  indicator: Indicator<unknown>,
  candles: readonly Candle[] | CandleColumns,
): Readonly<Record<string, Float64Array>> {
  const { own } = indicatorColumns({ own: indicator }, candles) as Record<string, unknown>;
  return own instanceof Float64Array ? { value: own } : (own as Record<string, Float64Array>);
}

/** Expects the same numbers of candles, of columns, and of what is pushed candle by candle. */
export function expectColumnsAsStreamed(
  name: string,
  indicator: Indicator<unknown>,
  candles: readonly Candle[],
): void {
  const kernel = indicator();
  const values = candles.map((candle) => kernel.push(candle));
  expectSameNumbers(name, columnsIn(indicator, columnsOf(candles)), values);
  expectSameNumbers(name, columnsIn(indicator, candles), values);
}

export function expectSameNumbers(
  name: string,
  columns: Readonly<Record<string, Float64Array>>,
  values: readonly unknown[],
): void {
  const fields = Object.keys(columns);
  const withValue = values.find((value) => value !== undefined);
  if (withValue !== undefined) expect(fields).toEqual(Object.keys(numbersOf(withValue)!));
  for (const field of fields) {
    const column = columns[field]!;
    expect(column.length).toBe(values.length);
    const differs = column.findIndex((number, at) => {
      return !Object.is(number, numbersOf(values[at])?.[field] ?? Number.NaN);
    });
    if (differs === -1) continue;
    const [number, value] = [column[differs], numbersOf(values[differs])?.[field]];
    expect.fail(`${name}, ${field}, candle ${differs} of ${values.length}: ${number} and ${value}`);
  }
}
