import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Broker } from "../../src/backtest/broker.js";
import type { Bar } from "../../src/backtest/inside-bar.js";
import type { CancelOrder, Order } from "../../src/backtest/order.js";
import type { Report } from "../../src/backtest/report.js";
import { type BrokerOptions, checkBroker, type InsideBar } from "../../src/backtest/rules.js";
import { barOf, FREE, MINUTE, orderOf, series } from "./bars.js";

const RULES = ["pessimistic", "optimistic", "high-first", "low-first"] as const;
const PAIRS = [series, { ...series, pairAddress: "other" }] as const;

const price = fc.integer({ min: 80, max: 120 });
const prices = fc
  .tuple(price, price, price, price, fc.integer({ min: 0, max: 5_000 }))
  .map(([a, b, open, close, volume]) => {
    const [low, high] = [Math.min(a, b, open, close), Math.max(a, b, open, close)];
    return [open, high, low, close, volume] as const;
  });

const size = fc.oneof(
  fc.integer({ min: 1, max: 40 }).map((quantity) => ({ quantity })),
  fc.integer({ min: 1, max: 5_000 }).map((amount) => ({ amount })),
  fc.integer({ min: 1, max: 10 }).map((tenths) => ({ equity: tenths / 10 })),
  fc.tuple(fc.integer({ min: 1, max: 10 }), price).map(([share, stop]) => ({ risk: share / 100, stop })),
  fc.constantFrom(0.5, 1).map((position) => ({ position })),
);
const kind = fc.oneof(
  fc.constant({ type: "market" }),
  price.map((limit) => ({ type: "limit", limit })),
  price.map((stop) => ({ type: "stop", stop })),
  fc.tuple(price, price).map(([stop, limit]) => ({ type: "stop-limit", stop, limit })),
  price.map((target) => ({ type: "take-profit", target })),
  fc.integer({ min: 1, max: 9 }).map((amount) => ({ type: "trailing-stop", trail: { amount } })),
  fc.integer({ min: 1, max: 9 }).map((share) => ({ type: "trailing-stop", trail: { share: share / 100 } })),
);
const id = fc.constantFrom("a", "b", "c", "d");
const timeInForce = fc.oneof(
  fc.constantFrom("gtc" as const, "ioc" as const, "fok" as const),
  fc.integer({ min: 0, max: 20 * MINUTE }).map((until) => ({ until })),
);
const order = fc
  .record(
    {
      kind,
      size,
      side: fc.constantFrom("buy", "sell"),
      series: fc.constantFrom(...PAIRS),
      id,
      after: id,
      group: fc.constantFrom("x", "y"),
      reduceOnly: fc.boolean(),
      timeInForce,
    },
    { requiredKeys: ["kind", "size", "side", "series"] },
  )
  .map(({ kind: own, ...rest }) => ({ ...rest, ...own }) as unknown as Order);
const instruction = fc.oneof(
  { weight: 6, arbitrary: order },
  { weight: 1, arbitrary: id.map((cancelled): CancelOrder => ({ type: "cancel", id: cancelled })) },
);
const step = fc.record({
  prices,
  pair: fc.constantFrom(...PAIRS),
  placed: fc.array(instruction, { maxLength: 3 }),
});
const share = fc.integer({ min: 0, max: 50 }).map((thousandths) => thousandths / 1_000);
const options: fc.Arbitrary<BrokerOptions> = fc
  .record({
    fees: fc.record({ maker: share, taker: share, fixed: fc.integer({ min: 0, max: 5 }) }),
    slippage: fc.oneof(
      fc.integer({ min: 0, max: 3 }).map((amount) => ({ amount })),
      share.map((of) => ({ share: of })),
      fc.constant({ impact: 0.1 }),
    ),
    maxVolumeShare: fc.option(fc.constantFrom(0.1, 1), { nil: undefined }),
    latency: fc.constantFrom(0, 1, MINUTE),
    insideBar: fc.constantFrom(...RULES),
    short: fc.option(fc.constantFrom({ borrow: 0 }, { borrow: 100 }), { nil: undefined }),
  })
  .map(({ maxVolumeShare, short, ...rest }) => ({
    ...rest,
    ...("impact" in rest.slippage
      ? { maxVolumeShare: maxVolumeShare ?? 0.5 }
      : maxVolumeShare && { maxVolumeShare }),
    ...(short && { short }),
  }));
const session = fc.record({ options, steps: fc.array(step, { minLength: 1, maxLength: 15 }) });

interface Told {
  readonly report: Report;
  readonly bar: Bar | undefined;
}

/** Every minute a candle of one pair, and then orders on what is known by its end. */
function run({ options: given, steps }: typeof session extends fc.Arbitrary<infer T> ? T : never) {
  const broker = new Broker(checkBroker(given), PAIRS);
  const told: Told[] = [];
  const placedAt = new Map<Order | CancelOrder, number>();
  const placed: Order[] = [];
  for (const [at, { prices: row, pair, placed: orders }] of steps.entries()) {
    const bar = barOf(at, [...row], pair);
    for (const report of broker.close(bar)) told.push({ report, bar });
    for (const one of orders) {
      if (one.type !== "cancel") {
        placed.push(one);
        placedAt.set(one, bar.observedAt);
      }
      for (const report of broker.place(one, bar.observedAt)) told.push({ report, bar: undefined });
    }
  }
  return { broker, told, placed, rules: checkBroker(given), placedAt };
}

const fillsOf = (told: readonly Told[]) =>
  told.flatMap(({ report, bar }) => (report.type === "fill" ? [{ fill: report.fill, bar: bar! }] : []));
const near = (scale: number) => 1e-6 * Math.max(1, Math.abs(scale));

describe("a broker, whatever is ordered", () => {
  const check = (property: (result: ReturnType<typeof run>) => void) =>
    fc.assert(
      fc.property(session, (given) => property(run(given))),
      { numRuns: 300 },
    );

  it("conserves money and tokens: what is there is what fills, fees and borrowing left of the start", () => {
    check(({ broker, told }) => {
      let cash = 10_000;
      const tokens = new Map(PAIRS.map((pair) => [pair.pairAddress, 0]));
      let scale = 1e4;
      for (const { fill } of fillsOf(told)) {
        const sign = fill.side === "buy" ? 1 : -1;
        cash -= sign * fill.quantity * fill.price + fill.fee;
        tokens.set(fill.series.pairAddress, tokens.get(fill.series.pairAddress)! + sign * fill.quantity);
        scale += fill.quantity * fill.price;
      }
      expect(Math.abs(broker.cash - (cash - broker.borrowed))).toBeLessThan(near(scale));
      for (const { series: of, quantity } of broker.positions) {
        expect(Math.abs(quantity - tokens.get(of.pairAddress)!)).toBeLessThan(near(scale));
        tokens.set(of.pairAddress, 0);
      }
      for (const left of tokens.values()) expect(Math.abs(left)).toBeLessThan(near(scale));
    });
  });

  it("fills between low and high of the candle, and slips to the worse", () => {
    check(({ told }) => {
      for (const { fill, bar } of fillsOf(told)) {
        if (fill.order === undefined) continue;
        expect(fill.quote).toBeGreaterThanOrEqual(bar.low);
        expect(fill.quote).toBeLessThanOrEqual(bar.high);
        expect(fill.candle).toBe(bar.start);
        expect(fill.reportedAt).toBe(bar.observedAt);
        const worse = fill.side === "buy" ? fill.price - fill.quote : fill.quote - fill.price;
        expect(worse).toBeGreaterThanOrEqual(0);
        if (fill.liquidity === "maker") expect(worse).toBe(0);
      }
    });
  });

  it("gives a limit order its limit or better, and a stop its stop or worse", () => {
    check(({ told, rules }) => {
      for (const { fill } of fillsOf(told)) {
        const { order: of } = fill;
        if (of === undefined) continue;
        const sign = fill.side === "buy" ? 1 : -1;
        if ("limit" in of) expect(sign * (of.limit - fill.price)).toBeGreaterThanOrEqual(0);
        // Where a candle has too little volume, what has been reached in it waits for the next one, at any price.
        if (rules.maxVolumeShare !== undefined) continue;
        if (of.type === "take-profit") expect(sign * (of.target - fill.quote)).toBeGreaterThanOrEqual(0);
        if (of.type === "stop") expect(sign * (fill.quote - of.stop)).toBeGreaterThanOrEqual(0);
      }
    });
  });

  it("fills nothing before the order was known, nor after it has expired", () => {
    check(({ told, placedAt, rules }) => {
      for (const { fill, bar } of fillsOf(told)) {
        const of = fill.order;
        if (of === undefined) continue;
        const known = [...placedAt].filter(
          ([one]) => one.type !== "cancel" && one.side === of.side && one.type === of.type,
        );
        expect(Math.min(...known.map(([, at]) => at + rules.latency))).toBeLessThanOrEqual(bar.start);
        const { timeInForce: time } = of;
        if (typeof time === "object") expect(bar.end).toBeLessThanOrEqual(time.until);
      }
    });
  });

  it("owes neither money nor, where shorts are not allowed, tokens", () => {
    check(({ broker, rules }) => {
      if (rules.short !== undefined) return;
      expect(broker.cash).toBeGreaterThan(-1e-4);
      for (const { quantity } of broker.positions) expect(quantity).toBeGreaterThan(-1e-9);
    });
  });

  it("takes no more of a candle than its share of the volume", () => {
    check(({ told, rules }) => {
      if (rules.maxVolumeShare === undefined) return;
      const taken = new Map<Bar, number>();
      for (const { fill, bar } of fillsOf(told)) {
        if (fill.order !== undefined) taken.set(bar, (taken.get(bar) ?? 0) + fill.quantity * fill.quote);
      }
      for (const [bar, value] of taken) {
        expect(value).toBeLessThanOrEqual(bar.volume * rules.maxVolumeShare * (1 + 1e-9));
      }
    });
  });

  it("tells the end of every order once, or keeps it open", () => {
    check(({ broker, told, placed }) => {
      const ends = told.filter(({ report }) => {
        if (report.type === "rejection") return report.rejection.order.type !== "cancel";
        return report.type === "cancellation";
      });
      // A fill in whole is told by a fill alone: what is left after all others is filled.
      const filled = placed.length - ends.length - broker.orders.length;
      expect(filled).toBeGreaterThanOrEqual(0);
      expect(filled).toBeLessThanOrEqual(fillsOf(told).filter(({ fill }) => fill.order !== undefined).length);
    });
  });

  it("does the same twice", () => {
    fc.assert(
      fc.property(session, (given) => {
        const [first, second] = [run(given), run(given)];
        expect(second.told).toEqual(first.told);
        expect(second.broker.cash).toBe(first.broker.cash);
        expect(second.broker.equity).toBe(first.broker.equity);
      }),
      { numRuns: 50 },
    );
  });
});

/** What one candle makes of orders that were there before it. */
function worthAfter(given: BrokerOptions, orders: readonly Order[], row: readonly number[]): number {
  const broker = new Broker(checkBroker(given), PAIRS);
  for (const one of orders) broker.place(one, 0);
  broker.close(barOf(0, row as never));
  return broker.equity;
}

describe("the rule for the inside of a candle", () => {
  const oneCandle = fc.record({ options, orders: fc.array(order, { maxLength: 5 }), row: prices });

  it("is never better, where it is pessimistic, than any other, and never worse where it is optimistic", () => {
    fc.assert(
      fc.property(oneCandle, ({ options: given, orders, row }) => {
        const calm = { ...given, latency: 0 };
        const worthBy = (insideBar: InsideBar) => worthAfter({ ...calm, insideBar }, orders, row);
        const [worst, best] = [worthBy("pessimistic"), worthBy("optimistic")];
        for (const rule of RULES) {
          expect(worthBy(rule)).toBeGreaterThanOrEqual(worst);
          expect(worthBy(rule)).toBeLessThanOrEqual(best);
        }
      }),
      { numRuns: 500 },
    );
  });

  it("is no better for an entry with stop and target than any way that the prices may have gone", () => {
    const side = fc.constantFrom("buy" as const, "sell" as const);
    const ways = fc.array(price, { maxLength: 6 });
    const bracket = fc.record({
      side,
      entry: price,
      kind: fc.constantFrom("limit" as const, "stop" as const),
      risk: fc.integer({ min: 1, max: 15 }),
      gain: fc.integer({ min: 1, max: 15 }),
      row: prices,
      ways,
      isHighFirst: fc.boolean(),
    });
    fc.assert(
      fc.property(
        bracket,
        ({ side: way, entry, kind: type, risk, gain, row, ways: between, isHighFirst }) => {
          const [open, high, low, close] = row;
          const sign = way === "buy" ? 1 : -1;
          const [stop, target] = [entry - sign * risk, entry + sign * gain];
          const exit = way === "buy" ? "sell" : "buy";
          const orders = [
            orderOf(
              way,
              type === "limit" ? { id: "in", type, limit: entry } : { id: "in", type, stop: entry },
            ),
            orderOf(exit, { type: "stop", stop, after: "in", group: "out", size: { position: 1 } }),
            orderOf(exit, { type: "take-profit", target, after: "in", group: "out", size: { position: 1 } }),
          ];
          const told = worthAfter({ ...FREE, short: { borrow: 0 } }, orders, row) - 10_000;
          const inside = between.map((one) => Math.min(high, Math.max(low, one)));
          const path = [open, ...inside, ...(isHighFirst ? [high, low] : [low, high]), close];
          expect(told).toBeLessThanOrEqual(gainOnWay(path, sign, type, entry, stop, target) + 1e-9);
        },
      ),
      { numRuns: 2_000 },
    );
  });
});

/** The plainest way to trade one token on prices that are known, step by step: all prices here are whole numbers. */
function gainOnWay(
  path: readonly number[],
  sign: number,
  type: "limit" | "stop",
  entry: number,
  stop: number,
  target: number,
): number {
  const steps = path.flatMap((to, at) => {
    const from = path[at - 1] ?? to;
    const count = Math.abs(to - from);
    return Array.from({ length: Math.max(1, count) }, (_, n) =>
      count === 0 ? to : from + Math.sign(to - from) * (n + 1),
    );
  });
  let paid: number | undefined;
  for (const now of steps) {
    if (paid === undefined) {
      const isIn = type === "limit" ? sign * (entry - now) >= 0 : sign * (now - entry) >= 0;
      if (!isIn) continue;
      paid = now;
    }
    if (sign * (stop - now) >= 0 || sign * (now - target) >= 0) return sign * (now - paid);
  }
  return paid === undefined ? 0 : sign * (path.at(-1)! - paid);
}
