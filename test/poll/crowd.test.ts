import { expect, it } from "vitest";
import { createClient, type FetchLike, type Series, VirtualClock, watchCandles } from "../../src/index.js";
import { createPairService, simulatedMarket } from "../../src/service/index.js";

const START = Date.UTC(2024, 0, 1);
const MINUTE = 60_000;
const SETTLE = 1_000;
const SERIES = 60;
/** ms each way, and ms that the service needs for an answer: it gives one after the other. */
const LATENCY = 2;
const WORK = 10;

it("asks once a closing, and not before it, where many series hold each other's answers up", async () => {
  const clock = new VirtualClock(START + 20_000);
  const market = simulatedMarket({ seed: 5, createdAt: START - 3_600_000, pairs: SERIES });
  const service = createPairService({ source: market, clock: () => clock.now() });
  const passed = (instant: number) =>
    new Promise<void>((resolve) => {
      clock.schedule(() => resolve(), instant - clock.now());
    });
  const sent: number[] = [];
  let freeAt = 0;
  const fetch: FetchLike = async (url, init) => {
    sent.push(clock.now());
    freeAt = Math.max(freeAt, clock.now() + LATENCY) + WORK;
    await passed(freeAt);
    const answer = await service.fetch(url, init);
    await passed(clock.now() + LATENCY);
    return answer;
  };
  const client = createClient({
    baseUrl: "http://localhost",
    apiKey: "key",
    rateLimit: false,
    fetch,
    scheduler: clock,
  });
  const stays = market.pairs.map((pairAddress) => {
    const series: Series = { network: "mainnet", pairAddress, timeframe: "1min", currency: "usd" };
    return watchCandles(client, { ...series, settle: SETTLE }).subscribe();
  });
  await clock.advanceTo(START + 10.5 * MINUTE);
  sent.length = 0;
  await clock.advanceBy(3 * MINUTE);
  for (const stay of stays) stay.unsubscribe();

  const due = [11, 12, 13].map((minute) => START + minute * MINUTE + SETTLE);
  for (const instant of due) {
    const own = sent.filter((at) => Math.abs(at - instant) < MINUTE / 2);
    expect(own).toHaveLength(SERIES);
    // Instants are whole milliseconds, so it may be one too early.
    expect(Math.min(...own)).toBeGreaterThanOrEqual(instant - LATENCY - 1);
  }
});

it.each([
  [4, 3],
  [5, 2],
  [20, 5],
])(
  "begins %i streams of seconds in turn, where the limit is %i requests a second",
  async (pairs, requests) => {
    const clock = new VirtualClock(START + 20_000);
    const market = simulatedMarket({ seed: 5, createdAt: START - 3_600_000, pairs });
    const service = createPairService({ source: market, clock: () => clock.now() });
    const sent = market.pairs.map((): number[] => []);
    const fetch: FetchLike = (url, init) => {
      sent[market.pairs.findIndex((pair) => url.includes(pair))]!.push(clock.now());
      return service.fetch(url, init);
    };
    const client = createClient({
      ...{ baseUrl: "http://localhost", apiKey: "key", fetch, scheduler: clock, warn: false },
      rateLimit: { requests, per: 1_000 },
    });
    const stays = market.pairs.map((pairAddress) =>
      watchCandles(client, { network: "mainnet", pairAddress, timeframe: "1s", currency: "usd" }).subscribe(),
    );
    await clock.advanceBy(30_000);
    for (const stay of stays) stay.unsubscribe();
    const turn = (pairs / requests) * 1_000;
    for (const own of sent) {
      expect(own[0]!).toBeLessThanOrEqual(START + 20_000 + turn + 1_000);
      expect(own.length).toBeGreaterThan(0.5 * 30 * (requests / pairs));
    }
  },
);
