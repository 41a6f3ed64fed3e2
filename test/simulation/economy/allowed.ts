/**
 * How many requests are allowed for what. Slots, pages, histories, searches and calls are what a perfect client needs; the
 * rest is what nobody can know before, and what an answer that fails or is in doubt excuses. A 429 and a quota excuse
 * nothing but the request that was refused.
 */
const ALLOWED = {
  /** A slot of the schedule is polled once. */
  slot: 1,
  /** A first look asks until two answers agree on the time, three times at most, and twice more where it missed the present. */
  firstLook: 5,
  /** Whoever comes after all had left needs no more than the range again. */
  laterLook: 2,
  /** A walk that asks before the time is known asks for its first page until two answers agree on that, three times at most. */
  firstWalk: 2,
  /** A look after the service's clock has jumped is like a first one. */
  jump: 5,
  /** That there are two machines whose clocks differ shows by answers that contradict each other. */
  machines: 12,
  /** A closing that an answer leaves unproven, by its `Date` and by all before it, is asked for once more. */
  unproven: 1,
  /** So is a range that ended before the interval in which it was answered. */
  missedPresent: 1,
  /** An answer that lacks what one before it showed is followed by another look, and by one at that candle alone. */
  lacking: 2,
  /** The first answer without a candle proves nothing: a second one does. */
  empty: 1,
  /** A `Date` that contradicts those before it is settled by two more at most. */
  contradiction: 2,
  /** After an outage, and behind the first candle of all, each slice that was missed is read, and the silence after it. */
  catchUp: 2,
  /** A light probe asks for a candle from before, and again with it, or for the last two intervals. */
  probe: 3,
  /** An empty answer to a range from before a creation that a report tells is followed by one from its very second on. */
  opening: 1,
  /** Each piece of a history or `fetchCandles` that no store has: its last slice again, and the silence after it. */
  history: 3,
  /** A history whose end was guessed by the first answer's time is read on once that end is proven. */
  guessedEnd: 1,
  /** A slice is begun again, and cut to what fits a page, where a walk failed for good, or its answer was struck or lacks something. */
  restart: 2,
  /** What a search has found is asked for six times more from both sides, and from within its interval. */
  found: 14,
  /** A direct call asks once. */
  call: 1,
  /** A creation is asked for by each who reads the candles of its pair, and with each light probe. */
  report: 1,
  /** A page is followed by the next one. */
  page: 1,
  /** Each step of a search. */
  step: 1,
  /** A request that failed is sent again, but not before its back-off has passed. */
  failure: 1,
} as const;

export type Term = keyof typeof ALLOWED;

/** Whatever its answers show, they excuse no more than so many looks at one slot, but for those that wait as after a failure. */
export const MOST_LOOKS_A_SLOT = 6;

/** All requests for one thing, and how many of them are accounted for, by what they were for. */
export class Account {
  sent = 0;
  lastSent = 0;
  readonly #terms = new Map<Term, number>();

  constructor(readonly name: string) {}

  allow(term: Term, times = 1): void {
    if (times > 0) this.#terms.set(term, (this.#terms.get(term) ?? 0) + times * ALLOWED[term]);
  }

  get most(): number {
    let most = 0;
    for (const count of this.#terms.values()) most += count;
    return most;
  }

  /** What makes up its bound. */
  toString(): string {
    const terms = [...this.#terms].map(([term, count]) => `${term} ${count}`);
    return `${this.sent} requests for ${this.name}, ${this.most} at most (${terms.join(", ")})`;
  }
}
