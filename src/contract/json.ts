import { ContractError } from "../errors.js";
import { beginning, printable, type Quote } from "./quote.js";

/** How many characters an error quotes from a body that is not JSON. */
const SHOWN = 40;

/**
 * Parses an untrusted text, whose length its reader has bounded. Throws a `ContractError`, which quotes its beginning, if it
 * is not JSON.
 */
export function parseJson(body: string, quote: Quote = beginning): unknown {
  const text = withoutMark(body);
  try {
    return JSON.parse(text);
  } catch (cause) {
    const start = printable(quote(text, SHOWN).replace(/\s+/g, " "));
    const page = /^\s*</.test(text) ? ", a web page: is the address right?" : "";
    const issue = `not JSON, but ${text === "" ? "empty" : `"${start}…"`}${page}`;
    throw new ContractError([], issue, { cause: parserError(cause) });
  }
}

/** The text without a leading byte order mark. */
export function withoutMark(text: string): string {
  return text.startsWith("\uFEFF") ? text.slice(1) : text;
}

/** The parser's error without its quotations: they are from anywhere in the text, and may cut a secret in half. */
export function parserError(cause: unknown): SyntaxError {
  return new SyntaxError(printable(String((cause as Error).message).replace(/".*"/s, "…")));
}
