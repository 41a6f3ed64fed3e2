import { checkChoice } from "../contract/input.js";

const CHOICES = ["fail", "wait"] as const;

/** What a subscriber wants of a pair that is not known. */
export type WhenMissing = (typeof CHOICES)[number];

/** When a pair counts as missing: after so many such answers, the first so many ms ago. Young pairs are indexed late. */
const ENOUGH = { answers: 3, time: 60_000 };
/** The longest wait of one who fails, in ms: for the first of them, and between two, so that they are enough by then. */
const HASTE = { first: 10_000, between: 30_000 };
/** The wait between two such answers for whoever waits, in ms: it doubles from the first to the last. */
const PAUSE = { first: 60_000, last: 3_600_000 };
/** How much too early an answer may come and still be the one that was waited for, in ms. */
const SLACK = 2_000;

export function checkWhenMissing(value: WhenMissing | undefined): WhenMissing {
  return value === undefined ? "fail" : checkChoice("whenMissing", value, CHOICES);
}

/**
 * What one subscriber of a shared poll makes of answers that show no such pair. It counts those that come after it has
 * joined. Instants are the scheduler's: the service's clock may jump, and a minute has to stay a minute.
 */
export class MissingPair {
  readonly #whenMissing: WhenMissing;
  readonly #joinedAt: number;
  /** The first and the longest wait of one who waits. */
  readonly #waits: { readonly first: number; readonly last: number };
  #answers = 0;
  #firstAt = Infinity;
  /** How long to wait after the last answer. */
  #pause = 0;
  #waitsUntil = -Infinity;
  /** Whether the subscriber has given the pair up. */
  isOver = false;

  /** `pace`: how long one who waits does so each time, in ms; default: a minute, and then twice as long, up to an hour. */
  constructor(whenMissing: WhenMissing, joinedAt: number, pace?: number) {
    this.#whenMissing = whenMissing;
    this.#joinedAt = joinedAt;
    this.#waits = pace === undefined ? PAUSE : { first: pace, last: pace };
  }

  /** Whether the subscriber wants to know soon, and not to wait for a pair that may come. */
  get isHasty(): boolean {
    return this.#whenMissing === "fail";
  }

  /** Counts one more such answer. */
  miss(at: number): void {
    this.#answers += 1;
    // If the clock was set back, time counts from there.
    this.#firstAt = Math.min(this.#firstAt, at);
    this.isOver = this.isHasty && this.#answers >= ENOUGH.answers && at - this.#firstAt >= ENOUGH.time;
    // An answer that others have asked for counts, but does not lengthen the wait.
    const isWaitedFor = at >= this.#waitsUntil - SLACK;
    const { first, last } = this.#waits;
    if (isWaitedFor) this.#pause = Math.min(Math.max(first, 2 * this.#pause), last);
    this.#waitsUntil = at + this.#pause;
  }

  /** When it wants the next answer at the latest; `missedAt`: when the last of them came, to anyone. */
  asksAgainAt(missedAt: number, now: number): number {
    const missed = Math.min(missedAt, now);
    if (this.isHasty && this.#answers === 0)
      return Math.min(missed + PAUSE.first, Math.min(this.#joinedAt, now) + HASTE.first);
    if (this.isHasty) {
      const enough = this.#firstAt + ENOUGH.time;
      return missedAt < enough ? Math.min(missed + HASTE.between, enough) : missed + HASTE.between;
    }
    if (this.#answers === 0) return missed + this.#waits.first;
    return Math.min(this.#waitsUntil, now + this.#pause);
  }
}
