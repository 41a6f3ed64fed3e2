import { memoryStore } from "pairstream/store";
import { describe, expect, it } from "vitest";
import {
  type Candle,
  type CandleEvent,
  clientSource,
  fetchCandles,
  InvalidInputError,
  type PairSource,
  type Series,
  type SniperLook,
  watchCandles,
  watchFeedStatus,
  watchSniperReport,
  watchSnipers,
} from "../src/index.js";
import { at, MINUTES, time, World } from "./world.js";

const MINUTE = 60_000;
const START = at("12:00:10");
const BORN = at("06:00:00");

/** Two swaps a minute, but none in every seventh minute. */
function market(options: Partial<ConstructorParameters<typeof World>[0]> = {}): World {
  const world = new World({ start: START, createdAt: BORN, hasDate: true, ...options });
  for (let timestamp = BORN, index = 0; timestamp < START + 60 * MINUTE; timestamp += 30_000, index++) {
    if (Math.floor(timestamp / MINUTE) % 7 !== 0) world.swap(timestamp, 100 + Math.sin(index * index));
  }
  return world;
}

type Query = Omit<Parameters<PairSource["history"]>[0], keyof Series>;

async function historyOf(world: World, query: Query): Promise<readonly Candle[]> {
  let outcome: readonly Candle[] | Error | undefined;
  clientSource(world.client)
    .history({ ...MINUTES, ...query })
    .then(
      (candles) => {
        outcome = candles;
      },
      (error) => {
        outcome = error;
      },
    );
  await world.clock.advanceBy(30_000);
  if (outcome === undefined || outcome instanceof Error) throw outcome ?? new Error("still waiting");
  expect(world.clock.pending).toBe(0);
  return outcome;
}

async function truth(from: number, to: number): Promise<Candle[]> {
  const world = market();
  const candles: Candle[] = [];
  fetchCandles(world.client, { ...MINUTES, from, to }).subscribe((candle) => candles.push(candle));
  await world.clock.advanceBy(30_000);
  return candles;
}

describe("history", () => {
  it("gives all closed candles of a range, ascending", async () => {
    const [from, to] = [at("07:00:00"), at("09:00:00")];
    expect(await historyOf(market(), { from, to })).toEqual(await truth(from, to));
  });

  it.each([1, 30, 300])("gives the newest %i closed candles before an instant", async (count) => {
    const before = at("11:30:20");
    const all = await truth(BORN, at("11:31:00"));
    expect(await historyOf(market(), { to: before, count })).toEqual(all.slice(-count));
  });

  it("gives the newest of a range that is bounded on both sides", async () => {
    const range = { from: at("07:00:00"), to: at("09:00:00") };
    const all = await truth(range.from, range.to);
    expect(await historyOf(market(), { ...range, count: 10 })).toEqual(all.slice(-10));
  });

  it("ends with the last closed candle by default, and goes back to the pair's creation", async () => {
    const candles = await historyOf(market(), {});
    expect(time(candles[0]!.timestamp)).toBe("06:00:00");
    expect(time(candles.at(-1)!.timestamp)).toBe("11:59:00");
  });

  it.each([-2 * 60 * MINUTE, -MINUTE, 0, MINUTE, 2 * 60 * MINUTE])(
    "ends with it by the service's clock, where that is ahead of the machine's by %i ms",
    async (offset) => {
      const world = market({ start: START - offset, offset });
      const candles = await historyOf(world, { count: 5 });
      const all = await truth(at("11:00:00"), at("12:00:00"));
      expect(candles).toEqual(all.slice(-5));
    },
  );

  it("reads a span once, with a store", async () => {
    const store = memoryStore();
    const query = { to: at("11:30:00"), count: 100 };
    const first = await historyOf(market({ client: { store } }), query);
    const again = market({ client: { store } });
    expect(await historyOf(again, query)).toEqual(first);
    expect(again.asked).toEqual([]);
  });

  it("ends at its signal with its reason, and leaves nothing behind", async () => {
    const world = market();
    const abort = new AbortController();
    const promise = clientSource(world.client).history({ ...MINUTES, count: 300 }, { signal: abort.signal });
    const outcome = promise.catch((error: unknown) => error);
    await world.clock.advanceBy(10);
    abort.abort(new Error("closed"));
    await world.clock.advanceBy(0);
    expect(await outcome).toEqual(new Error("closed"));
    expect(world.clock.pending).toBe(0);
  });

  it.each<[string, Query]>([
    ["count", { count: 0 }],
    ["count", { count: 1.5 }],
    ["count", { count: 100_001 }],
    ["from", { from: "yesterday" }],
    ["to", { from: at("09:00:00"), to: at("08:00:00") }],
    ["from", { from: "2023-01-01" }],
    ["weekStart", { weekStart: "sunday" as "monday" }],
    ["since", { since: 5 } as Query],
  ])("rejects a wrong %s before it asks for anything: %o", async (parameter, query) => {
    const world = market();
    const error = await clientSource(world.client)
      .history({ ...MINUTES, ...query })
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(InvalidInputError);
    expect((error as InvalidInputError).parameter).toBe(parameter);
    expect(world.asked).toEqual([]);
  });
});

describe("clientSource", () => {
  it("gives the streams of its client, which share their polls", async () => {
    const world = market();
    world.swap(BORN + 1, 100, { walletAddress: "ann" });
    world.swap(BORN + 60_001, 100, { walletAddress: "ann", side: "sell" });
    const source = clientSource(world.client);
    const told: CandleEvent[][] = [[], []];
    const options = { ...MINUTES, since: { candles: 5 } };
    const snipers = { pairAddress: MINUTES.pairAddress };
    const statuses: string[] = [];
    source.candles(options).subscribe((event) => told[0]!.push(event));
    watchCandles(world.client, options).subscribe((event) => told[1]!.push(event));
    source.status(options).subscribe(({ state }) => statuses.push(state));
    watchFeedStatus(world.client, options).subscribe();
    const wallets: string[] = [];
    source.snipers(snipers).subscribe(({ type }) => wallets.push(type));
    watchSnipers(world.client, snipers).subscribe();
    const looks: SniperLook[][] = [[], []];
    source.sniperReport(snipers).subscribe((look) => looks[0]!.push(look));
    watchSniperReport(world.client, snipers).subscribe((look) => looks[1]!.push(look));
    await world.clock.advanceBy(5_000);
    expect(told[0]).toEqual(told[1]);
    expect(told[0]!.length).toBeGreaterThan(5);
    expect(statuses.at(-1)).toBe("live");
    expect(wallets).toContain("wallet-added");
    expect(looks[0]).toEqual(looks[1]);
    expect(looks[0]).toHaveLength(1);
    // Each reads a history of its own, and they share what follows.
    expect(world.asked.filter(({ url }) => url.pathname.endsWith("/snipers"))).toHaveLength(1);
  });

  it("refuses what is no client", () => {
    expect(() => clientSource({} as never)).toThrow(InvalidInputError);
  });
});
