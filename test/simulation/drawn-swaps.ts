import {
  type Swap,
  type SwapPair,
  type SwapSource,
  simulatedMarket,
  unsettled,
} from "../../src/service/index.js";
import { Draw } from "./draw.js";
import { serviceClockOf } from "./service-time.js";
import type { WorldPlan } from "./world-plan.js";

const BLOCK = 400;
/** Of the swaps before the run, about so many for each doubling of their age. */
const SWAPS_AN_AGE = 250;

/** The swaps of all pairs of a run, as a service comes to know them. */
export function marketOf(world: WorldPlan, seed: number, length: number): SwapSource {
  const addresses = [...world.pairs, world.callPair];
  const settled: SwapSource =
    world.market === "simulated"
      ? simulatedMarket({ seed, createdAt: world.createdAt, pairs: addresses })
      : tapesOf(world, seed, length, addresses);
  return world.indexing === undefined ? settled : unsettled(settled, { seed, ...world.indexing });
}

function tapesOf(world: WorldPlan, seed: number, length: number, addresses: readonly string[]): SwapSource {
  const pairs = new Map<string, SwapPair>();
  return {
    pair: (network, address) => {
      if (network !== world.network || !addresses.includes(address)) return undefined;
      let pair = pairs.get(address);
      if (pair === undefined) {
        const swaps = drawSwaps(new Draw(`tape ${seed} ${address}`), world, length);
        const tape: SwapPair = {
          tokenAddress: "token",
          createdAt: world.createdAt,
          settled: true,
          swaps: ({ from, to, asOf }) =>
            swaps.slice(indexOf(swaps, from), indexOf(swaps, Math.min(to, asOf + 1))),
        };
        pair = tape;
        pairs.set(address, pair);
      }
      return pair;
    },
  };
}

/** Sparse where it is long ago, else about `swapEvery` apart, in bursts and with silences. */
function drawSwaps(draw: Draw, world: WorldPlan, length: number): Swap[] {
  const { start, createdAt, swapEvery, busy } = world;
  const begins = serviceClockOf(world).at(start);
  const ends = begins + length + 3_600_000;
  const instants: number[] = [createdAt, createdAt + BLOCK, createdAt + 2 * BLOCK];
  for (let instant = createdAt; ; ) {
    const age = Math.max(0, begins - instant);
    const usual = Math.max(swapEvery, age / SWAPS_AN_AGE);
    const isBusy = busy !== undefined && instant >= busy.from && instant < busy.until;
    const mean = isBusy ? Math.min(usual, busy.every) : usual;
    const gap = draw.chance(0.25) ? draw.whole(0, 3) * BLOCK : -Math.log(1 - draw.next()) * mean;
    instant += draw.chance(0.004) ? draw.scaled(60_000, 10_800_000) : gap;
    if (instant >= ends) break;
    instants.push(createdAt + Math.floor((instant - createdAt) / BLOCK) * BLOCK);
  }
  // The first ones of a pair may fall between those of its creation.
  instants.sort((a, b) => a - b);
  let price = 10 ** draw.between(-6, 3);
  const snipers = draw.whole(1, 6);
  return instants.map((timestamp, at): Swap => {
    price *= Math.exp(0.02 * (draw.next() - 0.5));
    const usd = draw.scaled(1, 3_000);
    const isEarly = at < 12;
    const wallet =
      isEarly || draw.chance(0.1) ? `sniper${draw.whole(1, snipers)}` : `trader${draw.whole(1, 40)}`;
    return {
      blockNumber: 1_000 + Math.floor((timestamp - createdAt) / BLOCK),
      timestamp,
      transactionHash: `hash${at}`,
      walletAddress: wallet,
      side: isEarly ? (at % 4 === 3 ? "sell" : "buy") : draw.chance(0.5) ? "buy" : "sell",
      tokenAmount: usd / price,
      usdAmount: usd,
      nativeAmount: usd / 150,
    };
  });
}

function indexOf(swaps: readonly Swap[], instant: number): number {
  let low = 0;
  let high = swaps.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (swaps[middle]!.timestamp < instant) low = middle + 1;
    else high = middle;
  }
  return low;
}
