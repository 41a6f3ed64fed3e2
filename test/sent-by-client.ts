import fc from "fast-check";
import { expect } from "vitest";
import { TIMEFRAMES } from "../src/contract/model.js";
import {
  type Cost,
  estimateCost,
  type Series,
  type SniperWatch,
  type Timeframe,
  type WatchOptions,
  watchCandles,
  watchFeedStatus,
  watchSnipers,
} from "../src/index.js";
import { intervalsOf } from "../src/timeframe.js";
import { at, MINUTES, PAIR, World } from "./world.js";

export type Subscription = (Series & WatchOptions) | SniperWatch;

export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
export const SNIPERS: SniperWatch = { pairAddress: PAIR };

/** What a client sends, by kind and in the units that the answers name. */
export interface Spent {
  ohlcv: number;
  snipers: number;
  units: number;
}

/** A market that is not quite empty: a pair without any candle would be searched for its beginning. */
export function worldAt(start: number, latency: number, hasDate = false): World {
  const world = new World({ start, latency, hasDate, client: { rateLimit: false } });
  world.swap(start, 1);
  return world;
}

/** Runs subscriptions, each of them watched by its status too; gives what is spent when they begin and in `span` ms from then on. */
export async function run(world: World, subscriptions: readonly Subscription[], span: number) {
  const [initial, later] = Array.from({ length: 2 }, (): Spent => ({ ohlcv: 0, snipers: 0, units: 0 }));
  const start = world.clock.now();
  world.client.activity.subscribe((activity) => {
    if (activity.type !== "response") return;
    const sent = activity.at - activity.duration;
    if (sent > start + span) return;
    const spent = sent === start ? initial! : later!;
    spent[activity.url.includes("/ohlcv") ? "ohlcv" : "snipers"] += 1;
    spent.units += activity.weight ?? Number.NaN;
  });
  const running = subscriptions.flatMap((options) => [
    isCandles(options)
      ? watchCandles(world.client, options).subscribe()
      : watchSnipers(world.client, options).subscribe(),
    watchFeedStatus(world.client, options).subscribe(),
  ]);
  await world.clock.advanceTo(start + span + SECOND);
  for (const one of running) one.unsubscribe();
  return { initial: initial!, later: later! };
}

function isCandles(options: Subscription): options is Series & WatchOptions {
  return "timeframe" in options;
}

export const total = ({ ohlcv, snipers, units }: Spent): Cost => ({ requests: ohlcv + snipers, units });

/** Where a span does not divide by the `every` of snipers, one poll of theirs more or less may fall into it. */
export function expectSpent(spent: Spent, set: readonly Subscription[], days: number): void {
  const estimate = estimateCost(set);
  const sniperPolls = new Set(set.filter((one) => !isCandles(one)).map((one) => JSON.stringify(one))).size;
  const { requests, units } = total(spent);
  expect(Math.abs(requests - estimate.requests * days)).toBeLessThan(Math.max(1e-6, sniperPolls));
  expect(Math.abs(units - estimate.units * days)).toBeLessThan(Math.max(1e-6, 50 * sniperPolls));
}

// Polls lie a quarter of a second apart or are one: closer ones would fall due while an answer is under way.
const quarters = (least: number, most: number) =>
  fc.integer({ min: least / 250, max: most / 250 }).map((count) => 250 * count);
export const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
export const someStart = fc.integer({ min: at("00:00:00"), max: at("23:59:59") });
export const someLatency = fc.integer({ min: 0, max: 100 });

export function candleWatch(timeframes: readonly Timeframe[], shortest: number): fc.Arbitrary<Subscription> {
  const drawn = fc.record({
    timeframe: fc.constantFrom(...timeframes),
    currency: fc.constantFrom("usd" as const, "native" as const),
    every: optional(fc.oneof(fc.constant("close" as const), quarters(shortest, 100 * shortest))),
    settle: optional(fc.oneof(quarters(0, 10 * SECOND), fc.constantFrom(30 * SECOND, MINUTE))),
    revisionWindow: optional(fc.constantFrom(0, 1, 5)),
    fillGaps: fc.boolean(),
  });
  return drawn.map((options) => ({ ...MINUTES, ...definedOf(options) }));
}

const sniperWatch: fc.Arbitrary<Subscription> = fc
  .record({ every: optional(quarters(MINUTE, HOUR)), blocksAfterCreation: optional(fc.constantFrom(3, 100)) })
  .map((options) => ({ ...SNIPERS, ...definedOf(options) }));

function definedOf<T extends object>(options: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const entries = Object.entries(options).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]: Exclude<T[K], undefined> };
}

/** Sets in which some share a poll. */
const setsOf = (...kinds: fc.Arbitrary<Subscription>[]) =>
  fc
    .array(fc.tuple(fc.oneof(...kinds), fc.integer({ min: 1, max: 3 })), { minLength: 1, maxLength: 4 })
    .map((drawn) => drawn.flatMap(([options, times]) => Array.from({ length: times }, () => options)));

const lengthOf = (timeframe: Timeframe) => intervalsOf(timeframe).shortest;
export const framesBetween = (least: number, most: number) =>
  TIMEFRAMES.filter((timeframe) => lengthOf(timeframe) >= least && lengthOf(timeframe) <= most);

/** Rows of: a span, its length in ms, what is watched in it, and how many sets are drawn. */
export type SpanRow = readonly [
  name: string,
  span: number,
  candles: fc.Arbitrary<Subscription>,
  numRuns: number,
];

export async function expectEstimated([, span, candles, numRuns]: SpanRow): Promise<void> {
  await fc.assert(
    fc.asyncProperty(someStart, someLatency, setsOf(candles, sniperWatch), async (start, latency, set) => {
      const { initial, later } = await run(worldAt(start, latency), set, span);
      expect(total(initial)).toEqual(estimateCost(set).initial);
      expectSpent(later, set, span / DAY);
    }),
    { numRuns },
  );
}
