import { memoryStore } from "pairstream/store";
import { describe, expect, it } from "vitest";
import {
  type Candle,
  type CandleEvent,
  type CandleStore,
  createClient,
  fetchCandles,
  recordExchanges,
  replayExchanges,
  type Series,
  type StoreActivity,
  type StoreKey,
  type WatchOptions,
  watchCandles,
} from "../../src/index.js";
import { at, KEY, MINUTES, World, withRows } from "../world.js";
import { standing } from "./minute-candles.js";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const START = at("12:00:10");
const KEY_OF_MINUTES: StoreKey = { ...MINUTES, service: "http://localhost", weekStart: "monday" };
const ALL = { from: 0, to: Number.MAX_SAFE_INTEGER };

/** A process that begins at an instant, with a store that outlives it; the market is always the same. */
function begin(store: CandleStore, start: number, fill = everyQuarter): World {
  const world = new World({ start, createdAt: START - 30 * DAY, hasDate: true, client: { store } });
  fill(world);
  return world;
}

/** Four swaps a minute, but none in every seventh minute. */
function everyQuarter(world: World): void {
  for (let time = START - DAY - 10_000, price = 1; time < START + 3 * DAY; time += 15_000, price++) {
    if (Math.floor(time / MINUTE) % 7 !== 0) world.swap(time, price);
  }
}

async function watched(world: World, options: WatchOptions, ms: number) {
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

async function fetched(world: World, from: number, to?: number): Promise<Candle[]> {
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
const truthOf = (start: number, from: number, to: number) => {
  const world = new World({ start, createdAt: START - 30 * DAY, hasDate: true });
  everyQuarter(world);
  return fetched(world, from, to);
};

const told = (world: World) => world.activity.filter((each): each is StoreActivity => each.type === "store");

describe("fetchCandles with a store", () => {
  it("asks for a range once, and for what is missing of a longer one", async () => {
    const store = memoryStore();
    const first = begin(store, START);
    const range = [START - 10 * HOUR, START - HOUR] as const;
    const expected = await truthOf(START, ...range);
    expect(await fetched(first, ...range)).toEqual(expected);
    const again = begin(store, START + DAY);
    expect(await fetched(again, ...range)).toEqual(expected);
    expect(again.asked).toHaveLength(0);
    const longer = [START - 12 * HOUR, START - HOUR / 2] as const;
    expect(await fetched(again, ...longer)).toEqual(await truthOf(START, ...longer));
    // One page for each of the two ends.
    expect(again.asked).toHaveLength(2);
    expect(told(again)).toEqual([]);
  });

  it("covers what holds no candle, too, and the silence before the first one", async () => {
    const store = memoryStore();
    const from = START - 40 * DAY;
    await fetched(begin(store, START), from, START - HOUR);
    const again = begin(store, START);
    const candles = await fetched(again, from, START - HOUR);
    expect(again.asked).toHaveLength(0);
    expect(candles[0]!.timestamp).toBeGreaterThan(START - DAY - 2 * MINUTE);
  });

  it("asks for the end of a range without `to`, by the service's clock, and writes what is two intervals old", async () => {
    const store = memoryStore();
    const candles = await fetched(begin(store, START), START - HOUR);
    expect(candles.at(-1)!.timestamp).toBe(at("11:59:00"));
    const { covered } = await store.read(KEY_OF_MINUTES, ALL);
    expect(covered).toEqual([{ from: at("11:01:00"), to: at("11:58:00") }]);
    const again = begin(store, START);
    expect(await fetched(again, START - HOUR)).toEqual(candles);
    expect(again.asked).toHaveLength(1);
  });

  it("asks for one page at least where the machine's clock is far behind", async () => {
    const store = memoryStore();
    await fetched(begin(store, START), START - HOUR);
    const behind = new World({
      start: START - 10 * DAY,
      offset: 10 * DAY + HOUR,
      createdAt: START - 30 * DAY,
      hasDate: true,
      client: { store },
    });
    everyQuarter(behind);
    const candles = await fetched(behind, START - HOUR);
    expect(candles).toEqual(await truthOf(START + HOUR, START - HOUR, START + HOUR));
  });
});

describe("watchCandles with a store", () => {
  const SINCE: [string, WatchOptions["since"]][] = [
    ["an instant", START - 8 * HOUR],
    ["so many candles", { candles: 400 }],
    ["nothing", undefined],
  ];

  it.each(SINCE)("since %s: a restart at once is one request", async (_, since) => {
    const store = memoryStore();
    const options = since === undefined ? {} : { since };
    const first = await watched(begin(store, START), options, 20 * MINUTE);
    const again = begin(store, START + 20 * MINUTE + 5_000);
    const { events, requests } = await watched(again, options, 20_000);
    expect(requests).toBe(1);
    if (since === undefined) return;
    const plain = new World({
      start: START + 20 * MINUTE + 5_000,
      createdAt: START - 30 * DAY,
      hasDate: true,
    });
    everyQuarter(plain);
    const expected = await watched(plain, options, 20_000);
    const strip = ({ observedAt: _, lateBy: __, ...event }: CandleEvent) => event;
    expect(events.map(strip)).toEqual(expected.events.map(strip));
    expect(first.events.length).toBeGreaterThan(400);
  });

  it("reads one row, and asks once, where it wants no history and nothing is missing", async () => {
    const kept = memoryStore();
    await watched(begin(kept, START), {}, 20 * MINUTE);
    const rows: number[] = [];
    const read: CandleStore["read"] = async (...args) => {
      const held = await kept.read(...args);
      rows.push(held.candles.length);
      return held;
    };
    const again = begin({ ...kept, read }, START + 20 * MINUTE + 5_000);
    const { requests } = await watched(again, {}, 20_000);
    expect([requests, rows]).toEqual([1, [1]]);
  });

  it.each(SINCE)(
    "since %s: a restart an hour later is one request, in which the hour comes",
    async (_, since) => {
      const store = memoryStore();
      const options = since === undefined ? {} : { since };
      await watched(begin(store, START), options, 20 * MINUTE);
      const again = begin(store, START + 80 * MINUTE + 5_000);
      const { requests } = await watched(again, options, 20_000);
      expect(requests).toBe(1);
      const { covered } = await store.read(KEY_OF_MINUTES, ALL);
      expect(covered).toHaveLength(1);
      expect(covered[0]!.to).toBe(at("13:18:00"));
    },
  );

  it("a restart a week later asks for no more than is missing", async () => {
    const store = memoryStore();
    const since = START - 8 * HOUR;
    await watched(begin(store, START), { since }, 20 * MINUTE);
    const start = START + 2 * DAY;
    const { requests, candles } = await watched(begin(store, start), { since }, 40_000);
    // 2,880 minutes in pages of 1,000 at most, and the running one.
    expect(requests).toBeLessThanOrEqual(5);
    const expected = await truthOf(start, since, start - HOUR);
    expect(candles.filter(({ timestamp }) => timestamp < start - HOUR)).toEqual(expected);
  });

  it.each([
    ["an hour ago", START - HOUR],
    ["the first candle", START - 2 * HOUR],
  ])(
    "goes on before what is stored from %s on where only ranges from the first candle on answer, and no report tells of that",
    async (_, from) => {
      for (const inclusive of ["start", "both"] as const) {
        const store = memoryStore();
        const born = START - 2 * HOUR;
        const young = () => {
          const quirks = { emptyBeforeCreation: true, inclusive };
          const world = new World({
            start: START,
            createdAt: born,
            hasDate: true,
            quirks,
            client: { store },
          });
          for (let time = born; time < START + HOUR; time += 20_000) world.swap(time, time / START);
          return world;
        };
        const series = { ...MINUTES, network: "devnet" } as const;
        const first = young();
        fetchCandles(first.client, { ...series, from }).subscribe();
        await first.clock.advanceBy(60_000);
        const again = young();
        const options: Series & WatchOptions = { ...series, since: { candles: 500 } };
        const { candles } = await watched(again, options, 60_000);
        expect(candles.map(({ timestamp }) => timestamp)).toEqual(
          Array.from({ length: 121 }, (_, index) => at("10:00:00") + index * MINUTE),
        );
      }
    },
  );

  it("looks for nothing that is hidden before what is stored while the service shows that no more", async () => {
    const store = memoryStore();
    const series = { ...MINUTES, network: "devnet" } as const;
    const first = begin(store, START);
    fetchCandles(first.client, { ...series, from: START - HOUR }).subscribe();
    await first.clock.advanceBy(60_000);
    const again = begin(store, START);
    again.interfere = (_, answer) => withRows(answer, () => []);
    const events: CandleEvent[] = [];
    const options: Series & WatchOptions = { ...series, every: "close", since: { candles: 500 } };
    const subscription = watchCandles(again.client, options).subscribe((event) => events.push(event));
    await again.clock.advanceBy(5 * MINUTE);
    const limits = again.asked
      .filter(({ url }) => Number(url.searchParams.get("toDate")) * 1_000 < START - 50 * MINUTE)
      .map(({ url }) => Number(url.searchParams.get("limit")));
    // Each time the range before what is stored, and then the first stored candle alone, from there and from before.
    expect(limits.length).toBeGreaterThan(10);
    expect(limits).toEqual(limits.map((_, index) => [505, 1, 3][index % 3]));
    again.interfere = () => undefined;
    await again.clock.advanceBy(2 * MINUTE);
    expect(standing(events).length).toBeGreaterThanOrEqual(500);
    subscription.unsubscribe();
  });

  it("leaves nothing behind at its signal for each of many spans that are missing", async () => {
    const store = memoryStore();
    const first = begin(store, START);
    for (let hours = 20; hours > 0; hours--)
      await fetched(first, START - hours * HOUR, START - hours * HOUR + 30 * MINUTE);
    const warnings: Error[] = [];
    const note = (warning: Error) => warnings.push(warning);
    process.on("warning", note);
    const again = begin(store, START);
    const { candles } = await watched(again, { since: START - 20 * HOUR }, 60_000);
    process.off("warning", note);
    expect(candles.slice(0, -2)).toEqual(await truthOf(START, START - 20 * HOUR - 10_000, START));
    expect(warnings).toEqual([]);
  });

  it.each([
    ["shortest first", [1, 2, 3, 4, 5, 7, 9, 10, 11, 12]],
    ["longest first", [12, 11, 10, 9, 7, 5, 4, 3, 2, 1]],
    ["in any order", [3, 1, 9, 7, 12, 2, 10, 4, 11, 5]],
  ])("ten subscribers with ten instants, %s, ask for what the longest history costs", async (_, hours) => {
    const store = memoryStore();
    const world = begin(store, START);
    const all = hours.map((hour) => watchCandles(world.client, { ...MINUTES, since: START - hour * HOUR }));
    const results: CandleEvent[][] = all.map((events) => {
      const seen: CandleEvent[] = [];
      events.subscribe((event) => seen.push(event));
      return seen;
    });
    await world.clock.advanceBy(30_000);
    for (const [index, hour] of hours.entries()) {
      const from = START - hour * HOUR;
      const expected = await truthOf(START, Math.floor(from / MINUTE) * MINUTE, START - HOUR / 2);
      const before = standing(results[index]!).filter(({ timestamp }) => timestamp < START - HOUR / 2);
      expect(before).toEqual(expected);
    }
    // The running one, and 720 minutes in one page.
    expect(world.asked).toHaveLength(2);
  });

  it.each([0, 1, 2, 5])(
    "writes nothing sooner than two intervals after its end, at a window of %d",
    async (revisionWindow) => {
      const store = memoryStore();
      const world = begin(store, START);
      watchCandles(world.client, { ...MINUTES, revisionWindow }).subscribe();
      for (let minute = 1; minute < 20; minute++) {
        await world.clock.advanceTo(at("12:00:30") + minute * MINUTE);
        const { covered, candles } = await store.read(KEY_OF_MINUTES, ALL);
        const end = at("12:00:00") + (minute - Math.max(2, revisionWindow)) * MINUTE;
        expect(covered.at(-1)?.to).toBe(end);
        expect(covered).toHaveLength(1);
        const { from } = covered[0]!;
        expect(candles).toEqual(await truthOf(world.clock.now(), from, end));
      }
    },
  );

  it.each([0, 1, 2, 5])(
    "writes what an outage is caught up with once, without a hole, at a window of %d",
    async (revisionWindow) => {
      const kept = memoryStore();
      const written = new Map<number, number>();
      const store: CandleStore = {
        ...kept,
        write: (key, known) => {
          for (let start = known.from; start < known.to; start += MINUTE)
            written.set(start, (written.get(start) ?? 0) + 1);
          return kept.write(key, known);
        },
      };
      const world = begin(store, START);
      watchCandles(world.client, { ...MINUTES, revisionWindow }).subscribe();
      await world.clock.advanceBy(10 * MINUTE);
      world.interfere = () => Promise.reject(new Error("connection lost"));
      await world.clock.advanceBy(20 * HOUR);
      world.interfere = () => undefined;
      await world.clock.advanceBy(10 * MINUTE);
      const { covered, candles } = await kept.read(KEY_OF_MINUTES, ALL);
      const reached = START + 20 * HOUR + 12 * MINUTE;
      expect(covered).toEqual([{ from: expect.any(Number), to: expect.any(Number) }]);
      const [{ from, to }] = covered as [{ from: number; to: number }];
      expect(from).toBeLessThan(START);
      expect(to).toBeGreaterThan(reached);
      expect(candles).toEqual(await truthOf(world.clock.now(), from, to));
      expect([...new Set(written.values())]).toEqual([1]);
    },
  );

  it("writes a correction that comes within the window, and one that takes a candle away", async () => {
    const store = memoryStore();
    const world = begin(store, at("12:01:10"), (each) => {
      for (let minute = -9; minute < 30; minute++) each.swap(at("12:00:30") + minute * MINUTE, 10 + minute);
    });
    watchCandles(world.client, { ...MINUTES }).subscribe();
    await world.clock.advanceTo(at("12:03:10"));
    world.swap(at("12:01:40"), 99);
    world.swaps.splice(
      world.swaps.findIndex(({ timestamp }) => timestamp === at("12:02:30")),
      1,
    );
    await world.clock.advanceTo(at("12:10:00"));
    const { candles } = await store.read(KEY_OF_MINUTES, { from: at("12:01:00"), to: at("12:05:00") });
    expect(candles.map(({ timestamp, close }) => [timestamp, close])).toEqual([
      [at("12:01:00"), 99],
      [at("12:03:00"), 13],
      [at("12:04:00"), 14],
    ]);
  });

  it("does not take one answer that lacks a candle for a proof", async () => {
    for (const revisionWindow of [0, 2]) {
      const store = memoryStore();
      const world = begin(store, at("12:00:10"));
      watchCandles(world.client, { ...MINUTES, revisionWindow }).subscribe();
      await world.clock.advanceTo(at("12:10:00"));
      // In one answer the newest closed candles are missing.
      let isCut = true;
      world.interfere = (_, answer) => {
        if (!isCut) return undefined;
        isCut = false;
        return answer().then(async (given) => {
          const body = JSON.parse(await given.text());
          body.result = body.result.filter(
            ({ timestamp }: { timestamp: string }) => Date.parse(timestamp) !== at("12:08:00"),
          );
          return {
            ...given,
            status: given.status,
            headers: given.headers,
            text: async () => JSON.stringify(body),
          };
        });
      };
      await world.clock.advanceTo(at("12:20:00"));
      const { candles, covered } = await store.read(KEY_OF_MINUTES, ALL);
      expect(covered).toHaveLength(1);
      expect(candles.map(({ timestamp }) => timestamp)).toContain(at("12:08:00"));
    }
  });

  it("has nothing to say of a row that cannot be read", async () => {
    const store = memoryStore();
    const world = begin(store, START);
    world.interfere = (_, answer) =>
      answer().then(async (given) => {
        const body = JSON.parse(await given.text());
        for (const row of body.result ?? []) if (Date.parse(row.timestamp) === at("12:04:00")) row.open = "?";
        return {
          ...given,
          status: given.status,
          headers: given.headers,
          text: async () => JSON.stringify(body),
        };
      });
    watchCandles(world.client, { ...MINUTES }).subscribe();
    await world.clock.advanceTo(at("12:20:00"));
    const { covered } = await store.read(KEY_OF_MINUTES, ALL);
    expect(covered.map(({ from }) => from)).toContain(at("12:05:00"));
    expect(covered.map(({ to }) => to)).toContain(at("12:04:00"));
  });

  it.each([1, 2])(
    "takes no answer for a silence that lacks a row which %i before it held broken",
    async (times) => {
      const store = memoryStore();
      const world = begin(store, START);
      let answers = 0;
      world.interfere = (_, answer) =>
        withRows(answer, (rows) => {
          const row = rows.find(({ timestamp }) => Date.parse(timestamp as string) === at("11:50:00"));
          if (row === undefined) return rows;
          answers += 1;
          if (answers <= times) row.open = "?";
          return answers === times + 1 ? rows.filter((one) => one !== row) : rows;
        });
      await watched(world, { since: at("11:40:00") }, 5 * MINUTE);
      expect(answers).toBeGreaterThan(times);
      const { candles, covered } = await store.read(KEY_OF_MINUTES, {
        from: at("11:50:00"),
        to: at("11:51:00"),
      });
      expect(covered.length).toBe(candles.length);
    },
  );
});

/** A store of which some methods are others. */
const changed = (store: CandleStore, methods: Partial<CandleStore>): CandleStore => ({
  read: (...args) => store.read(...args),
  write: (...args) => store.write(...args),
  forget: (...args) => store.forget(...args),
  ...methods,
});

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

  it.each([{}, null, 1, "candles.db", { read() {}, write() {} }])("refuses %s as a store", (store) => {
    expect(() => createClient({ ...client, store: store as never })).toThrow(
      expect.objectContaining({ name: "InvalidInputError", parameter: "store" }),
    );
  });

  it("refuses a store where fetch records or replays", () => {
    const lines: string[] = [];
    const fetches = [
      recordExchanges(
        async () => ({}) as never,
        (line) => lines.push(line),
      ),
    ];
    const tape = new World({
      start: START,
      before: (fetch) => recordExchanges(fetch, (line) => lines.push(line)),
    });
    expect(tape).toBeDefined();
    if (lines.length > 0) fetches.push(replayExchanges(lines).fetch);
    for (const fetch of fetches) {
      expect(() => createClient({ ...client, fetch, store: memoryStore() })).toThrow(
        expect.objectContaining({ name: "InvalidInputError", parameter: "store" }),
      );
    }
  });
});
