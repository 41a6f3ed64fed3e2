import fc from "fast-check";
import { createPairService, type Swap, simulatedMarket, swapTape } from "pairstream/service";
import { describe, expect, it } from "vitest";
import { ask, naiveCandles, ohlcv, toLine } from "./harness.js";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const createdAt = Date.UTC(2024, 2, 1);
const seeds = [0, 1, 2, 3, 4, 5, 6, 7];

function swapsOf(seed: number, from: number, to: number, asOf = to): Swap[] {
  const market = simulatedMarket({ seed, createdAt });
  const pair = market.pair("mainnet", market.pairs[0]!)!;
  return [...pair.swaps({ from: createdAt + from, to: createdAt + to, asOf: createdAt + asOf })];
}

const price = ({ usdAmount, tokenAmount }: Swap) => usdAmount / tokenAmount;

describe("simulatedMarket is a pure function", () => {
  it("gives the same swaps for the same seed, and others for another", () => {
    expect(swapsOf(1, 0, 10 * MINUTE)).toEqual(swapsOf(1, 0, 10 * MINUTE));
    expect(swapsOf(1, 0, 10 * MINUTE)).not.toEqual(swapsOf(2, 0, 10 * MINUTE));
  });

  it("is the same, later, where it is created later", () => {
    const later = simulatedMarket({ seed: 1, createdAt: createdAt + 12_345 });
    const pair = later.pair("mainnet", later.pairs[0]!)!;
    const shifted = [...pair.swaps({ from: 0, to: Infinity, asOf: createdAt + 12_345 + 5 * MINUTE })];
    expect(shifted.map((swap) => ({ ...swap, timestamp: swap.timestamp - 12_345 }))).toEqual(
      swapsOf(1, 0, Infinity, 5 * MINUTE),
    );
  });

  it("gives for any ranges in any order what the whole gives", () => {
    const whole = swapsOf(5, 0, 3 * HOUR);
    const market = simulatedMarket({ seed: 5, createdAt });
    const pair = market.pair("mainnet", market.pairs[0]!)!;
    const offset = fc.integer({ min: -MINUTE, max: 3 * HOUR });
    fc.assert(
      fc.property(offset, offset, offset, (from, to, asOf) => {
        const range = { from: createdAt + from, to: createdAt + to, asOf: createdAt + asOf };
        const expected = whole.filter(
          ({ timestamp }) => timestamp >= range.from && timestamp < range.to && timestamp <= range.asOf,
        );
        expect([...pair.swaps(range)]).toEqual(expected);
      }),
    );
  });

  it("gives for any split of a range the same as for the whole", () => {
    const whole = swapsOf(6, 0, HOUR);
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: HOUR }), { maxLength: 6 }), (cuts) => {
        const ends = [0, ...cuts.sort((a, b) => a - b), HOUR];
        const parts = ends.slice(1).flatMap((end, at) => swapsOf(6, ends[at]!, end, HOUR));
        expect(parts).toEqual(whole);
      }),
      { numRuns: 20 },
    );
  });

  it("leaves out others, never a wallet asked for, where it is asked for wallets", () => {
    const market = simulatedMarket({ seed: 4, createdAt });
    const pair = market.pair("mainnet", market.pairs[0]!)!;
    const range = { from: 0, to: Infinity, asOf: createdAt + 5 * HOUR };
    const whole = [...pair.swaps(range)];
    const someone = fc.constantFrom(...whole.map(({ walletAddress }) => walletAddress), "nobody");
    fc.assert(
      fc.property(fc.uniqueArray(someone, { maxLength: 4 }), (names) => {
        const wallets = new Set(names);
        const theirs = (swaps: Iterable<Swap>) =>
          [...swaps].filter((swap) => wallets.has(swap.walletAddress));
        expect(theirs(pair.swaps({ ...range, wallets }))).toEqual(theirs(whole));
      }),
      { numRuns: 15 },
    );
    const early = new Set(whole.slice(0, 5).map(({ walletAddress }) => walletAddress));
    expect([...pair.swaps({ ...range, wallets: early })].length).toBeLessThan(whole.length / 2);
  });

  it("has pairs that differ, and the same ones whatever their number", () => {
    const market = simulatedMarket({ seed: 1, createdAt, pairs: 1_000 });
    expect(new Set(market.pairs).size).toBe(1_000);
    expect(market.pairs[0]).toBe(simulatedMarket({ seed: 1 }).pairs[0]);
    const [first, second] = [0, 999].map((at) => {
      const pair = market.pair("mainnet", market.pairs[at]!)!;
      return { pair, swaps: [...pair.swaps({ from: 0, to: Infinity, asOf: createdAt + 5 * MINUTE })] };
    });
    expect(first!.pair.tokenAddress).not.toBe(second!.pair.tokenAddress);
    expect(first!.swaps).toEqual(swapsOf(1, 0, Infinity, 5 * MINUTE));
    expect(second!.swaps.map(price)).not.toEqual(first!.swaps.map(price));
    const named = simulatedMarket({ seed: 1, createdAt, pairs: [market.pairs[999]!, "my-pair"] });
    const again = named.pair("mainnet", market.pairs[999]!)!;
    expect([...again.swaps({ from: 0, to: Infinity, asOf: createdAt + 5 * MINUTE })]).toEqual(second!.swaps);
    expect(named.pair("mainnet", "my-pair")).toBeDefined();
    expect(named.pair("mainnet", "unknown")).toBeUndefined();
    expect(named.pair("devnet", "my-pair")).toBeUndefined();
  });

  it("gives a pair again as it was after a thousand others", () => {
    const market = simulatedMarket({ seed: 2, createdAt, pairs: 1_200 });
    const read = (address: string) => [
      ...market.pair("mainnet", address)!.swaps({ from: 0, to: Infinity, asOf: createdAt + 20 * SECOND }),
    ];
    const before = read(market.pairs[0]!);
    for (const address of market.pairs) read(address);
    expect(read(market.pairs[0]!)).toEqual(before);
  });
});

describe("simulatedMarket looks like a young pair", () => {
  it("starts between 1e-7 and 1e3 US dollars, by seed", () => {
    const starts = Array.from({ length: 300 }, (_, seed) => price(swapsOf(seed, 0, SECOND)[0]!));
    expect(Math.min(...starts)).toBeGreaterThan(1e-7);
    expect(Math.max(...starts)).toBeLessThan(1e3);
    expect(Math.min(...starts)).toBeLessThan(1e-6);
    expect(Math.max(...starts)).toBeGreaterThan(100);
    expect(starts.filter((start) => start < 1e-2).length).toBeGreaterThan(75);
  });

  it("has its first swap, a buy, in the instant and the block of its creation", () => {
    for (const seed of seeds) {
      const [first] = swapsOf(seed, 0, 1);
      expect(first).toMatchObject({ timestamp: createdAt, side: "buy" });
      expect(swapsOf(seed, -HOUR, 0)).toEqual([]);
    }
  });

  it.each(seeds)("has well-formed swaps, bursts, silences and moves (seed %i)", (seed) => {
    const swaps = swapsOf(seed, 0, 3 * HOUR);
    const firstBlock = swaps[0]!.blockNumber;
    expect(new Set(swaps.map(({ transactionHash }) => transactionHash)).size).toBe(swaps.length);
    let latest = createdAt;
    for (const swap of swaps) {
      if (swap.timestamp < latest) throw new Error("Out of order");
      latest = swap.timestamp;
      const isGood =
        Object.isFrozen(swap) &&
        swap.blockNumber - firstBlock === (swap.timestamp - createdAt) / 400 &&
        swap.tokenAmount > 0 &&
        swap.usdAmount > 0 &&
        swap.nativeAmount > 0 &&
        /^[1-9A-HJ-NP-Za-km-z]{44}$/.test(swap.walletAddress) &&
        /^[1-9A-HJ-NP-Za-km-z]{88}$/.test(swap.transactionHash) &&
        ["buy", "sell"].includes(swap.side);
      if (!isGood) throw new Error(`Not a good swap: ${JSON.stringify(swap)}`);
    }

    const gaps = swaps.slice(1).map(({ timestamp }, at) => timestamp - swaps[at]!.timestamp);
    expect(Math.max(...gaps)).toBeGreaterThan(MINUTE);
    const perMinute = new Map<number, number>();
    for (const { timestamp } of swaps) {
      const minute = Math.floor(timestamp / MINUTE);
      perMinute.set(minute, (perMinute.get(minute) ?? 0) + 1);
    }
    expect(Math.max(...perMinute.values())).toBeGreaterThan(80);
    // Where a minute is busy, hardly one stretch of ten seconds in it is empty.
    const tens = new Set(swaps.map(({ timestamp }) => Math.floor(timestamp / (10 * SECOND))));
    const busy = [...perMinute].filter(([, count]) => count >= 30).map(([minute]) => minute);
    expect(busy.length).toBeGreaterThan(15);
    const filled = busy.flatMap((minute) => [0, 1, 2, 3, 4, 5].map((part) => tens.has(minute * 6 + part)));
    expect(filled.filter(Boolean).length / filled.length).toBeGreaterThan(0.95);

    const prices = swaps.map(price);
    expect(Math.max(...prices) / Math.min(...prices)).toBeGreaterThan(1.1);
    const jumps = prices.slice(1).map((value, at) => Math.abs(Math.log(value / prices[at]!)));
    expect(jumps.sort((a, b) => a - b)[Math.floor(jumps.length / 2)]).toBeLessThan(0.02);
    const coins = swaps.map(({ usdAmount, nativeAmount }) => usdAmount / nativeAmount);
    expect(Math.min(...coins)).toBeGreaterThan(80);
    expect(Math.max(...coins)).toBeLessThan(250);
    expect(Math.max(...coins)).toBeGreaterThan(Math.min(...coins) * 1.0005);
  });

  it("has snipers with profits and losses, and sales every few minutes in the second hour", async () => {
    let profits = 0;
    let losses = 0;
    for (const seed of seeds) {
      let now = createdAt;
      const source = simulatedMarket({ seed, createdAt });
      const service = createPairService({ source, clock: () => now });
      const report = async (at: number) => {
        now = createdAt + at;
        return (await ask(service, `/token/mainnet/pairs/${source.pairs[0]}/snipers`)).body.result as {
          realizedProfitUsd: number;
          totalSellTransactions: number;
          currentBalance: number;
        }[];
      };
      const sold = (snipers: { totalSellTransactions: number }[]) =>
        snipers.reduce((total, { totalSellTransactions }) => total + totalSellTransactions, 0);
      const hours = [await report(HOUR), await report(2 * HOUR)] as const;
      expect(hours[0].length).toBeGreaterThan(5);
      expect(sold(hours[1]) - sold(hours[0])).toBeGreaterThan(12);
      const dayTwo = await report(24 * HOUR);
      expect(sold(await report(30 * HOUR))).toBeGreaterThan(sold(dayTwo));
      profits += hours[1].filter(({ realizedProfitUsd }) => realizedProfitUsd > 0).length;
      losses += hours[1].filter(({ realizedProfitUsd }) => realizedProfitUsd < 0).length;
    }
    expect(profits).toBeGreaterThan(10);
    expect(losses).toBeGreaterThan(10);
  });

  it("is still alive after two years, at finite prices", () => {
    const day = 24 * HOUR;
    const swaps = swapsOf(3, 730 * day, 732 * day);
    expect(swaps.length).toBeGreaterThan(500);
    expect(swaps.every((swap) => Number.isFinite(price(swap)) && price(swap) > 0)).toBe(true);
  });

  it("serves the same candles as its swaps on a tape", async () => {
    const swaps = swapsOf(8, 0, 2 * HOUR);
    const source = simulatedMarket({ seed: 8, createdAt });
    const address = source.pairs[0]!;
    const clock = () => createdAt + 2 * HOUR - 1;
    const query = {
      timeframe: "30s",
      currency: "native",
      fromDate: createdAt / 1_000,
      toDate: "2024-03-02",
      limit: 500,
    };
    const { body } = await ask(createPairService({ source, clock }), ohlcv(address, query));
    expect(body.result).toEqual(naiveCandles(swaps, "30s", "native"));
    const { tokenAddress } = body;
    const tape = swapTape(swaps.map(toLine), { pairAddress: address, tokenAddress });
    const service = createPairService({ source: tape, clock });
    expect((await ask(service, ohlcv(address, query))).body).toEqual(body);
    const snipers = `/token/mainnet/pairs/${address}/snipers?blocksAfterCreation=1000`;
    expect((await ask(service, snipers)).body).toEqual(
      (await ask(createPairService({ source, clock }), snipers)).body,
    );
  });
});

describe("simulatedMarket options", () => {
  it.each([
    ["seed", { seed: 1.5 }],
    ["seed", { seed: "1" }],
    ["seed", {}],
    ["createdAt", { seed: 1, createdAt: "yesterday" }],
    ["pairs", { seed: 1, pairs: 0 }],
    ["pairs", { seed: 1, pairs: 100_001 }],
    ["pairs", { seed: 1, pairs: [] }],
    ["pairs", { seed: 1, pairs: "pair" }],
    ["pairAddress", { seed: 1, pairs: ["a/b"] }],
    ["pair", { seed: 1, pair: 3 }],
    ["options", undefined],
  ])("refuses a bad %s", (parameter, options) => {
    expect(() => simulatedMarket(options as never)).toThrow(
      expect.objectContaining({ name: "InvalidInputError", parameter }),
    );
  });

  it("is created on 1 January 2025 unless told otherwise", () => {
    const market = simulatedMarket({ seed: -1 });
    expect(market.pairs).toHaveLength(1);
    expect(market.pair("mainnet", market.pairs[0]!)!.createdAt).toBe(Date.UTC(2025, 0, 1));
    expect(Object.isFrozen(market) && Object.isFrozen(market.pairs)).toBe(true);
  });
});
