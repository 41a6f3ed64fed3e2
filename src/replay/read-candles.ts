import { secondsProblem } from "../contract/input.js";
import { parseJson } from "../contract/json.js";
import type { Candle } from "../contract/model.js";
import { shortened } from "../contract/quote.js";
import { InvalidInputError } from "../errors.js";
import { candleError, flawOf, frozenCandle } from "./candle-flaw.js";
import { type CsvRow, csvColumns, isCsvHeader } from "./csv-columns.js";

/**
 * Reads candles from lines of JSON (NDJSON), one candle per line as `JSON.stringify` writes it, or of CSV: ascending,
 * each once, frozen. It reads one line at a time, so a file may be larger than memory.
 *
 * CSV begins with a header, which names `date` or `timestamp`, `open`, `high`, `low`, `close`, `volume` and `swaps` in any
 * order; values hold no commas and no quotes. `timestamp` is in ms since the epoch, in CSV also ISO 8601 with a zone; a file
 * whose first candle is in unix seconds is refused. Prices and volume are from 0 to 1e100. Blank lines and unknown fields are skipped. Whether
 * `high` and `low` fit the other prices is not checked, as services differ in that; `auditCandles` says it. It can be iterated as
 * often as `lines` can. Leaving early closes `lines`.
 *
 * Throws an `InvalidInputError` if `lines` is not iterable. Reading fails with one that names the line, counted from 1,
 * and the field, if the line is neither JSON nor a row of CSV, is not a candle, or is not newer than the candle before.
 * Errors of `lines` itself pass through.
 *
 * ```ts
 * import { readCandles } from "pairstream";
 * import { open } from "node:fs/promises";
 *
 * const file = await open("candles.ndjson");
 * for await (const candle of readCandles(file.readLines())) {
 *   console.log(new Date(candle.timestamp), candle.close);
 * }
 * ```
 */
export function readCandles(lines: Iterable<string> | AsyncIterable<string>): AsyncIterable<Candle> {
  if (typeof lines === "string" || !(isIterable(lines) || isAsyncIterable(lines))) {
    const problem = typeof lines === "string" ? "is one string" : "is not iterable";
    throw new InvalidInputError("lines", "lines of text, from an array, a generator or a file", problem);
  }
  return { [Symbol.asyncIterator]: () => parseCandles(lines) };
}

async function* parseCandles(lines: Iterable<string> | AsyncIterable<string>): AsyncGenerator<Candle> {
  let number = 0;
  let newest = -Infinity;
  let parse: CsvRow | typeof jsonOf | undefined;
  for await (const line of lines) {
    number += 1;
    const text = textOf(line, number);
    if (text === "") continue;
    if (parse === undefined) {
      const isCsv = isCsvHeader(text);
      parse = isCsv ? csvColumns(text, number) : jsonOf;
      if (isCsv) continue;
    }
    const value = parse(text, number);
    const flaw = flawOf(value, newest);
    if (flaw !== undefined) throw candleError(`line ${number}`, flaw);
    const candle = frozenCandle(value as Candle);
    const problem = newest === -Infinity ? secondsProblem(candle.timestamp) : undefined;
    if (problem !== undefined) {
      throw new InvalidInputError(`timestamp of line ${number}`, "ms since the epoch", problem);
    }
    newest = candle.timestamp;
    yield candle;
  }
}

const ALLOWED = "one candle as JSON, and nothing else";

/** Without what surrounds it: `trim` removes a byte order mark too. */
function textOf(line: unknown, number: number): string {
  if (typeof line === "string") return line.trim();
  throw new InvalidInputError(`line ${number}`, ALLOWED, "is not text; split a stream into lines first");
}

function jsonOf(text: string, number: number): unknown {
  try {
    return parseJson(text);
  } catch (cause) {
    const problem = /^\{.*[^}]$/s.test(text) ? "is cut off, as if what wrote it was stopped" : "is not JSON";
    throw new InvalidInputError(`line ${number}`, ALLOWED, `${problem}: "${shortened(text, 40)}"`, { cause });
  }
}

export function isIterable(value: unknown): value is Iterable<unknown> {
  return typeof (value as Partial<Iterable<unknown>> | null)?.[Symbol.iterator] === "function";
}

export function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof (value as Partial<AsyncIterable<unknown>> | null)?.[Symbol.asyncIterator] === "function";
}
