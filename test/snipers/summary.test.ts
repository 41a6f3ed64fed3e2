import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { holdingOf, type Sniper, type SniperReport, summarizeSnipers } from "../../src/index.js";
import type { ServiceQuirks } from "../../src/service/index.js";
import { emptyReport } from "../../src/snipers/event.js";
import { at, PAIR, World } from "../world.js";
import { walletOf } from "./wallets.js";

const BLOCK = 400;

interface Trading {
  readonly walletAddress: string;
  readonly side: "buy" | "sell";
  /** Blocks since the creation. */
  readonly block: number;
  readonly tokenAmount: number;
  readonly usdAmount: number;
}

const trading: fc.Arbitrary<Trading> = fc.record({
  walletAddress: fc.constantFrom("a", "b", "c", "d", "e"),
  side: fc.constantFrom("buy", "sell"),
  block: fc.oneof(fc.nat(4), fc.nat(400)),
  tokenAmount: fc.integer({ min: 1, max: 1_000 }),
  usdAmount: fc.integer({ min: 1, max: 1_000 }),
});

async function reportOf(swaps: readonly Trading[], quirks: ServiceQuirks = {}): Promise<SniperReport> {
  const start = at("11:00:00");
  const world = new World({ start: at("12:00:10"), latency: 0, quirks });
  for (const { block, ...swap } of swaps) {
    const timestamp = start + block * BLOCK;
    world.swap(timestamp, 0, { ...swap, blockNumber: block });
  }
  const [report] = await Promise.all([
    world.client.sniperReport({ pairAddress: PAIR, blocksAfterCreation: 3 }),
    world.clock.advanceBy(1_000),
  ]);
  return report;
}

/** The summary of swaps, worked out from them alone. */
function summaryOf(swaps: readonly Trading[]) {
  const ordered = [...swaps].sort((a, b) => a.block - b.block);
  const first = ordered[0]!.block;
  const price = ordered.at(-1)!.usdAmount / ordered.at(-1)!.tokenAmount;
  const wallets = [...new Set(ordered.map(({ walletAddress }) => walletAddress))]
    .sort()
    .flatMap((address) => {
      const own = ordered.filter(({ walletAddress }) => walletAddress === address);
      const snipes = own.filter(({ side, block }) => side === "buy" && block - first <= 3);
      const sales = own.filter(({ side }) => side === "sell");
      if (snipes.length === 0 || sales.length === 0) return [];
      let [tokens, snipedUsd, soldUsd, sniped] = [0, 0, 0, 0];
      for (const { side, tokenAmount } of own) tokens += side === "buy" ? tokenAmount : -tokenAmount;
      for (const one of snipes) {
        snipedUsd += one.usdAmount;
        sniped += one.tokenAmount;
      }
      for (const { usdAmount } of sales) soldUsd += usdAmount;
      const held = Math.max(0, tokens);
      const later = sales.filter(({ block }) => block >= snipes[0]!.block)[0];
      const ms = later && (later.block - snipes[0]!.block) * BLOCK;
      const isEarly = snipes.some(({ block }) => block === first);
      return [{ address, snipedUsd, soldUsd, profit: soldUsd - snipedUsd, held, sniped, ms, isEarly }];
    });
  const total = (of: (wallet: (typeof wallets)[number]) => number) =>
    wallets.reduce((sum, one) => sum + of(one), 0);
  const count = (is: (wallet: (typeof wallets)[number]) => boolean) => wallets.filter(is).length;
  const fastest = wallets.filter(({ ms }) => ms !== undefined).sort((a, b) => a.ms! - b.ms!)[0];
  return {
    wallets: wallets.length,
    holding: count(({ held }) => held > 0),
    soldOut: count(({ held }) => held === 0),
    inProfit: count(({ profit }) => profit > 0),
    snipedUsd: total(({ snipedUsd }) => snipedUsd),
    soldUsd: total(({ soldUsd }) => soldUsd),
    realizedProfitUsd: total(({ profit }) => profit),
    heldUsd: expect.closeTo(
      total(({ held }) => held * price),
      6,
    ),
    inCreationBlock: count(({ isEarly }) => isEarly),
    ...(fastest && { fastestSale: { walletAddress: fastest.address, ms: fastest.ms } }),
    top: [...wallets].sort((a, b) => b.profit - a.profit).map(({ address }) => address),
    unknown: 0,
  };
}

describe("summarizeSnipers", () => {
  const trades = fc.array(trading, { minLength: 1, maxLength: 40 });

  it("is what the swaps say, whatever the sign of what was sold", async () => {
    await fc.assert(
      fc.asyncProperty(trades, fc.nat(6), fc.boolean(), async (swaps, top, soldBelowZero) => {
        const summary = summarizeSnipers(await reportOf(swaps, { soldBelowZero }), { top });
        const wanted = summaryOf(swaps);
        const addresses = summary.top.map(({ walletAddress }) => walletAddress);
        expect({ ...summary, top: addresses }).toEqual({ ...wanted, top: wanted.top.slice(0, top) });
        expect(Object.isFrozen(summary) && Object.isFrozen(summary.top)).toBe(true);
      }),
    );
  });

  const summed = (...result: Sniper[]) => summarizeSnipers({ ...emptyReport, result });
  const snipe = { transactionHash: "1", transactionTimestamp: 9, blocksAfterCreation: 1 };

  it("counts a wallet of which a number is missing as unknown, once, and leaves out only that number", () => {
    const nothing = { currentBalance: null, currentBalanceUsdValue: null, realizedProfitUsd: null };
    expect(
      summed(walletOf("a", { ...nothing, totalSoldUsd: 3 }), walletOf("b", { realizedProfitUsd: -1 })),
    ).toMatchObject({
      wallets: 2,
      holding: 0,
      soldOut: 1,
      soldUsd: 3,
      realizedProfitUsd: -1,
      top: [{ walletAddress: "b" }],
      unknown: 1,
    });
    for (const name of [
      "totalSnipedUsd",
      "totalSoldUsd",
      "realizedProfitUsd",
      "currentBalanceUsdValue",
    ] as const)
      expect(summed(walletOf("a", { [name]: null, currentBalance: 1 })).unknown).toBe(1);
    const vague = { snipedTransactions: [{ ...snipe, blocksAfterCreation: null }] };
    expect(summed(walletOf("a", vague))).toMatchObject({ unknown: 1, inCreationBlock: 0 });
  });

  it("has no fastest sale without one that follows a snipe", () => {
    const before = { ...snipe, transactionTimestamp: 8 };
    expect(
      summed(walletOf("a", { snipedTransactions: [snipe], sellTransactions: [before] })),
    ).not.toHaveProperty("fastestSale");
    expect(summed()).not.toHaveProperty("fastestSale");
  });

  it("has five at its top unless told otherwise", () => {
    const six = ["f", "e", "d", "c", "b", "a"].map((address) => walletOf(address));
    expect(
      summed(...six)
        .top.map(({ walletAddress }) => walletAddress)
        .join(""),
    ).toBe("abcde");
    for (const top of [-1, 1.5, Number.NaN, "5"])
      expect(() => summarizeSnipers(emptyReport, { top: top as number })).toThrow(/top/);
  });
});

it("takes a report, and says so of a look", () => {
  for (const wrong of [{ report: { result: [] } }, undefined, null, {}] as never[]) {
    expect(() => summarizeSnipers(wrong)).toThrow(expect.objectContaining({ parameter: "report" }));
  }
});

describe("holdingOf", () => {
  const amount = fc.integer({ min: 0, max: 1e9 }).map((units) => units / 1_000);

  it("is the same whatever the sign of what was sold, with what floats make of it", () => {
    fc.assert(
      fc.property(amount, amount, fc.double({ min: 0, max: 1, noNaN: true }), (sniped, later, share) => {
        const sold = (sniped + later) * share;
        const [held, price] = [sniped + later - sold, 0.25];
        const plain = { totalTokensSniped: sniped, totalTokensSold: sold, currentBalance: held };
        const doubled = sniped + later + sold;
        const odd = { totalTokensSniped: sniped, totalTokensSold: -sold, currentBalance: doubled };
        const one = holdingOf(walletOf("a", { ...plain, currentBalanceUsdValue: held * price }));
        const other = holdingOf(walletOf("a", { ...odd, currentBalanceUsdValue: doubled * price }));
        expect(one.tokens).toBe(held);
        expect(other.tokens).toBeCloseTo(held, 4);
        expect(other.usd).toBeCloseTo(one.usd!, 4);
        if (held > 2e-6 * sniped + 1e-5 || held === 0) expect(other.isSoldOut).toBe(one.isSoldOut);
      }),
    );
  });

  const holding = (parts: Partial<Sniper>) => holdingOf(walletOf("a", parts));

  it("understands the published example, which has twice what was sold, and a balance that is right already", () => {
    const sold = { totalTokensSniped: 30.60144546149997, totalTokensSold: -30.60144546149997 };
    const value = { currentBalanceUsdValue: 5 };
    expect(holding({ ...sold, ...value, currentBalance: 61.20289092299993 })).toMatchObject({
      isSoldOut: true,
    });
    expect(holding({ totalTokensSniped: 10, totalTokensSold: -4, currentBalance: 6, ...value })).toEqual({
      tokens: 6,
      usd: 5,
      isSoldOut: false,
    });
  });

  it("takes less than a millionth of what was sniped for dust, and says how much it is", () => {
    const at = (currentBalance: number) =>
      holding({ totalTokensSniped: 1e6, currentBalance, currentBalanceUsdValue: 2 });
    expect(at(0.99)).toEqual({ tokens: 0.99, usd: 2, isSoldOut: true });
    expect(at(1)).toEqual({ tokens: 1, usd: 2, isSoldOut: false });
    expect(holding({ totalTokensSniped: null, currentBalance: 0 }).isSoldOut).toBe(true);
  });

  it.each([
    ["nothing", undefined, "is undefined"],
    ["null", null, "is null"],
    ["a number", 3, "is 3"],
    ["a text", "a", 'is "a"'],
    ["a list", [walletOf("a")], "is a list"],
    ["a look", { pairAddress: "p", report: emptyReport }, "is an object with pairAddress, report;"],
    ["a wallet of another shape", { currentBalance: "3" }, "is an object with currentBalance;"],
  ])("says what it was given instead of a wallet: %s", (_, wrong, said) => {
    const problem = expect.stringContaining(`wallet ${said}`);
    expect(() => holdingOf(wrong as never)).toThrow(
      expect.objectContaining({ name: "InvalidInputError", parameter: "wallet", message: problem }),
    );
  });

  it("does not know what the service does not say", () => {
    expect(holding({ currentBalance: null })).toEqual({ tokens: null, usd: null, isSoldOut: false });
    expect(holding({ currentBalance: 3, currentBalanceUsdValue: null })).toMatchObject({
      tokens: 3,
      usd: null,
    });
    const odd = {
      totalTokensSniped: 3,
      totalTokensSold: -1,
      currentBalance: 4,
      currentBalanceUsdValue: null,
    };
    expect(holding(odd)).toMatchObject({ tokens: 2, usd: null });
    expect(holding({ ...odd, totalTokensSold: null })).toMatchObject({ tokens: 4 });
  });
});
