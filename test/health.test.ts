import fc from "fast-check";
import { NetworkError } from "pairstream";
import { describe, expect, it } from "vitest";
import { healthAt } from "../src/health.js";
import {
  createClient,
  healthOf,
  InvalidInputError,
  watchCandles,
  watchFeedStatus,
  watchSnipers,
} from "../src/index.js";
import { at, KEY, MINUTES, PAIR, World } from "./world.js";

const NOW = at("12:00:00");
const NONE = { starting: 0, live: 0, stalled: 0 };

describe("the health of feeds", () => {
  const feed = fc.record({
    state: fc.constantFrom("starting" as const, "live" as const, "stalled" as const),
    // A clock that was set back leaves some that begin later.
    begunAt: fc.integer({ min: NOW - 200_000, max: NOW + 200_000 }),
    lastError: fc.option(
      fc.string().map((text) => new NetworkError(text)),
      { nil: undefined },
    ),
  });

  it("counts every feed once, and is well where none is stalled or was long starting", () => {
    fc.assert(
      fc.property(fc.array(feed, { maxLength: 6 }), (feeds) => {
        const health = healthAt(feeds, NOW);
        for (const state of ["starting", "live", "stalled"] as const) {
          expect(health.feeds[state]).toBe(feeds.filter((one) => one.state === state).length);
        }
        const isWell = ({ state, begunAt }: (typeof feeds)[number]) =>
          state === "live" || (state === "starting" && NOW - begunAt <= 60_000);
        expect(health.ok).toBe(feeds.every(isWell));
      }),
    );
  });

  it("names the error of a feed that is stalled, else of one that is starting", () => {
    const [first, second] = [new NetworkError("first"), new NetworkError("second")];
    const starting = { state: "starting", begunAt: NOW, lastError: first } as const;
    const stalled = { state: "stalled", begunAt: NOW, lastError: second } as const;
    const mute = { ...stalled, lastError: undefined };
    expect(healthAt([starting, mute, stalled], NOW).lastError).toBe(second);
    expect(healthAt([mute, starting], NOW).lastError).toBe(first);
    expect(healthAt([mute], NOW)).not.toHaveProperty("lastError");
  });
});

describe("healthOf", () => {
  it("is well without a stream, and asks for nothing", () => {
    const client = createClient({
      baseUrl: "https://service.test",
      apiKey: KEY,
      fetch: () => Promise.reject(new Error("asked")),
    });
    const health = healthOf(client);
    expect(health).toEqual({ ok: true, feeds: NONE });
    expect([health, health.feeds].every(Object.isFrozen)).toBe(true);
    expect(() => healthOf({} as never)).toThrow(InvalidInputError);
  });

  it("follows the feeds of a client from their start, over an outage, to their end", async () => {
    const world = new World({ start: at("12:00:10") });
    world.swapsEvery(60_000, at("11:00:00"), at("14:00:00"));
    const health = () => healthOf(world.client);
    const subscriptions = [
      watchCandles(world.client, MINUTES).subscribe(),
      watchFeedStatus(world.client, MINUTES).subscribe(),
      watchSnipers(world.client, { pairAddress: PAIR }).subscribe(),
    ];
    expect(health()).toEqual({ ok: true, feeds: { ...NONE, starting: 2 } });
    await world.clock.advanceBy(1_000);
    expect(health()).toEqual({ ok: true, feeds: { ...NONE, live: 2 } });
    const timers = world.clock.pending;
    for (let times = 0; times < 10; times += 1) health();
    expect(world.clock.pending).toBe(timers);
    world.interfere = () => Promise.reject(new Error("down"));
    await world.clock.advanceBy(120_000);
    expect(health()).toMatchObject({ ok: false, feeds: { ...NONE, stalled: 2 } });
    expect(health().lastError).toBeInstanceOf(NetworkError);
    world.interfere = () => undefined;
    await world.clock.advanceBy(120_000);
    expect(health()).toEqual({ ok: true, feeds: { ...NONE, live: 2 } });
    for (const subscription of subscriptions) subscription.unsubscribe();
    expect(health()).toEqual({ ok: true, feeds: NONE });
  });

  it.each<[string, World["interfere"], string | undefined]>([
    ["never answers", () => new Promise(() => {}), "TimeoutError"],
    ["refuses connections", () => Promise.reject(new Error("refused")), "NetworkError"],
  ])("is not well after a minute of a service that %s", async (_, interfere, error) => {
    const world = new World({ start: at("12:00:10") });
    world.interfere = interfere;
    watchCandles(world.client, { ...MINUTES, timeframe: "1d", every: "close" }).subscribe();
    await world.clock.advanceBy(60_000);
    expect(healthOf(world.client)).toMatchObject({ ok: true, feeds: { ...NONE, starting: 1 } });
    await world.clock.advanceBy(1);
    const { ok, feeds, lastError } = healthOf(world.client);
    expect([ok, feeds, lastError?.name]).toEqual([false, { ...NONE, starting: 1 }, error]);
  });
});
