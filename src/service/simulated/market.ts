import { BoundedMap } from "../../bounded-map.js";
import { checkNumber, checkSniperQuery, toInstant } from "../../contract/input.js";
import type { DateLike, Network } from "../../contract/model.js";
import { checkNames } from "../../contract/names.js";
import { InvalidInputError } from "../../errors.js";
import { checkSeed, hashText } from "../random.js";
import type { Swap, SwapPair, SwapRange, SwapSource } from "../swaps.js";
import { base58At } from "./base58.js";
import { PairTrading, span } from "./pair.js";
import { CHUNK } from "./path.js";

/** The options of a simulated market. */
export interface SimulatedMarketOptions {
  /** A whole number. Another seed gives another market. */
  seed: number;
  /** The creation of all its pairs; default 2025-01-01. With an hour before now, snipers sell every few minutes. */
  createdAt?: DateLike;
  /** The addresses of its pairs, or how many to invent (1 to 100,000); default 1. */
  pairs?: number | readonly string[];
}

/** A source of simulated swaps, with a list of its pairs. */
export interface SimulatedMarket extends SwapSource {
  /** The addresses of its pairs. */
  readonly pairs: readonly string[];
}

const DEFAULT_CREATION = Date.UTC(2025, 0, 1);
const MOST_PAIRS = 100_000;
/** How much is cached for later requests. Everything can be computed again. */
const CHUNKS_KEPT = 800;
const PAIRS_KEPT = 1_024;

/**
 * Simulates a market of young token pairs on mainnet from a seed: bursts, silences, trends, and snipers that buy in the
 * first blocks and sell over minutes, hours and days. Some of them are a bundle: one owner's wallets, which buy for the same in the
 * very first block, sell side by side, and leave dust.
 *
 * It is a pure function of the seed, the pair's address and the time since `createdAt`. So ranges can be read in any
 * order, and two processes agree. An unused pair costs nothing. Start prices run from 1e-7 to 1e3 US dollars; the
 * native coin moves around 150. Throws an `InvalidInputError` for invalid options.
 *
 * @example
 * ```ts
 * import { createPairService, simulatedMarket } from "pairstream/service";
 *
 * const source = simulatedMarket({ seed: 42, createdAt: Date.now() - 3_600_000, pairs: 3 });
 * const service = createPairService({ source });
 * const [first, second, third] = source.pairs; // invented; set `pairs: ["address", …]` for your own
 * console.log(first, second, third);
 * ```
 */
export function simulatedMarket(options: SimulatedMarketOptions): SimulatedMarket {
  const seed = checkSeed(options);
  checkNames(options, ["seed", "createdAt", "pairs"]);
  const createdAt = Math.floor(toInstant("createdAt", options.createdAt ?? DEFAULT_CREATION));
  const pairs = Object.freeze(pairAddresses(seed, options.pairs ?? 1));
  const numbers = new Map(pairs.map((pairAddress, number) => [pairAddress, number]));
  const made = new BoundedMap<number, SwapPair>(PAIRS_KEPT);
  const chunks: Chunks = new BoundedMap(CHUNKS_KEPT);
  return Object.freeze({
    pairs,
    pair: (network: Network, pairAddress: string) => {
      const number = network === "mainnet" ? numbers.get(pairAddress) : undefined;
      if (number === undefined) return undefined;
      let pair = made.get(number);
      if (pair === undefined) {
        pair = simulatedPair(new PairTrading(seed, pairAddress, createdAt), number, chunks);
        made.set(number, pair);
      }
      return pair;
    },
  });
}

/** The chunks of all pairs. The key combines the pair's number and the chunk's. */
type Chunks = BoundedMap<number, readonly Swap[]>;

function pairAddresses(seed: number, pairs: number | readonly string[]): string[] {
  if (typeof pairs === "number") {
    const count = checkNumber("pairs", pairs, { min: 1, max: MOST_PAIRS, integer: true });
    const key = hashText(String(seed), 1);
    return Array.from({ length: count }, (_, at) => base58At(key, at, 44));
  }
  if (!Array.isArray(pairs) || pairs.length === 0 || pairs.length > MOST_PAIRS) {
    const allowed = `1 to ${MOST_PAIRS} addresses, or their number`;
    throw new InvalidInputError(
      "pairs",
      allowed,
      Array.isArray(pairs) ? `has ${pairs.length} addresses` : "is neither a number nor a list",
    );
  }
  return pairs.map((pairAddress) => checkSniperQuery({ pairAddress }).pairAddress);
}

/** A pair with the swaps of `trading`. `number` identifies it among the pairs that share `chunks`. */
function simulatedPair(trading: PairTrading, number: number, chunks: Chunks): SwapPair {
  const { tokenAddress, createdAt } = trading;
  const keyOf = (chunk: number) => number * 2 ** 32 + chunk;

  function keptChunk(chunk: number): readonly Swap[] {
    let made = chunks.get(keyOf(chunk));
    if (made === undefined) {
      made = trading.chunk(chunk);
      chunks.set(keyOf(chunk), made);
    }
    return made;
  }

  function* lazily(numbers: Iterable<number>, from: number, end: number): Iterable<Swap> {
    for (const chunk of numbers) {
      const made = chunks.get(keyOf(chunk)) ?? trading.chunk(chunk);
      for (const swap of made) if (swap.timestamp >= from && swap.timestamp < end) yield swap;
    }
  }

  function swaps({ from, to, asOf, wallets }: SwapRange): Iterable<Swap> {
    const end = Math.min(to, asOf + 1);
    const first = Math.max(0, Math.floor((from - createdAt) / CHUNK));
    const last = Math.floor((end - 1 - createdAt) / CHUNK);
    const numbers = wallets === undefined ? span(first, last) : trading.chunksOf(wallets, first, last);
    // A wide range is computed as it is read, and not cached: it would only evict what the next poll reads.
    if (last - first > CHUNKS_KEPT / 2) return lazily(numbers, from, end);
    const found: Swap[] = [];
    for (const chunk of numbers) {
      for (const swap of keptChunk(chunk)) {
        if (swap.timestamp >= from && swap.timestamp < end) found.push(swap);
      }
    }
    return found;
  }

  return Object.freeze({ tokenAddress, createdAt, settled: true, swaps });
}
