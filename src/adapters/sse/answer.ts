import { shortened } from "../../contract/quote.js";
import { NetworkError, PairstreamError, TimeoutError } from "../../errors.js";
import type { ReceiverOptions } from "./options.js";
import { errorOfRefusal, LONGEST_REFUSAL } from "./refusal.js";
import { SilenceWatch } from "./silence.js";

/** How much of a transport's message an error repeats, in characters. */
const LONGEST_REASON = 300;

/** One request to a gateway, and the text of its answer as it arrives. */
export class Answer {
  readonly #options: ReceiverOptions;
  readonly #silence: SilenceWatch;
  readonly #decoder = new TextDecoder();
  /** Of the request, without the query, which may hold secrets. */
  readonly #address: string;
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;

  /** `silence`: how long it is accepted, in ms. */
  constructor(options: ReceiverOptions, silence: number, signal: AbortSignal) {
    const { origin, pathname } = new URL(options.url);
    this.#options = options;
    this.#address = origin + pathname;
    this.#silence = new SilenceWatch(options.scheduler, silence, signal, (limit) => {
      return new TimeoutError(`${this.#address} has sent nothing for ${limit} ms`, limit);
    });
  }

  /** Changes how long silence is accepted. */
  bear(silence: number): void {
    this.#silence.bear(silence);
  }

  /** Asks. Throws the error of a refusal. */
  async open(headers: Record<string, string>, init: { cache?: "no-store" } = {}): Promise<Headers> {
    const { url, fetch, headers: own } = this.#options;
    const { signal } = this.#silence;
    const answer = Promise.resolve(fetch(url, { headers: { ...own, ...headers }, ...init, signal }));
    answer.then(
      // Leaves a response that comes after nobody waits for it any more.
      ({ body }) => {
        if (signal.aborted) body?.cancel().catch(() => {});
      },
      () => {},
    );
    const response = await this.#silence.race(answer);
    this.#silence.hear();
    this.#reader = response.body?.getReader();
    if (response.status === 200) return response.headers;
    let text = "";
    for (let piece = await this.read(); piece !== undefined; piece = await this.read()) {
      text += piece;
      if (text.length >= LONGEST_REFUSAL) break;
    }
    throw errorOfRefusal(response, text, this.#address);
  }

  /** The next piece of it; `undefined` at its end. */
  async read(): Promise<string | undefined> {
    if (this.#reader === undefined) return undefined;
    const { done, value } = await this.#silence.race(this.#reader.read());
    if (done) return undefined;
    this.#silence.hear();
    return this.#decoder.decode(value, { stream: true });
  }

  /** What was thrown, as an error of the answer. */
  errorOf(thrown: unknown): PairstreamError {
    const { signal } = this.#silence;
    const cause = signal.aborted ? signal.reason : thrown;
    if (cause instanceof PairstreamError) return cause;
    const reason = cause instanceof Error ? `: ${shortened(cause.message, LONGEST_REASON)}` : "";
    return new NetworkError(`${this.#address} could not be reached${reason}`, { cause });
  }

  /** The error for an answer that has ended. */
  get closed(): NetworkError {
    return new NetworkError(`${this.#address} has closed the connection`);
  }

  /** Leaves it. */
  close(): void {
    this.#silence.end();
    // The signal of the request does not end a body that another source has made.
    this.#reader?.cancel().catch(() => {});
  }
}
