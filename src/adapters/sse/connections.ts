import { type SchedulerLike, Subscription } from "rxjs";
import { Connection } from "./connection.js";
import type { Outlet } from "./outlet.js";

/** The open responses of one channel, and their signs of life: no timer while there is none. */
export class Connections {
  readonly #scheduler: SchedulerLike;
  readonly #heartbeat: number;
  readonly #retry: number;
  readonly #open = new Set<Connection>();
  #heartbeats = Subscription.EMPTY;

  /** `heartbeat`: ms between two signs of life; `retry`: how long a receiver is to wait before it comes back, in ms. */
  constructor(scheduler: SchedulerLike, heartbeat: number, retry: number) {
    this.#scheduler = scheduler;
    this.#heartbeat = heartbeat;
    this.#retry = retry;
  }

  /** Opens a response to one receiver. */
  open(outlet: Outlet): Connection {
    const connection = new Connection(outlet, this.#retry, (left) => this.#leave(left));
    // It may have had nothing to send but an end.
    if (connection.isOpen) {
      this.#open.add(connection);
      this.#beat();
    }
    return connection;
  }

  /** Sends what there is, as far as the readers keep up. */
  flush(): void {
    for (const connection of this.#open) connection.flush();
  }

  /** Ends all responses. */
  close(): void {
    for (const connection of this.#open) connection.close();
  }

  #beat(): void {
    if (!this.#heartbeats.closed) return;
    const [connections, heartbeat] = [this.#open, this.#heartbeat];
    this.#heartbeats = this.#scheduler.schedule(function () {
      for (const connection of connections) connection.beat();
      this.schedule(undefined, heartbeat);
    }, heartbeat);
  }

  #leave(connection: Connection): void {
    this.#open.delete(connection);
    if (this.#open.size === 0) this.#heartbeats.unsubscribe();
  }
}
