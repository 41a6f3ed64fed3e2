import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Currency, Timeframe } from "../../src/index.js";
import { createPairService } from "../../src/service/index.js";
import { marketOf } from "./drawn-swaps.js";
import { drawPlan } from "./plan.js";
import { candlesAt, isAlike, isTrue, snipersAt } from "./truth.js";

const HEADERS = { headers: { "X-API-Key": "key" } };
const TIMEFRAMES: readonly Timeframe[] = ["1s", "1min", "10min", "1h", "12h", "1d", "1w", "1M"];

/** A market of the simulation, the service in front of it, and an instant within the run. */
const markets = fc
  .record({
    seed: fc.integer({ min: 1, max: 100_000 }),
    timeframe: fc.constantFrom(...TIMEFRAMES),
    currency: fc.constantFrom<Currency>("usd", "native"),
    share: fc.double({ min: 0, max: 1, noNaN: true }),
    isJustBefore: fc.boolean(),
    back: fc.integer({ min: 0, max: 900 }),
    blocks: fc.integer({ min: 0, max: 1_000 }),
  })
  .map(({ seed, share, isJustBefore, ...asked }) => {
    const plan = drawPlan(seed, 0.4);
    const source = marketOf(plan.world, seed, plan.length);
    const { network, pairs, start, offset } = plan.world;
    // A clock that drifts shows parts of a ms, and may stop just before a swap.
    const drawn = start + offset + share * plan.length;
    const range = { from: Math.ceil(drawn), to: drawn + 3_600_000, asOf: drawn + 3_600_000 };
    const [next] = source.pair(network, pairs[0]!)!.swaps(range);
    const at = isJustBefore && next !== undefined ? next.timestamp - 0.5 : drawn;
    const { weekStart } = plan.world;
    const service = createPairService({ source, weekStart, clock: () => at, apiKeys: ["key"] });
    return { ...asked, plan, at, market: { plan, source }, fetch: service.fetch };
  });

describe("the truth and the local service, which share no code", () => {
  it("fold the same swaps to the same candles", async () => {
    await fc.assert(
      fc.asyncProperty(markets, async ({ plan, at, market, fetch, timeframe, currency, back }) => {
        const { network, pairs } = plan.world;
        const series = { network, pairAddress: pairs[0]!, timeframe, currency };
        const from = Math.max(0, Math.floor(at / 1_000) - back * 86_400) * 1_000;
        const truth = candlesAt(market, series, { from, to: at + 1, at });
        const query = `timeframe=${timeframe}&currency=${currency}&limit=1000`;
        const range = `fromDate=${from / 1_000}&toDate=${Math.ceil(at / 1_000) + 1}`;
        const url = `http://localhost/token/${network}/pairs/${pairs[0]}/ohlcv?${query}&${range}`;
        const page = JSON.parse(await (await fetch(url, HEADERS)).text());
        const newest = [...truth.values()].reverse().slice(0, 1_000);
        expect(page.result).toHaveLength(newest.length);
        for (const [index, row] of page.result.entries())
          expect(isTrue({ ...row, timestamp: Date.parse(row.timestamp) }, newest[index]!)).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  it("sum up the same snipers", async () => {
    await fc.assert(
      fc.asyncProperty(markets, async ({ plan, at, market, fetch, blocks }) => {
        const pairAddress = plan.world.pairs[0]!;
        fc.pre(plan.world.network === "mainnet");
        const truth = snipersAt(market, { pairAddress, blocksAfterCreation: blocks }, at);
        const url = `http://localhost/token/mainnet/pairs/${pairAddress}/snipers?blocksAfterCreation=${blocks}`;
        const answer = await fetch(url, HEADERS);
        expect(answer.status === 200).toBe(truth !== undefined);
        const { result = [] } = answer.status === 200 ? JSON.parse(await answer.text()) : {};
        expect(result.map((row: { walletAddress: string }) => row.walletAddress).sort()).toEqual(
          [...(truth?.keys() ?? [])].sort(),
        );
        for (const row of result) {
          const own = truth!.get(row.walletAddress)!;
          for (const [name, value] of Object.entries(own))
            if (typeof value === "number") expect([name, isAlike(row[name], value)]).toEqual([name, true]);
          for (const list of ["snipedTransactions", "sellTransactions"] as const)
            expect(
              row[list].map((one: { transactionTimestamp: string }) => ({
                ...one,
                transactionTimestamp: Date.parse(one.transactionTimestamp),
              })),
            ).toEqual(own[list]);
        }
      }),
      { numRuns: 60 },
    );
  });
});
