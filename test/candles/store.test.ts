import { memoryStore } from "pairstream/store";
import { describe, expect, it } from "vitest";
import { candleStore } from "../../src/adapters/store/candle-store.js";
import type { CandleStore } from "../../src/adapters/store/index.js";
import {
  type CandleEvent,
  fetchCandles,
  type Series,
  type WatchOptions,
  watchCandles,
} from "../../src/index.js";
import { at, MINUTES, World, withRows } from "../world.js";
import { standing } from "./minute-candles.js";
import {
  ALL,
  begin,
  DAY,
  everyQuarter,
  fetched,
  HOUR,
  KEY_OF_MINUTES,
  MINUTE,
  START,
  told,
  truthOf,
  watched,
} from "./stored-world.js";

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
    // One page holds both ends.
    expect(again.asked).toHaveLength(1);
    const longest = [START - 23 * HOUR, START - HOUR / 4] as const;
    expect(await fetched(again, ...longest)).toEqual(await truthOf(START, ...longest));
    expect(again.asked).toHaveLength(1 + 2);
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

  it.each([30 * DAY, 3 * HOUR, 20 * MINUTE])(
    "writes no silence while no candle shows that is beside it: of a pair that is %d ms old",
    async (age) => {
      const createdAt = START - age;
      const range = [START - 3 * HOUR, START - 5 * MINUTE] as const;
      const store = memoryStore();
      const worldWith = (client: object) => {
        const world = new World({ start: START, createdAt, hasDate: true, client });
        world.swapsEvery(20_000, Math.max(createdAt, START - 4 * HOUR), START + HOUR);
        return world;
      };
      const first = worldWith({ store: candleStore(store) });
      first.interfere = (_, answer) => withRows(answer, () => []);
      expect(await fetched(first, ...range)).toEqual([]);
      await watched(first, { since: { candles: 50 } }, 5 * MINUTE);
      expect((await store.read(KEY_OF_MINUTES, ALL)).covered).toEqual([]);
      const again = worldWith({ store: candleStore(store) });
      expect(await fetched(again, ...range)).toEqual(await fetched(worldWith({}), ...range));
    },
  );

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

  it.each([0, 1, 2])(
    "leaves no hole between its history and what becomes final, with a revision window of %d",
    async (revisionWindow) => {
      const store = memoryStore();
      await watched(begin(store, START), { since: START - HOUR, revisionWindow }, 20 * MINUTE);
      const { covered } = await store.read(KEY_OF_MINUTES, ALL);
      expect(covered).toEqual([{ from: at("11:00:00"), to: at("12:18:00") }]);
    },
  );

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
    const { covered } = await store.read(KEY_OF_MINUTES, ALL);
    const again = begin(store, START);
    again.interfere = (_, answer) => withRows(answer, () => []);
    const events: CandleEvent[] = [];
    const options: Series & WatchOptions = { ...series, every: "close", since: { candles: 500 } };
    const subscription = watchCandles(again.client, options).subscribe((event) => events.push(event));
    await again.clock.advanceBy(5 * MINUTE);
    const limits = again.asked
      .filter(({ url }) => Number(url.searchParams.get("toDate")) * 1_000 < START - 50 * MINUTE)
      .map(({ url }) => Number(url.searchParams.get("limit")));
    // Each time the range before what is stored, in other words, the page before that, and whether either shows anything.
    expect(limits.length).toBeGreaterThan(10);
    expect(new Set(limits)).toEqual(new Set([504, 505, 506, 996, 2]));
    // The page, three questions of where it hides, and one of the poll.
    expect(again.asked.length).toBeLessThan(6 * 30);
    expect((await store.read(KEY_OF_MINUTES, ALL)).covered).toEqual(covered);
    again.interfere = () => undefined;
    await again.clock.advanceBy(2 * MINUTE);
    expect(standing(events).length).toBeGreaterThanOrEqual(500);
    subscription.unsubscribe();
  });

  it("asks for nothing that is stored where fewer candles follow on it than are wanted", async () => {
    const store = memoryStore();
    const stored = { from: START - 4 * DAY, to: START - 3 * DAY };
    const fill = (world: World) => {
      for (let time = stored.from - 10_000; time < stored.to; time += MINUTE) world.swap(time, 1);
      for (let hours = 10; hours > 0; hours--) world.swap(START - hours * HOUR, 1);
    };
    await fetched(begin(store, START, fill), stored.from, stored.to);
    const again = begin(store, START, fill);
    const { candles } = await watched(again, { since: { candles: 50 } }, 20_000);
    expect(candles).toHaveLength(50);
    const starts = again.candleRequests().map(({ url }) => Number(url.searchParams.get("fromDate")) * 1_000);
    expect(Math.min(...starts)).toBeGreaterThan(stored.to - 3 * MINUTE);
  });

  it("asks for nothing that an answer has shown to one who wanted fewer candles", async () => {
    const store = memoryStore();
    const fill = (world: World) => {
      for (let time = START - DAY; time < START - 5 * HOUR; time += MINUTE) world.swap(time, 1);
    };
    const few = await watched(begin(store, START, fill), { since: { candles: 50 } }, 20_000);
    expect(few.candles).toHaveLength(50);
    const again = begin(store, START + MINUTE, fill);
    const { candles } = await watched(again, { since: { candles: 600 } }, 20_000);
    expect(candles).toHaveLength(600);
    const starts = again.candleRequests().map(({ url }) => Number(url.searchParams.get("fromDate")) * 1_000);
    // An answer has to show the newest stored candle.
    expect(Math.min(...starts)).toBeGreaterThan(START - 5 * HOUR - 3 * MINUTE);
  });

  it("writes no silence after what is stored while the service does not show the newest of that", async () => {
    const store = memoryStore();
    await fetched(begin(store, START), START - 4 * HOUR, START - 3 * HOUR);
    const again = begin(store, START);
    // The poll is answered, and no history is.
    again.interfere = ({ url }, answer) =>
      Number(url.searchParams.get("fromDate")) * 1_000 < START - 20 * MINUTE
        ? withRows(answer, () => [])
        : undefined;
    const events: CandleEvent[] = [];
    const options: Series & WatchOptions = { ...MINUTES, every: "close", since: { candles: 150 } };
    const subscription = watchCandles(again.client, options).subscribe((event) => events.push(event));
    await again.clock.advanceBy(30_000);
    again.interfere = () => undefined;
    await again.clock.advanceBy(3 * MINUTE);
    const expected = await truthOf(START, START - 150 * MINUTE, START - MINUTE);
    expect(standing(events)).toEqual(expect.arrayContaining(expected));
    subscription.unsubscribe();
  });

  it("reads on after what is stored where the newest of that is gone from the service", async () => {
    const store = memoryStore();
    await fetched(begin(store, START), START - 4 * HOUR, START - 3 * HOUR);
    const newest = (await store.read(KEY_OF_MINUTES, ALL)).candles.at(-1)!.timestamp;
    const again = begin(store, START);
    const kept = again.swaps.filter(({ timestamp }) => timestamp < newest || timestamp >= newest + MINUTE);
    again.swaps.splice(0, again.swaps.length, ...kept);
    const { candles } = await watched(again, { since: { candles: 150 } }, MINUTE);
    const expected = await truthOf(START, START - 150 * MINUTE, START - MINUTE);
    expect(candles).toEqual(expect.arrayContaining(expected));
  });

  it("ends where nothing lies between what is stored and the pair's creation", async () => {
    const store = memoryStore();
    const to = at("11:57:00");
    await store.write(KEY_OF_MINUTES, { from: to - HOUR, to, candles: [] });
    const world = new World({
      start: START,
      createdAt: at("11:59:30"),
      hasDate: true,
      client: { store: candleStore(store) },
    });
    for (let time = at("11:59:30"); time < START + HOUR; time += 15_000) world.swap(time, 1);
    const { candles, requests } = await watched(world, { since: { candles: 50 } }, 90_000);
    expect(candles[0]!.timestamp).toBe(at("11:59:00"));
    expect(requests).toBeLessThan(10);
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
        // What comes before the caller's window is not read.
        if (covered.length === 0 && end <= at("12:00:00")) continue;
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
        return withRows(answer, (rows) =>
          rows.filter(({ timestamp }) => Date.parse(timestamp as string) !== at("12:08:00")),
        );
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
      withRows(answer, (rows) =>
        rows.map((row) =>
          Date.parse(row.timestamp as string) === at("12:04:00") ? { ...row, open: "?" } : row,
        ),
      );
    watchCandles(world.client, { ...MINUTES }).subscribe();
    await world.clock.advanceTo(at("12:20:00"));
    const { covered } = await store.read(KEY_OF_MINUTES, ALL);
    expect(covered.map(({ from }) => from)).toContain(at("12:05:00"));
    expect(covered.map(({ to }) => to)).toContain(at("12:04:00"));
  });

  it.each(SINCE.slice(0, 2))(
    "since %s: asks in pages for what broken rows have left out, and keeps what is stored between them",
    async (_, since) => {
      const store = memoryStore();
      // Each time others are broken besides, as all that a service has is not always readable.
      const begins = (start: number, other: number) => {
        const world = begin(store, start);
        const isBroken = (minute: number) => minute % 10 === 0 || minute % 10 === other;
        world.interfere = (_, answer) =>
          withRows(answer, (rows) =>
            rows.map((row) => {
              const time = Date.parse(row.timestamp as string);
              return time < START - HOUR / 2 && isBroken(time / MINUTE) ? { ...row, open: "?" } : row;
            }),
          );
        return world;
      };
      const first = await watched(begins(START, 0), { since: since! }, 5 * MINUTE);
      const later = START + 5 * MINUTE + 5_000;
      const again = await watched(begins(later, 1), { since: since! }, 20_000);
      // A row counts as broken after three answers. Two ranges hold so many candles. The poll asks once.
      expect(again.requests).toBeLessThanOrEqual(3 * 2 + 1);
      expect(again.candles.length).toBeGreaterThan(350);
      const olderThan = (time: number) => again.candles.filter(({ timestamp }) => timestamp < time);
      const from = again.candles[0]!.timestamp;
      expect(olderThan(START - HOUR)).toEqual(
        first.candles.filter(({ timestamp }) => timestamp >= from && timestamp < START - HOUR),
      );
    },
  );

  it("asks for no hole that lies before as many stored candles as are wanted", async () => {
    const store = memoryStore();
    await fetched(begin(store, START), START - 4 * HOUR, START - 5 * MINUTE);
    await store.forget(KEY_OF_MINUTES, at("11:20:00"), at("11:21:00"));
    await store.forget(KEY_OF_MINUTES, at("11:50:00"), at("11:51:00"));
    const again = begin(store, START);
    await watched(again, { since: { candles: 20 } }, 20_000);
    const from = again.asked.map(({ url }) => Number(new URL(url).searchParams.get("fromDate")) * 1_000);
    expect(Math.min(...from)).toBeGreaterThan(at("11:45:00"));
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
