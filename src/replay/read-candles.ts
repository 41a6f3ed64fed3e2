import type { Candle } from "../contract/model.js";
import { InvalidInputError } from "../errors.js";

/**
 * The candles of lines that hold one each as JSON, as `JSON.stringify` writes it (NDJSON): ascending, each once, frozen;
 * read one at a time, so that a file may be larger than memory.
 *
 * `timestamp` is in ms since the epoch; prices and volume are finite and not negative. Blank lines are passed over, and
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
    return JSON.parse(text);
  } catch (cause) {
    throw new InvalidInputError(`line ${number}`, allowed, `is not JSON: "${text.slice(0, 40)}"`, { cause });
  }
}

export function isIterable(value: unknown): value is Iterable<unknown> {
  return typeof (value as Partial<Iterable<unknown>> | null)?.[Symbol.iterator] === "function";
}

export function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof (value as Partial<AsyncIterable<unknown>> | null)?.[Symbol.asyncIterator] === "function";
}

/** Why something cannot be the next candle of a history. */
export interface CandleFlaw {
  /** The field that is wrong; absent where it is all of it. */
  readonly field?: keyof Candle;
  readonly allowed: string;
  readonly problem: string;
}

const { isFinite: isFiniteNumber, isSafeInteger } = Number;

/**
 * What is wrong with the next candle of a history whose newest one so far has this timestamp; the same as is refused in
 * an answer of the service.
 */
export function flawOf(value: unknown, newest: number): CandleFlaw | undefined {
  // An object is all that these names can be asked of; the rest is told apart where something is wrong.
  const candle = value as Candle | null | undefined;
  if (candle === null || candle === undefined) return detailedFlawOf(value, newest);
  const { timestamp, open, high, low, close, volume, swaps } = candle;
  const isRight =
    isSafeInteger(timestamp) &&
    timestamp >= 0 &&
    timestamp > newest &&
    isAmount(open) &&
    isAmount(high) &&
    isAmount(low) &&
    isAmount(close) &&
    isAmount(volume) &&
    isSafeInteger(swaps) &&
    swaps >= 0 &&
    high >= low;
  return isRight ? undefined : detailedFlawOf(value, newest);
}

function isAmount(value: number): boolean {
  return isFiniteNumber(value) && value >= 0;
}

function detailedFlawOf(value: unknown, newest: number): CandleFlaw {
  if (typeof value !== "object" || value === null) {
    const allowed = "an object with timestamp, open, high, low, close, volume and swaps";
    return { allowed, problem: `is ${value === null ? "null" : typeof value}` };
  }
  const candle = value as Candle;
  for (const field of ["timestamp", "open", "high", "low", "close", "volume", "swaps"] as const) {
    const number = candle[field];
    const isCount = field === "timestamp" || field === "swaps";
    if (isAmount(number) && (!isCount || isSafeInteger(number))) continue;
    const allowed = `a ${isCount ? "whole" : "finite"} number of at least 0`;
    return { field, allowed, problem: `is ${typeof number === "number" ? number : wordFor(number)}` };
  }
  const { timestamp, high, low } = candle;
  if (timestamp <= newest) {
    const problem = timestamp === newest ? "is that of the candle before, too" : `comes after ${newest}`;
    return { field: "timestamp", allowed: "ascending, each once", problem: `(${timestamp}) ${problem}` };
  }
  return { field: "high", allowed: "no less than low", problem: `is ${high}, with a low of ${low}` };
}

function wordFor(value: unknown): string {
  if (value === undefined) return "missing";
  return value === null ? "null" : `of type ${typeof value}`;
}

/** The error about a flaw of the candle at a place, such as `line 3`. */
export function refusalOf(place: string, { field, allowed, problem }: CandleFlaw): InvalidInputError {
  const parameter = field === undefined ? place : `${field} of ${place}`;
  return new InvalidInputError(parameter, allowed, problem);
}

/** A frozen candle with the same numbers, and nothing else. */
export function frozenCandle({ timestamp, open, high, low, close, volume, swaps }: Candle): Candle {
  return Object.freeze({ timestamp, open, high, low, close, volume, swaps });
}
