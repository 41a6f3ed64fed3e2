/**
 * The service's clock as one hears of it from afar: it has come as far as the furthest that was told, and goes on since
 * then with one's own. What is on its way for longer than usual shows as late by that.
 */
export class HeardClock {
  #ahead = Number.NEGATIVE_INFINITY;

  /** Learns that the service's clock has come to `instant` by `now` of one's own. */
  hear(instant: number, now: number): void {
    this.#ahead = Math.max(this.#ahead, instant - now);
  }

  /** The service's clock at an instant of one's own; `-Infinity` while nothing was heard. */
  at(now: number): number {
    return now + this.#ahead;
  }
}
