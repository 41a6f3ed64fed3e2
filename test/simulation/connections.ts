import { STALE } from "../../src/client/send/transport.js";

/** What befell a request whose kept connection the service had closed, among the faults of an exchange. */
export const CLOSED = "closed connection";

/** The connections that a client keeps, and when the service closes each of them; instants of the run's clock. */
export class Connections {
  readonly #keepAlive: number | undefined;
  #idle: number[] = [];

  /** `keepAlive`: how long the service keeps one that is idle, ms; for ever where it is absent. */
  constructor(keepAlive: number | undefined) {
    this.#keepAlive = keepAlive;
  }

  /** When the one is closed that a request takes; of those that were closed the client has heard after so many ms. */
  take(now: number, after: number): number {
    this.#idle = this.#idle.filter((closes) => now <= closes + after);
    return this.#idle.pop() ?? Number.POSITIVE_INFINITY;
  }

  /** An answer has left the service, and its connection is idle. */
  keep(since: number): void {
    if (this.#keepAlive !== undefined) this.#idle.push(since + this.#keepAlive);
  }

  /** As the client's own transport gives it, which lets go of all that are idle. */
  fail(): never {
    this.#idle = [];
    throw Object.assign(new Error("socket hang up"), { code: "ECONNRESET", [STALE]: true });
  }
}
