import type { Outlet } from "./outlet.js";

/** How many bytes may wait for a reader before changes are conflated. */
const WAITING = 65_536;
/** About how many characters go out in one piece. */
const PIECE = 16_384;
/** How many heartbeats in a row may find no room until their reader counts as gone. */
const PATIENCE = 8;
const SIGN_OF_LIFE = ":\n\n";

/** One response. It sends what its reader asks for, and no more. */
export class Connection {
  readonly body: ReadableStream<Uint8Array>;
  readonly #encoder = new TextEncoder();
  readonly #outlet: Outlet;
  readonly #onLeave: (connection: Connection) => void;
  #controller!: ReadableStreamDefaultController<Uint8Array>;
  #isOpen = true;
  /** How many heartbeats in a row have found no room. */
  #unread = 0;

  /** `retry`: how long the receiver has to wait before it reconnects, in ms. `onLeave` is called once. */
  constructor(outlet: Outlet, retry: number, onLeave: (connection: Connection) => void) {
    this.#outlet = outlet;
    this.#onLeave = onLeave;
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => this.flush(),
        cancel: () => this.#leave(),
      },
      { highWaterMark: WAITING, size: (piece) => piece?.byteLength ?? 0 },
    );
    this.#send(`retry: ${retry}\n\n`);
    this.flush();
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Sends what is waiting, as far as the reader keeps up. */
  flush(): void {
    while (this.#isOpen && this.#hasRoom()) {
      const text = this.#outlet.take(PIECE);
      if (text !== "") this.#send(text);
      if (this.#outlet.isDone) this.close();
      else if (text === "") return;
    }
  }

  /** Sends a heartbeat, unless there is no room because the reader has too much left to read. */
  beat(): void {
    if (!this.#isOpen) return;
    if (this.#hasRoom()) {
      this.#unread = 0;
      this.#send(SIGN_OF_LIFE);
      return;
    }
    this.#unread += 1;
    if (this.#unread <= PATIENCE) return;
    // What waits is let go of with it: one who does not read would keep it for ever.
    this.#controller.error(new Error("This response is not read, so it was ended"));
    this.#leave();
  }

  /** Ends the response once everything that waits has been read. */
  close(): void {
    if (!this.#isOpen) return;
    this.#controller.close();
    this.#leave();
  }

  #hasRoom(): boolean {
    return (this.#controller.desiredSize ?? 0) > 0;
  }

  #send(text: string): void {
    this.#controller.enqueue(this.#encoder.encode(text));
  }

  #leave(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#onLeave(this);
  }
}
