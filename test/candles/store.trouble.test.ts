import { candleStore, memoryStore } from "pairstream/store";
import { take } from "rxjs";
import { describe, expect, it } from "vitest";
import type { CandleStore } from "../../src/adapters/store/index.js";
import { createClient, recordExchanges, replayExchanges, watchCandles } from "../../src/index.js";
import { at, KEY, MINUTES, type World, withRows } from "../world.js";
import {
  ALL,
  begin,
  changed,
  fetched,
  HOUR,
  KEY_OF_MINUTES,
  MINUTE,
  START,
  told,
  truthOf,
  watched,
} from "./stored-world.js";

describe("a store in trouble", () => {
  const never = () => new Promise<never>(() => {});
  const rejects = () => Promise.reject(new Error("broken disk"));
  const throws = () => {
    throw new TypeError("no such method");
  };
  const TROUBLE: [string, Partial<CandleStore>][] = [
    ["rejects all", { read: rejects, write: rejects, forget: rejects }],
    ["throws", { read: throws, write: throws, forget: throws }],
    ["never answers", { read: never, write: never, forget: never }],
    ["cannot be written to", { write: rejects, forget: rejects }],
    ["gives nonsense", { read: async () => ({ candles: 1, covered: "" }) as never }],
    ["gives nothing", { read: async () => undefined as never }],
  ];

  it.each(TROUBLE)("that %s costs requests, and nothing else; it is told", async (_, methods) => {
    const store = changed(memoryStore(), methods);
    const world = begin(store, START);
    const { candles } = await watched(world, { since: START - 2 * HOUR }, 5 * MINUTE);
    const until = START + 2 * MINUTE;
    const expected = await truthOf(
      START + 5 * MINUTE,
      Math.floor((START - 2 * HOUR) / MINUTE) * MINUTE,
      until,
    );
    expect(candles.filter(({ timestamp }) => timestamp < until - MINUTE)).toEqual(
      expected.filter(({ timestamp }) => timestamp < until - MINUTE),
    );
    const activity = told(world);
    expect(activity.length).toBeGreaterThan(0);
    expect(activity[0]).toMatchObject({
      type: "store",
      key: KEY_OF_MINUTES,
      error: { name: "PairstreamError" },
    });
    expect(await fetched(world, START - HOUR, START - HOUR / 2)).toHaveLength(26);
  });

  it.each<[string, Partial<CandleStore>]>([
    ["answers nothing", { read: never, write: never, forget: never }],
    ["reads nothing", { read: never }],
    ["writes nothing", { write: never }],
  ])("that %s holds up a stream for one timeout a minute, and each time is told", async (_, methods) => {
    const world = begin(changed(memoryStore(), methods), START);
    const firsts: number[] = [];
    const begun = world.clock.now();
    const watch = (since: number) =>
      watchCandles(world.client, { ...MINUTES, since })
        .pipe(take(1))
        .subscribe(() => firsts.push(world.clock.now() - begun));
    watchCandles(world.client, MINUTES).subscribe();
    watch(START - 2 * HOUR);
    await world.clock.advanceBy(15_000);
    watch(START - 3 * HOUR);
    await world.clock.advanceBy(2_000);
    watch(START - 4 * HOUR);
    await world.clock.advanceBy(2_000);
    expect(firsts).toHaveLength(3);
    expect(firsts[0]).toBeLessThan(11_000);
    expect(firsts.slice(1).every((first) => first < 19_000)).toBe(true);
    const messages = told(world).map(({ error }) => error.message);
    expect(messages).toContainEqual(expect.stringMatching(/has not answered within 10000 ms/));
    await world.clock.advanceBy(50_000);
    const again = told(world).length;
    watch(START - 5 * HOUR);
    await world.clock.advanceBy(12_000);
    expect(firsts).toHaveLength(4);
    expect(told(world).length).toBeGreaterThan(again);
  });

  it.each([2, 20, 60])(
    "takes no silence from a service that shows nothing for %i minutes",
    async (minutes) => {
      const store = memoryStore();
      const world = begin(store, START);
      watchCandles(world.client, MINUTES).subscribe();
      await world.clock.advanceBy(10 * MINUTE);
      const until = world.clock.now() + minutes * MINUTE;
      world.interfere = (_asked, answer) =>
        world.clock.now() < until ? withRows(answer, () => []) : undefined;
      await world.clock.advanceBy((minutes + 10) * MINUTE);
      const { candles, covered } = await store.read(KEY_OF_MINUTES, ALL);
      const [from, to] = [covered[0]!.from, covered.at(-1)!.to];
      const truth = await truthOf(world.clock.now(), from, to);
      const covers = (timestamp: number) =>
        covered.some((span) => timestamp >= span.from && timestamp < span.to);
      expect(candles).toEqual(truth.filter(({ timestamp }) => covers(timestamp)));
      expect(to).toBeGreaterThan(until);
    },
  );

  it("is written to again once it is well, with all that it has missed", async () => {
    const kept = memoryStore();
    let isIll = true;
    const store = changed(kept, { write: (...args) => (isIll ? rejects() : kept.write(...args)) });
    const world = begin(store, START);
    watchCandles(world.client, { ...MINUTES, since: START - HOUR }).subscribe();
    await world.clock.advanceBy(10 * MINUTE);
    isIll = false;
    await world.clock.advanceBy(10 * MINUTE);
    const { covered } = await kept.read(KEY_OF_MINUTES, ALL);
    expect(covered).toEqual([{ from: at("11:00:00"), to: at("12:18:00") }]);
  });

  const wrongs: [string, (good: Awaited<ReturnType<CandleStore["read"]>>) => unknown][] = [
    ["a candle outside of what is covered", ({ candles }) => ({ candles, covered: [] })],
    ["a descending row", ({ candles, covered }) => ({ candles: [...candles].reverse(), covered })],
    [
      "a row of no interval",
      ({ candles, covered }) => ({
        candles: candles.map((c) => ({ ...c, timestamp: c.timestamp + 1 })),
        covered,
      }),
    ],
    [
      "a price that is none",
      ({ candles, covered }) => ({ candles: candles.map((c) => ({ ...c, open: -1 })), covered }),
    ],
  ];

  it.each(wrongs)(
    "that holds %s is not believed: what it held is forgotten, read and written again",
    async (_, spoil) => {
      const kept = memoryStore();
      const range = [START - 3 * HOUR, START - HOUR] as const;
      const expected = await fetched(begin(kept, START), ...range);
      let isSpoilt = true;
      const store = changed(kept, {
        read: async (...args) => {
          const good = await kept.read(...args);
          return (isSpoilt && good.candles.length > 0 ? spoil(good) : good) as typeof good;
        },
        forget: async (...args) => {
          isSpoilt = false;
          await kept.forget(...args);
        },
      });
      const world = begin(store, START);
      expect(await fetched(world, ...range)).toEqual(expected);
      expect(told(world)).toHaveLength(1);
      expect(told(world)[0]!.error.message).toMatch(/contradicts itself/);
      const paid = world.asked.length;
      expect(paid).toBeGreaterThan(0);
      expect(await fetched(world, ...range)).toEqual(expected);
      expect(world.asked).toHaveLength(paid);
    },
  );

  it("that contradicts itself again and again is forgotten once", async () => {
    const kept = memoryStore();
    let forgotten = 0;
    const store = changed(kept, {
      read: async (...args) => ({ ...(await kept.read(...args)), covered: [] }),
      forget: async (...args) => {
        forgotten += 1;
        await kept.forget(...args);
      },
    });
    const world = begin(store, START);
    const range = [START - 3 * HOUR, START - HOUR] as const;
    const expected = await truthOf(START, ...range);
    for (let times = 0; times < 3; times++) expect(await fetched(world, ...range)).toEqual(expected);
    expect(forgotten).toBe(1);
  });

  it("that holds a candle which is gone from the service gives it up, where an answer is held to it", async () => {
    const store = memoryStore();
    const fill = (world: World) => {
      for (let minute = 0; minute < 60; minute++) world.swap(at("11:00:30") + minute * MINUTE, 1 + minute);
    };
    await fetched(begin(store, START, fill), at("11:00:00"), at("11:30:00"));
    const later = begin(store, START, (world) => {
      fill(world);
      world.swaps.splice(29, 1);
    });
    const candles = await fetched(later, at("11:00:00"), at("11:50:00"));
    expect(candles.at(-1)!.timestamp).toBe(at("11:49:00"));
    const { candles: stored } = await store.read(KEY_OF_MINUTES, ALL);
    expect(stored.map(({ timestamp }) => timestamp)).not.toContain(at("11:29:00"));
  });
});

describe("createClient", () => {
  const client = { baseUrl: "http://localhost", apiKey: KEY };

  const bare = { read() {}, write() {}, forget() {} };
  const holey = { ...memoryStore(), forget: undefined };
  it.each([{}, null, 1, "candles.db", bare, holey])("refuses %s as a store", (store) => {
    expect(() => createClient({ ...client, store: store as never })).toThrow(
      expect.objectContaining({ name: "InvalidInputError", parameter: "store" }),
    );
  });

  it("names what makes a store of one's own fit for it, and takes that", () => {
    const { read, write, forget } = memoryStore();
    const own: CandleStore = { read, write, forget };
    // @ts-expect-error A bare store is refused by its type, too.
    expect(() => createClient({ ...client, store: own })).toThrow(
      /^store is an object; .*candleStore\(own\)/,
    );
    expect(createClient({ ...client, store: candleStore(own) })).toHaveProperty("ohlcvPage");
  });

  it("refuses a store where fetch records or replays", () => {
    const recording = recordExchanges(
      async () => ({}) as never,
      () => {},
    );
    const { fetch, scheduler } = replayExchanges([]);
    for (const given of [{ fetch: recording }, { fetch, scheduler }]) {
      expect(() => createClient({ ...client, ...given, store: memoryStore() })).toThrow(
        expect.objectContaining({ name: "InvalidInputError", parameter: "store" }),
      );
    }
  });
});
