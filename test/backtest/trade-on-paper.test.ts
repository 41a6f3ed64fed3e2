import {
  type CandleEvent,
  createClient,
  crosses,
  ema,
  type FetchLike,
  recordExchanges,
  replayExchanges,
  VirtualClock,
  watchCandles,
  withIndicators,
} from "pairstream";
import {
  type BrokerOptions,
  backtest,
  type Fill,
  type Order,
  type PaperEvent,
  type Strategy,
  tradeOnPaper,
} from "pairstream/backtest";
import { createPairService, simulatedMarket, unsettled, withFaults } from "pairstream/service";
import { EMPTY, mergeMap, of, type SchedulerLike, Subject, throwError } from "rxjs";
import { describe, expect, it } from "vitest";
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
});

const expectBad = (error: Error) => expect(error.message).toBe("bad");

const START = Date.UTC(2025, 0, 1, 6, 30, 4, 321);
const LENGTH = 40 * MINUTE;
const PAIR = { network: "mainnet", pairAddress: "pair1", timeframe: "10s", currency: "usd" } as const;

/** Enters at crossings with a stop and a target, follows with a trailing stop, and leaves when they cross back. */
const bracketed: Strategy = (events) =>
  events.pipe(
    withIndicators({ fast: ema(3), slow: ema(8) }),
    crosses("fast", "slow"),
    mergeMap(({ direction, event: { candle, series: of } }): Order[] => {
      if (direction === "down") return [{ type: "market", side: "sell", series: of, size: { position: 1 } }];
      const id = `in ${candle.timestamp}`;
      const exit = {
        side: "sell",
        series: of,
        size: { position: 1 },
        after: id,
        group: `out ${candle.timestamp}`,
      } as const;
      const { close } = candle;
      return [
        { id, type: "limit", limit: close * 1.01, side: "buy", series: of, size: { equity: 0.5 } },
        { ...exit, type: "stop", stop: close * 0.99 },
        { ...exit, type: "take-profit", target: close * 1.02 },
        { ...exit, type: "trailing-stop", trail: { share: 0.015 } },
      ];
    }),
  );

/** A service in trouble: late swaps, forks, refusals, resets, broken bodies. */
function troubledService(seed: number, clock: VirtualClock): FetchLike {
  const market = simulatedMarket({ seed, pairs: [PAIR.pairAddress] });
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

/** A session of forty minutes, through the streams of a live run. */
function trade(fetch: FetchLike, scheduler: SchedulerLike, broker: BrokerOptions = {}): PaperEvent[] {
  const client = createClient({ baseUrl: "http://localhost", apiKey: "key", fetch, scheduler });
  const told: PaperEvent[] = [];
  watchCandles(client, { ...PAIR, since: { candles: 60 }, every: 2_500, fillGaps: true })
    .pipe(tradeOnPaper({ series: [PAIR], strategy: bracketed, broker }))
    .subscribe((event) => told.push(event));
  return told;
}

const fillsOf = (told: readonly PaperEvent[]): Fill[] =>
  told.flatMap((event) => (event.type === "fill" ? [event.fill] : []));

describe("a session", () => {
  it.each([1, 2, 3])("has the same orders and fills live and on its tape (seed %d)", async (seed) => {
    const clock = new VirtualClock(START);
    const lines: string[] = [];
    const live = trade(
      recordExchanges(troubledService(seed, clock), (line) => lines.push(line)),
      clock,
    );
    await clock.advanceTo(START + LENGTH);
    const seen = [...live];

    const tape = replayExchanges(lines);
    const again = trade(tape.fetch, tape.scheduler);
    await tape.run();

    expect(fillsOf(seen).length).toBeGreaterThan(5);
    expect(again).toEqual(seen);
  });

  it("trades nothing on its history", async () => {
    const clock = new VirtualClock(START);
    const told = trade(troubledService(1, clock), clock);
    await clock.advanceTo(START + LENGTH);
    for (const { candle } of fillsOf(told)) expect(candle).toBeGreaterThanOrEqual(START - 10_000);
    const late = told.filter((event) => event.type === "rejection" && event.rejection.reason === "late");
    expect(late.length).toBeGreaterThan(0);
  });

  it("has the fills of a backtest over its candles, on a service without trouble", async () => {
    const clock = new VirtualClock(START);
    const market = simulatedMarket({ seed: 4, pairs: [PAIR.pairAddress] });
    const { fetch } = createPairService({ source: market, clock: () => clock.now() });
    const live = trade(fetch, clock);
    const client = createClient({ baseUrl: "http://localhost", apiKey: "key", fetch, scheduler: clock });
    const closed = new Map<number, CandleEvent>();
    watchCandles(client, { ...PAIR, since: { candles: 60 }, every: 2_500, fillGaps: true }).subscribe(
      (event) => {
        if (event.status !== "open" && event.type !== "removed") closed.set(event.candle.timestamp, event);
      },
    );
    await clock.advanceTo(START + LENGTH);
    const first = Math.min(...[...closed.values()].filter((e) => e.live).map((e) => e.candle.timestamp));
    // What is decided before is not live, and trades nothing.
    const fresh: Strategy = (events) =>
      bracketed(events).pipe(mergeMap((order) => (isFresh(order, first) ? [order] : [])));
    const past = await backtest({
      feeds: [{ series: PAIR, candles: [...closed.values()].map(({ candle }) => candle) }],
      strategy: fresh,
      broker: { latency: 2_000 },
    });
    const deals = (fills: readonly Fill[]) =>
      fills.map(({ side, candle, price, order }) => ({ side, candle, price, type: order?.type }));
    expect(past.fills.length).toBeGreaterThan(5);
    expect(deals(fillsOf(live))).toEqual(deals(past.fills));
  });
});

/** Orders of the history name a candle of it; without a name they only reduce, and find nothing to. */
const isFresh = (order: Order | { type: "cancel" }, first: number): boolean => {
  const name = order.type === "cancel" ? undefined : (order.id ?? order.after);
  return name === undefined || Number(name.split(" ")[1]) >= first;
};
