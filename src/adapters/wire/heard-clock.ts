/** A distance of the service's clock from one's own that messages agree on, though one that came faster denies it. */
interface Rival {
  /** The distance that its first message told, and when that came. */
  readonly ahead: number;
  readonly since: number;
  /** The largest distance that its messages told. */
  most: number;
}

/** Messages agree if their distances differ by no more than this, in ms, and by what clocks drift apart in between. */
const ALIKE = 2_500;
/** ms per ms: twice what clocks of computers drift apart. */
const DRIFT = 1e-4;
/** For how long messages have to agree until they are believed, in ms. */
const PROOF = 300_000;
/** How many rivals are kept. */
const MOST_RIVALS = 8;

/**
 * The service's clock, estimated from messages about it. Messages take time, so the one that puts this clock furthest
 * ahead counts, and from there it runs with one's own clock. A message that takes longer than the fastest one shows as
 * late by the difference.
 *
 * Slower messages show one of two things: they were held up, or one's own clock has been set forward, or runs fast.
 * What is held up is late by more and more, or less and less, and a fresh message follows in the end. A clock leaves the
 * messages after it a constant distance. So a smaller distance is believed once messages have agreed on it for
 * `PROOF`, and none has come faster. Until then messages count as late.
 */
export class HeardClock {
  #ahead = -Infinity;
  /** The one with the largest distance first. */
  #rivals: Rival[] = [];

  /** Learns that the service's clock had reached `instant` when one's own clock showed `now`. */
  hear(instant: number, now: number): void {
    const ahead = instant - now;
    if (ahead >= this.#ahead) {
      this.#believe(ahead);
      return;
    }
    const rivals = this.#rivals;
    const toleranceOf = ({ since }: Rival) => ALIKE + DRIFT * Math.max(0, now - since);
    const at = rivals.findIndex((one) => ahead >= one.ahead - toleranceOf(one));
    const rival = rivals[at];
    // The messages of those after it were held up for longer than this one.
    if (rival !== undefined) rivals.length = at + 1;
    if (rival === undefined || ahead > rival.ahead + toleranceOf(rival)) {
      if (rival !== undefined) rivals.pop();
      rivals.push({ ahead, since: now, most: ahead });
      if (rivals.length > MOST_RIVALS) rivals.shift();
      return;
    }
    rival.most = Math.max(rival.most, ahead);
    if (now - rival.since >= PROOF) this.#believe(rival.most);
  }

  /** The service's clock at an instant of one's own; `-Infinity` while nothing was heard. */
  at(now: number): number {
    return now + this.#ahead;
  }

  /** The same as JSON tells it: `null` while nothing was heard. */
  told(now: number): number | null {
    return Number.isFinite(this.#ahead) ? this.at(now) : null;
  }

  #believe(ahead: number): void {
    this.#ahead = ahead;
    this.#rivals = [];
  }
}
