import { hashText, mix, randomAt, randomNumbers } from "../random.js";
import type { Swap } from "../swaps.js";
import { base58At } from "./base58.js";
import { type PlannedSwap, planLaunch } from "./launch.js";
import { BLOCK, CHUNK, nativeUsd, type Path, pairPath } from "./path.js";

const BLOCKS_A_CHUNK = CHUNK / BLOCK;
/** The number of ordinary traders active at a time. A new group comes every ten minutes. */
const COMPANY = 96;
const COMPANY_CHUNKS = 60;
/** Where the hashes of a bundle's swaps begin: they take none of the others', which stay what they are without it. */
const BUNDLED = 1 << 20;

/** A swap before its amounts are rounded and its hash is computed. */
type Trade = Omit<PlannedSwap, "wallet"> & { readonly wallet: string };

/**
 * A class on purpose. V8 allocates literals of long-lived shapes among the old objects, where dead ones keep their
 * contents in memory for long: a service took a third longer.
 */
class SimulatedSwap implements Swap {
  constructor(
    readonly blockNumber: number,
    readonly timestamp: number,
    readonly transactionHash: string,
    readonly walletAddress: string,
    readonly side: Swap["side"],
    readonly tokenAmount: number,
    readonly usdAmount: number,
    readonly nativeAmount: number,
  ) {}
}

/** The swaps of one pair, by chunk: a pure function of the seed, the address and the time since the creation. */
export class PairTrading {
  readonly tokenAddress: string;
  readonly createdAt: number;
  readonly #path: Path;
  readonly #firstBlock: number;
  readonly #tokenDecimals: number;
  readonly #plan: readonly PlannedSwap[];
  /** The planned swaps by chunk. */
  readonly #plannedIn: ReadonlyMap<number, readonly PlannedSwap[]>;
  readonly #chunkKey: number;
  readonly #nativeKey: number;
  readonly #textKey: number;
  #early: { readonly wallets: ReadonlySet<string>; readonly chunks: readonly number[] } | undefined;

  constructor(seed: number, pairAddress: string, createdAt: number) {
    const key = hashText(`${seed} ${pairAddress}`, 2);
    this.#textKey = hashText(`${seed} ${pairAddress}`, 3);
    this.#nativeKey = hashText(String(seed), 4);
    this.#chunkKey = mix(key + 1);
    this.#path = pairPath(mix(key + 2));
    this.#firstBlock = 200_000_000 + Math.floor(1e8 * randomAt(key, 3));
    this.#tokenDecimals = this.#path.startPrice < 1 ? 9 : 12;
    this.#plan = planLaunch(mix(key + 4), this.#path);
    this.#plannedIn = byChunk(this.#plan);
    this.tokenAddress = base58At(this.#textKey, 0, 44);
    this.createdAt = createdAt;
  }

  /** The swaps of a chunk, in order of time. */
  chunk(chunk: number): readonly Swap[] {
    const trades = this.#ordinaryTrades(chunk);
    const planned = this.#plannedIn.get(chunk);
    if (planned !== undefined) {
      trades.unshift(...planned.map((swap) => ({ ...swap, wallet: this.#sniper(swap.wallet) })));
      // Sorting is stable: the swap that creates the pair stays first in its block.
      trades.sort((a, b) => a.block - b.block);
    }
    const nativePrice = nativeUsd(this.#nativeKey, chunk);
    const hashKey = mix(this.#textKey ^ mix(chunk));
    let [others, bundled] = [0, BUNDLED];
    const next = ({ isBundled }: Trade) => (isBundled ? bundled++ : others++);
    const places = trades.map(next);
    return trades.map(({ block, wallet, side, tokens, usd }, at) =>
      Object.freeze(
        new SimulatedSwap(
          this.#firstBlock + block,
          this.createdAt + block * BLOCK,
          base58At(hashKey, places[at]!, 88),
          wallet,
          side,
          toDecimals(tokens, this.#tokenDecimals),
          toDecimals(usd, 6),
          toDecimals(usd / nativePrice, 9),
        ),
      ),
    );
  }

  /**
   * The chunks from `first` to `last` in which these wallets may have swaps. Early wallets do not come back, except the
   * snipers; their few chunks are known.
   */
  chunksOf(wallets: ReadonlySet<string>, first: number, last: number): Iterable<number> {
    this.#early ??= this.#earlyWallets();
    const early = this.#early;
    for (const wallet of wallets) if (!early.wallets.has(wallet)) return span(first, last);
    return early.chunks.filter((chunk) => chunk >= first && chunk <= last);
  }

  #earlyWallets() {
    const company = Array.from({ length: COMPANY }, (_, place) => this.#trader(0, place));
    const chunks = new Set([...span(0, COMPANY_CHUNKS - 1), ...this.#plannedIn.keys()]);
    return {
      wallets: new Set([...company, ...this.#plan.map(({ wallet }) => this.#sniper(wallet))]),
      chunks: [...chunks].sort((a, b) => a - b),
    };
  }

  /** The trades of everybody except the snipers. */
  #ordinaryTrades(chunk: number): Trade[] {
    const trades: Trade[] = [];
    const path = this.#path;
    const rate = path.rate(chunk);
    if (rate <= 0) return trades;
    const random = randomNumbers(mix(this.#chunkKey ^ mix(chunk)));
    const log = path.logPrice(chunk);
    const climb = path.logPrice(chunk + 1) - log;
    const company = Math.floor(chunk / COMPANY_CHUNKS);
    // Exponential gaps make a Poisson process, which is sorted already.
    for (let time = gap(random, rate); time < CHUNK; time += gap(random, rate)) {
      const side = random() < 0.52 + Math.max(-0.3, Math.min(0.3, 8 * climb)) ? "buy" : "sell";
      const lean = (side === "buy" ? 0.0015 : -0.0015) + 0.008 * (random() - 0.5);
      // The sum of three uniform numbers is close to a bell curve. Sizes run from 1 to about 4,000 US dollars.
      const usd = Math.exp(8.3 * ((random() + random() + random()) / 3));
      const tokens = usd / Math.exp(log + climb * (time / CHUNK) + lean);
      const block = chunk * BLOCKS_A_CHUNK + Math.floor(time / BLOCK);
      const wallet = this.#trader(company, Math.floor(COMPANY * random()));
      trades.push({ block, wallet, side, tokens, usd });
    }
    return trades;
  }

  #sniper(place: number): string {
    return base58At(mix(this.#textKey + 2), place, 44);
  }

  #trader(company: number, place: number): string {
    return base58At(mix(this.#textKey + 1), company * COMPANY + place, 44);
  }
}

function byChunk(plan: readonly PlannedSwap[]): Map<number, PlannedSwap[]> {
  const plannedIn = new Map<number, PlannedSwap[]>();
  for (const swap of plan) {
    const chunk = Math.floor(swap.block / BLOCKS_A_CHUNK);
    const others = plannedIn.get(chunk);
    if (others === undefined) plannedIn.set(chunk, [swap]);
    else others.push(swap);
  }
  return plannedIn;
}

/** The whole numbers from `first` to `last`. */
export function* span(first: number, last: number): Iterable<number> {
  for (let number = first; number <= last; number += 1) yield number;
}

/** The time until the next swap, ms, at a rate in swaps per second. */
function gap(random: () => number, rate: number): number {
  return (-Math.log(1 - random()) / rate) * 1_000;
}

/** Rounds to a number of decimals, like amounts on a chain. */
function toDecimals(amount: number, decimals: number): number {
  const scale = 10 ** decimals;
  return Math.round(amount * scale) / scale;
}
