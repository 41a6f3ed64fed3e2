import { beginning, printableLines, type Quote, withoutQueries } from "../../contract/quote.js";
import { ContractError } from "../../errors.js";
import { SecretFinder } from "./find-secret.js";

/** Keeps one secret out of texts and errors. */
export interface Redactor {
  /** The text with `[key]` wherever it holds the secret, escaped forms of it included. */
  text(text: string): string;
  /** The beginning of a text without the secret, nor a part of it where it is cut. */
  readonly head: Quote;
  /** The same without the queries of URLs in it, for messages. */
  readonly quote: Quote;
  /** The value itself if all of it can be shown, else a plain error with its name, message and code. */
  cause(cause: unknown): unknown;
  /** The error itself if it does not hold the secret, else one without it. */
  contractError(error: ContractError): ContractError;
}

/** A shorter key is no secret, and replacing it everywhere would wreck every message. */
const SHORTEST = 4;
/** How deep a cause is searched; anything deeper counts as unsafe. */
const DEEPEST = 5;
/** The longest text of a cause, but for its stack. */
const LONGEST_TEXT = 1_000;
/** How much of a message is looked at: a URL with the longest cursor fits in. */
const LOOKED_AT = 65_536;
/** How many times longer the secret can become when it is escaped several times. */
const STRETCH = 256;
/** What stands in the place of the secret; dots, if the secret occurs in this mark. */
const MARK = "[key]";
/** How often a text is searched: next to a mark the secret can come up anew. */
const ROUNDS = 4;

export function redactorOf(secret: string): Redactor {
  const isSecret = secret.replaceAll("\\", "").length >= SHORTEST;
  const finder = new SecretFinder(secret);
  const mark = finder.find(MARK).length > 0 ? "…" : MARK;
  const replaced = (value: string, until: number, rounds: number): string => {
    const found = finder.find(value, until);
    if (found.length === 0) return value.slice(0, until);
    let result = "";
    let at = 0;
    for (const { start, end } of found) {
      result += value.slice(at, start) + mark;
      at = end;
    }
    result += value.slice(at, until);
    return rounds > 1 ? replaced(result, result.length, rounds - 1) : mark;
  };
  const text = (value: string) => (isSecret ? replaced(value, value.length, ROUNDS) : value);
  const head: Quote = (value, length) => {
    const reach = STRETCH * secret.length;
    const kept = isSecret ? replaced(value.slice(0, length + reach), length, ROUNDS) : value;
    return beginning(kept, length);
  };
  const quote: Quote = (value, length) => beginning(withoutQueries(head(value, LOOKED_AT)), length);
  const isSafe = (value: string, longest: number) =>
    value.length <= longest && quote(value, longest) === value && printableLines(value) === value;
  const cause = (value: unknown) =>
    isPlainlySafe(value, isSafe, DEEPEST) ? value : plainError(value, text, quote);
  const contractError = (error: ContractError) => {
    const path = error.path.map((key) => (typeof key === "string" ? text(key) : key));
    const issue = text(error.issue);
    const inner = error.cause === undefined ? undefined : cause(error.cause);
    const isClean = issue === error.issue && inner === error.cause && String(path) === String(error.path);
    return isClean ? error : new ContractError(path, issue, inner === undefined ? {} : { cause: inner });
  };
  return { text, head, quote, cause, contractError };
}

/** Whether a value holds nothing but texts that can be shown, numbers, and plain containers of them. */
function isPlainlySafe(
  value: unknown,
  isSafe: (text: string, longest: number) => boolean,
  depth: number,
): boolean {
  if (typeof value === "function") return false;
  // A number can be the key, and a symbol be named after it.
  if (typeof value !== "object" || value === null) return isSafe(String(value), LONGEST_TEXT);
  if (depth === 0) return false;
  try {
    const isError = value instanceof Error;
    if (!isError && !isPlainContainer(value)) return false;
    const keys = Reflect.ownKeys(value).filter((key) => !(isError && key === "stack"));
    const held = keys.map((key): unknown => Reflect.get(value, key));
    if (isError) held.push(value.name, value.message);
    if (isError && !isSafe(String(value.stack), LOOKED_AT)) return false;
    return [...keys, ...held].every((part) => isPlainlySafe(part, isSafe, depth - 1));
  } catch {
    return false;
  }
}

function isPlainContainer(value: object): boolean {
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype || prototype === Array.prototype;
}

function plainError(cause: unknown, text: (text: string) => string, quote: Quote): Error {
  const shown = (value: string) => printableLines(quote(value, LONGEST_TEXT));
  try {
    if (!(cause instanceof Error)) return new Error(shown(String(cause)));
    const error = new Error(shown(String(cause.message)));
    error.name = shown(String(cause.name));
    for (const name of ["code", "type"]) {
      const value: unknown = Reflect.get(cause, name);
      if (typeof value === "string" && text(value) === value) Reflect.set(error, name, shown(value));
    }
    return error;
  } catch {
    return new Error("an error that cannot be read");
  }
}
