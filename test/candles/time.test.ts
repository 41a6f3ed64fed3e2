import type { SchedulerLike } from "rxjs";
import { describe, expect, it } from "vitest";
import {
  type CandleEvent,
  type VirtualClock,
  type WatchOptions,
  watchCandles,
  watchFeedStatus,
} from "../../src/index.js";
import { type Answer, at, MINUTES, World, withRows } from "../world.js";

const LONGEST_TIMER = 2 ** 31 - 1;

/** How many requests each closing took, and how late its candle was there, in ms after the interval's end. */
function closings(world: World, events: { event: CandleEvent; arrived: number }[]) {
  return events
    .filter(({ event }) => event.status === "closed")
    .map(({ event, arrived }) => {
      const end = event.candle.timestamp + 60_000;
      const own = world.asked.filter(({ sent }) => Math.abs(sent + world.offset - end - 1_000) < 10_000);
      return { requests: own.length, late: arrived + world.offset - end };
    });
}

describe("the service's clock", () => {
  it.each([
    { offset: 437, latency: 0 },
    { offset: -86_400_000 * 365 * 3 - 222, latency: 15 },
    { offset: 3_600_000 + 990, latency: 60 },
  ])(
    "is found within ten closings: one request each, on time ($offset ms ahead, $latency ms away)",
    async (far) => {
      const world = new World({ start: at("12:00:10.5") - far.offset, ...far, hasDate: true });
      world.swapsEvery(60_000, at("11:00:00"), at("13:00:00"));
      const events: { event: CandleEvent; arrived: number }[] = [];
      watchCandles(world.client, { ...MINUTES, every: "close" }).subscribe((event) =>
        events.push({ event, arrived: world.clock.now() }),
      );
      await world.clock.advanceTo(at("12:30:30") - far.offset);
      const seen = closings(world, events);
      expect(seen).toHaveLength(30);
      for (const { late } of seen) expect(late).toBeGreaterThanOrEqual(1_000);
      const settled = seen.slice(10);
      expect(settled.map(({ requests }) => requests)).toEqual(settled.map(() => 1));
      for (const { late } of settled) expect(late).toBeLessThanOrEqual(1_000 + 2 * far.latency + 20);
      expect(world.activity.filter(({ type }) => type === "clock")).toMatchObject([{ source: "date" }]);
    },
  );

  it("is the scheduler's where answers have no Date, and activity says so", async () => {
    const world = new World({ start: at("12:00:10") });
    world.swapsEvery(60_000, at("11:00:00"), at("13:00:00"));
    watchCandles(world.client, { ...MINUTES, every: "close" }).subscribe();
    await world.clock.advanceTo(at("12:05:10"));
    expect(world.asked.map(({ sent }) => sent - at("12:00:00"))).toEqual(
      [10, 61, 121, 181, 241, 301].map((s) => s * 1_000),
    );
    expect(world.activity.filter(({ type }) => type === "clock")).toMatchObject([{ source: "scheduler" }]);
  });

  it("never closes early, whatever the bounds", async () => {
    for (let offset = 0; offset < 1_000; offset += 37) {
      const world = new World({ start: at("12:00:10"), offset, hasDate: true, latency: 90 });
      world.swapsEvery(1_000, at("11:59:00"), at("12:10:00"));
      const closed: { after: number; swaps: number }[] = [];
      watchCandles(world.client, { ...MINUTES, settle: 0, every: 7_000 }).subscribe(({ status, candle }) => {
        const after = world.clock.now() + offset - candle.timestamp - 60_000;
        if (status === "closed") closed.push({ after, swaps: candle.swaps });
      });
      await world.clock.advanceTo(at("12:04:00"));
      expect(closed.length).toBeGreaterThanOrEqual(3);
      for (const { after, swaps } of closed) {
        expect(after).toBeGreaterThanOrEqual(0);
        expect(swaps).toBe(60);
      }
    }
  });
});

describe("polls", () => {
  const sentSeconds = (world: World) => world.asked.map(({ sent }) => (sent - at("12:00:00")) / 1_000);

  it("are counted from the start of the interval, with one at its end in any case, and do not drift", async () => {
    const world = new World({ start: at("12:00:10"), latency: 333 });
    world.swapsEvery(60_000, at("11:00:00"), at("14:00:00"));
    watchCandles(world.client, { ...MINUTES, every: 25_000 }).subscribe();
    await world.clock.advanceTo(at("13:00:00"));
    expect(sentSeconds(world).slice(0, 8)).toEqual([10, 25, 50, 61, 85, 110, 121, 145]);
    expect(sentSeconds(world)).toHaveLength(3 * 60);
  });

  it.each([
    [5_000, [10, 20, 30, 40, 50, 61, 70, 80, 90]],
    // The closing poll is run past by that of 12:00:55, and comes right after it.
    [55_000, [10, 55, 63, 115]],
  ])("every %i ms skip the slots that the last one has run past", async (every, seconds) => {
    const world = new World({ start: at("12:00:10"), latency: 4_000 });
    world.swapsEvery(60_000, at("11:00:00"), at("14:00:00"));
    watchCandles(world.client, { ...MINUTES, every }).subscribe();
    await world.clock.advanceTo(at("12:00:00") + 1_000 * (seconds.at(-1)! + 1));
    expect(sentSeconds(world)).toEqual(seconds);
  });

  it("come on the second for a candle of a second", async () => {
    const world = new World({ start: at("12:00:10") });
    world.swapsEvery(500, at("12:00:00"), at("12:02:00"));
    const closed: number[] = [];
    watchCandles(world.client, { ...MINUTES, timeframe: "1s" }).subscribe(({ status, candle, type }) => {
      if (status === "closed" && type === "updated") closed.push(candle.timestamp);
    });
    await world.clock.advanceTo(at("12:01:00"));
    expect(closed).toEqual(Array.from({ length: 48 }, (_, index) => at("12:00:10") + index * 1_000));
  });

  it.each([
    ["1M", 24],
    ["1w", 104],
  ] as const)(
    "of %s candles: one an interval, and never a timer that overflows",
    async (timeframe, intervals) => {
      const start = Date.UTC(2024, 0, 1, 12);
      const delays: number[] = [];
      const world = new World({ start, schedulerOf: (clock) => recording(clock, delays) });
      for (let day = 0; day < 740; day++) world.swap(start + day * 86_400_000, day + 1);
      const closed: number[] = [];
      watchCandles(world.client, { ...MINUTES, timeframe, every: "close" }).subscribe(
        ({ status, candle }) => {
          if (status === "closed") closed.push(candle.timestamp);
        },
      );
      await world.clock.advanceTo(Date.UTC(2026, 0, 1, 12));
      expect(closed).toHaveLength(intervals);
      expect(world.asked).toHaveLength(1 + intervals);
      expect(delays.every((delay) => delay <= LONGEST_TIMER)).toBe(true);
      expect(delays.length).toBeGreaterThan(intervals);
    },
  );
});

/** A scheduler that notes every delay that it is given. */
function recording(clock: VirtualClock, delays: number[]): SchedulerLike {
  const noted = new WeakSet<object>();
  return {
    now: () => clock.now(),
    schedule(work, delay = 0, state) {
      delays.push(delay);
      return clock.schedule(
        function (input) {
          if (!noted.has(this)) {
            const again = this.schedule.bind(this);
            this.schedule = (next, after = 0) => {
              delays.push(after);
              return again(next, after);
            };
            noted.add(this);
          }
          work.call(this, input as never);
        },
        delay,
        state,
      );
    },
  };
}

describe("a service's clock that jumps", () => {
  it.each([
    [3_600_000, "12:10:30"],
    // What was final is not told again: the stream goes on behind it.
    [-3_600_000, "13:10:30"],
  ])("by %i ms is found again, and the stream goes on", async (jump, until) => {
    const world = new World({ start: at("12:00:10"), hasDate: true });
    world.swapsEvery(60_000, at("10:00:00"), at("14:00:00"));
    const events: CandleEvent[] = [];
    watchCandles(world.client, MINUTES).subscribe((event) => events.push(event));
    await world.clock.advanceTo(at("12:05:30"));
    world.jump(jump);
    const before = events.length;
    await world.clock.advanceTo(at(until));
    const live = events.slice(before);
    const last = live.filter(({ status }) => status === "closed").at(-1)!;
    expect(last.candle.timestamp).toBe(at(until) + jump - 90_000);
    const finals = events.filter(({ status }) => status === "final").map(({ candle }) => candle.timestamp);
    expect(finals).toEqual([...new Set(finals)]);
    const births = live.filter(({ type }) => type === "new").map(({ candle }) => candle.timestamp);
    expect(births).toEqual([...births].sort((a, b) => a - b));
    expect(world.activity.filter(({ type }) => type === "clock").at(-1)).toMatchObject({ jumped: true });
  });
});

it("a clock that was set while nobody watched delays nothing: the interval runs by the clock found again", async () => {
  const world = new World({ start: at("12:00:10"), hasDate: true });
  world.swapsEvery(60_000, at("10:00:00"), at("14:00:00"));
  const page = world.client.ohlcvPage({ ...MINUTES, fromDate: at("11:00:00"), toDate: at("12:00:00") });
  await world.clock.advanceTo(at("12:03:20"));
  await page;
  world.jump(-3_600_000);
  const timestamps = new Set<number>();
  watchCandles(world.client, MINUTES).subscribe(({ candle }) => timestamps.add(candle.timestamp));
  await world.clock.advanceTo(at("12:05:30"));
  expect([...timestamps]).toEqual([at("11:03:00"), at("11:04:00"), at("11:05:00")]);
});

/** A world in which `setClock` sets the machine's clock by so many ms. */
function settableWorld(by = 0, hasDate = true) {
  let set = 0;
  const schedulerOf = (clock: VirtualClock): SchedulerLike => ({
    now: () => clock.now() + set,
    schedule: clock.schedule.bind(clock),
  });
  const world = new World({ start: at("12:00:10"), hasDate, schedulerOf });
  const setClock = (ms = by) => {
    set += ms;
  };
  return { world, setClock };
}

it.each([-60_000, -9_000_000])(
  "a machine's clock that is set by %i ms while answers have no Date stops no poll",
  async (by) => {
    const { world, setClock } = settableWorld(by);
    world.swapsEvery(10_000, at("11:00:00"), at("13:00:00"));
    const closed: number[] = [];
    watchCandles(world.client, { ...MINUTES, every: "close" }).subscribe(({ status, candle }) => {
      if (status === "closed") closed.push(candle.timestamp);
    });
    await world.clock.advanceTo(at("12:05:30"));
    setClock();
    world.interfere = async (_asked, answer) => {
      const { status, headers, text } = await answer();
      return { status, text, headers: { get: (name) => (name === "date" ? null : headers.get(name)) } };
    };
    // The answer by which the clock is found again has to be asked for without one.
    await world.clock.advanceTo(at("12:07:30"));
    world.interfere = () => undefined;
    await world.clock.advanceTo(at("12:11:30"));
    expect(closed.slice(-3)).toEqual([at("12:08:00"), at("12:09:00"), at("12:10:00")]);
  },
);

it.each([-20_000, -90_000, -1_400_000, 90_000, 1_400_000])(
  "whoever joins a poll since whose last answer the machine's clock was set by %i ms gets nothing older than the interval that runs",
  async (by) => {
    const { world, setClock } = settableWorld(by);
    world.swapsEvery(10_000, at("11:00:00"), at("13:00:00"));
    const options = { ...MINUTES, revisionWindow: 4, every: "close" } as const;
    watchCandles(world.client, options).subscribe();
    await world.clock.advanceTo(at("12:05:30"));
    setClock();
    const firsts = [options, { ...options, every: 180_000 } as const, { ...options, fillGaps: true }].map(
      (joining) => {
        const told: number[] = [];
        watchCandles(world.client, joining).subscribe(({ candle }) => told.push(candle.timestamp));
        return () => Math.min(...told);
      },
    );
    await world.clock.advanceTo(at("12:09:30"));
    for (const first of firsts) {
      expect(first()).toBeGreaterThanOrEqual(at("12:05:00"));
      expect(first()).toBeLessThanOrEqual(at("12:06:00"));
    }
  },
);

it("whoever joins after the machine's clock was set back, where no answer has a Date, is told at once what the poll has", async () => {
  const { world, setClock } = settableWorld(-90_000, false);
  world.swapsEvery(10_000, at("11:00:00"), at("13:00:00"));
  watchCandles(world.client, MINUTES).subscribe();
  await world.clock.advanceTo(at("12:05:30"));
  setClock();
  const told: number[] = [];
  watchCandles(world.client, MINUTES).subscribe(({ candle }) => told.push(candle.timestamp));
  expect(told.at(-1)).toBe(at("12:05:00"));
});

it.each([
  { every: 7_809, settle: 1_000, at: "12:05:47", by: 20_000, steps: 500 },
  { every: "close", settle: 0, at: "12:05:30", by: 5 * 3_600_000, steps: 5_100 },
] as const)(
  "a machine's clock that is set ahead, and found out about a close, leaves out no close: %o",
  async ({ every, settle, at: time, by, steps }) => {
    const lates = await Promise.all(
      Array.from({ length: 16 }, async (_, step) => {
        const { world, setClock } = settableWorld();
        world.swapsEvery(10_000, at("11:00:00"), at("13:00:00"));
        let closedAt = Infinity;
        watchCandles(world.client, { ...MINUTES, every, settle }).subscribe(({ status, candle }) => {
          if (status === "closed" && candle.timestamp === at("12:05:00")) closedAt = world.clock.now();
        });
        await world.clock.advanceTo(at(time));
        setClock(by + step * steps);
        await world.clock.advanceTo(at("12:09:30"));
        return closedAt - at("12:06:00") - settle;
      }),
    );
    expect(Math.min(...lates)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...lates)).toBeLessThan(3_000);
  },
);

it.each([
  [1, 10_000],
  [10, 10_000],
  [10, 3_000],
  [100, 25_000],
])(
  "a machine's clock that is set %i h ahead, behind a cache, has no missed close asked for one by one, every %i ms",
  async (hours, every) => {
    const { world, setClock } = settableWorld();
    world.swapsEvery(10_000, at("11:00:00"), at("13:00:00"));
    const copies = new Map<string, { answer: Answer; made: number }>();
    world.interfere = async ({ url }, answer) => {
      const now = world.clock.now();
      const kept = copies.get(url.href);
      if (kept !== undefined && now - kept.made < 15_000) return kept.answer;
      const made = { answer: await answer(), made: now };
      copies.set(url.href, made);
      return made.answer;
    };
    watchCandles(world.client, { ...MINUTES, every }).subscribe();
    await world.clock.advanceTo(at("12:05:30"));
    const asked = world.asked.length;
    setClock(hours * 3_600_000);
    await world.clock.advanceTo(at("12:08:30"));
    // Three minutes of polls, and what finds the clock out.
    expect(world.asked.length - asked).toBeLessThan(180_000 / every + 12);
  },
);

describe.each([
  ["has been read", "12:05:30"],
  ["has never been read", "12:00:00"],
])("a machine's clock that is set while a pair that %s is not known", (_, lostFrom) => {
  const HOUR = 3_600_000;

  it.each([
    [[-10 * HOUR, -20 * 60_000]],
    [[-20 * 60_000, -10 * HOUR]],
    [[-4 * 60_000]],
    [[10 * HOUR, -20 * 60_000]],
    [[-10 * HOUR, 11 * HOUR, -20 * 60_000]],
  ])("by %j ms leaves nothing out, and tells nothing twice", async (steps) => {
    const { world, setClock } = settableWorld();
    world.swapsEvery(20_000, at("11:00:00"), at("13:00:00"));
    let isLost = false;
    world.interfere = async (_asked, answer) => {
      const served = await answer();
      return isLost ? { ...served, status: 404 } : served;
    };
    const told: CandleEvent[] = [];
    const join = () =>
      watchCandles(world.client, { ...MINUTES, every: "close", whenMissing: "wait" }).subscribe((event) =>
        told.push(event),
      );
    if (lostFrom > "12:00:10") join();
    await world.clock.advanceTo(Math.max(at(lostFrom), world.clock.now()));
    isLost = true;
    if (told.length === 0) join();
    for (const step of steps) {
      // Answers have told of the step before.
      await world.clock.advanceBy(5 * 60_000);
      setClock(step);
    }
    // The first look by the last step is by a wrong clock.
    await world.clock.advanceBy(70_000);
    isLost = false;
    await world.clock.advanceTo(at("12:45:30"));
    const births = told.filter(({ type }) => type === "new").map(({ candle }) => candle.timestamp);
    const [begun = Infinity] = births;
    // Nobody knows any more when somebody has come for whom his clock has been set twice since.
    expect(begun).toBeLessThanOrEqual(
      lostFrom > "12:00:10" || steps.length < 2 ? at("12:00:00") : told[0]!.observedAt,
    );
    const minutes = Array.from({ length: 45 }, (_, minute) => at("12:00:00") + minute * 60_000).filter(
      (minute) => minute >= begun,
    );
    expect(births).toEqual([...minutes, at("12:45:00")]);
    const finals = told.filter(({ status }) => status === "final").map(({ candle }) => candle.timestamp);
    expect(finals).toEqual(minutes.slice(0, -2));
  });
});

it("a stream that begins just before an interval does begins at once, though the time is known to a second only", async () => {
  for (let early = 50; early < 1_000; early += 75) {
    const world = new World({ start: at("12:00:10.001"), hasDate: true });
    world.swapsEvery(10_000, at("11:00:00"), at("13:00:00"));
    watchCandles(world.client, { ...MINUTES, timeframe: "1h", every: "close" }).subscribe();
    const joined = at("12:01:00") - early;
    await world.clock.advanceTo(joined);
    let told = Infinity;
    watchCandles(world.client, MINUTES).subscribe(() => {
      told = Math.min(told, world.clock.now());
    });
    await world.clock.advanceBy(10_000);
    expect(told - joined).toBeLessThan(200);
    expect(world.warnings).toEqual([]);
  }
});

it("a stream that begins just after an interval does begins at once, though a machine answers that is behind", async () => {
  for (let late = 25; late < 1_000; late += 75) {
    const world = new World({ start: at("12:00:10.001"), hasDate: true });
    world.swapsEvery(10_000, at("11:00:00"), at("13:00:00"));
    watchCandles(world.client, { ...MINUTES, timeframe: "10s", every: "close" }).subscribe();
    const joined = at("12:03:00") + late;
    await world.clock.advanceTo(joined);
    world.offset = -1_500;
    let begun = Infinity;
    watchFeedStatus(world.client, MINUTES).subscribe(({ state }) => {
      if (state !== "starting") begun = Math.min(begun, world.clock.now());
    });
    await world.clock.advanceBy(10_000);
    expect(begun - joined).toBeLessThan(200);
    expect(world.warnings).toEqual([]);
  }
});

it("a clock that becomes known through another stream puts no poll off", async () => {
  const offset = -3 * 365 * 86_400_000;
  const world = new World({ start: at("12:00:10"), offset, hasDate: true });
  world.swapsEvery(10_000, at("11:00:00") + offset, at("13:00:00") + offset);
  let isDown = true;
  world.interfere = ({ url }) =>
    isDown && url.searchParams.get("timeframe") === "1min" ? Promise.reject(new Error("down")) : undefined;
  const closed: number[] = [];
  watchCandles(world.client, MINUTES).subscribe(({ status, candle }) => {
    if (status === "closed") closed.push(candle.timestamp - offset);
  });
  await world.clock.advanceTo(at("12:00:15"));
  watchCandles(world.client, { ...MINUTES, timeframe: "10s" }).subscribe();
  await world.clock.advanceTo(at("12:01:30"));
  isDown = false;
  await world.clock.advanceTo(at("12:05:30"));
  expect(closed.at(-1)).toBe(at("12:04:00"));
});

it("no poll is left out after the first answer where the machine's clock is ahead by more than a Date leaves open", async () => {
  for (const ahead of [1_100, 1_500, 1_900, 2_300]) {
    // By the machine's clock the slot of twenty seconds is over; by the service's it is still to come.
    const world = new World({ start: at("12:00:19.7") + ahead, offset: -ahead, hasDate: true });
    world.swapsEvery(10_000, at("11:00:00"), at("13:00:00"));
    watchCandles(world.client, { ...MINUTES, every: 10_000 }).subscribe();
    await world.clock.advanceBy(8_000);
    const asked = world.asked.filter(({ sent }) => sent - ahead >= at("12:00:19.9"));
    expect(asked).toHaveLength(1);
  }
});

it("a candle that an answer lacks is asked for again, though two answers before it told other times", async () => {
  const world = new World({ start: at("12:00:10.3"), hasDate: true });
  world.swapsEvery(20_000, at("11:00:00"), at("13:00:00"));
  const closed = new Map<number, number>();
  watchCandles(world.client, { ...MINUTES, every: "close" }).subscribe(({ status, candle }) => {
    if (status === "closed") closed.set(candle.timestamp, world.clock.now());
  });
  await world.clock.advanceTo(at("12:10:30"));
  const asked = world.asked.length;
  world.interfere = async (_asked, answer) => {
    const turn = world.asked.length - asked;
    world.offset = turn < 3 ? turn * 1_000_000 : 0;
    if (turn !== 3) return answer();
    return withRows(answer, (rows) =>
      rows.filter(({ timestamp }) => timestamp !== "2024-01-05T12:09:00.000Z"),
    );
  };
  await world.clock.advanceTo(at("12:11:30"));
  expect(world.asked.length - asked).toBe(4);
  expect(closed.get(at("12:10:00"))! - at("12:11:01")).toBeLessThan(1_500);
});

describe("a Date that is wrong for a while", () => {
  const HOUR = 3_600_000;
  const since = at("11:57:00");

  const datedBy =
    (by: number): World["interfere"] =>
    async (_asked, answer) => {
      const { status, headers, text } = await answer();
      const date = new Date(Date.parse(headers.get("date")!) + by).toUTCString();
      return { status, text, headers: { get: (name) => (name === "date" ? date : headers.get(name)) } };
    };

  /** What a subscriber is told of a market of three swaps a minute, and what minute runs at the end. */
  async function eventsAround(by: number, minutes: number, more: Partial<WatchOptions> = {}) {
    const world = new World({ start: at("12:00:10"), hasDate: true });
    world.swapsEvery(20_000, at("09:00:00"), at("23:59:00"));
    const events: CandleEvent[] = [];
    watchCandles(world.client, { ...MINUTES, since, ...more }).subscribe((event) => events.push(event));
    await world.clock.advanceTo(at("12:05:30"));
    world.interfere = datedBy(by);
    await world.clock.advanceBy(minutes * 60_000);
    world.interfere = () => undefined;
    await world.clock.advanceBy(5 * 60_000);
    return { events, running: at("12:10:00") + minutes * 60_000 };
  }

  it.each([
    [2 * HOUR, 1],
    [2 * HOUR, 10],
    [10 * HOUR, 600],
    [-2 * HOUR, 3],
  ])(
    "by %i ms, for %i minutes, leaves nothing out, and what was final is not told again",
    async (by, minutes) => {
      const { events, running } = await eventsAround(by, minutes);
      const told = new Set<number>();
      const finals = new Set<number>();
      for (const { candle, status } of events) {
        expect(finals).not.toContain(candle.timestamp);
        told.add(candle.timestamp);
        if (status === "final") finals.add(candle.timestamp);
      }
      const all = Array.from(
        { length: (running - since) / 60_000 + 1 },
        (_, minute) => since + minute * 60_000,
      );
      // By a clock that was set back, the running interval is an old one.
      expect([...told].filter((timestamp) => timestamp >= since)).toEqual(all);
      expect(Math.max(...finals)).toBe(running - 3 * 60_000);
    },
  );

  it.each([2 * HOUR, -2 * HOUR])("by %i ms, does not silence a stream whose gaps are filled", async (by) => {
    const { events, running } = await eventsAround(by, 10, { fillGaps: true });
    const closed = events.filter(({ status }) => status === "closed").map(({ candle }) => candle);
    expect(closed.at(-1)).toMatchObject({ timestamp: running - 60_000, swaps: 3 });
  });

  it.each([
    [16_000, 1],
    [10 * 60_000, 3],
    [2 * HOUR, 10],
  ])(
    "by %i ms, for %i minutes, goes on filling a silence: each flat candle closes in time, once",
    async (by, minutes) => {
      const world = new World({ start: at("12:00:10"), hasDate: true });
      world.swapsEvery(20_000, at("09:00:00"), at("12:04:00"));
      const flats: { readonly timestamp: number; readonly now: number; readonly status: string }[] = [];
      watchCandles(world.client, { ...MINUTES, since, fillGaps: true, every: "close" }).subscribe(
        ({ candle: { timestamp, swaps }, status }) => {
          if (swaps === 0) flats.push({ timestamp, now: world.clock.now(), status });
        },
      );
      await world.clock.advanceTo(at("12:06:30"));
      world.interfere = datedBy(by);
      await world.clock.advanceBy(minutes * 60_000);
      world.interfere = () => undefined;
      const isSet = world.clock.now() + 120_000;
      await world.clock.advanceBy(10 * 60_000);
      const minutesTo = (from: number, to: number) =>
        Array.from({ length: (to - from) / 60_000 }, (_, minute) => from + minute * 60_000);
      const end = at("12:16:00") + minutes * 60_000;
      const closed = flats.filter(({ status }) => status === "closed");
      const inTime = closed.filter(({ timestamp, now }) => now > isSet && now - timestamp < 62_000);
      const firstInTime = Math.ceil(isSet / 60_000 - 1) * 60_000;
      expect(inTime.map(({ timestamp }) => timestamp)).toEqual(minutesTo(firstInTime, end));
      // A minute that was over was told, and is not told again.
      const over = flats.filter(({ timestamp, now }) => now - timestamp >= 60_000);
      for (const timestamp of minutesTo(at("12:04:00"), end - 60_000)) {
        const statuses = over.filter((flat) => flat.timestamp === timestamp).map(({ status }) => status);
        expect(new Set(statuses).size, new Date(timestamp).toISOString()).toBe(statuses.length);
      }
    },
  );
});
