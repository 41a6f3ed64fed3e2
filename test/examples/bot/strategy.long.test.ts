import { type CandleEvent, type Client, resample, type Series, watchCandles } from "pairstream";
import { connect, merge, type Observable } from "rxjs";
import { describe, expect, it } from "vitest";
import type { Log } from "../../../examples/bot/log.js";
import { decideOrders, type Order, type Position } from "../../../examples/bot/strategy.js";
import { type BotState, paperBroker, type Store, Trader } from "../../../examples/bot/trader.js";
import { crash, HOUR, MINUTE, PAIRS, START, Stage } from "../../documents/recipes.js";

const RULES = { trend: "1h", stopLoss: 0.02 } as const;
const LOOK = 10_000;
/** Enough for some crossings with volume behind them. */
const roughness = 0.1;
const noLog: Log = () => {};

/** Minutes of both pairs, and five minutes made of them, as the program has them. */
function candlesOf(client: Client): Observable<CandleEvent> {
  const minutes = PAIRS.map((pairAddress) =>
    watchCandles(client, {
      network: "mainnet",
      pairAddress,
      timeframe: "1min",
      currency: "usd",
      every: LOOK,
      since: { candles: 1_300 },
    }),
  );
  return merge(...minutes).pipe(connect((short) => merge(short, short.pipe(resample("5min")))));
}

const keyOf = ({ series, candle }: Order) => `${series.pairAddress} ${series.timeframe} ${candle}`;

/** What is wished for by one who always has the same, and the closes and looks that were in time. */
async function wishes(stage: Stage, time: number, positionOf: (series: Series) => Position | undefined) {
  const orders: Order[] = [];
  const closes = new Map<string, CandleEvent>();
  const events = candlesOf(stage.client()).pipe(
    connect((shared) => {
      shared.subscribe((event) => {
        const key = keyOf({ series: event.series, candle: event.candle.timestamp } as Order);
        if (event.type !== "removed" && event.status !== "open" && !closes.has(key)) closes.set(key, event);
      });
      return decideOrders(shared, positionOf, RULES);
    }),
  );
  const bot = events.subscribe((order) => orders.push(order));
  await stage.clock.advanceBy(time);
  bot.unsubscribe();
  expect(stage.clock.pending).toBe(0);
  return { orders, closes };
}

function memoryStore(): Store & { state: BotState; writes: BotState[] } {
  const store = {
    state: {} as BotState,
    writes: [] as BotState[],
    read: () => store.state,
    write: (state: BotState) => {
      store.state = state;
      store.writes.push(state);
    },
  };
  return store;
}

/** Trades for a time as the program does; the state outlives it. */
async function trade(stage: Stage, time: number, store: Store): Promise<Order[]> {
  const broker = paperBroker(100);
  const done: Order[] = [];
  const trader = new Trader(
    store,
    (order, position) => {
      done.push(order);
      return broker(order, position);
    },
    noLog,
  );
  const bot = decideOrders(candlesOf(stage.client()), trader.positionOf, RULES).subscribe((order) =>
    trader.act(order),
  );
  await stage.clock.advanceBy(time);
  bot.unsubscribe();
  return done;
}

const rates = { delay: 0.05, reset: 0.1, "5xx": 0.1, html: 0.05, cutOff: 0.05 };

describe("the strategy of the bot", () => {
  it.each([
    ["without a position", () => undefined],
    ["with one that is far from its stop", () => ({ price: 1e-9, quantity: 1 })],
  ])("%s decides through faults on what closes in time as it does without them", async (_, positionOf) => {
    const clean = await wishes(new Stage({ roughness }), 6 * HOUR, positionOf);
    const outage = [START + 2 * HOUR, START + 4 * HOUR] as const;
    const faulty = await wishes(new Stage({ roughness, rates, outage }), 6 * HOUR, positionOf);
    expect(clean.orders.length).toBeGreaterThan(3);
    const isInTime = (order: Order) => faulty.closes.get(keyOf(order))?.live === true;
    const expected = clean.orders.filter(isInTime).map(keyOf).sort();
    expect(expected.length).toBeGreaterThan(0);
    expect(expected.length).toBeLessThan(clean.orders.length);
    expect(faulty.orders.map(keyOf).sort()).toEqual(expected);
    expect(new Set(expected).size).toBe(expected.length);
    const timeframes = new Set(clean.orders.map(({ series }) => series.timeframe));
    expect([...timeframes].sort()).toEqual(["1min", "5min"]);
  });

  it("sells a position at its stop while the candle runs, once", async () => {
    const bought = { price: 1e9, quantity: 1 };
    const held = `${PAIRS[0]} 1min`;
    const store = memoryStore();
    store.state = { [held]: { actedOn: START - HOUR, position: bought } };
    const stage = new Stage({ roughness });
    await stage.clock.advanceBy(5_000); // What has closed before is history.
    const [stop] = await trade(stage, 30_000, store);
    expect(stop).toMatchObject({ side: "sell", reason: "stop", candle: START });
    expect(store.state[held]).toEqual({ actedOn: START });
  });

  it("sells on a crash that no look at the running candle has seen", async () => {
    const store = memoryStore();
    const held = `${PAIRS[0]} 1min`;
    store.state = { [held]: { actedOn: START - HOUR, position: { price: 10, quantity: 1 } } };
    const stage = new Stage({ source: crash });
    await stage.clock.advanceBy(5_000);
    const orders = await trade(stage, 3 * MINUTE, store);
    expect(orders).toMatchObject([{ side: "sell", reason: "stop", candle: START, price: 5 }]);
    expect(store.state[held]).toEqual({ actedOn: START });
  });
});

describe("the bot", () => {
  it("acts at most once a candle, through corrections, faults, an outage and restarts, by turns", async () => {
    const outage = [START + 2 * HOUR, START + 4 * HOUR] as const;
    const stage = new Stage({ roughness, isUnsettled: true, rates, outage });
    const store = memoryStore();
    const done: Order[] = [];
    // Restarts after some minutes; the outage is within one of them, and others are within candles.
    for (const time of [2.5 * HOUR, 90_000, 7.3 * MINUTE, 3 * HOUR, 33_000, 2 * HOUR]) {
      done.push(...(await trade(stage, time, store)));
      await stage.clock.advanceBy(1_500);
    }
    expect(done.length).toBeGreaterThan(5);
    expect(new Set(done.map(keyOf)).size).toBe(done.length);
    for (const key of Object.keys(store.state)) {
      const orders = done.filter((order) => keyOf(order).startsWith(`${key} `));
      expect(orders.map(({ side }) => side)).toEqual(orders.map((_, at) => (at % 2 === 0 ? "buy" : "sell")));
      const candles = orders.map(({ candle }) => candle);
      expect(candles).toEqual([...candles].sort((a, b) => a - b));
    }
    const hours = (order: Order) => order.observedAt >= outage[0] + MINUTE && order.observedAt < outage[1];
    expect(done.filter(hours)).toEqual([]);
  });

  const order: Order = {
    side: "buy",
    reason: "cross",
    series: { network: "mainnet", pairAddress: "pair", timeframe: "1min", currency: "usd" },
    candle: START,
    price: 5,
    observedAt: START + MINUTE,
  };

  it("writes what it acts on before it acts, and leaves a series alone whose order may have been carried out", async () => {
    const store = memoryStore();
    const seen: BotState[] = [];
    const events: string[] = [];
    const broken = () => {
      seen.push(store.state);
      return Promise.reject(new Error("no answer"));
    };
    const trader = new Trader(store, broken, (event) => events.push(event));
    await trader.act(order);
    expect(seen).toEqual([{ "pair 1min": { actedOn: START, pending: order } }]);
    expect(store.state).toEqual(seen[0]);
    await trader.act({ ...order, candle: START + MINUTE });
    expect(events).toEqual(["order", "order-unknown"]);

    const said: string[] = [];
    const next = new Trader(store, paperBroker(100), (event) => said.push(event));
    await next.act({ ...order, candle: START + MINUTE });
    expect(said).toEqual(["order-unknown"]);
    expect(next.counts).toEqual({ buys: 0, sells: 0, stops: 0 });
  });

  it("counts what it has done, and what that has brought", async () => {
    const trader = new Trader(memoryStore(), paperBroker(100), noLog);
    await trader.act(order);
    await trader.act(order);
    expect(trader.positions).toEqual({ "pair 1min": { price: 5, quantity: 20 } });
    await trader.act({ ...order, side: "sell", reason: "stop", candle: START + MINUTE, price: 4 });
    expect(trader.counts).toEqual({ buys: 1, sells: 0, stops: 1 });
    expect(trader.profit).toBe(-20);
    expect(trader.positions).toEqual({});
  });
});
