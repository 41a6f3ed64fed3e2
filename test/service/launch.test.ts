import {
  createClient,
  holdingOf,
  type SniperLook,
  type SniperReport,
  VirtualClock,
  watchSniperReport,
} from "pairstream";
import { demoService, simulatedMarket } from "pairstream/service";
import { describe, expect, it } from "vitest";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const createdAt = Date.UTC(2024, 2, 1);
const seeds = [0, 1, 2, 3, 4, 5, 6, 7, 69];

type Demo = Parameters<typeof demoService>[0];

/** The looks at the first pair of a demo, from an hour after its creation on. */
async function looksOf(seed: number, ms: number, options: Demo = {}): Promise<SniperLook[]> {
  const clock = new VirtualClock(createdAt + HOUR);
  const demo = demoService({ seed, createdAt, clock: () => clock.now(), ...options });
  const client = createClient({ ...demo.clientOptions, scheduler: clock });
  const looks: SniperLook[] = [];
  const watch = watchSniperReport(client, { pairAddress: demo.pairs[0], every: 20_000 });
  const following = watch.subscribe((look) => looks.push(look));
  await clock.advanceBy(ms);
  following.unsubscribe();
  return looks;
}

async function reportOf(seed: number, options: Demo = {}): Promise<SniperReport> {
  const [look] = await looksOf(seed, 1_000, options);
  return look!.report;
}

describe.each(seeds)("the snipers of a simulated pair, seed %i", (seed) => {
  it("buy in the first block, several of them", async () => {
    const { result } = await reportOf(seed);
    const first = result.filter(({ snipedTransactions }) =>
      snipedTransactions.some(({ blocksAfterCreation }) => blocksAfterCreation === 0),
    );
    expect(first.length).toBeGreaterThanOrEqual(4);
  });

  it("hold a bundle: wallets that buy for the same in the same block, and sell side by side", async () => {
    const { result } = await reportOf(seed);
    const likeIt = (usd: number) =>
      result.filter(({ totalSnipedUsd }) => Math.abs(totalSnipedUsd! - usd) < 0.01);
    const bundle = result
      .map(({ totalSnipedUsd }) => likeIt(totalSnipedUsd!))
      .find(({ length }) => length >= 3)!;
    const blocks = bundle.map(({ snipedTransactions }) => snipedTransactions[0]!.blocksAfterCreation);
    expect(new Set(blocks)).toEqual(new Set([0]));
    const times = bundle.map(({ sellTransactions }) =>
      sellTransactions.map(({ transactionTimestamp }) => Math.floor(transactionTimestamp / MINUTE)).join(),
    );
    expect(new Set(times).size).toBe(1);
    expect(bundle.every(({ sellTransactions }) => sellTransactions.length === 2)).toBe(true);
  });

  it("sell in parts, all, and all but dust", async () => {
    const { result } = await reportOf(seed);
    const holdings = result.map(holdingOf);
    expect(result.some(({ sellTransactions }) => sellTransactions.length > 5)).toBe(true);
    expect(holdings.some(({ tokens, isSoldOut }) => isSoldOut && tokens! > 0)).toBe(true);
    expect(holdings.some(({ isSoldOut }) => !isSoldOut)).toBe(true);
  });

  it("leave the first swap to the one that creates the pair", () => {
    const market = simulatedMarket({ seed, createdAt });
    const pair = market.pair("mainnet", market.pairs[0]!)!;
    const [first, ...others] = pair.swaps({ from: 0, to: createdAt + 1, asOf: createdAt });
    expect(first).toMatchObject({ timestamp: createdAt, side: "buy" });
    expect(others.length).toBeGreaterThanOrEqual(3);
  });

  it("are understood where a service counts what they have sold below zero", async () => {
    const plain = await reportOf(seed);
    const odd = await reportOf(seed, { quirks: { soldBelowZero: true } });
    for (const [at, wallet] of odd.result.entries()) {
      const { totalTokensSold, currentBalance, currentBalanceUsdValue, ...rest } = wallet;
      const expected = plain.result[at]!;
      expect(expected).toMatchObject(rest);
      expect(totalTokensSold).toBe(-expected.totalTokensSold!);
      // Who has sold more than it bought here has a balance of 0 in the plain report.
      const doubled = expected.currentBalance! + 2 * expected.totalTokensSold!;
      if (expected.currentBalance! > 0) expect(currentBalance! / doubled).toBeCloseTo(1, 9);
      expect(currentBalanceUsdValue! / currentBalance!).toBeGreaterThan(0);
      const [one, other] = [holdingOf(expected), holdingOf(wallet)];
      expect(other.isSoldOut).toBe(one.isSoldOut);
      expect(Math.abs(other.tokens! - one.tokens!)).toBeLessThanOrEqual(1e-9 * expected.totalTokensSold!);
    }
  });
});

describe("forks of a demo", () => {
  it("take sales back, and some bring them again", async () => {
    const looks = await looksOf(69, 1.5 * HOUR, { forks: 1 });
    const sales = looks
      .flatMap(({ trades }) => trades)
      .filter(({ side, initial }) => side === "sell" && !initial);
    const back = sales.filter(({ kind }) => kind === "taken-back");
    expect(back.length).toBeGreaterThan(0);
    const again = sales.filter(({ kind, transaction, observedAt }) =>
      back.some(
        (one) =>
          kind === "made" &&
          observedAt > one.observedAt &&
          one.transaction.transactionHash === transaction.transactionHash,
      ),
    );
    expect(again.length).toBeGreaterThan(0);
  });

  it("take nothing back by default", async () => {
    const looks = await looksOf(69, HOUR);
    expect(looks.flatMap(({ trades }) => trades).filter(({ kind }) => kind === "taken-back")).toEqual([]);
  });

  it.each([-0.1, 1.1, Number.NaN, "1"])("refuse %s as their share", (forks) => {
    expect(() => demoService({ forks: forks as number })).toThrow(/forks/);
  });
});
