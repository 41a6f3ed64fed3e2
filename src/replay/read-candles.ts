import { parseJson } from "../contract/json.js";
import type { Candle } from "../contract/model.js";
import { shortened } from "../contract/quote.js";
import { InvalidInputError } from "../errors.js";
import { flawOf, frozenCandle, refusalOf } from "./candle-flaw.js";

/**
 * The candles of lines that hold one each as JSON, as `JSON.stringify` writes it (NDJSON): ascending, each once, frozen;
 * read one at a time, so that a file may be larger than memory.
 *
 * `timestamp` is in ms since the epoch; prices and volume are from 0 to 1e100. Blank lines are passed over, and
 * fields that a candle does not have are left out. It can be read as often as `lines` can. Leaving early closes `lines`.
 *
 * Throws an `InvalidInputError` where `lines` cannot be iterated. Reading fails with one that names the line, counted
 * from 1, which is no JSON or no candle, or whose candle is not newer than the one before it; and with whatever `lines`
 * fails with.
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
    const problem = typeof lines === "string" ? "is one string" : "cannot be iterated";
    throw new InvalidInputError("lines", "lines of text, from an array, a generator or a file", problem);
  }
  return { [Symbol.asyncIterator]: () => parseCandles(lines) };
}

async function* parseCandles(lines: Iterable<string> | AsyncIterable<string>): AsyncGenerator<Candle> {
  let number = 0;
  let newest = Number.NEGATIVE_INFINITY;
  for await (const line of lines) {
    number += 1;
    const value = parseLine(line, number);
    if (value === undefined) continue;
    const flaw = flawOf(value, newest);
    if (flaw !== undefined) throw refusalOf(`line ${number}`, flaw);
    const candle = frozenCandle(value as Candle);
    newest = candle.timestamp;
    yield candle;
  }
}

/** What a line holds; `undefined` where it is blank. */
function parseLine(line: unknown, number: number): unknown {
  const allowed = "one candle as JSON, and nothing else";
  if (typeof line !== "string") {
    throw new InvalidInputError(`line ${number}`, allowed, "is no text; split a stream into lines first");
  }
  // A byte order mark counts as space, too.
  const text = line.trim();
  if (text === "") return undefined;
  try {
    return parseJson(text);
  } catch (cause) {
    throw new InvalidInputError(`line ${number}`, allowed, `is not JSON: "${shortened(text, 40)}"`, {
      cause,
    });
  }
}

export function isIterable(value: unknown): value is Iterable<unknown> {
  return typeof (value as Partial<Iterable<unknown>> | null)?.[Symbol.iterator] === "function";
}

export function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof (value as Partial<AsyncIterable<unknown>> | null)?.[Symbol.asyncIterator] === "function";
}
