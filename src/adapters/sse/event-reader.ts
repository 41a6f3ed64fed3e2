import { ContractError } from "../../errors.js";
import type { ParsedMessage } from "./mirror.js";

/** The longest message that is accepted, in characters. */
const LONGEST_MESSAGE = 32 * 1024 * 1024;
/** The most lines that a message may have; a channel's messages have three. Comments do not count. */
const MOST_LINES = 1_000;

/** Reads the text format of server-sent events as it arrives, in pieces of any length. */
export class EventReader {
  /** How long the sender asks to wait before the next connection, in ms. */
  retry: number | undefined;
  /** The line that has begun, and whether a line feed would still belong to the one before it. */
  #line = "";
  #isAfterReturn = false;
  #message: { id?: string; event?: string; data?: string } = {};
  #lines = 0;
  #length = 0;

  /** The messages that end with this piece. Throws a `ContractError` for one without bounds. */
  read(text: string): readonly ParsedMessage[] {
    const messages: ParsedMessage[] = [];
    const ends = /\r\n|\n|\r/g;
    let start = this.#isAfterReturn && text.startsWith("\n") ? 1 : 0;
    if (text !== "") this.#isAfterReturn = text.endsWith("\r");
    ends.lastIndex = start;
    for (let end = ends.exec(text); end !== null; end = ends.exec(text)) {
      const line = this.#line + text.slice(start, end.index);
      this.#line = "";
      start = ends.lastIndex;
      if (line !== "") this.#take(line);
      else {
        const { id, event, data } = this.#message;
        if (data !== undefined) messages.push({ id, event, data });
        this.#message = {};
        this.#lines = 0;
        this.#length = 0;
      }
    }
    this.#line += text.slice(start);
    this.#bound(this.#length + this.#line.length);
    return messages;
  }

  #take(line: string): void {
    const colon = line.indexOf(":");
    if (colon === 0) return;
    this.#lines += 1;
    this.#length += line.length;
    this.#bound(this.#length);
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    const message = this.#message;
    if (name === "data") message.data = message.data === undefined ? value : `${message.data}\n${value}`;
    else if (name === "event") message.event = value;
    else if (name === "id" && !value.includes("\0")) message.id = value;
    else if (name === "retry" && /^\d+$/.test(value)) this.retry = Number(value);
  }

  #bound(length: number): void {
    if (this.#lines > MOST_LINES) throw new ContractError([], `a message of more than ${MOST_LINES} lines`);
    if (length > LONGEST_MESSAGE)
      throw new ContractError([], `a message of more than ${LONGEST_MESSAGE} characters`);
  }
}
