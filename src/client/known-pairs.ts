import { BoundedMap } from "../bounded-map.js";
import type { Series, Timeframe } from "../contract/model.js";

/** How many pairs that nobody reads any more are remembered. */
const PAIRS_KEPT = 1_000;

/** What is known of a pair; instants are ms since the epoch. */
export interface PairFacts {
  /** When it was created, by its sniper report. */
  createdAt: number | undefined;
  /** The first start from which a range of a timeframe answers, and when that was found out, by the scheduler. */
  readonly firstAnswered: {
    [timeframe in Timeframe]?: { readonly start: number; readonly at: number } | undefined;
  };
  /** When its sniper report was last asked for, by the service's clock, and the request that is under way. */
  reportedAt: number;
  report: Promise<void> | undefined;
}

type Pair = Pick<Series, "network" | "pairAddress">;

/** What a client has learned about pairs: about those that somebody holds, and those that were left last. */
export class KnownPairs {
  readonly #held = new Map<string, { readonly facts: PairFacts; holders: number }>();
  readonly #left = new BoundedMap<string, PairFacts>(PAIRS_KEPT);

  /** The facts of a pair, the same for all who ask while somebody holds it. */
  of(pair: Pair): PairFacts {
    const key = pairKeyOf(pair);
    const held = this.#held.get(key);
    if (held !== undefined) return held.facts;
    const facts = this.#left.get(key) ?? unknownPair();
    this.#left.set(key, facts);
    return facts;
  }

  /** Keeps the facts of a pair until the function that it returns is called, once. */
  hold(pair: Pair): () => void {
    const key = pairKeyOf(pair);
    const held = this.#held.get(key) ?? { facts: this.#left.get(key) ?? unknownPair(), holders: 0 };
    held.holders += 1;
    this.#held.set(key, held);
    return () => {
      held.holders -= 1;
      if (held.holders > 0) return;
      this.#held.delete(key);
      this.#left.set(key, held.facts);
    };
  }
}

function unknownPair(): PairFacts {
  return { createdAt: undefined, firstAnswered: {}, reportedAt: -Infinity, report: undefined };
}

function pairKeyOf({ network, pairAddress }: Pair): string {
  return `${network} ${pairAddress}`;
}
