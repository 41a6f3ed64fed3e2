/** Quotes the first `length` characters of an untrusted text for an error message. */
export type Quote = (text: string, length: number) => string;

/** The first `length` characters, copied. A plain slice would keep the whole text in memory. */
export const beginning: Quote = (text, length) => {
  const copy: string = JSON.parse(JSON.stringify(text.slice(0, length)));
  return copy.replace(/\p{Cs}/gu, "\ufffd");
};

/**
 * Characters that a terminal obeys or does not show: controls, format marks such as right-to-left, line separators,
 * lone surrogates.
 */
const CONTROLS = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
/** The same without line feeds and tabs. */
const CONTROLS_WITHIN = /(?![\n\t])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** Whether the text needs no escaping for a terminal. */
export function isPrintable(text: string): boolean {
  return /^[ -~]*$/.test(text) || text.search(CONTROLS) < 0;
}

/** Escapes the characters that a terminal would obey, as JSON does: `\u001b`. */
export function printable(text: string): string {
  return text.replace(CONTROLS, escaped);
}

/** Escapes the same characters in a text of several lines; line feeds and tabs stay. */
export function printableLines(text: string): string {
  return text.replace(CONTROLS_WITHIN, escaped);
}

function escaped(character: string): string {
  const code = character.codePointAt(0)!;
  return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, "0")}`;
}

/** The text on one line, escaped, and cut to `length` with an ellipsis. */
export function shortened(text: string, length: number): string {
  const line = printable(text.replace(/\s+/g, " ").trim());
  return line.length > length ? `${line.slice(0, length)}…` : line;
}

/** How much a message repeats of what a transport says. */
const LONGEST_REASON = 300;
/** How many errors of a chain of causes it repeats. */
const MOST_REASONS = 3;

/** What a transport says of a failure and of its causes, as in `: fetch failed: connect ECONNREFUSED 127.0.0.1:8080`. */
export function reasonsOf(thrown: unknown): string {
  const reasons: string[] = [];
  for (let error = thrown; error instanceof Error && reasons.length < MOST_REASONS; error = error.cause) {
    // An error of several addresses has no message of its own.
    const reason = error.message || String((error as { code?: unknown }).code ?? "");
    if (reason !== "" && !reasons.some((other) => other.includes(reason))) reasons.push(reason);
  }
  return reasons.length === 0 ? "" : `: ${shortened(reasons.join(": "), LONGEST_REASON)}`;
}

/** The text with the query cut off from each URL in it: a cursor would make the message too long. */
export function withoutQueries(text: string): string {
  return text.replace(/\bhttps?:\/\/[^\s"'<>]*/gi, (url) => url.split("?", 1)[0]!);
}
