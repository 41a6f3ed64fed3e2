import { expect, it } from "vitest";
import { createClient, VirtualClock, watchCandles } from "../../src/index.js";
import { createPairService } from "../../src/service/index.js";
import { idleWorld } from "./idle.js";
import { KEY } from "./interference.js";
import { Machine } from "./machine.js";

it("20,000 polls of a pair that does not change say nothing and leave nothing behind", async () => {
  const world = idleWorld({ every: 1_000 });
  await world.clock.advanceBy(60_000);
  const timers = world.clock.pending;
  while (world.requests() < 20_000) await world.clock.advanceBy(60_000);
  expect(world.events).toEqual([]);
  expect(world.states).toEqual(["starting", "live"]);
  // As many as in the first minute, give or take the poll that is under way.
  expect(world.clock.pending).toBeLessThanOrEqual(timers + 2);
  world.leave();
  expect(world.clock.pending).toBe(0);
});

it("two years of months cost as many polls as there are months, and the proofs of the first ten", async () => {
  const start = Date.UTC(2024, 0, 1, 12);
  const clock = new VirtualClock(start);
  const machine = new Machine(clock, []);
  const service = createPairService({
    clock: () => clock.now() + 437,
    source: {
      pair: () => ({
        tokenAddress: "token",
        createdAt: start - 40 * 86_400_000,
        swaps: function* ({ from, to, asOf }) {
          const day = 86_400_000;
          for (
            let timestamp = Math.ceil(from / day) * day;
            timestamp < to && timestamp <= asOf;
            timestamp += day
          ) {
            yield {
              blockNumber: timestamp / day,
              timestamp,
              transactionHash: `hash${timestamp}`,
              walletAddress: "wallet",
              side: "buy",
              tokenAmount: 1,
              usdAmount: 1,
              nativeAmount: 1,
            };
          }
        },
      }),
    },
  });
  const sent: number[] = [];
  const client = createClient({
    baseUrl: "http://localhost",
    apiKey: KEY,
    scheduler: machine,
    fetch: (url, init) => {
      sent.push(clock.now());
      return service.fetch(url, init);
    },
  });
  const closed: number[] = [];
  const series = { network: "mainnet", pairAddress: "pair", timeframe: "1M", currency: "usd" } as const;
  const stay = watchCandles(client, { ...series, every: "close" }).subscribe(({ status, candle }) => {
    if (status === "closed") closed.push(candle.timestamp);
  });
  await clock.advanceTo(Date.UTC(2026, 0, 1, 12));
  stay.unsubscribe();
  expect(closed).toHaveLength(24);
  expect(sent.length).toBeGreaterThanOrEqual(25);
  expect(sent.length).toBeLessThanOrEqual(25 + 10);
  // Once the clock is known a closing takes one.
  expect(sent.filter((at) => at > start + 400 * 86_400_000)).toHaveLength(11);
  expect(machine.oddDelay).toBeUndefined();
  expect(machine.longestDelay).toBeLessThanOrEqual(2 ** 31 - 1);
});
