import { warnProcess } from "../../warning.js";

/** A connection that was open has failed so often in a row before that is said: a gateway that starts anew is soon back. */
const LASTING = 3;

/** Says once that a gateway cannot be reached, for all streams of a source, and once that it is well again. */
export class Outage {
  readonly #url: string;
  readonly #warn: (message: string) => void;
  /** The streams that have lost it. */
  readonly #lost = new Set<object>();
  #isSaid = false;

  /** `url`: of the gateway. `warn`: as in the options of the source. */
  constructor(
    url: string,
    warn: ((message: string) => void) | false = (message) => warnProcess(message, "STREAM"),
  ) {
    this.#url = url;
    this.#warn = warn === false ? () => {} : warn;
  }

  /** A stream has failed, so many times in a row, and tries again after `wait` ms. */
  lose(stream: object, { message }: Error, failures: number, hasOpened: boolean, wait: number): void {
    this.#lost.add(stream);
    if (this.#isSaid || (hasOpened && failures < LASTING)) return;
    this.#isSaid = true;
    this.#warn(
      `${message}; it tries again in ${Math.max(1, Math.round(wait / 1_000))} s, and then ever later`,
    );
  }

  /** A stream hears the gateway. */
  hear(stream: object): void {
    if (!this.#lost.delete(stream) || this.#lost.size > 0 || !this.#isSaid) return;
    this.#isSaid = false;
    this.#warn(`${this.#url} is reached again`);
  }

  /** A stream is over. */
  leave(stream: object): void {
    this.#lost.delete(stream);
    if (this.#lost.size === 0) this.#isSaid = false;
  }
}
