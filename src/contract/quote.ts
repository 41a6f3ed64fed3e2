import type { ContractError } from "../errors.js";

/** Gives the beginning of a foreign text, of at most so many characters, as an error may show it. */
export type Quote = (text: string, length: number) => string;

/** As much of a text is kept as any quotation of it takes, with secrets that it may hold replaced. */
const KEPT = 16_384;

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** The beginning of a text, copied: a slice of it would keep all of it in memory. */
export const beginning: Quote = (text, length) => decoder.decode(encoder.encode(text.slice(0, length)));

/** What a terminal obeys, or does not show as it stands: controls, what turns text around, ends of lines, half characters. */
const CONTROLS = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
/** The same, but for what puts a text into lines. */
const CONTROLS_WITHIN = /(?![\n\t])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** Whether a text holds nothing that has to be shown escaped. */
export function isPrintable(text: string): boolean {
  return /^[ -~]*$/.test(text) || text.search(CONTROLS) < 0;
}

/** The text with what a terminal would obey escaped, as JSON has it: `\u001b`. */
export function printable(text: string): string {
  return text.replace(CONTROLS, escaped);
}

/** The same of a text of several lines, which stay. */
export function printableLines(text: string): string {
  return text.replace(CONTROLS_WITHIN, escaped);
}

function escaped(character: string): string {
  const code = character.codePointAt(0)!;
  return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, "0")}`;
}

/** The text in one line, printable, cut where it is too long. */
export function shortened(text: string, length: number): string {
  const line = printable(text.replace(/\s+/g, " ").trim());
  return line.length > length ? `${line.slice(0, length)}…` : line;
}

/** The text with the URLs in it cut where their queries begin: a cursor makes them longer than any message. */
export function withoutQueries(text: string): string {
  return text.replace(/\bhttps?:\/\/[^\s"'<>]*/gi, (url) => url.split("?", 1)[0]!);
}

const MAKERS = new WeakMap<ContractError, (quote: Quote) => ContractError>();

/** The error that `make` makes with a part of the foreign text; it can be made again by those who know a secret. */
export function quoting(text: string, make: (text: string, quote: Quote) => ContractError): ContractError {
  const kept = beginning(text, KEPT);
  const error = make(kept, beginning);
  MAKERS.set(error, (quote) => make(kept, quote));
  return error;
}

/** The error with what it quotes as `quote` gives it; the same where it quotes nothing. */
export function requoted(error: ContractError, quote: Quote): ContractError {
  return MAKERS.get(error)?.(quote) ?? error;
}
