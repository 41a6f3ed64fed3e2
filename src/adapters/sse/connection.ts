import type { Outlet } from "./outlet.js";

/** How many bytes wait for a reader before changes are conflated, and about how many go out in one piece. */
const WAITING = 65_536;
const PIECE = 16_384;
const SIGN_OF_LIFE = ":\n\n";

const encoder = new TextEncoder();

/** One response: hands on what its reader asks for, and no more. */
export class Connection {
  readonly body: ReadableStream<Uint8Array>;
  readonly #outlet: Outlet;
  readonly #onLeave: (connection: Connection) => void;
  #controller!: ReadableStreamDefaultController<Uint8Array>;
  #isOpen = true;

  /** `retry`: how long the receiver is to wait before it comes back, in ms. */
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

  /** Sends what there is, as far as the reader keeps up. */
  flush(): void {
    while (this.#isOpen && this.#hasRoom()) {
      const text = this.#outlet.take(PIECE);
      if (text !== "") this.#send(text);
      if (this.#outlet.isDone) this.close();
      else if (text === "") return;
    }
  }

  /** Shows that the connection lives; a reader that has something to read needs no sign. */
  beat(): void {
    if (this.#isOpen && this.#hasRoom()) this.#send(SIGN_OF_LIFE);
  }

  /** Ends the response, once what waits has been read. */
  close(): void {
    if (!this.#isOpen) return;
    this.#controller.close();
    this.#leave();
  }

  #hasRoom(): boolean {
    return (this.#controller.desiredSize ?? 0) > 0;
  }

  #send(text: string): void {
    this.#controller.enqueue(encoder.encode(text));
  }

  #leave(): void {
    this.#isOpen = false;
    this.#onLeave(this);
  }
}
