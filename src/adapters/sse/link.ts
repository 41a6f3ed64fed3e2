import { shortened } from "../../contract/quote.js";
import { ContractError, type PairstreamError } from "../../errors.js";
import { Answer } from "./answer.js";
import { EventReader } from "./event-reader.js";
import type { ParsedMessage } from "./mirror.js";
import type { ReceiverOptions } from "./options.js";

/** How long silence is accepted until the channel has announced its heartbeat, in ms. */
const FIRST_SILENCE = 37_500;
/** How many heartbeats may be missing. */
const PATIENCE = 2.5;

/** One connection to a channel, from the request to its end. */
export class Link {
  readonly #options: ReceiverOptions;
  readonly #lastEventId: string | undefined;
  readonly #answer: Answer;
  readonly #reader = new EventReader();
  #isOpen = false;

  constructor(options: ReceiverOptions, lastEventId: string | undefined, signal: AbortSignal) {
    this.#options = options;
    this.#lastEventId = lastEventId;
    this.#answer = new Answer(options, options.silence ?? FIRST_SILENCE, signal);
  }

  /** How long the channel asks to wait before the next connection, in ms. */
  get retry(): number | undefined {
    return this.#reader.retry;
  }

  /** Sets the time between two heartbeats, in ms. */
  expect(heartbeat: number): void {
    if (this.#options.silence === undefined) this.#answer.bear(PATIENCE * heartbeat);
  }

  /** The next messages, possibly none; or the reason why the connection has ended. */
  async read(): Promise<readonly ParsedMessage[] | PairstreamError> {
    try {
      if (!this.#isOpen) await this.#open();
      const text = await this.#answer.read();
      return text === undefined ? this.#answer.closed : this.#reader.read(text);
    } catch (thrown) {
      return this.#answer.errorOf(thrown);
    }
  }

  /** Leaves the connection. */
  close(): void {
    this.#answer.close();
  }

  async #open(): Promise<void> {
    const id = this.#lastEventId;
    const resumed = id === undefined ? {} : { "last-event-id": id };
    const asked = { accept: "text/event-stream", ...resumed };
    const headers = await this.#answer.open(asked, { cache: "no-store" });
    const type = headers.get("content-type") ?? "nothing";
    if (!/^text\/event-stream\b/i.test(type)) {
      throw new ContractError([], `its content type is ${shortened(type, 60)}, not text/event-stream`);
    }
    this.#isOpen = true;
  }
}
