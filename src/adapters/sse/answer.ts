import { Subscription } from "rxjs";
import { callAt } from "../../client/timers.js";
import { reasonsOf } from "../../contract/quote.js";
import { NetworkError, PairstreamError, TimeoutError } from "../../errors.js";
import { raced } from "../../latest/raced.js";
import { placeOf, type ReceiverOptions } from "./options.js";
import { errorOfRefusal, LONGEST_REFUSAL } from "./refusal.js";

/** One request to a gateway, and the text of its answer as it arrives. It ends once nothing was heard for too long. */
export class Answer {
  readonly #options: ReceiverOptions;
  readonly #outer: AbortSignal;
  readonly #controller = new AbortController();
  readonly #decoder = new TextDecoder();
  /** Of the request. */
  readonly #address: string;
  #silence: number;
  #heardAt: number;
  #timer = Subscription.EMPTY;
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;

  /** `silence`: how long it is accepted, in ms. */
  constructor(options: ReceiverOptions, silence: number, signal: AbortSignal) {
    this.#options = options;
    this.#outer = signal;
    this.#address = placeOf(options.url);
    this.#silence = silence;
    this.#heardAt = options.scheduler.now();
    signal.addEventListener("abort", this.#leave, { once: true });
    this.#arm();
  }

  /** Changes how long silence is accepted. */
  bear(silence: number): void {
    if (silence === this.#silence) return;
    this.#silence = silence;
    this.#arm();
  }

  /** Asks. Throws the error of a refusal. */
  async open(headers: Record<string, string>, init: { cache?: "no-store" } = {}): Promise<Headers> {
    const { url, fetch, headers: own } = this.#options;
    const { signal } = this.#controller;
    const answer = Promise.resolve(fetch(url, { headers: { ...own, ...headers }, ...init, signal }));
    answer.then(
      // Leaves a response that comes after nobody waits for it any more.
      ({ body }) => {
        if (signal.aborted) body?.cancel().catch(() => {});
      },
      () => {},
    );
    const response = await this.#hear(answer);
    this.#reader = response.body?.getReader();
    if (response.status === 200) return response.headers;
    throw errorOfRefusal(response, await this.text(LONGEST_REFUSAL), this.#address);
  }

  /** All of it, or its beginning where it is longer than `most` characters. */
  async text(most: number): Promise<string> {
    let text = "";
    for (let piece: string | undefined = ""; piece !== undefined; piece = await this.read()) {
      text += piece;
      if (text.length > most) break;
    }
    return text;
  }

  /** The next piece of it; `undefined` at its end. */
  async read(): Promise<string | undefined> {
    if (this.#reader === undefined) return undefined;
    const { done, value } = await this.#hear(this.#reader.read());
    return done ? undefined : this.#decoder.decode(value, { stream: true });
  }

  /** What was thrown, as an error of the answer. */
  errorOf(thrown: unknown): PairstreamError {
    const { signal } = this.#controller;
    const cause = signal.aborted ? signal.reason : thrown;
    if (cause instanceof PairstreamError) return cause;
    return new NetworkError(`${this.#address} could not be reached${reasonsOf(cause)}`, { cause });
  }

  /** The error for an answer that has ended. */
  get closed(): NetworkError {
    return new NetworkError(`${this.#address} has closed the connection`);
  }

  /** Leaves it, and releases everything that its signal holds. */
  close(reason?: unknown): void {
    this.#timer.unsubscribe();
    this.#outer.removeEventListener("abort", this.#leave);
    this.#controller.abort(reason);
    // The signal of the request does not end a body that another source has made.
    this.#reader?.cancel().catch(() => {});
  }

  readonly #leave = () => this.close(this.#outer.reason);

  /** Waits for what comes next; not every source obeys a signal. */
  async #hear<T>(promise: Promise<T>): Promise<T> {
    const heard = await raced(promise, this.#controller.signal);
    this.#heardAt = this.#options.scheduler.now();
    return heard;
  }

  /** What may keep a request from a gateway, where it has not begun to answer. */
  get #hint(): string {
    const mayQueue = this.#reader === undefined && "document" in globalThis;
    return mayQueue ? "; over HTTP/1.1 a browser opens six connections to a host, in all of its tabs" : "";
  }

  #arm(): void {
    const { scheduler } = this.#options;
    this.#timer.unsubscribe();
    this.#timer = callAt(scheduler, this.#heardAt + this.#silence, () => {
      const limit = this.#silence;
      if (scheduler.now() < this.#heardAt + limit) this.#arm();
      else
        this.close(new TimeoutError(`${this.#address} has sent nothing for ${limit} ms${this.#hint}`, limit));
    });
  }
}
