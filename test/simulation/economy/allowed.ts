/** What a request may be for; each term is said where it is allowed. */
export type Term =
  | "slot"
  | "join"
  | "page"
  | "silence"
  | "end"
  | "probe"
  | "parts"
  | "search"
  | "again"
  | "closing"
  | "retry"
  | "report";

/** All requests for one thing, and how many of them a careful client needs, by what they are for. */
export class Account {
  readonly #terms = new Map<Term, number>();

  constructor(
    readonly name: string,
    readonly sent: number,
    readonly lastSent: number,
  ) {}

  allow(term: Term, times = 1): void {
    if (times > 0) this.#terms.set(term, (this.#terms.get(term) ?? 0) + times);
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
