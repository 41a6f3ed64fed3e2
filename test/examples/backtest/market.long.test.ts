import { expect, it } from "vitest";
import type { PastOptions } from "../../../examples/backtest/options.js";
import { openPast } from "../../../examples/backtest/past.js";
import { loadStrategy } from "../../../examples/backtest/strategy-file.js";
import { tradePast } from "../../../examples/backtest/trade-past.js";

const DAY = 86_400_000;
const FROM = Date.UTC(2025, 0, 1);
const OPTIONS: Omit<PastOptions, "place" | "to"> = {
  ...{ pairs: [], network: "mainnet", currency: "usd" },
  ...{ timeframe: undefined, within: undefined, from: undefined },
};

it("the simulated market pays followers of trends before costs, as the report says", async () => {
  const strategy = await loadStrategy(
    new URL("../../../examples/backtest/strategy.ts", import.meta.url).href,
  );
  const returns: number[] = [];
  for (const seed of [1, 2, 3, 4, 5]) {
    const place = { kind: "market", seed } as const;
    const past = await openPast({ ...OPTIONS, place, to: FROM + 90 * DAY }, () => {});
    const free = { fees: { maker: 0, taker: 0 }, slippage: { share: 0 } };
    returns.push((await tradePast(past, strategy, free)).result.statistics.totalReturn);
  }
  const mean = returns.reduce((sum, each) => sum + each, 0) / returns.length;
  expect(mean).toBeGreaterThan(0.1);
});
