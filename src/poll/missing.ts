import { checkChoice } from "../contract/input.js";

const CHOICES = ["fail", "wait"] as const;

/** What a subscriber wants of a pair that is not known. */
export type WhenMissing = (typeof CHOICES)[number];

/** Young pairs are indexed late: so many answers 404, the first of them so many ms ago, mean that there is no such pair. */
const ENOUGH = { answers: 3, time: 60_000 };
/** How long to wait between two of them, in ms: the first time, and at most, twice as long each time in between. */
const PAUSE = { first: 60_000, last: 3_600_000 };
/** So much too early an answer may be, and still be the one that was waited for, in ms. */
const SLACK = 2_000;

export function checkWhenMissing(value: WhenMissing | undefined): WhenMissing {
  return value === undefined ? "fail" : checkChoice("whenMissing", value, CHOICES);
}

/**
 * One subscriber's view of answers 404 to a poll that it shares: only those count that have come since it joined.
 * Instants are the scheduler's, by which a minute is one whatever the service's clock is taken for.
 */
export class MissingPair {
  readonly #whenMissing: WhenMissing;
  #answers = 0;
  #firstAt = Number.POSITIVE_INFINITY;
  /** How long to wait after the last answer. */
  #pause = 0;
  #waitsUntil = Number.NEGATIVE_INFINITY;
  #isOver = false;

  constructor(whenMissing: WhenMissing) {
    this.#whenMissing = whenMissing;
  }

  /** Whether the subscriber takes it that there is no such pair. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Whether it wants to hear of the pair as soon as a poll can tell, and not just now and then. */
  get isHasty(): boolean {
    return this.#whenMissing === "fail";
  }

  /** Takes in one more such answer. */
  miss(at: number): void {
    this.#answers += 1;
    // Where the clock was set back, time counts from there.
    this.#firstAt = Math.min(this.#firstAt, at);
    this.#isOver = this.isHasty && this.#answers >= ENOUGH.answers && at - this.#firstAt >= ENOUGH.time;
    // What others have asked for meanwhile is news as well, but no reason to become more patient.
    const isWaitedFor = at >= this.#waitsUntil - SLACK;
    if (isWaitedFor) this.#pause = Math.min(Math.max(PAUSE.first, 2 * this.#pause), PAUSE.last);
    this.#waitsUntil = at + this.#pause;
  }

  /** When it wants the next answer at the latest; `missedAt`: when the last one came, perhaps to others. */
  asksAgainAt(missedAt: number, now: number): number {
    if (this.isHasty || this.#answers === 0) return Math.min(missedAt, now) + PAUSE.first;
    return Math.min(this.#waitsUntil, now + this.#pause);
  }
}
