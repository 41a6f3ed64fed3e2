import type { Candle, VirtualClock } from "../../../src/index.js";
import {
  createPairService,
  type PairService,
  type Swap,
  type SwapSource,
  unsettled,
} from "../../../src/service/index.js";
import { busyMarket } from "../../adapters/nats/busy-service.js";
import { chanceOf } from "../draw.js";
import type { NatsPlan } from "./plan.js";

/** An interval of a sparse market has at most so many swaps of a pair. */
const MOST_SWAPS = 4;
/** A silence lasts for so many intervals, or a multiple of that. */
const SILENCE = 8;
/** Of all such stretches, so many are silent. */
const SILENCES = 0.25;
/** How many intervals a sparse pair is old at the start. */
const PAST = 100;

/** The key that all collectors share. */
export const KEY = "key";

/** The service of a world, with a clock of its own. */
export class WorldService {
  readonly #plan: NatsPlan;
  readonly #clock: VirtualClock;
  readonly #service: PairService;

  constructor(plan: NatsPlan, clock: VirtualClock) {
    this.#plan = plan;
    this.#clock = clock;
    const source = marketOf(plan);
    this.#service = createPairService({ source, clock: () => this.now(), apiKeys: [KEY] });
  }

  now(): number {
    const now = this.#clock.now();
    let shown = now + this.#plan.serviceOffset;
    for (const fault of this.#plan.faults) {
      if (fault.kind === "service's clock set" && now >= this.#plan.start + fault.from) shown += fault.by;
    }
    return shown;
  }

  get fetch(): PairService["fetch"] {
    return this.#service.fetch;
  }

  /** What began before this instant does not change any more, and those who listen have heard it. */
  get settledUntil(): number {
    const { interval, market } = this.#plan;
    return this.now() - (market.revisionWindow + 2) * interval - 2 * market.settlesAfter - 3_000;
  }

  /** The candles of a pair as the service has them now. */
  async truth(pair: string): Promise<ReadonlyMap<number, Candle>> {
    const candles = new Map<number, Candle>();
    const { start, timeframe, interval } = this.#plan;
    for (let cursor: string | undefined; ; ) {
      const query = new URLSearchParams({
        timeframe,
        currency: "usd",
        // The first swap may lie in an interval that began before the pair.
        fromDate: String(Math.floor((start - (PAST + 1) * interval) / 1_000)),
        toDate: String(Math.ceil(this.now() / 1_000)),
        limit: "1000",
        ...(cursor === undefined ? {} : { cursor }),
      });
      const url = `http://localhost/token/mainnet/pairs/${pair}/ohlcv?${query}`;
      const answer = await this.#service.fetch(url, { headers: { "X-API-Key": KEY } });
      const page = JSON.parse(await answer.text());
      for (const row of page.result) {
        const timestamp = Date.parse(row.timestamp);
        candles.set(timestamp, { ...row, timestamp });
      }
      cursor = page.cursor;
      if (!cursor) return candles;
    }
  }
}

/** The swaps of all pairs, as the service comes to know them: late ones, and some that it takes back. */
function marketOf({ pairs, start, seed, interval, market }: NatsPlan): SwapSource {
  const second = Math.floor(start / 1_000) * 1_000;
  const { swaps, ...changes } = market;
  if (swaps !== undefined) {
    return sparseMarket(pairs, { createdAt: second - PAST * interval, seed, interval, swaps, ...changes });
  }
  const { settlesAfter, late, forks } = changes;
  return unsettled(busyMarket(pairs, second - 60_000), { seed, settlesAfter, late, forks });
}

/**
 * Pairs with so many swaps an interval on average: many an interval has one or none, and all pairs are silent for a
 * while. A swap that is taken back often takes its candle with it, long after others have seen it.
 */
function sparseMarket(
  pairs: readonly string[],
  {
    createdAt,
    seed,
    interval,
    swaps,
    settlesAfter,
    late,
    forks,
  }: Record<"createdAt" | "seed" | "interval" | "swaps" | "settlesAfter" | "late" | "forks", number>,
): SwapSource {
  const cell = interval / MOST_SWAPS;
  const share = swaps / MOST_SWAPS / (1 - SILENCES);
  const swapsOf = (pairAddress: string) => {
    const key = Math.floor(chanceOf(seed, pairAddress) * 2 ** 32);
    const isThere = (at: number, age: number) => {
      const of = Math.min(age, settlesAfter) / settlesAfter;
      if (chanceOf(key, "taken back", at) < forks) return of < chanceOf(key, "until", at);
      return chanceOf(key, "late", at) >= late || of >= chanceOf(key, "from", at);
    };
    const swapIn = (at: number): Swap | undefined => {
      const stretch = Math.floor(at / (MOST_SWAPS * SILENCE));
      if (chanceOf(key, "silence", stretch) < SILENCES || chanceOf(key, at) >= share) return undefined;
      const timestamp = createdAt + Math.floor((at + chanceOf(key, "instant", at)) * cell);
      const price = 10 + chanceOf(key, "price", at);
      return {
        blockNumber: Math.floor(timestamp / 400),
        timestamp,
        transactionHash: `${pairAddress}-${at}`,
        walletAddress: `wallet-${at % 5}`,
        side: at % 3 === 0 ? "sell" : "buy",
        tokenAmount: 1,
        usdAmount: price,
        nativeAmount: price / 100,
      };
    };
    return function* ({ from, to, asOf }: Record<"from" | "to" | "asOf", number>): Iterable<Swap> {
      const end = Math.min(to, asOf + 1);
      for (
        let at = Math.max(0, Math.floor((from - createdAt) / cell));
        createdAt + at * cell < end;
        at += 1
      ) {
        const swap = swapIn(at);
        if (swap === undefined || swap.timestamp < from || swap.timestamp >= end) continue;
        if (isThere(at, asOf - swap.timestamp)) yield swap;
      }
    };
  };
  const made = new Map(
    pairs.map((address) => [address, { tokenAddress: "token", createdAt, swaps: swapsOf(address) }]),
  );
  return { pair: (_network, address) => made.get(address) };
}
