import { beginning, type Quote, withoutQueries } from "../contract/quote.js";

/** Keeps one secret out of texts and errors. */
export interface Redactor {
  /** The text with `[key]` wherever it holds the secret, escaped forms of it included. */
  text(text: string): string;
  /** The beginning of a text without the secret, nor a part of it where it is cut. */
  readonly head: Quote;
  /** The same without the queries of URLs in it, for messages. */
  readonly quote: Quote;
  /** The value itself where it can be shown whole, else a plain error with its name, message and code. */
  cause(cause: unknown): unknown;
}

/** A shorter key is no secret, and replacing it everywhere would wreck every message. */
const SHORTEST = 4;
/** How deep in a cause is looked; what lies deeper counts as unsafe. */
const DEEPEST = 5;
/** The longest text of a cause, but for its stack. */
const LONGEST_TEXT = 1_000;
/** How much of a message is looked at: a URL with the longest cursor fits in. */
const LOOKED_AT = 65_536;
/** How many times longer a form of the secret can be made by more escapes. */
const STRETCH = 4;

export function redactorOf(secret: string): Redactor {
  const isSecret = secret.replaceAll("\\", "").length >= SHORTEST;
  const forms = isSecret ? formsOf(secret) : [];
  const pattern = new RegExp(forms.map(patternOf).join("|"), "g");
  const reach = STRETCH * Math.max(0, ...forms.map(({ length }) => length));
  const text = (value: string) => (isSecret ? value.replace(pattern, "[key]") : value);
  const head: Quote = (value, length) => {
    const window = text(value.slice(0, length + reach));
    // Where it is cut a part of the secret may be, which is not found.
    const isCut = value.length > length + reach;
    return beginning(isCut ? window.slice(0, Math.max(0, window.length - reach)) : window, length);
  };
  const quote: Quote = (value, length) => beginning(withoutQueries(head(value, LOOKED_AT)), length);
  const isSafe = (value: string, longest: number) =>
    value.length <= longest && quote(value, longest) === value;
  const cause = (value: unknown) =>
    isPlainlySafe(value, isSafe, DEEPEST) ? value : plainError(value, text, quote);
  return { text, head, quote, cause };
}

/** The secret as it is, and as URLs, HTML and careful JSON escape it; longest first, as one may begin another. */
function formsOf(secret: string): string[] {
  const inForm = new URLSearchParams({ "": secret }).toString().slice(1);
  const inUrl = [encodeURI(secret), encodeURIComponent(secret), inForm];
  const forms = [
    secret,
    ...inUrl,
    ...inUrl.map((form) => form.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase())),
    ...inUrl.map((form) => encodeURIComponent(form)),
    ...[/[&<>]/g, /[&<>"]/g, /[&<>"']/g].map((marks) => secret.replace(marks, (mark) => HTML[mark]!)),
    secret.replace(/[&<>]/g, (mark) => `u00${mark.charCodeAt(0).toString(16)}`),
  ];
  return [...new Set(forms)].sort((a, b) => b.length - a.length);
}

const HTML: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

/** Matches a form with any backslashes in between, which JSON adds, and JSON within JSON adds again. */
function patternOf(form: string): string {
  const characters = [...form.replaceAll("\\", "")];
  return characters.map((character) => character.replace(/\W/, "\\$&")).join("\\\\*");
}

/** Whether all that can be reached from a value is texts that can be shown, numbers, and plain containers of them. */
function isPlainlySafe(
  value: unknown,
  isSafe: (text: string, longest: number) => boolean,
  depth: number,
): boolean {
  if (typeof value === "string") return isSafe(value, LONGEST_TEXT);
  if (typeof value === "function") return false;
  if (typeof value !== "object" || value === null) return true;
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
  try {
    if (!(cause instanceof Error)) return new Error(quote(String(cause), LONGEST_TEXT));
    const error = new Error(quote(String(cause.message), LONGEST_TEXT));
    error.name = quote(String(cause.name), LONGEST_TEXT);
    for (const name of ["code", "type"]) {
      const value: unknown = Reflect.get(cause, name);
      if (typeof value === "string" && text(value) === value)
        Reflect.set(error, name, quote(value, LONGEST_TEXT));
    }
    return error;
  } catch {
    return new Error("an error that cannot be read");
  }
}
