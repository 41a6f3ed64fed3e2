import type { ChannelState, Message } from "./channel-state.js";

/**
 * What one receiver still has to get. It is not a queue but a position in the channel's log, so a slow reader costs no
 * memory.
 *
 * Changes that gather until the receiver asks are conflated. If the log does not reach back that far, the receiver gets
 * the whole state.
 */
export class Outlet {
  readonly #state: ChannelState;
  #opening: string;
  /** The messages that lead to the state as of `#position`, and how many of them have been taken. */
  #batch: readonly Message[];
  #taken = 0;
  #position: number;
  #hasEnding = false;

  /** `lastEventId`: the id after which the receiver asks to go on. */
  constructor(state: ChannelState, lastEventId: string | null) {
    const number = state.resumable(lastEventId);
    this.#state = state;
    this.#opening = state.hello(number !== undefined).text;
    this.#batch = number === undefined ? state.snapshot() : state.resume(number);
    this.#position = state.head;
  }

  /** Whether the channel has ended and everything was taken. */
  get isDone(): boolean {
    return this.#hasEnding;
  }

  /**
   * The next messages: at least `length` characters of them, or fewer if there are no more for now. It may be empty.
   */
  take(length: number): string {
    let text = this.#opening;
    this.#opening = "";
    while (text.length < length && (this.#batch.length > 0 || this.#load())) {
      text += this.#batch[this.#taken]!.text;
      this.#taken += 1;
      if (this.#taken === this.#batch.length) {
        this.#batch = [];
        this.#taken = 0;
      }
    }
    return text;
  }

  /** Takes up the changes since the last batch. Returns `false` if there are none. */
  #load(): boolean {
    const { head, ending } = this.#state;
    if (this.#position < head) {
      this.#batch = this.#state.since(this.#position) ?? this.#state.snapshot();
      this.#position = head;
      return true;
    }
    if (ending === undefined || this.#hasEnding) return false;
    this.#hasEnding = true;
    this.#batch = [ending];
    return true;
  }
}
