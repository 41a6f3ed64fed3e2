import {
  type AnyTimeframe,
  applyCandleEvent,
  type Candle,
  type CandleEvent,
  clientSource,
  type FeedStatus,
  type PairSource,
  type WatchOptions,
} from "pairstream";
import { createGateway, gatewaySource } from "pairstream/sse";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { at, MINUTES, time } from "../../../world.js";
import { CheckedFold } from "../checked-fold.js";
import { ADDRESS, Cable, MINUTE, START, Stage } from "./stage.js";

function sourceOf({ fetch, clock }: Stage): PairSource {
  return gatewaySource(ADDRESS, { fetch, scheduler: clock });
}

function listen(source: PairSource, timeframe: AnyTimeframe, options: WatchOptions = {}) {
  const told = {
    events: [] as CandleEvent[],
    statuses: [] as FeedStatus[],
    candles: new Map<number, Candle>(),
  };
  const asked = { ...MINUTES, timeframe, ...options };
  source.candles(asked).subscribe((event) => {
    told.events.push(event);
    applyCandleEvent(told.candles, event);
  });
  source.status(asked).subscribe((status) => told.statuses.push(status));
  return told;
}

async function until(stage: Stage, holds: () => boolean): Promise<void> {
  for (let turns = 0; !holds() && turns < 500; turns += 1) await stage.pass(20);
}

/** A stage whose gateway allows the minutes of its pair. */
const allowed = () => new Stage({ allow: [MINUTES] });

describe("any timeframe at a gateway", () => {
  it.each<[AnyTimeframe, WatchOptions]>([
    ["3min", {}],
    ["2min", { since: { candles: 7 } }],
    ["4min", { since: START - 61 * MINUTE, every: "close" }],
    ["9min", { since: { candles: 3 }, fillGaps: true }],
  ])("is made by whoever watches: %s, %j", async (timeframe, options) => {
    const stage = allowed();
    const far = listen(sourceOf(stage), timeframe, options);
    const near = listen(clientSource(stage.world.client), timeframe, options);
    await until(stage, () => far.events.length > 0);
    await stage.pass(40 * MINUTE);
    // A filled one of a running interval is there sooner, as its parts are.
    const running = START + 36 * MINUTE;
    const closed = (candles: ReadonlyMap<number, Candle>) =>
      [...candles.values()].filter(({ timestamp }) => timestamp < running);
    expect(closed(far.candles)).toEqual(closed(near.candles));
    expect(far.candles.size).toBeGreaterThan(4);
    expect(far.events.every(({ series }) => series.timeframe === timeframe)).toBe(true);
    expect(far.statuses.at(-1)!.coveredUntil! % MINUTE).toBe(0);
    expect(stage.addresses.every((address) => address.includes("timeframe=1min"))).toBe(true);
  });

  it.each<WatchOptions>([{ since: { candles: 7 } }, { since: START - 61 * MINUTE }, {}])(
    "comes at first as one event a candle, as it stands: %j",
    async (options) => {
      const stage = allowed();
      const far = listen(sourceOf(stage), "3min", options);
      const near = listen(clientSource(stage.world.client), "3min", options);
      await until(stage, () => far.events.length > 0 && near.events.length > 0);
      expect(far.events.length).toBeGreaterThan(options.since === undefined ? 0 : 7);
      expect(far.events.every(({ type }) => type === "new")).toBe(true);
      expect(far.events.slice(0, -1).every(({ status }) => status !== "open")).toBe(true);
      expect([...far.candles.values()].slice(0, -1)).toEqual([...near.candles.values()].slice(0, -1));
    },
  );

  it.each<[AnyTimeframe, number, WatchOptions]>([
    ["3min", 3 * 60, {}],
    ["3min", 3 * 60 + 1, { fillGaps: true }],
    ["9min", 4 * 60 + 3, {}],
    ["24min", 12 * 60, { fillGaps: true }],
    ["2min", 20, {}],
    ["2min", 20, { fillGaps: true }],
  ])(
    "has no hole, and no half candle, after an absence: %s, %i minutes, %j",
    async (timeframe, minutes, options) => {
      const stage = new Stage({ allow: [MINUTES], maxCandles: 130, linger: 0 });
      stage.world.swapsEvery(57_000, START + 90 * MINUTE, START + 40 * 60 * MINUTE);
      const cable = new Cable();
      let isAway = false;
      const source = gatewaySource(ADDRESS, {
        scheduler: stage.clock,
        fetch: async (url, init) => {
          if (isAway) throw new Error("away");
          return cable.through(await stage.fetch(url, init));
        },
      });
      const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
      onTestFinished(() => warned.mockRestore());
      const far = listen(source, timeframe, { ...options, since: { candles: 2 } });
      await until(stage, () => far.events.length > 0);
      await stage.pass(11 * MINUTE);
      const shown = [...far.candles.keys()];
      for (let time = 0; time < 2; time += 1) {
        isAway = true;
        cable.cut();
        await stage.pass(minutes * MINUTE);
        isAway = false;
        await stage.pass(61 * MINUTE);
        const near = listen(clientSource(stage.world.client), timeframe, {
          ...options,
          since: START - 61 * MINUTE,
        });
        await stage.pass(MINUTE);
        const first = Math.min(...far.candles.keys());
        const running = Math.max(...near.candles.keys());
        const closed = (candles: ReadonlyMap<number, Candle>) =>
          [...candles.values()].filter(({ timestamp }) => timestamp >= first && timestamp < running);
        expect(closed(far.candles)).toEqual(closed(near.candles));
        expect(closed(far.candles).length).toBeGreaterThan(1);
        if (minutes > 130) expect(shown.some((timestamp) => far.candles.has(timestamp))).toBe(false);
        else expect(first).toBe(shown[0]);
        const finals = far.events.filter(({ type, status }) => type === "new" && status === "final");
        expect(finals.filter(({ live }) => live).length).toBeLessThan(3);
      }
      expect(warned.mock.calls.filter(([text]) => /left out/.test(String(text)))).toEqual([]);
    },
  );

  it.each<[AnyTimeframe, WatchOptions, number]>([
    ["3min", { since: { candles: 20 } }, 2],
    ["3min", { since: START - 61 * MINUTE }, 9],
    ["9min", { since: { candles: 5 }, fillGaps: true }, 1],
    ["4min", { since: START - 61 * MINUTE, fillGaps: true }, 14],
    ["2min", {}, 5],
  ])(
    "is what the new gateway has after a restart, where final parts have changed: %s, %j, %i minutes",
    async (timeframe, options, minutes) => {
      const stage = allowed();
      const { world } = stage;
      let { gateway } = stage;
      const cable = new Cable();
      const source = gatewaySource(ADDRESS, {
        scheduler: stage.clock,
        fetch: async (url, init) => cable.through(await gateway.fetch(new Request(url, init))),
      });
      const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
      onTestFinished(() => warned.mockRestore());
      const far = listen(source, timeframe, options);
      await until(stage, () => far.events.length > 0);
      await stage.pass(30 * MINUTE);
      const told = far.events.length;
      const before = new Map(far.candles);

      // The service has read late what came long ago: in parts with swaps, in a part without one, and it has lost a swap.
      const inPart = (minute: number, ms = 20_000) => START - 10_000 + minute * MINUTE + ms;
      for (const minute of [1, 8, 17, 26]) world.swap(inPart(minute), 200 + minute);
      const silent = [4, 5, 6, 7, 8, 9, 10].find((minute) => (inPart(minute, 0) / MINUTE) % 7 === 0)!;
      world.swap(inPart(silent), 300);
      const lost = inPart(22, 0);
      world.swaps.splice(
        world.swaps.findIndex(({ timestamp }) => timestamp >= lost),
        2,
      );
      await gateway.close();
      cable.cut();
      gateway = createGateway(world.another(), { allow: [MINUTES] });
      await stage.pass(minutes * MINUTE);

      const fold = new CheckedFold(MINUTE);
      for (const event of far.events) fold.take(event);
      const since = Math.min(...before.keys());
      const near = listen(clientSource(world.another()), timeframe, { ...options, since });
      await until(stage, () => near.candles.size >= far.candles.size);
      const running = Math.max(...near.candles.keys());
      const closed = (candles: ReadonlyMap<number, Candle>) =>
        [...candles.values()]
          .filter((one) => one.timestamp < running)
          .sort((a, b) => a.timestamp - b.timestamp);
      expect(closed(far.candles)).toEqual(closed(near.candles));
      // What is the same is not told again, and what differs is told once.
      const news = far.events.slice(told).filter(({ candle }) => candle.timestamp < START + 18 * MINUTE);
      expect(news.map(({ type }) => type)).toEqual(news.map(() => "updated"));
      expect(new Set(news.map(({ candle }) => candle.timestamp)).size).toBe(news.length);
      expect(news.length).toBeGreaterThan(2);
      expect(news.filter(({ live }) => live)).toEqual([]);
      expect(warned.mock.calls.filter(([text]) => /left out/.test(String(text)))).toEqual([]);
      await gateway.close();
    },
  );

  it("needs one channel for all that is made of a series", async () => {
    const stage = new Stage();
    const all = (["2min", "3min", "4min", "8min"] as const).map((one) => listen(sourceOf(stage), one));
    await until(stage, () => all.every(({ events }) => events.length > 0));
    expect((await stage.status()).channels).toHaveLength(1);
    expect(all.map(({ events }) => new Date(events[0]!.candle.timestamp).getUTCMinutes())).toEqual([
      0, 0, 0, 0,
    ]);
  });

  it("is allowed with any other that is made of the same series", async () => {
    const stage = new Stage({ allow: [{ ...MINUTES, timeframe: "3min" }] });
    const { events } = listen(sourceOf(stage), "2min");
    await until(stage, () => events.length > 0);
    expect(events.length).toBeGreaterThan(0);
  });

  it("closes on time where its last parts are silent", async () => {
    const stage = allowed();
    stage.world.swaps.splice(0);
    stage.world.swap(at("11:00:00"), 3);
    stage.world.swap(at("12:00:05"), 5);
    const { events } = listen(sourceOf(stage), "3min");
    await until(stage, () => events.length > 0);
    await stage.pass(5 * MINUTE);
    const closed = events.find(({ status }) => status === "closed")!;
    expect(time(closed.candle.timestamp)).toBe("12:00:00");
    expect(closed.live).toBe(true);
    expect(closed.lateBy).toBeLessThan(100);
  });

  it("is refused at the gateway itself, naming what it is made of", async () => {
    const stage = allowed();
    const query = new URLSearchParams({ ...MINUTES, timeframe: "15min" });
    for (const path of ["candles", "history"]) {
      const response = await stage.ask(`/${path}?${query}`);
      expect(response.status).toBe(400);
      expect(await response.text()).toContain("gatewaySource makes of 5min");
    }
  });

  it.each<[AnyTimeframe, object]>([
    ["3min", { count: 5 }],
    ["2min", { from: START - 60 * MINUTE, to: START - 10 * MINUTE }],
    ["4min", { from: START - 60 * MINUTE, count: 4 }],
  ])("has the history that its client has: %s, %j", async (timeframe, range) => {
    const stage = allowed();
    const query = { ...MINUTES, timeframe, ...range };
    const far = await stage.settled(sourceOf(stage).history(query));
    expect(far).toEqual(await stage.settled(clientSource(stage.world.client).history(query)));
    expect(far.length).toBeGreaterThan(3);
  });
});

describe("a gateway before another source", () => {
  it("gives what that gives, through two gateways and in any timeframe", async () => {
    const stage = allowed();
    const scheduler = stage.clock;
    const outer = createGateway(sourceOf(stage), { allow: [MINUTES], scheduler });
    const source = gatewaySource("https://outer.test/pairs", {
      scheduler,
      fetch: (url, init) => outer.fetch(new Request(url, init)),
    });
    const far = listen(source, "3min", { since: { candles: 4 } });
    const plain = listen(source, "1min", { since: { candles: 4 } });
    const near = listen(clientSource(stage.world.client), "3min", { since: { candles: 4 } });
    await until(stage, () => far.events.length > 0 && plain.events.length > 0);
    await stage.pass(20 * MINUTE);
    const closed = (candles: ReadonlyMap<number, Candle>) =>
      [...candles.values()].filter(({ timestamp }) => timestamp < START + 17 * MINUTE);
    expect(closed(far.candles)).toEqual(closed(near.candles));
    expect(plain.candles.size).toBeGreaterThan(15);
    const query = { ...MINUTES, count: 6 };
    expect(await stage.settled(source.history(query))).toEqual(
      await stage.settled(clientSource(stage.world.client).history(query)),
    );
    await outer.close();
  });
});
