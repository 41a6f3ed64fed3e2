import {
  createClient,
  type FetchLike,
  recordExchanges,
  replayExchanges,
  VirtualClock,
  watchCandles,
} from "pairstream";
import { createPairService, simulatedMarket, unsettled, withFaults } from "pairstream/service";
import type { SchedulerLike } from "rxjs";
import { describe, expect, it } from "vitest";
import { type Order, USUAL_RULES } from "../../../examples/backtest/broker.js";
import * as strategy from "../../../examples/backtest/strategy.js";
import { type TradingStep, tradeOnPaper } from "../../../examples/backtest/trading.js";

const START = Date.UTC(2025, 0, 1, 6, 30, 4, 321);
const MINUTE = 60_000;
const LENGTH = 40 * MINUTE;
const PAIR = "pair1";

/** A service in trouble: late swaps, forks, refusals, resets, broken bodies. */
function troubledService(seed: number, clock: VirtualClock): FetchLike {
  const market = simulatedMarket({ seed, pairs: [PAIR] });
  const source = unsettled(market, { seed, settlesAfter: 20_000, late: 0.3, forks: 0.6 });
  const { fetch } = createPairService({ source, clock: () => clock.now() });
  const rates = {
    delay: 0.05,
    reset: 0.05,
    429: 0.04,
    "5xx": 0.04,
    cutOff: 0.03,
    dropped: 0.05,
    broken: 0.03,
  };
  return withFaults(fetch, { seed, scheduler: clock, rates, longestDelay: 9_000 });
}

/** What the strategy does over a session of forty minutes, through the streams of a live run. */
function trade(fetch: FetchLike, scheduler: SchedulerLike): TradingStep[] {
  const client = createClient({ baseUrl: "http://localhost", apiKey: "key", fetch, scheduler });
  const series = { network: "mainnet", pairAddress: PAIR, timeframe: "10s", currency: "usd" } as const;
  const events = watchCandles(client, { ...series, since: { candles: 60 }, every: 2_500, fillGaps: true });
  const steps: TradingStep[] = [];
  tradeOnPaper(events, strategy, USUAL_RULES).subscribe((step) => steps.push(step));
  return steps;
}

const ordersOf = (steps: readonly TradingStep[]): Order[] =>
  steps.flatMap((step) => (step.type === "order" ? [step.order] : []));

describe("the strategy", () => {
  it.each([1, 2, 3])(
    "gives the same orders and fills live and on the replay of the session (seed %d)",
    async (seed) => {
      const clock = new VirtualClock(START);
      const lines: string[] = [];
      const recording = recordExchanges(troubledService(seed, clock), (line) => lines.push(line));
      const live = trade(recording, clock);
      await clock.advanceTo(START + LENGTH);
      const seen = [...live];

      const tape = replayExchanges(lines);
      const again = trade(tape.fetch, tape.scheduler);
      await tape.run();

      const orders = ordersOf(seen);
      expect(orders.length).toBeGreaterThan(2);
      expect(ordersOf(again)).toEqual(orders);
      expect(again).toEqual(seen);
    },
  );

  it("orders nothing on the history of a live run", async () => {
    const clock = new VirtualClock(START);
    const steps = trade(troubledService(1, clock), clock);
    await clock.advanceTo(START + LENGTH);
    for (const { candle } of ordersOf(steps)) expect(candle).toBeGreaterThanOrEqual(START - 10_000);
    const history = steps.filter((step) => step.type === "candle" && !step.event.live);
    expect(history.length).toBeGreaterThanOrEqual(60);
  });
});
