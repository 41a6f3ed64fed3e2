import { type SchedulerLike, Subscription } from "rxjs";
import { Connection } from "./connection.js";
import type { Outlet } from "./outlet.js";

/** After how many heartbeats that are due and have not come the timers stand still. */
const MOST_MISSED = 2.5;

/** The open responses of one channel, and their heartbeats. */
export class Connections {
  readonly #scheduler: SchedulerLike;
  readonly #heartbeat: number;
  readonly #patience: number;
  readonly #open = new Set<Connection>();
  #heartbeats = Subscription.EMPTY;
  #beatAt = 0;

  /** `heartbeat`: ms between two heartbeats. `patience`: after how many of them one who does not read is left. */
  constructor(scheduler: SchedulerLike, { heartbeat, patience }: { heartbeat: number; patience: number }) {
    this.#scheduler = scheduler;
    this.#heartbeat = heartbeat;
    this.#patience = patience;
  }

  /**
   * Whether heartbeats have failed to come, for longer than a receiver waits for one. Then the streams, which were started
   * together with them, tell nothing either.
   */
  get standsStill(): boolean {
    if (this.#heartbeats.closed) return false;
    return this.#scheduler.now() - this.#beatAt > MOST_MISSED * this.#heartbeat;
  }

  /**
   * Opens a response to one receiver. `retry`: how long that has to wait before it reconnects, in ms. `onLeave` is called once:
   * when the receiver has left, or the response has ended.
   */
  open(outlet: Outlet, retry: number, onLeave: () => void): Connection {
    const connection = new Connection(outlet, { retry, patience: this.#patience }, (left) => {
      this.#open.delete(left);
      onLeave();
    });
    // The channel may have ended already, so that the response ends at once.
    if (connection.isOpen) this.#open.add(connection);
    return connection;
  }

  /** Sends what is waiting, as far as the readers keep up. */
  flush(): void {
    for (const connection of this.#open) connection.flush();
  }

  /** Ends all responses. */
  close(): void {
    this.stopHeartbeats();
    for (const connection of this.#open) connection.close();
  }

  /**
   * Heartbeats come from one timer, however receivers come and go. So they stop with the streams' timers, which were set
   * at the same time, where a platform ends these.
   */
  startHeartbeats(): void {
    const beat = () => {
      this.#beatAt = this.#scheduler.now();
      for (const connection of this.#open) connection.beat();
    };
    this.#beatAt = this.#scheduler.now();
    const heartbeat = this.#heartbeat;
    this.#heartbeats = this.#scheduler.schedule(function () {
      beat();
      this.schedule(undefined, heartbeat);
    }, heartbeat);
  }

  stopHeartbeats(): void {
    this.#heartbeats.unsubscribe();
  }
}
