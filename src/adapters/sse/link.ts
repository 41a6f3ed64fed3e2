import type { EventSourceParser } from "eventsource-parser";
import { shortened } from "../../contract/quote.js";
import { ContractError, type HttpError, NetworkError, PairstreamError, TimeoutError } from "../../errors.js";
import type { ParsedMessage } from "./mirror.js";
import type { ReceiverOptions } from "./options.js";
import { LONGEST_BODY, refusedBy } from "./refused.js";
import { SilenceWatch } from "./silence.js";

/** The longest message that is accepted, in characters. */
const LONGEST_MESSAGE = 32 * 1024 * 1024;
/** The most lines that a message may have; a channel's messages have three. */
const MOST_LINES = 1_000;
/** How much of a transport's error message an error repeats, in characters. */
const LONGEST_REASON = 300;
/** How long silence is accepted until the channel has announced its heartbeat, in ms. */
const FIRST_SILENCE = 37_500;
/** How many heartbeats may be missing. */
const PATIENCE = 2.5;

export type CreateParser = typeof import("eventsource-parser").createParser;

/** What a connection needs besides its address. */
export interface LinkOptions extends ReceiverOptions {
  readonly createParser: CreateParser;
  readonly lastEventId: string | undefined;
}

/** One connection to a channel, from the request to its end. */
export class Link {
  readonly #options: LinkOptions;
  readonly #silence: SilenceWatch;
  readonly #parser: EventSourceParser;
  readonly #decoder = new TextDecoder();
  readonly #lines = new LineCount();
  #messages: ParsedMessage[] = [];
  #failure: PairstreamError | undefined;
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  #retry: number | undefined;

  constructor(options: LinkOptions, signal: AbortSignal) {
    const { scheduler, silence = FIRST_SILENCE, createParser } = options;
    this.#options = options;
    this.#silence = new SilenceWatch(scheduler, silence, signal, (limit) => {
      return new TimeoutError(`${this.#address} has sent nothing for ${limit} ms`, limit);
    });
    this.#parser = createParser({
      onEvent: (message) => this.#messages.push(message),
      onRetry: (retry) => {
        this.#retry = retry;
      },
      onError: ({ type, message }) => {
        if (type === "max-buffer-size-exceeded") this.#failure = new ContractError([], message);
      },
      maxBufferSize: LONGEST_MESSAGE,
    });
  }

  /** How long the channel asks to wait before the next connection, in ms. */
  get retry(): number | undefined {
    return this.#retry;
  }

  /** Sets the time between two heartbeats, in ms. */
  expect(heartbeat: number): void {
    if (this.#options.silence === undefined) this.#silence.bear(PATIENCE * heartbeat);
  }

  /** The next messages, possibly none; or the reason why the connection has ended. */
  async read(): Promise<readonly ParsedMessage[] | PairstreamError> {
    try {
      this.#reader ??= await this.#open();
      const { done, value } = await this.#silence.race(this.#reader.read());
      if (done) return new NetworkError(`${this.#address} has closed the connection`);
      this.#silence.hear();
      const text = this.#decoder.decode(value, { stream: true });
      this.#lines.count(text);
      this.#parser.feed(text);
      const messages = this.#messages;
      this.#messages = [];
      return this.#failure ?? messages;
    } catch (cause) {
      const { signal } = this.#silence;
      const error = signal.aborted ? signal.reason : cause;
      if (error instanceof PairstreamError) return error;
      const reason = error instanceof Error ? `: ${shortened(error.message, LONGEST_REASON)}` : "";
      return new NetworkError(`${this.#address} could not be reached${reason}`, { cause: error });
    }
  }

  /** Leaves the connection. */
  close(): void {
    this.#silence.end();
    // The signal of the request does not end a body that another source has made.
    this.#reader?.cancel().catch(() => {});
  }

  async #open(): Promise<ReadableStreamDefaultReader<Uint8Array>> {
    const { url, fetch, headers, lastEventId } = this.#options;
    const { signal } = this.#silence;
    const asked = { ...headers, accept: "text/event-stream" };
    const resumed = lastEventId === undefined ? {} : { "last-event-id": lastEventId };
    const init = { headers: { ...asked, ...resumed }, cache: "no-store", signal } as const;
    const answer = Promise.resolve(fetch(url, init));
    answer.then(
      // Leaves a response that comes after nobody waits for it any more.
      ({ body }) => {
        if (signal.aborted) body?.cancel().catch(() => {});
      },
      () => {},
    );
    const response = await this.#silence.race(answer);
    this.#silence.hear();
    const reader = response.body?.getReader();
    this.#reader = reader;
    if (response.status !== 200) throw await this.#refusal(response, reader);
    const type = response.headers.get("content-type") ?? "nothing";
    if (reader === undefined || !/^text\/event-stream\b/i.test(type)) {
      throw new ContractError([], `its content type is ${shortened(type, 60)}, not text/event-stream`);
    }
    return reader;
  }

  /** The address of the request, without the query, which may hold secrets. */
  get #address(): string {
    const { origin, pathname } = new URL(this.#options.url);
    return origin + pathname;
  }

  async #refusal(
    response: Response,
    reader: ReadableStreamDefaultReader<Uint8Array> | undefined,
  ): Promise<HttpError> {
    let text = "";
    while (reader !== undefined && text.length < LONGEST_BODY) {
      const { done, value } = await this.#silence.race(reader.read());
      if (done) break;
      text += this.#decoder.decode(value, { stream: true });
    }
    return refusedBy(this.#address, response, text);
  }
}

/**
 * Refuses a message of very many lines, because each line costs the parser many times its length. Comments cost
 * nothing.
 */
class LineCount {
  #lines = 0;
  /** The line that has begun: whether it is still empty, and whether it is a comment. */
  #line: "empty" | "comment" | "field" = "empty";
  #isAfterReturn = false;

  count(text: string): void {
    let start = 0;
    const ends = /\r\n|\n|\r/g;
    for (let end = ends.exec(text); end !== null; end = ends.exec(text)) {
      const isSecondHalf = end.index === 0 && end[0] === "\n" && this.#isAfterReturn;
      this.#take(text, start, end.index);
      if (this.#line === "field") this.#lines += 1;
      if (this.#line === "empty" && !isSecondHalf) this.#lines = 0;
      if (this.#lines > MOST_LINES) throw new ContractError([], `a message of more than ${MOST_LINES} lines`);
      this.#line = "empty";
      start = ends.lastIndex;
    }
    this.#take(text, start, text.length);
    if (text !== "") this.#isAfterReturn = text.endsWith("\r");
  }

  /** A part of a line. */
  #take(text: string, start: number, end: number): void {
    if (this.#line === "empty" && end > start) this.#line = text[start] === ":" ? "comment" : "field";
  }
}
