import { ContractError } from "../errors.js";
import { isPrintable, printable, quoting } from "./quote.js";

/** How deep lists and objects may lie in each other; what the contract shows needs five. */
const DEEPEST = 16;
/** The most commas in a text; those of the longest answers that are read are fewer than 300,000. */
const MOST_COMMAS = 500_000;
/** With so few lists, and objects nowhere but in them, nothing lies deeper than `DEEPEST`. */
const FEW_LISTS = 7;
/** How many characters are looked at in one go. */
const CHUNK = 16_384;
/** How much of what is not JSON an error shows. */
const SHOWN = 40;

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
/** The braces; a bracket is one of them without this bit. */
const OPEN = 0x7b;
const CLOSE = 0x7d;
const BRACE_BIT = 0x20;

/**
 * Parses a text that may come from anywhere. Throws a `ContractError` for what is not JSON, and before it is parsed for
 * what would take the parser seconds: 30 MB of `[`, or of tiny values.
 */
export function parseJson(body: string): unknown {
  const text = withoutMark(body);
  if (hasTooManyCommas(text)) throw new ContractError([], `more than ${MOST_COMMAS} values`);
  if (!isPlainlyFlat(text) && isDeep(text)) throw new ContractError([], `nested deeper than ${DEEPEST}`);
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw notJson(text, cause);
  }
}

/** The text without the byte order mark that it may begin with. */
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

/** The parser's error, which quotes what it was given; another one where a terminal would obey that. */
export function printableCause(cause: unknown): unknown {
  const message = String((cause as Error).message);
  return isPrintable(message) ? cause : new SyntaxError(printable(message));
}

/** The parser's error quotes from anywhere in the text, and cuts on both sides. */
function withoutQuotes(cause: unknown): unknown {
  return new SyntaxError(String((cause as Error).message).replace(/".*"/s, "…"));
}

/** A text holds about as many values as commas, as it is not deep. */
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
 * Whether it can be seen at a glance that the text is not deep, as of a page of candles: it leaps from bracket to
 * bracket, which takes a fiftieth of the time that parsing takes.
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

/** Whether anything lies too deep. It looks at bytes, as to look at the characters of a text takes twice as long. */
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

/** What a byte means outside of texts; 0: nothing. */
function kindsOfBytes(): Uint8Array {
  const kinds = new Uint8Array(256);
  for (const byte of [QUOTE, OPEN_LIST, OPEN, CLOSE_LIST, CLOSE]) kinds[byte] = byte | BRACE_BIT;
  return kinds;
}

/** A place between two bytes of a text: how deep it is, whether within a text of it, and there after a backslash. */
interface Place {
  readonly depth: number;
  readonly isText: boolean;
  readonly isEscaped: boolean;
}

/**
 * The place after so many bytes, which two quotes follow, as an end for leaps; `undefined` where it becomes too deep. A
 * function of its own, called for each chunk, is compiled sooner than one long loop.
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
