import { BoundedMap } from "../bounded-map.js";
import type { Series, Timeframe } from "../contract/model.js";

/** How many pairs are remembered at most, those that were read last: more than most clients watch. */
const PAIRS_KEPT = 20_000;

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

/** What a client has learned about pairs. */
export class KnownPairs {
  readonly #pairs = new BoundedMap<string, PairFacts>(PAIRS_KEPT);

  /** The facts of a pair, the same for all who ask. */
  of({ network, pairAddress }: Pick<Series, "network" | "pairAddress">): PairFacts {
    const key = `${network} ${pairAddress}`;
    const unknown = { createdAt: undefined, firstAnswered: {}, reportedAt: -Infinity, report: undefined };
    const facts = this.#pairs.get(key) ?? unknown;
    this.#pairs.set(key, facts);
    return facts;
  }
}
