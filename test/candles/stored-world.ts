import { expect } from "vitest";
import { candleStore } from "../../src/adapters/store/candle-store.js";
import type { CandleStore, StoreKey } from "../../src/adapters/store/index.js";
import {
  type Candle,
  type CandleEvent,
  fetchCandles,
  type StoreActivity,
  type WatchOptions,
  watchCandles,
} from "../../src/index.js";
import type { Swap } from "../../src/service/index.js";
import { at, MINUTES, World } from "../world.js";
import { standing } from "./minute-candles.js";

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
export const START = at("12:00:10");
export const KEY_OF_MINUTES: StoreKey = { ...MINUTES, service: "http://localhost", weekStart: "monday" };
export const ALL = { from: 0, to: Number.MAX_SAFE_INTEGER };

/** A process that begins at an instant, with a store that outlives it; the market is always the same. */
export function begin(store: CandleStore, start: number, fill = everyQuarter): World {
  const world = new World({
    start,
    createdAt: START - 30 * DAY,
    hasDate: true,
    client: { store: candleStore(store) },
  });
  fill(world);
  return world;
}

const quarters: Swap[] = [];

/** Four swaps a minute, but none in every seventh minute; the same ones in every world. */
export function everyQuarter(world: World): void {
  if (quarters.length > 0) {
    world.swaps.push(...quarters);
    return;
  }
  for (let time = START - DAY - 10_000, price = 1; time < START + 3 * DAY; time += 15_000, price++) {
    if (Math.floor(time / MINUTE) % 7 !== 0) quarters.push(world.swap(time, price));
  }
}

export async function watched(world: World, options: WatchOptions, ms: number) {
  const events: CandleEvent[] = [];
  const subscription = watchCandles(world.client, { ...MINUTES, ...options }).subscribe((event) =>
    events.push(event),
  );
  await world.clock.advanceBy(ms);
  const requests = world.asked.length;
  subscription.unsubscribe();
  await world.clock.advanceBy(0);
  expect(world.clock.pending).toBe(0);
  return { events, requests, candles: standing(events) };
}

export async function fetched(world: World, from: number, to?: number): Promise<Candle[]> {
  const candles: Candle[] = [];
  const range = to === undefined ? { from } : { from, to };
  let isComplete = false;
  fetchCandles(world.client, { ...MINUTES, ...range }).subscribe({
    next: (candle) => candles.push(candle),
    complete: () => {
      isComplete = true;
    },
  });
  await world.clock.advanceBy(30_000);
  expect(isComplete).toBe(true);
  return candles;
}

/** What the service has, paid for without a store. */
export const truthOf = (start: number, from: number, to: number) => {
  const world = new World({ start, createdAt: START - 30 * DAY, hasDate: true });
  everyQuarter(world);
  return fetched(world, from, to);
};

export const told = (world: World) =>
  world.activity.filter((each): each is StoreActivity => each.type === "store");

/** A store of which some methods are others. */
export const changed = (store: CandleStore, methods: Partial<CandleStore>): CandleStore => ({
  read: (...args) => store.read(...args),
  write: (...args) => store.write(...args),
  forget: (...args) => store.forget(...args),
  ...methods,
});
