import {
  applyCandleEvent,
  type Candle,
  type CandleEvent,
  fetchCandles,
  type PairSource,
  pauseWhileHidden,
  type WatchOptions,
} from "pairstream";
import { gatewaySource } from "pairstream/sse";
import { describe, expect, it } from "vitest";
import { FakePage } from "../../../pause/page.js";
import { MINUTES, World } from "../../../world.js";
import { ADDRESS, BORN, MINUTE, START, Stage } from "./stage.js";

const HOUR = 60 * MINUTE;

/** A market for two days, none in every seventh minute. */
function market(): World {
  const world = new World({ start: START, createdAt: BORN, hasDate: true });
  for (let timestamp = BORN, index = 0; timestamp < START + 50 * HOUR; timestamp += 30_000, index++) {
    if (Math.floor(timestamp / MINUTE) % 7 !== 0) world.swap(timestamp, 100 + Math.sin(index * index));
  }
  return world;
}

/** What a gateway's page holds after a pause, and what there is; both without the running candle. */
async function afterPause(pause: number, options: WatchOptions, limits = {}) {
  const page = new FakePage();
  const stage = new Stage({ linger: 5_000, ...limits }, market());
  const { clock } = stage;
  const served = gatewaySource(ADDRESS, { fetch: stage.fetch, scheduler: clock });
  const source: PairSource = pauseWhileHidden(served, { after: 10_000, scheduler: clock });
  const events: CandleEvent[] = [];
  const candles = new Map<number, Candle>();
  const errors: unknown[] = [];
  const states: string[] = [];
  const watch = { ...MINUTES, since: { candles: 30 }, ...options };
  const error = (thrown: unknown) => errors.push(thrown);
  const following = source.candles(watch).subscribe({
    error,
    next: (event) => {
      events.push(event);
      applyCandleEvent(candles, event);
    },
  });
  following.add(source.status(watch).subscribe({ error, next: ({ state }) => states.push(state) }));
  while (stage.addresses.length < 1) await clock.advanceBy(0);
  await stage.pass(3 * MINUTE);
  page.hide();
  await stage.pass(MINUTE);
  const asked = stage.world.asked.length;
  await stage.pass(pause);
  expect(stage.world.asked.length).toBe(asked);
  const known = events.length;
  page.show();
  for (let turns = 0; turns < 50; turns += 1) await stage.pass(20);
  for (let minutes = 0; minutes < 6; minutes += 1) await stage.pass(MINUTE);
  following.unsubscribe();
  const first = Math.min(...candles.keys());
  const running = Math.floor(clock.now() / MINUTE) * MINUTE;
  await stage.gateway.close();
  await stage.pass(0);
  expect(clock.pending).toBe(0);
  const truth: Candle[] = [];
  const { fillGaps = false } = options;
  const other = new World({ start: clock.now(), createdAt: BORN, hasDate: true });
  other.swaps.push(...stage.world.swaps);
  fetchCandles(other.client, { ...MINUTES, from: first, to: running, fillGaps }).subscribe((candle) =>
    truth.push(candle),
  );
  await other.clock.advanceBy(30_000);
  const held = [...candles.values()].filter(({ timestamp }) => timestamp < running);
  held.sort((a, b) => a.timestamp - b.timestamp);
  return { held, truth, errors, states, missed: events.slice(known) };
}

describe("a page that nobody looks at, on a gateway", () => {
  it.each<[string, number, WatchOptions]>([
    ["minutes", 12 * MINUTE, {}],
    ["minutes, gaps filled", 12 * MINUTE, { fillGaps: true }],
    ["as long as a gateway's streams reach", 30 * HOUR, {}],
    ["longer", 45 * HOUR, {}],
    ["longer, gaps filled", 45 * HOUR, { fillGaps: true }],
  ])("has all that it missed after a pause of %s", async (_, pause, options) => {
    const { held, truth, errors, states, missed } = await afterPause(pause, options, { maxCandles: 2_100 });
    expect(errors).toEqual([]);
    expect(held).toEqual(truth);
    expect(held.length).toBeGreaterThan(30);
    expect(states.at(-1)).toBe("live");
    const last = missed.findIndex(({ live }) => live);
    expect(missed.slice(0, last).length).toBeGreaterThan(pause / MINUTE / 2);
    expect(new Set(missed.slice(0, last).map(({ candle }) => candle.timestamp)).size).toBeGreaterThan(
      pause / MINUTE / 2,
    );
  });

  it("waits where the gateway gives so many histories a minute and no more", async () => {
    const { held, truth, errors } = await afterPause(45 * HOUR, {}, { historyRequests: 2 });
    expect(errors).toEqual([]);
    expect(held).toEqual(truth);
  });
});
