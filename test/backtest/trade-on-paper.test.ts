import type { CandleEvent } from "pairstream";
import { type Order, type PaperEvent, type Strategy, tradeOnPaper } from "pairstream/backtest";
import { EMPTY, mergeMap, of, Subject, throwError } from "rxjs";
import { describe, expect, it } from "vitest";
import { PaperAccount } from "../../src/backtest/paper-account.js";
import { checkBroker } from "../../src/backtest/rules.js";
import { FREE, MINUTE, series } from "./bars.js";

const eventOf = (at: number, more: object = {}): CandleEvent =>
  ({
    type: "new",
    candle: {
      timestamp: at * MINUTE,
      open: 100 + at,
      high: 102 + at,
      low: 99 + at,
      close: 101 + at,
      volume: 1,
      swaps: 1,
    },
    status: "closed",
    revision: 0,
    live: true,
    lateBy: 0,
    observedAt: (at + 1) * MINUTE + 1_100,
    series,
    ...more,
  }) as CandleEvent;
const buy: Order = { type: "market", side: "buy", series, size: { quantity: 1 } };

describe("an account on paper", () => {
  it("tells orders, fills and refusals in their order, each with what the account is worth", () => {
    const events = new Subject<CandleEvent>();
    const strategy: Strategy = (seen) =>
      seen.pipe(mergeMap(({ candle }) => (candle.timestamp === MINUTE ? [] : [buy])));
    const told: PaperEvent[] = [];
    events.pipe(tradeOnPaper({ series: [series], strategy, broker: FREE })).subscribe((e) => told.push(e));
    events.next(eventOf(0, { live: false }));
    events.next(eventOf(1));
    events.next(eventOf(2));
    events.next(eventOf(3));
    events.next(eventOf(4));
    expect(told).toMatchObject([
      { type: "order", placed: { order: buy, at: MINUTE + 1_100 } },
      { type: "rejection", rejection: { reason: "late" } },
      { type: "order", placed: { at: 3 * MINUTE + 1_100 }, equity: 10_000 },
      // The candle 3 had begun when the order of 2 was known.
      { type: "order", placed: { at: 4 * MINUTE + 1_100 }, equity: 10_000 },
      { type: "fill", fill: { candle: 4 * MINUTE, price: 104 }, equity: 10_001 },
      { type: "order" },
    ]);
    expect(told.every(Object.isFrozen)).toBe(true);
  });

  it("fills when a candle closes, once, and with none that had begun", () => {
    const account = new PaperAccount(checkBroker(FREE), [], "monday", 0);
    account.hear(eventOf(0));
    account.order(buy);
    expect(account.hear(eventOf(1, { status: "open" }))).toEqual([]);
    // Known at 1:01, so that the candle that began at 1:00 is none of its own.
    expect(account.hear(eventOf(1))).toEqual([]);
    expect(account.hear(eventOf(2, { status: "open" }))).toEqual([]);
    expect(account.hear(eventOf(2))).toMatchObject([
      { type: "fill", fill: { candle: 2 * MINUTE, price: 102 } },
    ]);
    account.order(buy);
    const { candle: previous } = eventOf(2);
    expect(account.hear(eventOf(2, { type: "updated", previous, status: "final" }))).toEqual([]);
    expect(account.hear(eventOf(3, { type: "removed" }))).toEqual([]);
    expect(account.hear(eventOf(4))).toHaveLength(1);
  });

  it("takes what comes before the first event as decided on it, so that no history fills it", () => {
    const told: PaperEvent[] = [];
    const events = [eventOf(0), eventOf(1), eventOf(2)];
    of(...events)
      .pipe(tradeOnPaper({ series: [series], strategy: () => of(buy), broker: FREE }))
      .subscribe((event) => told.push(event));
    expect(told).toMatchObject([{ type: "order", placed: { at: MINUTE + 1_100 } }, { type: "fill" }]);
    expect(told).toMatchObject([{}, { fill: { candle: 2 * MINUTE } }]);
  });

  it("begins anew with each subscription, and passes errors on", () => {
    const account = of(eventOf(0), eventOf(1), eventOf(2)).pipe(
      tradeOnPaper({ series: [series], strategy: () => of(buy), broker: FREE }),
    );
    const runs = [0, 1].map(() => {
      const told: PaperEvent[] = [];
      account.subscribe((event) => told.push(event));
      return told;
    });
    expect(runs[0]).toHaveLength(2);
    expect(runs[1]).toEqual(runs[0]);
    const failing = tradeOnPaper({ series: [series], strategy: () => throwError(() => new Error("bad")) });
    expect(() => of(eventOf(0)).pipe(failing).subscribe({ error: expectBad })).not.toThrow();
  });

  it("refuses options that it cannot take", () => {
    const strategy: Strategy = () => EMPTY;
    expect(() => tradeOnPaper({ series: [series], strategy, broker: { cash: 0 } })).toThrow(/broker\.cash/);
    expect(() => tradeOnPaper({ series: [{ ...series, pairAddress: "" }], strategy })).toThrow(/pairAddress/);
    expect(() => tradeOnPaper({ series: [series], strategy, cash: 1 } as never)).toThrow(/cash/);
  });

  it.each<[string, object]>([
    ["strategy", { strategy: undefined }],
    ["strategy", { strategy: of(buy) }],
    ["series", { series: undefined }],
    ["series", { series }],
    ["series", { series: [] }],
    ["series[1]", { series: [series, { ...series }] }],
    ["series[1].currency", { series: [series, { ...series, currency: "native" }] }],
    ["network", { series: [{}] }],
  ])("names the option that it cannot take at the call: %s of %j", (parameter, wrong) => {
    const options = { series: [series], strategy: () => EMPTY, ...wrong };
    expect(() => tradeOnPaper(options as never)).toThrow(
      expect.objectContaining({ name: "InvalidInputError", parameter }),
    );
  });

  it("errors where the strategy returns no Observable", () => {
    let error: unknown;
    of(eventOf(0))
      .pipe(tradeOnPaper({ series: [series], strategy: (() => buy) as never }))
      .subscribe({ error: (thrown) => (error = thrown) });
    expect(error).toMatchObject({ name: "InvalidInputError", parameter: "strategy" });
  });
});

const expectBad = (error: Error) => expect(error.message).toBe("bad");
