import * as fc from "fast-check";
import {
  type Candle,
  type CandleEvent,
  createClient,
  type FetchLike,
  fetchCandles,
  recordExchanges,
  replayExchanges,
  type Series,
  VirtualClock,
  watchCandles,
} from "pairstream";
import {
  type BrokerOptions,
  backtest,
  type CancelOrder,
  type Order,
  type Strategy,
} from "pairstream/backtest";
import { createPairService, simulatedMarket } from "pairstream/service";
import { EMPTY, firstValueFrom, from, mergeMap, type SchedulerLike, Subject, toArray } from "rxjs";
import { describe, expect, it } from "vitest";
import { PaperAccount } from "../../src/backtest/paper-account.js";
import type { Report } from "../../src/backtest/report.js";
import { checkBroker } from "../../src/backtest/rules.js";

const STEP = 10_000;
const START = Date.UTC(2025, 0, 1, 6, 30, 4, 321);
const LENGTH = 20 * 60_000;
const HISTORY = 30;
const SERIES: Series = { network: "mainnet", pairAddress: "pair1", timeframe: "10s", currency: "usd" };
/** The first candle that closes before the eyes of a live run. */
const FIRST = Math.floor(START / STEP) * STEP;

const TYPES = ["market", "limit", "stop", "stop-limit", "trailing-stop", "take-profit", "cancel"] as const;

/** One idea, which a strategy has when a candle closes. */
const idea = fc.record({
  type: fc.constantFrom(...TYPES),
  side: fc.constantFrom("buy" as const, "sell" as const),
  /** How far from the close, in thousandths. */
  off: fc.integer({ min: -8, max: 8 }),
  size: fc.oneof(
    fc.constantFrom({ equity: 0.3 }, { amount: 700 }, { position: 0.5 }, { position: 1 }),
    fc.constant({ risk: 0.02, stop: 1e-12 }),
  ),
  id: fc.constantFrom("a", "b", "c", undefined),
  after: fc.constantFrom("a", "b", undefined, undefined, undefined),
  group: fc.constantFrom("x", undefined, undefined),
  time: fc.constantFrom("gtc" as const, "ioc" as const, "fok" as const, 3, 9),
});
type Idea = typeof idea extends fc.Arbitrary<infer T> ? T : never;

/** Has the ideas by turns, one with each candle that closes from an instant on; the first of all is a purchase. */
function strategyOf(ideas: readonly Idea[], since: number): Strategy {
  return (events) => {
    const seen = new Set<number>();
    return events.pipe(
      mergeMap(({ candle, status, series }) => {
        const { timestamp, close } = candle;
        if (status === "open" || timestamp < since || seen.has(timestamp)) return [];
        seen.add(timestamp);
        const turn = Math.floor(timestamp / STEP) % (ideas.length + 1);
        if (turn === ideas.length) {
          return from<Order[]>([{ type: "market", side: "buy", series, size: { equity: 0.2 } }]);
        }
        return from([orderOf(ideas[turn]!, series, close, timestamp)]);
      }),
    );
  };
}

function orderOf(
  { type, side, off, size, id, after, group, time }: Idea,
  series: Series,
  close: number,
  timestamp: number,
): Order | CancelOrder {
  if (type === "cancel") return { type, id: id ?? "a" };
  const price = close * (1 + off / 1_000);
  const prices = {
    market: {},
    limit: { limit: price },
    stop: { stop: price },
    "stop-limit": { stop: price, limit: price * 1.001 },
    "trailing-stop": { trail: { share: (Math.abs(off) + 1) / 1_000 } },
    "take-profit": { target: price },
  }[type];
  const isImmediate = time === "ioc" || time === "fok";
  const timeInForce =
    typeof time === "number"
      ? { until: timestamp + time * STEP }
      : isImmediate && type !== "market" && type !== "limit"
        ? "gtc"
        : time;
  const names = { ...(id && { id }), ...(after && { after }), ...(group && { group }) };
  return { type, side, series, size, timeInForce, ...prices, ...names } as Order;
}

const BROKER: BrokerOptions = { short: { borrow: 0.1 }, fees: { maker: 0.001, taker: 0.002 } };

interface Session {
  readonly orders: (Order | CancelOrder)[];
  readonly reports: Report[];
}

/** Trades on paper, on the streams of a live run. */
function trade(fetch: FetchLike, scheduler: SchedulerLike, strategy: Strategy): Session {
  const client = createClient({ baseUrl: "http://localhost", apiKey: "key", fetch, scheduler });
  const account = new PaperAccount(checkBroker(BROKER), [SERIES], "monday", START);
  const session: Session = { orders: [], reports: [] };
  const events = new Subject<CandleEvent>();
  strategy(events, { position: (one) => account.broker.positionIn(one), fills: EMPTY }).subscribe((order) => {
    session.orders.push(order);
    session.reports.push(...account.order(order));
  });
  watchCandles(client, { ...SERIES, since: { candles: HISTORY } }).subscribe((event) => {
    session.reports.push(...account.hear(event));
    events.next(event);
  });
  return session;
}

/** What was reported, but for when: over the past, that is known as soon as a candle ends. */
const withoutTime = (reports: readonly Report[]) =>
  reports.map((report) => {
    if (report.type === "fill") return { ...report.fill, reportedAt: 0 };
    if (report.type === "rejection") return { ...report.rejection, at: 0 };
    return report.type === "cancellation" ? { ...report.cancellation, at: 0 } : report;
  });

const serviceOf = (seed: number, clock: VirtualClock) =>
  createPairService({ source: simulatedMarket({ seed, pairs: ["pair1"] }), clock: () => clock.now() }).fetch;

/** What a strategy does live, and the tape of it. */
async function liveRun(seed: number, strategy: Strategy) {
  const clock = new VirtualClock(START);
  const lines: string[] = [];
  const fetch = serviceOf(seed, clock);
  const live = trade(
    recordExchanges(fetch, (line) => lines.push(line)),
    clock,
    strategy,
  );
  await clock.advanceTo(START + LENGTH);
  const session: Session = { orders: [...live.orders], reports: [...live.reports] };
  return { session, lines, clock, fetch };
}

async function download(fetch: FetchLike, clock: VirtualClock): Promise<Candle[]> {
  const client = createClient({ baseUrl: "http://localhost", apiKey: "key", fetch, scheduler: clock });
  const range = { from: FIRST - HISTORY * STEP, to: START + LENGTH - 2 * STEP };
  const candles = firstValueFrom(fetchCandles(client, { ...SERIES, ...range }).pipe(toArray()));
  await clock.advanceTo(clock.now() + 60_000);
  return candles;
}

describe("a strategy with orders of all types", () => {
  it("gives the same orders and fills live, on the tape of that, and over the candles downloaded later", async () => {
    const filled = new Set<string>();
    await fc.assert(
      fc.asyncProperty(
        fc.nat(1_000),
        fc.array(idea, { minLength: 8, maxLength: 20 }),
        async (seed, ideas) => {
          const strategy = strategyOf(ideas, FIRST);
          const { session, lines, clock, fetch } = await liveRun(seed, strategy);

          const tape = replayExchanges(lines);
          const again = trade(tape.fetch, tape.scheduler, strategy);
          await tape.run();
          expect(again).toEqual(session);

          const candles = await download(fetch, clock);
          const end = candles.at(-1)!.timestamp;
          const past = await backtest({
            feeds: [{ series: SERIES, candles }],
            strategy,
            // Live, an order is there after the next candle has begun.
            broker: { ...BROKER, latency: 2_000 },
          });
          const untilEnd = (reports: readonly Report[]) =>
            reports.filter((report) => report.type !== "fill" || report.fill.candle <= end);
          const fillsOf = (reports: readonly Report[]) =>
            untilEnd(reports).flatMap((report) => (report.type === "fill" ? [report] : []));
          expect(withoutTime(past.fills.map((fill) => ({ type: "fill", fill })))).toEqual(
            withoutTime(fillsOf(session.reports)),
          );
          const orders = past.orders.map(({ order }) => order);
          expect(session.orders.slice(0, orders.length)).toEqual(orders);
          expect(session.orders.length - orders.length).toBeLessThanOrEqual(2);
          const told = withoutTime([
            ...past.rejections.map((rejection): Report => ({ type: "rejection", rejection })),
            ...past.cancellations.map((cancellation): Report => ({ type: "cancellation", cancellation })),
          ]);
          const toldLive = (type: Report["type"]) => session.reports.filter((report) => report.type === type);
          const all = withoutTime([...toldLive("rejection"), ...toldLive("cancellation")]);
          for (const one of told) expect(all).toContainEqual(one);
          for (const { order } of past.fills) filled.add(order!.type);
        },
      ),
      { numRuns: 15 },
    );
    expect([...filled].sort()).toEqual(TYPES.filter((type) => type !== "cancel").sort());
  });

  it("trades nothing on the history of a live run, where each order is late", async () => {
    const ideas = fc.sample(idea, { numRuns: 12, seed: 1 });
    const { session } = await liveRun(1, strategyOf(ideas, 0));
    const late = session.reports.filter(
      (report) => report.type === "rejection" && report.rejection.reason === "late",
    );
    expect(late.length).toBeGreaterThan(10);
    for (const report of session.reports) {
      if (report.type === "fill") expect(report.fill.candle).toBeGreaterThanOrEqual(FIRST);
    }
  });
});
