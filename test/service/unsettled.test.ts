import fc from "fast-check";
import {
  createPairService,
  type Swap,
  type SwapPair,
  type SwapSource,
  simulatedMarket,
  swapTape,
  type UnsettledOptions,
  unsettled,
} from "pairstream/service";
import { describe, expect, it } from "vitest";
import { type AskedCandle, ask, ohlcv, toLine, walk } from "./harness.js";
import { pairAddress, smallTape } from "./small-tape.js";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const createdAt = Date.UTC(2024, 2, 1, 10);
const market = simulatedMarket({ seed: 11, createdAt });
const address = market.pairs[0]!;
const truth = [
  ...market.pair("mainnet", address)!.swaps({ from: 0, to: Infinity, asOf: createdAt + 2 * HOUR }),
];
const lively = { late: 0.3, forks: 0.6 };

function pairOf(options: Partial<UnsettledOptions> = {}): SwapPair {
  return unsettled(market, { seed: 5, ...lively, ...options }).pair("mainnet", address)!;
}

function visible(
  pair: SwapPair,
  asOf: number,
  { from = 0, to = Infinity }: { from?: number; to?: number } = {},
): Swap[] {
  return [...pair.swaps({ from, to, asOf })];
}

const nameOf = ({ transactionHash }: Swap) => transactionHash;
const instant = fc.integer({ min: createdAt - MINUTE, max: createdAt + 100 * MINUTE });
const seed = fc.integer({ min: 0, max: 1_000 });

describe("what is visible", () => {
  it("follows from the instant alone, whatever was asked before and by whom", () => {
    fc.assert(
      fc.property(seed, fc.array(fc.tuple(instant, instant, instant), { maxLength: 5 }), (chosen, asked) => {
        const pair = pairOf({ seed: chosen });
        for (const [from, to, asOf] of asked) {
          const whole = visible(pairOf({ seed: chosen }), asOf);
          expect(visible(pair, asOf, { from, to })).toEqual(
            whole.filter(({ timestamp }) => timestamp >= from && timestamp < to),
          );
        }
      }),
      { numRuns: 40 },
    );
  });

  it("is part of the truth, in its order, and nothing of the future", () => {
    fc.assert(
      fc.property(seed, instant, (chosen, asOf) => {
        const shown = visible(pairOf({ seed: chosen }), asOf);
        const names = new Set(shown.map(nameOf));
        expect(shown).toEqual(truth.filter((swap) => names.has(nameOf(swap))));
        for (const { timestamp } of shown) if (timestamp > asOf) throw new Error("Shown before it happened");
      }),
      { numRuns: 40 },
    );
  });

  it("does not change once settled", () => {
    const settlesAfter = fc.integer({ min: 1_000, max: 10 * MINUTE });
    fc.assert(
      fc.property(seed, settlesAfter, instant, fc.nat(HOUR), (chosen, after, asOf, later) => {
        const pair = pairOf({ seed: chosen, settlesAfter: after });
        const settled = { to: asOf - after + 1 };
        expect(visible(pair, asOf + later, settled)).toEqual(visible(pair, asOf, settled));
      }),
      { numRuns: 100 },
    );
  });

  it("holds the pair's creation, at once and for good", () => {
    fc.assert(
      fc.property(seed, fc.nat(HOUR), (chosen, age) => {
        const pair = pairOf({ seed: chosen, late: 1, forks: 1, silences: 1 });
        expect(visible(pair, createdAt + age)[0]).toEqual(truth[0]);
      }),
      { numRuns: 40 },
    );
  });

  it("is another for another seed", () => {
    expect(visible(pairOf({ seed: 1 }), createdAt + HOUR)).not.toEqual(
      visible(pairOf({ seed: 2 }), createdAt + HOUR),
    );
  });

  it("is the truth where nothing is late, forked or silent, a second later", () => {
    const pair = pairOf({ late: 0, forks: 0 });
    const asOf = createdAt + HOUR;
    const isOld = ({ timestamp }: Swap) => timestamp <= asOf - 1_000;
    expect(visible(pair, asOf).filter(isOld)).toEqual(truth.filter(isOld));
  });
});

/** For each swap, by its hash, the instants (to the second) at which it comes and goes. */
function turnsOf(pair: SwapPair, settlesAfter: number): Map<string, number[]> {
  const turns = new Map<string, number[]>();
  const shown = new Set<string>();
  for (let asOf = createdAt; asOf <= createdAt + HOUR; asOf += 1_000) {
    const from = asOf - settlesAfter - 2_000;
    const now = new Set(visible(pair, asOf, { from }).map(nameOf));
    for (const swap of truth) {
      if (swap.timestamp < from || swap.timestamp > asOf) continue;
      const name = nameOf(swap);
      if (now.has(name) === shown.has(name)) continue;
      turns.set(name, [...(turns.get(name) ?? []), asOf]);
      if (now.has(name)) shown.add(name);
      else shown.delete(name);
    }
  }
  return turns;
}

describe("how it comes and goes", () => {
  const settlesAfter = 2 * MINUTE;
  const settledTruth = truth.filter(({ timestamp }) => timestamp <= createdAt + HOUR - settlesAfter);

  it("is late for about the share that was asked for, and within a second otherwise", () => {
    const turns = turnsOf(pairOf({ late: 0.3, forks: 0 }), settlesAfter);
    const delays = settledTruth.map((swap) => turns.get(nameOf(swap))![0]! - swap.timestamp);
    const late = delays.filter((delay) => delay > 2_000);
    expect(late.length / delays.length).toBeGreaterThan(0.2);
    expect(late.length / delays.length).toBeLessThan(0.32);
    expect(Math.max(...delays)).toBeGreaterThan(MINUTE);
    expect(Math.max(...delays)).toBeLessThanOrEqual(settlesAfter + 1_000);
  });

  it("is dropped for good, for a while, or never shown", () => {
    const turns = turnsOf(pairOf({ forks: 1 }), settlesAfter);
    const counts = settledTruth.map((swap) => turns.get(nameOf(swap))?.length ?? 0);
    // Nothing (dropped before it was shown), shown, dropped, back again.
    for (const count of [0, 1, 2, 3])
      expect(counts.filter((one) => one === count).length).toBeGreaterThan(10);
    expect(Math.max(...counts)).toBe(3);
  });

  it("is dropped by runs of blocks", () => {
    const pair = pairOf({ late: 0, forks: 1 });
    const asOf = createdAt + 2 * HOUR;
    const shown = new Set(visible(pair, asOf).map(nameOf));
    const isShown = (swap: Swap) => shown.has(nameOf(swap));
    const settled = truth.filter(({ timestamp }) => timestamp <= asOf - settlesAfter);
    const runs = settled.filter((swap, at) => at > 0 && !isShown(swap) && isShown(settled[at - 1]!));
    const dropped = settled.filter((swap) => !isShown(swap));
    expect(runs.length).toBeGreaterThan(5);
    expect(dropped.length / runs.length).toBeGreaterThan(3);
    const droppedBlocks = new Set(dropped.map(({ blockNumber }) => blockNumber));
    for (const swap of settled) expect(droppedBlocks.has(swap.blockNumber)).toBe(!isShown(swap));
  });

  it("is silent for about the share of hours that was asked for, each pair for itself", () => {
    const day = 24 * HOUR;
    const pairs = simulatedMarket({ seed: 1, createdAt, pairs: 2 });
    const source = unsettled(pairs, { seed: 5, silences: 0.4 });
    const silent = pairs.pairs.map((name) => {
      const hoursOf = (of: SwapSource) => {
        const swaps = of
          .pair("mainnet", name)!
          .swaps({ from: createdAt + 1, to: createdAt + day, asOf: createdAt + 2 * day });
        return new Set([...swaps].map(({ timestamp }) => Math.floor(timestamp / HOUR)));
      };
      const shown = hoursOf(source);
      return [...hoursOf(pairs)].filter((hour) => !shown.has(hour));
    });
    for (const hours of silent) {
      expect(hours.length).toBeGreaterThan(3);
      expect(hours.length).toBeLessThan(17);
    }
    expect(silent[0]).not.toEqual(silent[1]);
  });
});

describe("behind a service", () => {
  const query = (timeframe: string) => ({
    timeframe,
    currency: "usd",
    fromDate: createdAt / 1_000,
    toDate: createdAt / 1_000 + 7_200,
    limit: 1_000,
  });

  it("changes, adds and removes candles after their interval, and then leaves them", async () => {
    let now = createdAt;
    const source = unsettled(market, { seed: 5, ...lively });
    const service = createPairService({ source, clock: () => now });
    const seen = { changed: 0, added: 0, removed: 0 };
    let before = new Map<string, string>();
    const isOver = ({ timestamp }: AskedCandle, at: number) => Date.parse(timestamp) + 10_000 <= at;
    for (now = createdAt + 10_000; now < createdAt + HOUR; now += 10_000) {
      const { candles } = await walk(service, address, query("10s"));
      const after = new Map(candles.map((candle) => [candle.timestamp, JSON.stringify(candle)]));
      const isSettled = (start: string) => Date.parse(start) + 10_000 + source.settlesAfter <= now - 10_000;
      for (const candle of candles) {
        const was = before.get(candle.timestamp);
        if (was === JSON.stringify(candle) || !isOver(candle, now - 10_000)) continue;
        expect(isSettled(candle.timestamp)).toBe(false);
        if (was === undefined) seen.added += 1;
        else seen.changed += 1;
      }
      for (const start of before.keys()) {
        if (after.has(start)) continue;
        expect(isSettled(start)).toBe(false);
        seen.removed += 1;
      }
      before = after;
    }
    expect(seen.changed).toBeGreaterThan(50);
    expect(seen.added).toBeGreaterThan(5);
    expect(seen.removed).toBeGreaterThan(5);
  });

  it("is summed up the same with and without its promise to settle", async () => {
    const source = unsettled(market, { seed: 5, ...lively });
    const wary: SwapSource = {
      pair: (network, name) => {
        const pair = source.pair(network, name);
        return pair && { tokenAddress: pair.tokenAddress, createdAt, swaps: (range) => pair.swaps(range) };
      },
    };
    expect(source.pair("mainnet", address)!.settled).toBe(source.settlesAfter);
    expect(unsettled(wary, { seed: 1 }).pair("mainnet", address)!.settled).toBe(false);
    expect(unsettled(source, { seed: 1, settlesAfter: 5_000 }).pair("mainnet", address)!.settled).toBe(
      source.settlesAfter + 5_000,
    );
    let now = createdAt;
    const [one, other] = [source, wary].map((from) => createPairService({ source: from, clock: () => now }));
    for (now = createdAt + 500; now < createdAt + 75 * MINUTE; now += 17_000) {
      for (const timeframe of ["1min", "5min", "1h", "4h"]) {
        const latest = { ...query(timeframe), fromDate: Math.floor(now / 1_000) - 600, limit: 8 };
        const path = ohlcv(address, latest);
        expect((await ask(one!, path)).body).toEqual((await ask(other!, path)).body);
      }
    }
  });

  it("works over a tape", async () => {
    const tape = swapTape(smallTape.map(toLine), { pairAddress, tokenAddress: null });
    const source = unsettled(tape, { seed: 1, forks: 0 });
    const service = createPairService({ source, clock: () => Date.parse("2024-02-10T00:00:00Z") });
    const plain = createPairService({ source: tape, clock: () => Date.parse("2024-02-10T00:00:00Z") });
    const days = { timeframe: "1d", currency: "usd", fromDate: "2024-01-01", toDate: "2024-02-10" };
    expect(await walk(service, pairAddress, days)).toEqual(await walk(plain, pairAddress, days));
    expect((await ask(service, ohlcv("unknown", days))).status).toBe(404);
    expect((await ask(service, `/token/mainnet/pairs/${pairAddress}/snipers`)).body).toEqual(
      (await ask(plain, `/token/mainnet/pairs/${pairAddress}/snipers`)).body,
    );
  });
});

describe("its options", () => {
  it("tell when all is settled", () => {
    expect(unsettled(market, { seed: 1 }).settlesAfter).toBe(120_000);
    expect(unsettled(market, { seed: 1, settlesAfter: 5_000 }).settlesAfter).toBe(5_000);
  });

  it.each([
    ["options", undefined],
    ["seed", {}],
    ["seed", { seed: 0.5 }],
    ["settlesAfter", { seed: 1, settlesAfter: 999 }],
    ["settlesAfter", { seed: 1, settlesAfter: 86_400_001 }],
    ["late", { seed: 1, late: 1.1 }],
    ["forks", { seed: 1, forks: -0.1 }],
    ["silences", { seed: 1, silences: "some" }],
    ["fork", { seed: 1, fork: 0.1 }],
  ])("refuses a bad %s: %o", (parameter, options) => {
    expect(() => unsettled(market, options as never)).toThrow(
      expect.objectContaining({ name: "InvalidInputError", parameter }),
    );
  });

  it("refuses what is no source", () => {
    expect(() => unsettled({} as never, { seed: 1 })).toThrow(
      expect.objectContaining({ name: "InvalidInputError", parameter: "source" }),
    );
  });
});
