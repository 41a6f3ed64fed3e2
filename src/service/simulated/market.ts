import { checkNumber, checkSniperQuery, toInstant } from "../../contract/input.js";
import type { DateLike, Network } from "../../contract/model.js";
import { InvalidInputError } from "../../errors.js";
import { Kept } from "../kept.js";
import { hashText, mix, randomAt, randomNumbers } from "../random.js";
import type { Swap, SwapPair, SwapRange, SwapSource } from "../swaps.js";
import { base58At } from "./base58.js";
import { type PlannedSwap, planLaunch } from "./launch.js";
import { BLOCK, CHUNK, nativeUsd, pairPath } from "./path.js";

/** What a simulated market is made from. */
export interface SimulatedMarketOptions {
  /** A whole number; another seed is another market. */
  seed: number;
  /** When all its pairs are created; default 2025-01-01. An hour before now, and snipers sell every few minutes. */
  createdAt?: DateLike;
  /** The addresses of its pairs, or how many to make up (1 to 100,000); default 1. */
  pairs?: number | readonly string[];
}

/** A source of simulated swaps, which can be asked for its pairs. */
export interface SimulatedMarket extends SwapSource {
  /** The addresses of its pairs. */
  readonly pairs: readonly string[];
}

const DEFAULT_CREATION = Date.UTC(2025, 0, 1);
const MOST_PAIRS = 100_000;
/** Bounds on what is kept for the next request; everything can be made again. */
const CHUNKS_KEPT = 800;
const PAIRS_KEPT = 1_024;
const BLOCKS_A_CHUNK = CHUNK / BLOCK;
/** Ordinary traders come in companies of this many, a new one every ten minutes. */
const COMPANY = 96;
const COMPANY_CHUNKS = 60;

/**
 * A market of young token pairs on mainnet, made up from a seed: bursts, silences, trends, and snipers that buy in the
 * first blocks and sell over minutes, hours and days.
 *
 * It is a pure function of the seed, the pair's address and the time since `createdAt`: any range can be asked for in
 * any order, and two processes agree. A pair costs nothing until it is asked for. Start prices run from 1e-7 to 1e3
 * US dollars; the native coin moves around 150. Throws an `InvalidInputError` for options that it cannot take.
 *
 * @example
 * ```ts
 * import { createPairService, simulatedMarket } from "pairstream/service";
 *
 * const source = simulatedMarket({ seed: 42, createdAt: Date.now() - 3_600_000, pairs: 3 });
 * const service = createPairService({ source });
 * console.log(source.pairs);
 * ```
 */
export function simulatedMarket(options: SimulatedMarketOptions): SimulatedMarket {
  if (typeof options !== "object" || options === null) {
    throw new InvalidInputError("options", "an object with a seed", "is missing");
  }
  const { MIN_SAFE_INTEGER: min, MAX_SAFE_INTEGER: max } = Number;
  const seed = checkNumber("seed", options.seed, { min, max, integer: true });
  const createdAt = Math.floor(toInstant("createdAt", options.createdAt ?? DEFAULT_CREATION));
  const pairs = Object.freeze(pairAddresses(seed, options.pairs ?? 1));
  const numbers = new Map(pairs.map((pairAddress, number) => [pairAddress, number]));
  const made = new Kept<number, SwapPair>(PAIRS_KEPT);
  const chunks: Chunks = new Kept(CHUNKS_KEPT);
  return Object.freeze({
    pairs,
    pair: (network: Network, pairAddress: string) => {
      const number = network === "mainnet" ? numbers.get(pairAddress) : undefined;
      if (number === undefined) return undefined;
      let pair = made.get(number);
      if (pair === undefined) {
        pair = simulatedPair({ seed, pairAddress, number, createdAt, chunks });
        made.set(number, pair);
      }
      return pair;
    },
  });
}

/** The chunks of all pairs, by the pair's number and the chunk's in one. */
type Chunks = Kept<number, readonly Swap[]>;

function pairAddresses(seed: number, pairs: number | readonly string[]): string[] {
  if (typeof pairs === "number") {
    const count = checkNumber("pairs", pairs, { min: 1, max: MOST_PAIRS, integer: true });
    const key = hashText(String(seed), 1);
    return Array.from({ length: count }, (_, at) => base58At(key, at, 44));
  }
  if (!Array.isArray(pairs) || pairs.length === 0 || pairs.length > MOST_PAIRS) {
    const allowed = `1 to ${MOST_PAIRS} addresses, or their number`;
    throw new InvalidInputError("pairs", allowed, "is neither a number nor such a list");
  }
  return pairs.map((pairAddress) => checkSniperQuery({ pairAddress }).pairAddress);
}

function simulatedPair({
  seed,
  pairAddress,
  number,
  createdAt,
  chunks,
}: {
  seed: number;
  pairAddress: string;
  number: number;
  createdAt: number;
  chunks: Chunks;
}): SwapPair {
  const key = hashText(`${seed} ${pairAddress}`, 2);
  const textKey = hashText(`${seed} ${pairAddress}`, 3);
  const nativeKey = hashText(String(seed), 4);
  const chunkKey = mix(key + 1);
  const path = pairPath(mix(key + 2));
  const tokenDecimals = path.startPrice < 1 ? 9 : 12;
  const firstBlock = 200_000_000 + Math.floor(1e8 * randomAt(key, 3));
  const traderKey = mix(textKey + 1);
  const sniperKey = mix(textKey + 2);
  const plan = planLaunch(mix(key + 4), path);
  const plannedIn = new Map<number, PlannedSwap[]>();
  for (const swap of plan) {
    const chunk = Math.floor(swap.block / BLOCKS_A_CHUNK);
    const others = plannedIn.get(chunk);
    if (others === undefined) plannedIn.set(chunk, [swap]);
    else others.push(swap);
  }

  const sniper = (place: number) => base58At(sniperKey, place, 44);
  const trader = (company: number, place: number) => base58At(traderKey, company * COMPANY + place, 44);

  function makeChunk(chunk: number): readonly Swap[] {
    const found: (Omit<PlannedSwap, "wallet"> & { wallet: string })[] = [];
    const rate = path.rate(chunk);
    if (rate > 0) {
      const random = randomNumbers(mix(chunkKey ^ mix(chunk)));
      const log = path.logPrice(chunk);
      const climb = path.logPrice(chunk + 1) - log;
      const company = Math.floor(chunk / COMPANY_CHUNKS);
      // Exponential gaps make a Poisson process, already in order.
      for (let time = gap(random, rate); time < CHUNK; time += gap(random, rate)) {
        const side = random() < 0.52 + Math.max(-0.3, Math.min(0.3, 8 * climb)) ? "buy" : "sell";
        const lean = (side === "buy" ? 0.0015 : -0.0015) + 0.008 * (random() - 0.5);
        // The sum of three is close enough to a bell; sizes run from 1 to about 4,000 US dollars.
        const usd = Math.exp(8.3 * ((random() + random() + random()) / 3));
        const tokens = usd / Math.exp(log + climb * (time / CHUNK) + lean);
        const block = chunk * BLOCKS_A_CHUNK + Math.floor(time / BLOCK);
        found.push({ block, wallet: trader(company, Math.floor(COMPANY * random())), side, tokens, usd });
      }
    }
    const snipers = plannedIn.get(chunk);
    if (snipers !== undefined) {
      found.unshift(...snipers.map((swap) => ({ ...swap, wallet: sniper(swap.wallet) })));
      // Sorting is stable: the swap that creates the pair stays before all others of its block.
      found.sort((a, b) => a.block - b.block);
    }
    const nativePrice = nativeUsd(nativeKey, chunk);
    const hashKey = mix(textKey ^ mix(chunk));
    return found.map(({ block, wallet, side, tokens, usd }, at) =>
      Object.freeze({
        blockNumber: firstBlock + block,
        timestamp: createdAt + block * BLOCK,
        transactionHash: base58At(hashKey, at, 88),
        walletAddress: wallet,
        side,
        tokenAmount: toDecimals(tokens, tokenDecimals),
        usdAmount: toDecimals(usd, 6),
        nativeAmount: toDecimals(usd / nativePrice, 9),
      }),
    );
  }

  // Who was there early never comes back, save the snipers: their chunks are few, and known beforehand.
  let early: { wallets: Set<string>; chunks: readonly number[] } | undefined;
  function chunksOf(wallets: ReadonlySet<string>, first: number, last: number): Iterable<number> {
    if (early === undefined) {
      const company = Array.from({ length: COMPANY }, (_, place) => trader(0, place));
      const chunkNumbers = new Set([...span(0, COMPANY_CHUNKS - 1), ...plannedIn.keys()]);
      early = {
        wallets: new Set([...company, ...plan.map(({ wallet }) => sniper(wallet))]),
        chunks: [...chunkNumbers].sort((a, b) => a - b),
      };
    }
    for (const wallet of wallets) if (!early.wallets.has(wallet)) return span(first, last);
    return early.chunks.filter((chunk) => chunk >= first && chunk <= last);
  }

  function swaps({ from, to, asOf, wallets }: SwapRange): Iterable<Swap> {
    const end = Math.min(to, asOf + 1);
    const first = Math.max(0, Math.floor((from - createdAt) / CHUNK));
    const last = Math.floor((end - 1 - createdAt) / CHUNK);
    const numbers = wallets === undefined ? span(first, last) : chunksOf(wallets, first, last);
    // A wide range is made as it is looked at, and not kept: it would only push out what the next poll asks for.
    if (last - first > CHUNKS_KEPT / 2) return lazily(numbers, from, end);
    const found: Swap[] = [];
    for (const chunk of numbers) {
      for (const swap of keptChunk(chunk))
        if (swap.timestamp >= from && swap.timestamp < end) found.push(swap);
    }
    return found;
  }

  function* lazily(numbers: Iterable<number>, from: number, end: number): Iterable<Swap> {
    for (const chunk of numbers) {
      const made = chunks.get(keyOf(chunk)) ?? makeChunk(chunk);
      for (const swap of made) if (swap.timestamp >= from && swap.timestamp < end) yield swap;
    }
  }

  function keptChunk(chunk: number): readonly Swap[] {
    let made = chunks.get(keyOf(chunk));
    if (made === undefined) {
      made = makeChunk(chunk);
      chunks.set(keyOf(chunk), made);
    }
    return made;
  }

  const keyOf = (chunk: number) => number * 2 ** 32 + chunk;

  const tokenAddress = base58At(textKey, 0, 44);
  return Object.freeze({ tokenAddress, createdAt, settled: true, swaps });
}

/** A time to wait for the next swap, ms, at a rate in swaps a second. */
function gap(random: () => number, rate: number): number {
  return (-Math.log(1 - random()) / rate) * 1_000;
}

function* span(first: number, last: number): Iterable<number> {
  for (let number = first; number <= last; number += 1) yield number;
}

/** Rounds to a number of decimals, as amounts on a chain are. */
function toDecimals(amount: number, decimals: number): number {
  const scale = 10 ** decimals;
  return Math.round(amount * scale) / scale;
}
