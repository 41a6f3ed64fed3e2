import { mix, randomNumbers } from "../random.js";
import { BLOCK, CHUNK, type Path } from "./path.js";

/** A planned swap of a sniper, counted from the pair's creation. */
export interface PlannedSwap {
  /** Blocks since the creation. */
  readonly block: number;
  /** The number of the sniper. */
  readonly wallet: number;
  readonly side: "buy" | "sell";
  readonly tokens: number;
  readonly usd: number;
  /** Whether it is a bundle's. */
  readonly isBundled?: true;
}

const MINUTES = 60_000 / BLOCK;
/** What the wallets of a bundle leave of their tokens: it is not worth the fee of a sale. */
const DUST = 2e-7;

/**
 * Plans the swaps of a pair's snipers: they buy in the first blocks, and each sells in its own way; a bundle of them is one
 * owner's, who has funded them alike. Sorted by block. The first swap creates the pair.
 */
export function planLaunch(seed: number, path: Path): PlannedSwap[] {
  const random = randomNumbers(seed);
  const snipers = 9 + Math.floor(7 * random());
  const plan = [...planSnipers(snipers, random, path), ...planBundle(snipers, mix(seed + 1), path)];
  return plan.sort((a, b) => a.block - b.block);
}

/** Buyers pay a little more than the price, sellers get a little less. */
function priceAt(path: Path, block: number, side: PlannedSwap["side"]): number {
  return Math.exp(path.logPrice((block * BLOCK) / CHUNK)) * (side === "buy" ? 1.002 : 0.997);
}

/** Wallets that buy for the same in the very first block, and sell side by side: first half, then all but dust. */
function planBundle(firstWallet: number, seed: number, path: Path): PlannedSwap[] {
  const random = randomNumbers(seed);
  const size = 3 + Math.floor(3 * random());
  const paid = 100 + Math.floor(900 * random());
  const [half, rest] = [3 + 7 * random(), 15 + 30 * random()].map((minutes) => Math.floor(minutes) * MINUTES);
  const plan: PlannedSwap[] = [];
  for (let wallet = firstWallet; wallet < firstWallet + size; wallet += 1) {
    const tokens = paid / priceAt(path, 0, "buy");
    plan.push({ block: 0, wallet, side: "buy", tokens, usd: paid, isBundled: true });
    for (const [block, share] of [
      [half!, 0.5],
      [rest!, 0.5 - DUST],
    ] as const) {
      const sold = share * tokens;
      const usd = sold * priceAt(path, block, "sell");
      plan.push({ block, wallet, side: "sell", tokens: sold, usd, isBundled: true });
    }
  }
  return plan;
}

function planSnipers(snipers: number, random: () => number, path: Path): PlannedSwap[] {
  const between = (low: number, high: number) => low + (high - low) * random();
  const plan: PlannedSwap[] = [];

  for (let wallet = 0; wallet < snipers; wallet += 1) {
    let tokens = 0;
    const trade = (block: number, side: "buy" | "sell", size: { usd: number } | { share: number }) => {
      const price = priceAt(path, block, side);
      const amount = "usd" in size ? size.usd / price : size.share * tokens;
      tokens += side === "buy" ? amount : -amount;
      plan.push({ block, wallet, side, tokens: amount, usd: amount * price });
    };

    // The first buy of the first sniper is the pair's first swap: it creates the pair.
    let block = wallet === 0 ? 0 : Math.floor(4 * random());
    trade(block, "buy", { usd: 50 * 30 ** random() });
    if (random() < 0.35) trade(block + Math.floor(4 * random()), "buy", { usd: 50 * 10 ** random() });

    const manner = wallet % 5;
    if (manner === 4 && random() < 0.5) continue; // never sells
    block += 10;
    if (manner === 0 || manner === 2) {
      // Sells slowly, over days.
      let gap = between(4, 9) * MINUTES;
      block = Math.floor(block + between(1, 15) * MINUTES);
      for (let sells = 30 + Math.floor(40 * random()); sells > 0; sells -= 1) {
        trade(block, "sell", { share: between(0.02, 0.12) });
        block += Math.ceil(gap * between(0.5, 1.5));
        gap *= 1.05;
      }
    } else if (manner === 1) {
      // Sells everything within minutes.
      block += Math.floor(8 * MINUTES * random() ** 2);
      trade(block, "sell", { share: between(0.4, 0.8) });
      trade(block + Math.floor(between(2, 120)), "sell", { share: 1 });
    } else if (manner === 3) {
      // Buys again while the price rises, and sells in a few steps.
      block += Math.floor(between(3, 20) * MINUTES);
      trade(block, "buy", { usd: 50 * 10 ** random() });
      for (let sells = 4; sells > 0; sells -= 1) {
        block += Math.floor(between(5, 45) * MINUTES);
        trade(block, "sell", { share: between(0.2, 0.6) });
      }
    } else {
      // Sells hours later.
      block += Math.floor(between(40, 400) * MINUTES);
      trade(block, "sell", { share: between(0.3, 0.9) });
    }
  }
  return plan;
}
