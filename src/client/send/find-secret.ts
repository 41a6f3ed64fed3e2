/** A part of a text, `end` exclusive. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A character that a place of a text can be read as, and where it ends there. */
type DecodedCharacter = readonly [code: number, end: number];

/** How often a character may be escaped: `%25252B` is one of three times. Backslashes count for nothing. */
const LEVELS = 3;
/** How often the characters within an escape, such as `2` and `B`, may be escaped themselves. */
const DEEPEST = 2;
/** The most digits of a reference such as `&#0000043;`, and letters of one such as `&amp;`. */
const LONGEST_REFERENCE = 10;

/** Of so many places it is remembered what they can be read as. */
const MOST_KNOWN = 4_096;

const SPACE = 0x20;
const HASH = 0x23;
const PERCENT = 0x25;
const AMPERSAND = 0x26;
const PLUS = 0x2b;
const SEMICOLON = 0x3b;
const BACKSLASH = 0x5c;
const U = 0x75;
const X = 0x78;
const OPEN = 0x7b;
const CLOSE = 0x7d;

/** What HTML names; letters are compared in lower case. */
const NAMED: Record<string, string> = {
  ...{ amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", plus: "+", sol: "/", equals: "=", bsol: "\\" },
  ...{
    excl: "!",
    num: "#",
    dollar: "$",
    percnt: "%",
    lpar: "(",
    rpar: ")",
    ast: "*",
    midast: "*",
    comma: ",",
  },
  ...{ period: ".", colon: ":", semi: ";", quest: "?", commat: "@", hat: "^", lowbar: "_", underbar: "_" },
  ...{ lsqb: "[", lbrack: "[", rsqb: "]", rbrack: "]", lcub: "{", lbrace: "{", rcub: "}", rbrace: "}" },
  ...{ verbar: "|", vert: "|", grave: "`" },
};
/** Those that are read without a semicolon, too. */
const BARE: ReadonlySet<string> = new Set(["amp", "lt", "gt", "quot"]);

/**
 * Finds a secret in texts: in capitals or not, each of its characters as it is or in any escaped form that JSON, URLs,
 * forms and HTML have, escaped several times as well.
 *
 * It goes through a text once, and has at each place few characters to compare.
 */
export class SecretFinder {
  readonly #secret: readonly number[];
  /** Where it can begin. */
  readonly #starts: RegExp;

  constructor(secret: string) {
    const kept = folded(secret.replaceAll("\\", ""));
    this.#secret = [...kept].map((character) => character.codePointAt(0)!);
    const [first, second] = [literal(kept.charCodeAt(0)), literal(kept.charCodeAt(1))];
    this.#starts = new RegExp(
      `%(?=[\\da-f])|&(?=[#a-z])|u(?=[\\da-f{\\\\%&])|x(?=[\\da-f])|${first}(?=${second}|[\\\\%&ux])`,
      "g",
    );
  }

  /** Where it stands in a text, in order, beginning before `until`; with the backslashes before it. */
  find(text: string, until = text.length): Span[] {
    const lower = folded(text);
    const found: Span[] = [];
    let past = 0;
    if (this.#secret.length === 0) return [];
    const known = new Map<number, DecodedCharacter[]>();
    const starts = this.#starts;
    starts.lastIndex = 0;
    for (let match = starts.exec(lower); match !== null && match.index < until; match = starts.exec(lower)) {
      const at = match.index;
      const end = this.#endOf(lower, at, known);
      if (end === undefined) continue;
      let start = at;
      while (start > past && lower.charCodeAt(start - 1) === BACKSLASH) start -= 1;
      found.push({ start, end });
      past = end;
      starts.lastIndex = end;
    }
    return found;
  }

  /** Where the secret ends that begins at a place; `undefined` where none does. */
  #endOf(text: string, start: number, known: Map<number, DecodedCharacter[]>): number | undefined {
    let ends = [start];
    for (const code of this.#secret) {
      const next: number[] = [];
      for (let index = 0; index < ends.length; index += 1) {
        const at = pastBackslashes(text, ends[index]!);
        for (const [read, end] of knownReadings(text, at, known)) {
          const isMeant = read === code || (code === SPACE && read === PLUS);
          if (isMeant && !next.includes(end)) next.push(end);
          if (read === BACKSLASH && !ends.includes(end)) ends.push(end);
        }
      }
      if (next.length === 0) return undefined;
      ends = next;
    }
    return Math.max(...ends);
  }
}

/** A pattern for one unit of a text. */
function literal(unit: number): string {
  if (unit === SPACE) return "[ +]";
  return Number.isNaN(unit) ? "" : `\\u${unit.toString(16).padStart(4, "0")}`;
}

/** In lower case, each character at its place. */
function folded(text: string): string {
  return text.replaceAll("İ", "i").toLowerCase().replaceAll("ς", "σ");
}

function pastBackslashes(text: string, at: number): number {
  let past = at;
  while (text.charCodeAt(past) === BACKSLASH) past += 1;
  return past;
}

/** All that can begin an escape. A backslash before `u` and `x` is not asked for. */
function isMark(code: number): boolean {
  return code === PERCENT || code === AMPERSAND || code === U || code === X;
}

/** Whether what follows a mark lets it be one. */
function mayEscape(text: string, mark: number, at: number): boolean {
  if (!isMark(mark)) return false;
  const next = text.charCodeAt(at);
  if (mark === AMPERSAND) return next === HASH || isLetter(next);
  if (isHex(next)) return true;
  // A brace may be escaped where the letter before it is not.
  return mark === U && (next === OPEN || next === BACKSLASH || next === PERCENT || next === AMPERSAND);
}

/** What a place can be read as, which is often asked again where a secret looks like a text. */
function knownReadings(text: string, at: number, known: Map<number, DecodedCharacter[]>): DecodedCharacter[] {
  let found = known.get(at);
  if (found === undefined) {
    if (known.size >= MOST_KNOWN) known.clear();
    found = readings(text, at, DEEPEST);
    known.set(at, found);
  }
  return found;
}

/** What a place can be read as: as it stands, or what is escaped there. */
function readings(text: string, at: number, depth: number): DecodedCharacter[] {
  const code = text.codePointAt(at);
  if (code === undefined) return [];
  const found: DecodedCharacter[] = [[code, at + (code > 0xffff ? 2 : 1)]];
  if (depth === 0 || !mayEscape(text, code, at + 1)) return found;
  // What one escape stands for may begin another.
  let index = 0;
  for (let level = 0; level < LEVELS; level += 1) {
    for (const { length } = found; index < length; index += 1) {
      const [mark, end] = found[index]!;
      if (isMark(mark)) addEscaped(text, mark, end, depth - 1, found);
    }
  }
  return found;
}

/** Adds what an escape stands for whose mark ends at a place, if it is one. */
function addEscaped(text: string, mark: number, at: number, depth: number, found: DecodedCharacter[]): void {
  if (mark === AMPERSAND) {
    const reference = referenceAt(text, at, depth);
    if (reference === undefined) return;
    const closed = take(text, reference[1], depth, SEMICOLON);
    if (closed !== undefined) add(found, reference[0], closed);
    add(found, ...reference);
    return;
  }
  const read =
    mark === PERCENT
      ? percentAt(text, at, depth)
      : mark === X
        ? hexAt(text, at, 2, depth)
        : unicodeAt(text, at, depth);
  if (read !== undefined) add(found, ...read);
}

function add(found: DecodedCharacter[], code: number, end: number): void {
  if (code > 0x10ffff) return;
  const lower = code < 0x80 ? (code > 0x40 && code < 0x5b ? code + 0x20 : code) : foldedCode(code);
  found.push([lower, end]);
}

function foldedCode(code: number): number {
  return folded(String.fromCodePoint(code)).codePointAt(0)!;
}

/** The end of a certain character, where a place can be read as that. */
function take(text: string, at: number, depth: number, code: number): number | undefined {
  return firstReading(text, at, depth, (read) => read === code)?.[1];
}

function firstReading(
  text: string,
  at: number,
  depth: number,
  isMeant: (code: number) => boolean,
): DecodedCharacter | undefined {
  const code = text.charCodeAt(at);
  if (isMeant(code)) return [code, at + 1];
  if (depth === 0) return undefined;
  const past = pastBackslashes(text, at);
  const found = readings(text, past, depth);
  // After a backslash `u` is no letter where it begins an escape.
  const isEscape = past > at && found.length > 1;
  return found.find(([read], index) => isMeant(read) && !(isEscape && index === 0));
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

function isHex(code: number): boolean {
  return isDigit(code) || (code >= 0x61 && code <= 0x66);
}

function isLetter(code: number): boolean {
  return code >= 0x61 && code <= 0x7a;
}

/** So many characters, or fewer, of a kind. */
function run(
  text: string,
  at: number,
  most: number,
  depth: number,
  isMeant: (code: number) => boolean,
): { readonly text: string; readonly ends: readonly number[] } {
  const ends = [at];
  let read = "";
  while (read.length < most) {
    const next = firstReading(text, ends.at(-1)!, depth, isMeant);
    if (next === undefined) break;
    read += String.fromCharCode(next[0]);
    ends.push(next[1]);
  }
  return { text: read, ends };
}

/** A number of so many hexadecimal digits. */
function hexAt(text: string, at: number, count: number, depth: number): DecodedCharacter | undefined {
  let number = 0;
  let end = at;
  for (let index = 0; index < count; index += 1) {
    let code = text.charCodeAt(end);
    if (isHex(code)) end += 1;
    else {
      const next = firstReading(text, end, depth, isHex);
      if (next === undefined) return undefined;
      [code, end] = next;
    }
    number = number * 16 + (isDigit(code) ? code - 0x30 : code - 0x57);
  }
  return [number, end];
}

/** After `%`: a byte, or the first of several. */
function percentAt(text: string, at: number, depth: number): DecodedCharacter | undefined {
  const first = hexAt(text, at, 2, depth);
  if (first === undefined || first[0] < 0x80) return first;
  const more = first[0] >= 0xf0 ? 3 : first[0] >= 0xe0 ? 2 : 1;
  let [code, end] = [first[0] & (0x3f >> more), first[1]];
  for (let count = 0; count < more; count += 1) {
    const byte = readings(text, pastBackslashes(text, end), depth)
      .map(([mark, past]) => (mark === PERCENT ? hexAt(text, past, 2, depth) : undefined))
      .find((one) => one !== undefined && one[0] >> 6 === 2);
    if (byte === undefined) return undefined;
    code = code * 0x40 + (byte[0] & 0x3f);
    end = byte[1];
  }
  return [code, end];
}

/** After `u`: four digits, or eight, or any number in braces; two of four for characters beyond. */
function unicodeAt(text: string, at: number, depth: number): DecodedCharacter | undefined {
  const open = take(text, at, depth, OPEN);
  if (open !== undefined) {
    const digits = run(text, open, LONGEST_REFERENCE, depth, isHex);
    const close = take(text, digits.ends.at(-1)!, depth, CLOSE);
    if (digits.text === "" || close === undefined) return undefined;
    return [Number.parseInt(digits.text, 16), close];
  }
  const unit = hexAt(text, at, 4, depth);
  if (unit === undefined) return undefined;
  const [code, end] = unit;
  if (code < 0x20) {
    const rest = hexAt(text, end, 4, depth);
    return rest === undefined ? unit : [code * 0x10000 + rest[0], rest[1]];
  }
  if (code < 0xd800 || code > 0xdbff) return unit;
  let next = end;
  for (let skipped: number | undefined = next; skipped !== undefined; ) {
    next = skipped;
    skipped = take(text, next, depth, BACKSLASH);
  }
  const low = readings(text, next, depth)
    .map(([mark, past]) => (mark === U ? hexAt(text, past, 4, depth) : undefined))
    .find((one) => one !== undefined && one[0] >= 0xdc00 && one[0] <= 0xdfff);
  if (low === undefined) return unit;
  return [0x10000 + (code - 0xd800) * 0x400 + (low[0] - 0xdc00), low[1]];
}

/** After `&`: a number or a name, without its semicolon. */
function referenceAt(text: string, at: number, depth: number): DecodedCharacter | undefined {
  const hash = take(text, at, depth, HASH);
  if (hash === undefined) return nameAt(text, at, depth);
  const x = take(text, hash, depth, X);
  const digits = run(text, x ?? hash, LONGEST_REFERENCE, depth, x === undefined ? isDigit : isHex);
  if (digits.text === "") return undefined;
  return [Number.parseInt(digits.text, x === undefined ? 10 : 16), digits.ends.at(-1)!];
}

function nameAt(text: string, at: number, depth: number): DecodedCharacter | undefined {
  let read = "";
  let bare: DecodedCharacter | undefined;
  for (let end = at; ; ) {
    if (Object.hasOwn(NAMED, read)) {
      const found: DecodedCharacter = [NAMED[read]!.charCodeAt(0), end];
      if (take(text, end, depth, SEMICOLON) !== undefined) return found;
      if (BARE.has(read)) bare = found;
    }
    const next = read.length < LONGEST_REFERENCE ? firstReading(text, end, depth, isLetter) : undefined;
    if (next === undefined) return bare;
    read += String.fromCharCode(next[0]);
    end = next[1];
  }
}
