import { extname } from "node:path";
import type { Candle } from "pairstream";

/** What a file of candles can be, by the ending of its name. */
export const FORMATS = ["ndjson", "csv", "parquet", "db"] as const;
export type Format = (typeof FORMATS)[number];

export const FORMATS_ALLOWED = `${FORMATS.slice(0, -1)
  .map((format) => `.${format}`)
  .join(", ")} or .${FORMATS.at(-1)}`;

export function formatOf(file: string): Format | undefined {
  const ending = extname(file).slice(1).toLowerCase();
  return FORMATS.find((format) => format === ending);
}

/** How candles are written as lines. */
export interface LineFormat {
  /** Stands once, at the beginning. */
  readonly header: string;
  /** What every such file begins with. */
  readonly beginning: string;
  lineOf(candle: Candle): string;
}

const CSV_HEADER = "date,open,high,low,close,volume,swaps\n";

export const NDJSON: LineFormat = {
  header: "",
  beginning: '{"timestamp":',
  lineOf: (candle) => `${JSON.stringify(candle)}\n`,
};

/** With the columns of freqtrade, and `swaps`. */
const CSV: LineFormat = {
  header: CSV_HEADER,
  beginning: CSV_HEADER,
  lineOf: ({ timestamp, open, high, low, close, volume, swaps }) =>
    `${new Date(timestamp).toISOString()},${open},${high},${low},${close},${volume},${swaps}\n`,
};

/** The lines of a file, or of the one that its candles are in until all of them are there. */
export const lineFormatOf = (format: Format): LineFormat => (format === "csv" ? CSV : NDJSON);
