import * as fc from "fast-check";
import { InvalidInputError } from "pairstream";
import { describe, expect, it } from "vitest";
import { hold } from "../../../examples/backtest/backtest.js";
import {
  type Account,
  type BrokerRules,
  equityOf,
  type Fill,
  fillOrder,
  type Order,
  openAccount,
  placeOrder,
  type Quote,
} from "../../../examples/backtest/broker.js";
import { candleOf } from "./candles.js";

const RULES: BrokerRules = { cash: 1_000, fee: 0, slippage: 0 };

const orderOf = (side: Order["side"], at: number): Order => {
  return { side, candle: at * 60_000, placedAt: (at + 1) * 60_000, price: 1 };
};

/** A candle that is first seen at its end, as in a backtest. */
const quoteOf = (at: number, open: number, close = open): Quote => {
  return { type: "new", candle: candleOf(at, open, close), status: "final", observedAt: (at + 1) * 60_000 };
};

function holding(): Account {
  return fillOrder(placeOrder(openAccount(RULES), orderOf("buy", 0)), quoteOf(1, 2), RULES).account;
}

describe("an order", () => {
  it("waits for a candle after its own, and is filled once", () => {
    const placed = placeOrder(openAccount(RULES), orderOf("buy", 5));
    expect(fillOrder(placed, quoteOf(4, 2), RULES).fill).toBeUndefined();
    expect(fillOrder(placed, quoteOf(5, 2), RULES).fill).toBeUndefined();
    const { account, fill } = fillOrder(placed, quoteOf(9, 4), RULES);
    expect(fill).toMatchObject({ candle: 9 * 60_000, price: 4, quantity: 250, fee: 0 });
    expect(account).toEqual({ cash: 0, quantity: 250, pending: undefined });
    expect(fillOrder(account, quoteOf(10, 8), RULES)).toEqual({ account });
  });

  it("is filled at the open of a running candle", () => {
    const placed = placeOrder(openAccount(RULES), orderOf("buy", 5));
    const running: Quote = { ...quoteOf(6, 4), status: "open", observedAt: 6 * 60_000 };
    expect(fillOrder(placed, running, RULES).fill).toMatchObject({ candle: 6 * 60_000, price: 4 });
  });

  it("is not filled in a candle that was over when it was placed, nor in one that is gone", () => {
    const late = { ...orderOf("buy", 5), placedAt: 9 * 60_000 };
    const placed = placeOrder(openAccount(RULES), late);
    const caughtUp: Quote = { ...quoteOf(6, 4), status: "closed", observedAt: 9 * 60_000 };
    expect(fillOrder(placed, caughtUp, RULES).fill).toBeUndefined();
    expect(fillOrder(placed, { ...quoteOf(9, 4), type: "removed" }, RULES).fill).toBeUndefined();
    expect(fillOrder(placed, quoteOf(9, 5), RULES).fill).toMatchObject({ price: 5 });
  });

  it("for what is there already does nothing, and calls off the opposite one that waits", () => {
    const flat = openAccount(RULES);
    expect(placeOrder(flat, orderOf("sell", 1))).toEqual(flat);
    expect(placeOrder(placeOrder(flat, orderOf("buy", 1)), orderOf("sell", 2))).toEqual(flat);
    const held = holding();
    expect(placeOrder(held, orderOf("buy", 3))).toEqual(held);
  });

  it("waits on while the price is nothing", () => {
    const placed = placeOrder(openAccount(RULES), orderOf("buy", 0));
    expect(fillOrder(placed, quoteOf(1, 0), RULES)).toEqual({ account: placed });
  });
});

describe("openAccount", () => {
  it.each([
    ["cash", { cash: 0 }],
    ["cash", { cash: Number.NaN }],
    ["cash", { cash: Number.POSITIVE_INFINITY }],
    ["fee", { fee: -0.1 }],
    ["fee", { fee: 1 }],
    ["slippage", { slippage: Number.NaN }],
  ])("refuses %s of %j", (parameter, change) => {
    expect(() => openAccount({ ...RULES, ...change })).toThrow(
      expect.objectContaining({ name: "InvalidInputError", parameter }),
    );
    expect(() => openAccount({ ...RULES, ...change })).toThrow(InvalidInputError);
  });
});

describe("whatever the prices and the orders", () => {
  const price = fc.double({ min: 1e-9, max: 1e6, noNaN: true });
  const share = fc.double({ min: 0, max: 0.5, noNaN: true });
  const rules = fc.record({
    cash: fc.double({ min: 1, max: 1e9, noNaN: true }),
    fee: share,
    slippage: share,
  });
  const minutes = fc.array(fc.tuple(price, price, fc.constantFrom("buy", "sell", undefined)), {
    minLength: 1,
    maxLength: 40,
  });

  function live(days: readonly (readonly [number, number, Order["side"] | undefined])[], costs: BrokerRules) {
    let account = openAccount(costs);
    const fills: Fill[] = [];
    const accounts: Account[] = [];
    const equity = days.map(([open, close, side], at) => {
      const filled = fillOrder(account, quoteOf(at, open, close), costs);
      account = filled.account;
      accounts.push(account);
      if (filled.fill !== undefined) fills.push(filled.fill);
      const worth = equityOf(account, close);
      if (side !== undefined) account = placeOrder(account, orderOf(side, at));
      return worth;
    });
    return { equity, fills, accounts };
  }

  it("equity is a finite amount, and all of it is cash or all of it tokens", () => {
    fc.assert(
      fc.property(minutes, rules, (days, costs) => {
        const { equity, accounts } = live(days, costs);
        for (const value of equity)
          expect(value).toSatisfy((v: number) => v > 0 && v < Number.POSITIVE_INFINITY);
        for (const { cash, quantity } of accounts) expect(Math.min(cash, quantity)).toBe(0);
      }),
    );
  });

  it("buys and sales take turns, each at a later candle than its order", () => {
    fc.assert(
      fc.property(minutes, rules, (days, costs) => {
        const { fills } = live(days, costs);
        fills.forEach(({ order, candle }, at) => {
          expect(order.side).toBe(at % 2 === 0 ? "buy" : "sell");
          expect(candle).toBeGreaterThan(order.candle);
        });
      }),
    );
  });

  it("higher costs never leave more", () => {
    fc.assert(
      fc.property(minutes, rules, share, share, (days, costs, fee, slippage) => {
        const dearer = {
          ...costs,
          fee: Math.max(costs.fee, fee),
          slippage: Math.max(costs.slippage, slippage),
        };
        const [cheap, dear] = [live(days, costs).equity, live(days, dearer).equity];
        dear.forEach((value, at) => {
          expect(value).toBeLessThanOrEqual(cheap[at]! * (1 + 1e-9));
        });
      }),
    );
  });

  it("without costs, holding gains what the price gains since the first open", () => {
    fc.assert(
      fc.property(minutes, (days) => {
        const candles = days.map(([open, close], at) => candleOf(at, open, close));
        const { equity, exposed } = hold(candles, RULES);
        const gain = days.at(-1)![1] / days[0]![0];
        expect(equity.at(-1)! / RULES.cash / gain).toBeCloseTo(1, 9);
        expect(exposed).toBe(days.length);
      }),
    );
  });

  it("buying once and never selling is holding from the candle after", () => {
    fc.assert(
      fc.property(minutes, rules, ([, ...days], costs) => {
        if (days.length === 0) return;
        const once = live(
          [[1, 1, "buy"], ...days.map(([open, close]) => [open, close, undefined] as const)],
          costs,
        );
        const candles = days.map(([open, close], at) => candleOf(at, open, close));
        expect(once.equity.slice(1)).toEqual(hold(candles, costs).equity);
      }),
    );
  });
});
