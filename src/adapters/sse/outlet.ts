import type { ChannelState, Message } from "./channel-state.js";

/**
 * What one receiver is still to be sent: no queue of its own but a place in the log of the channel, so that one who
 * reads slowly costs no memory.
 *
 * What has gathered until it asks is conflated; where the log does not reach back so far, it gets the whole state.
 */
export class Outlet {
  readonly #state: ChannelState;
  #opening: string;
  /** Messages that lead to the state as of `#position`, and how many of them have been taken. */
  #batch: readonly Message[];
  #taken = 0;
  #position: number;
  #hasEnding = false;

  /** `lastEventId`: what the receiver asks to go on after. */
  constructor(state: ChannelState, lastEventId: string | null) {
    const number = state.resumable(lastEventId);
    this.#state = state;
    this.#opening = state.hello(number !== undefined).text;
    this.#batch = number === undefined ? state.snapshot() : state.resume(number);
    this.#position = state.head;
  }

  /** Whether the channel has ended and all of it been taken. */
  get isDone(): boolean {
    return this.#hasEnding;
  }

  /** The next messages, until they have at least `length` characters or there are none for now; may be empty. */
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

  /** Takes up what has happened since the last batch; `false` where that is nothing. */
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
