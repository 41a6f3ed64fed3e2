import { parseJson } from "../../contract/json.js";
import { beginning, printableLines, type Quote, withoutQueries } from "../../contract/quote.js";
import { ContractError } from "../../errors.js";
import { SecretFinder } from "./find-secret.js";

/** Keeps secrets out of texts and errors. A quoted text that holds one is left out as a whole, which a mark says. */
export interface Redactor {
  /** The text, or the mark. */
  readonly text: (text: string) => string;
  /** A path and query, with the mark for each part that holds a secret. */
  readonly route: (route: string) => string;
  /** A body, with the mark for each word that holds a secret, so that a replay reads of it what the client has read. */
  readonly body: (body: string) => string;
  /** The beginning of a text without the queries of URLs in it, or the mark. */
  readonly quote: Quote;
  /** The value itself if all of it can be shown, else a plain error with its name, message and code. */
  cause(cause: unknown): unknown;
  /** The error itself if it holds no secret, else one without it. */
  contractError(error: ContractError): ContractError;
}

/** How deep a cause is searched; anything deeper counts as unsafe. */
const DEEPEST = 5;
/** The longest text of a cause, but for its stack. */
const LONGEST_TEXT = 1_000;
/** How much of a text can be quoted: a URL with the longest cursor fits in. What follows is searched as far again. */
const LOOKED_AT = 65_536;
/** What stands in the place of a text; dots, if a secret occurs in this mark. */
const MARK = "[left out: holds the key]";

/** The redactor of one secret. */
export function redactorOf(secret: string): Redactor {
  const finder = new SecretFinder();
  finder.add(secret);
  return redactorWith(finder);
}

/** The redactor of the secrets that a finder knows; they may change. */
export function redactorWith(finder: SecretFinder): Redactor {
  const mark = () => (finder.isIn(MARK) ? "…" : MARK);
  const text = (value: string) => (finder.isIn(value) ? mark() : value);
  const piecewise = (value: string, separators: RegExp) => {
    if (!finder.isIn(value)) return value;
    return text(value.split(separators).map(text).join(""));
  };
  const route = (value: string) => piecewise(value, /([/?&=#])/);
  const words = (value: string) => piecewise(value, /(\s+)/);
  const body = (value: string) => {
    if (!finder.isIn(value)) return value;
    try {
      const kept = (_name: string, held: unknown) => (typeof held === "string" ? words(held) : held);
      return words(JSON.stringify(parseJson(value), kept));
    } catch {
      return words(value);
    }
  };
  const quote: Quote = (value, length) => {
    const seen = value.slice(0, 2 * LOOKED_AT);
    const isLeftOut = seen.includes(mark()) || finder.isIn(seen);
    return beginning(isLeftOut ? mark() : withoutQueries(seen.slice(0, LOOKED_AT)), length);
  };
  const isSafe = (value: string, longest: number) =>
    value.length <= longest && quote(value, longest) === value && printableLines(value) === value;
  const cause = (value: unknown) =>
    isPlainlySafe(value, isSafe, DEEPEST) ? value : plainError(value, text, quote);
  const contractError = (error: ContractError) => {
    const path = error.path.map((key) => (typeof key === "string" ? text(key) : key));
    const issue = text(error.issue);
    const said = error.said && text(error.said);
    const inner = error.cause === undefined ? undefined : cause(error.cause);
    const isSame = issue === error.issue && said === error.said;
    const isClean = isSame && inner === error.cause && String(path) === String(error.path);
    return isClean
      ? error
      : new ContractError(path, issue, inner === undefined ? { said } : { cause: inner, said });
  };
  return { text, route, body, quote, cause, contractError };
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
