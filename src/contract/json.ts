import { ContractError } from "../errors.js";
import { isPrintable, printable, quoting } from "./quote.js";

/** How deep arrays and objects may be nested. The contract needs five levels. */
const DEEPEST = 16;
/** The most commas in a body. The longest valid bodies hold fewer than 300,000. */
const MOST_COMMAS = 500_000;
/** A body with at most this many `[`, and with objects only as array items, cannot be nested deeper than `DEEPEST`. */
const FEW_LISTS = 7;
/** How many characters one pass looks at. */
const CHUNK = 16_384;
/** How many characters an error quotes from a body that is not JSON. */
const SHOWN = 40;

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
/** Codes of the braces. A bracket has the same code without `BRACE_BIT`. */
const OPEN = 0x7b;
const CLOSE = 0x7d;
const BRACE_BIT = 0x20;

/**
 * Parses an untrusted body. Throws a `ContractError` if it is not JSON. It also refuses, before parsing, bodies that
 * would keep the parser busy for seconds: 30 MB of `[`, or of tiny values.
 */
export function parseJson(body: string): unknown {
  const text = withoutMark(body);
  if (hasTooManyCommas(text)) throw new ContractError([], `more than ${MOST_COMMAS} values`);
  if (!isPlainlyFlat(text) && isDeep(text))
    throw new ContractError([], `nested deeper than ${DEEPEST} levels`);
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw notJson(text, cause);
  }
}

/** The text without a leading byte order mark. */
export function withoutMark(text: string): string {
  return text.startsWith("\uFEFF") ? text.slice(1) : text;
}

function notJson(text: string, cause: unknown): ContractError {
  const { length } = text;
  return quoting(text, (kept, quote) => {
    const isWhole = length === kept.length && quote(kept, length) === kept;
    const start = printable(quote(kept, SHOWN).replace(/\s+/g, " "));
    const issue = `not JSON, but ${length === 0 ? "empty" : `"${start}…"`}`;
    return new ContractError([], issue, { cause: printableCause(isWhole ? cause : withoutQuotes(cause)) });
  });
}

/** The parser's error, with control characters escaped: its message quotes the body, and a terminal would obey them. */
export function printableCause(cause: unknown): unknown {
  const message = String((cause as Error).message);
  return isPrintable(message) ? cause : new SyntaxError(printable(message));
}

/** The parser quotes from anywhere in the body, and may cut a secret in half. So the quotation is dropped. */
function withoutQuotes(cause: unknown): unknown {
  return new SyntaxError(String((cause as Error).message).replace(/".*"/s, "…"));
}

/** The number of values is about the number of commas, because the nesting is limited. */
function hasTooManyCommas(text: string): boolean {
  if (text.length <= MOST_COMMAS) return false;
  let commas = 0;
  for (let at = text.indexOf(","); at >= 0; at = text.indexOf(",", at + 1)) {
    commas += 1;
    if (commas > MOST_COMMAS) return true;
  }
  return false;
}

/**
 * A quick test that most bodies pass, such as a page of candles: `true` proves that the text is not deep. It jumps from
 * bracket to bracket, which takes a fiftieth of the parsing time.
 */
function isPlainlyFlat(text: string): boolean {
  let lists = 0;
  for (let at = text.indexOf("["); at >= 0; at = text.indexOf("[", at + 1)) {
    lists += 1;
    if (lists > FEW_LISTS) return false;
  }
  for (let at = text.indexOf("{", 1); at >= 0; at = text.indexOf("{", at + 1)) {
    const before = text.charCodeAt(at - 1);
    if (before !== COMMA && before !== OPEN_LIST) return false;
  }
  return true;
}

/** Whether the text is nested too deep. It scans bytes, which is twice as fast as scanning characters. */
function isDeep(text: string): boolean {
  const encoder = new TextEncoder();
  const bytes = new Uint8Array(3 * CHUNK + 2);
  const kinds = kindsOfBytes();
  let place: Place | undefined = { depth: 0, isText: false, isEscaped: false };
  for (let begin = 0; begin < text.length && place !== undefined; begin += CHUNK) {
    const { written } = encoder.encodeInto(text.slice(begin, begin + CHUNK), bytes);
    bytes.fill(QUOTE, written, written + 2);
    place = placeAfter(bytes, written, place, kinds);
  }
  return place === undefined;
}

/** The meaning of each byte outside of a string; 0 for none. */
function kindsOfBytes(): Uint8Array {
  const kinds = new Uint8Array(256);
  for (const byte of [QUOTE, OPEN_LIST, OPEN, CLOSE_LIST, CLOSE]) kinds[byte] = byte | BRACE_BIT;
  return kinds;
}

/**
 * The scanner's state between two bytes: the depth, whether it is inside a string, and whether a backslash came last.
 */
interface Place {
  readonly depth: number;
  readonly isText: boolean;
  readonly isEscaped: boolean;
}

/**
 * Scans the first `end` bytes and returns the state after them, or `undefined` if the nesting is too deep. Two quotes
 * have to follow the bytes: they stop the inner loops. One call per chunk is compiled sooner than one long loop.
 */
function placeAfter(bytes: Uint8Array, end: number, place: Place, kinds: Uint8Array): Place | undefined {
  let { depth, isText } = place;
  let at = place.isEscaped ? 1 : 0;
  for (; ; at += 1) {
    if (isText) {
      let byte = bytes[at];
      while (byte !== QUOTE) {
        at += byte === BACKSLASH ? 2 : 1;
        byte = bytes[at];
      }
      if (at >= end) return { depth, isText, isEscaped: at > end };
      isText = false;
      at += 1;
    }
    let kind = kinds[bytes[at]!];
    while (kind === 0) {
      at += 1;
      kind = kinds[bytes[at]!];
    }
    if (at >= end) return { depth, isText, isEscaped: false };
    if (kind === OPEN) {
      depth += 1;
      if (depth > DEEPEST) return undefined;
    } else if (kind === CLOSE) {
      depth -= 1;
    } else {
      isText = true;
    }
  }
}
