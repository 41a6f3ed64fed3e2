import { filter, type Observable } from "rxjs";
import { describe, expect, it } from "vitest";
import {
  type CandleEvent,
  closes,
  ema,
  heikinAshi,
  resample,
  type Timeframe,
  type WatchOptions,
  watchCandles,
  withIndicators,
  withTimeframe,
} from "../../src/index.js";
import { withFaults } from "../../src/service/index.js";
import { intervalsOf } from "../../src/timeframe.js";
import { at, MINUTES, time, World } from "../world.js";

const HOUR = 3_600_000;

interface Came {
  readonly event: CandleEvent;
  /** By the service's clock. */
  readonly at: number;
}

/** Subscribes, and keeps what comes with when it came. */
function watch(world: World, options: WatchOptions & { timeframe?: Timeframe } = {}) {
  const came: Came[] = [];
  watchCandles(world.client, { ...MINUTES, ...options }).subscribe((event) =>
    came.push({ event, at: world.clock.now() + world.offset }),
  );
  return came;
}

/** What one acts upon: the first event of each candle that says closed or final, where that is live. */
function decisions(came: readonly Came[]): Came[] {
  const closed = new Set<number>();
  return came.filter(({ event: { type, status, live, candle } }) => {
    if (type === "removed" || status === "open") return false;
    const isFirst = !closed.has(candle.timestamp);
    closed.add(candle.timestamp);
    return isFirst && live;
  });
}

const times = (came: readonly Came[]) => came.map(({ event }) => time(event.candle.timestamp));
const lateBys = (came: readonly Came[]) => came.map(({ event }) => event.lateBy);

/** Cuts the network from one instant of the service's clock to another. */
function cut(world: World, from: number, until: number): void {
  world.interfere = () => {
    const now = world.clock.now() + world.offset;
    if (now >= from && now < until) throw new TypeError("the network is down");
    return undefined;
  };
}

const LENGTHS: readonly (readonly [Timeframe, number])[] = [
  ["1s", 1_000],
  ["10s", 10_000],
  ["1min", 60_000],
  ["5min", 300_000],
  ["1h", HOUR],
];

describe.each(LENGTHS)("an outage of two hours, in candles of %s", (timeframe, length) => {
  it.each([0, 2])("leads to one decision at most, revision window %i", async (revisionWindow) => {
    const world = new World({ start: at("09:30:00"), hasDate: true });
    world.swapsEvery(length, at("09:00:00"), at("14:00:00"));
    cut(world, at("10:00:10"), at("12:00:10"));
    const came = watch(world, { timeframe, every: "close", revisionWindow });
    await world.clock.advanceTo(at("12:00:10"));
    const before = came.length;
    // Polls are a back-off apart by then; all is caught up with in one look.
    await world.clock.stopOnce(() => came.length > before, at("13:10:00"));
    await world.clock.advanceBy(400);
    const acted = decisions(came).filter(({ at: when }) => when >= at("12:00:10"));
    expect(acted.length).toBeLessThanOrEqual(1);
    const intervals = intervalsOf(timeframe);
    for (const { event, at: when } of acted) {
      expect(event.candle.timestamp).toBe(intervals.start(when - 1_000) - length);
      expect(event.lateBy).toBeLessThanOrEqual(Math.min(60_000, Math.max(5_000, length / 2)));
    }
  });
});

/** What stands between a watch and the bot, and how many ms its candles last. */
const OPERATORS: readonly (readonly [
  string,
  number,
  (events: Observable<CandleEvent>) => Observable<CandleEvent>,
])[] = [
  ["nothing", 60_000, (events) => events],
  ["withIndicators", 60_000, withIndicators({ fast: ema(3) })],
  ["heikinAshi", 60_000, heikinAshi()],
  ["withTimeframe", 60_000, withTimeframe("10min", { trend: ema(2) })],
  ["resample", 300_000, resample("5min")],
  [
    "resample and withIndicators",
    300_000,
    (events) => events.pipe(resample("5min"), withIndicators({ fast: ema(3) })),
  ],
];

describe.each(OPERATORS)("behind an outage and %s", (_, length, operator) => {
  it.each([
    [1, 0],
    [1, 2],
    [40, 2],
  ])("a swap every %i min leads to one late decision at most, window %i", async (minutes, revisionWindow) => {
    const world = new World({ start: at("09:30:00"), hasDate: true });
    world.swapsEvery(minutes * 60_000, at("08:00:00"), at("14:00:00"));
    cut(world, at("10:00:10"), at("12:00:10"));
    const acted: CandleEvent[] = [];
    watchCandles(world.client, { ...MINUTES, every: "close", revisionWindow })
      .pipe(
        operator,
        closes(),
        filter(({ live }) => live),
      )
      .subscribe((event) => acted.push(event));
    await world.clock.advanceTo(at("12:20:30"));
    // Of what ended during the outage at most the newest.
    const missed = acted.filter(({ candle: { timestamp } }) => {
      const end = timestamp + length;
      return end > at("10:00:10") && end <= at("12:00:00");
    });
    expect(missed.length).toBeLessThanOrEqual(1);
    for (const { lateBy } of acted) expect(lateBy).toBeLessThanOrEqual(length / 2);
    if (minutes === 1) expect(acted.length).toBeGreaterThan((40 * 60_000) / length);
  });
});

describe("a close", () => {
  it("is live, and late by a way back, candle after candle", async () => {
    const world = new World({ start: at("12:00:10"), hasDate: true });
    world.swapsEvery(60_000, at("11:00:00"), at("13:00:00"));
    const came = watch(world, { since: { candles: 5 }, every: "close" });
    await world.clock.advanceTo(at("12:10:30"));
    expect(times(decisions(came))).toEqual(
      Array.from({ length: 10 }, (_, minute) => time(at("12:00:00") + minute * 60_000)),
    );
    expect(Math.max(...lateBys(decisions(came)))).toBeLessThan(1_100);
    expect(came.filter(({ event }) => !event.live).map(({ event }) => event.status)).toContain("final");
    const history = came.slice(0, 5);
    expect(history.every(({ event }) => !event.live && event.lateBy > 0)).toBe(true);
  });

  it("that skips closed is due as such, and live as the final one only where that is in time", async () => {
    for (const [until, isLive] of [
      ["12:01:20", true],
      ["12:01:50", false],
    ] as const) {
      const world = new World({ start: at("12:00:10") });
      world.swapsEvery(60_000, at("11:00:00"), at("13:00:00"));
      cut(world, at("12:00:20"), at(until));
      const came = watch(world, { every: 10_000, revisionWindow: 0 });
      await world.clock.advanceTo(at("12:02:00.5"));
      const [first] = came.filter(({ event }) => event.status === "final");
      expect(time(first!.event.candle.timestamp)).toBe("12:00:00");
      expect(first!.event.lateBy).toBe(first!.event.observedAt - at("12:01:01"));
      expect(first!.event.live).toBe(isLive);
    }
  });

  it("of an hourly poll is not live for one who comes 39 minutes later", async () => {
    const world = new World({ start: at("09:00:10") });
    world.swapsEvery(HOUR, at("08:00:00"), at("13:00:00"));
    const options = { timeframe: "1h", every: "close" } as const;
    watch(world, options);
    await world.clock.advanceTo(at("10:30:00"));
    const late = watch(world, { ...options, since: at("09:00:00") });
    const fresh = watch(world, options);
    await world.clock.advanceTo(at("10:40:00"));
    expect(decisions([...late, ...fresh])).toEqual([]);
    const shown = late.find(({ event }) => event.candle.timestamp === at("09:00:00"))!;
    expect(shown.event).toMatchObject({ status: "closed", live: false, lateBy: 30 * 60_000 - 1_000 });
    await world.clock.advanceTo(at("11:01:00"));
    expect(times(decisions(fresh))).toEqual(["10:00:00"]);
  });

  it("that comes while a history is read is handed over as live where that is in time", async () => {
    for (const [delay, isLive] of [
      [4_000, true],
      [45_000, false],
    ] as const) {
      const world = new World({ start: at("12:00:55"), client: { timeout: 60_000 } });
      world.swapsEvery(60_000, at("11:00:00"), at("13:00:00"));
      watch(world, { every: "close" });
      await world.clock.advanceTo(at("12:00:58"));
      world.interfere = async ({ url }, answer) => {
        const isHistory = Number(url.searchParams.get("fromDate")) * 1_000 < at("11:50:00");
        if (isHistory) await new Promise<void>((resolve) => world.clock.schedule(() => resolve(), delay));
        return answer();
      };
      const came = watch(world, { every: "close", since: at("11:30:00") });
      await world.clock.advanceTo(at("12:01:55"));
      const acted = decisions(came);
      expect(times(acted)).toEqual(isLive ? ["12:00:00"] : []);
      const close = came.find(({ event }) => event.candle.timestamp === at("12:00:00"))!;
      expect(close.event.lateBy).toBeCloseTo(close.at - at("12:01:01"), -2);
    }
  });

  it("of a clock that jumps ahead by two hours is one decision at most", async () => {
    const world = new World({ start: at("10:00:10"), hasDate: true });
    world.swapsEvery(60_000, at("09:00:00"), at("14:00:00"));
    const came = watch(world);
    await world.clock.advanceTo(at("10:05:30"));
    const before = decisions(came).length;
    world.jump(2 * HOUR);
    await world.clock.advanceTo(at("10:07:05"));
    const acted = decisions(came).slice(before);
    expect(new Set(acted.map(({ at: when }) => when)).size).toBe(acted.length);
    for (const { event, at: when } of acted)
      expect(when - event.candle.timestamp).toBeLessThan(91_000 + 1_000);
  });
});

describe("what changes afterwards", () => {
  it("is judged by the status that it carries: late as a correction, late as a removal", async () => {
    const world = new World({ start: at("12:00:10") });
    world.swapsEvery(60_000, at("11:00:00"), at("12:01:30"));
    world.swap(at("12:02:10"), 9);
    const came = watch(world, { every: 10_000 });
    await world.clock.advanceTo(at("12:02:15"));
    // A fork takes a swap back and another turns up late.
    world.swaps.splice(
      world.swaps.findIndex(({ timestamp }) => timestamp === at("12:01:00")),
      1,
    );
    world.swap(at("12:00:40"), 70);
    await world.clock.advanceTo(at("12:03:30"));
    const changed = came.filter(({ event, at: when }) => when > at("12:02:15") && event.status === "closed");
    const correction = changed.find(({ event }) => event.candle.timestamp === at("12:00:00"))!;
    expect(correction.event).toMatchObject({ type: "updated", live: false });
    expect(correction.event.lateBy).toBe(correction.event.observedAt - at("12:01:01"));
    const removal = changed.find(({ event }) => event.type === "removed")!;
    expect(removal.event.lateBy).toBe(removal.event.observedAt - at("12:02:01"));
    expect(removal.event.live).toBe(removal.event.lateBy <= 30_000);
    const final = came.find(({ event }) => event.status === "final")!;
    expect(final.event).toMatchObject({ live: true, lateBy: 0 });
  });
});

describe("twelve hours of faults", () => {
  it.each(LENGTHS.slice(1, 4))("decide once a candle, and in time: %s", async (timeframe, length) => {
    const world = new World({
      start: at("00:00:10"),
      hasDate: true,
      before: (fetch, scheduler) =>
        withFaults(fetch, { seed: 11, scheduler, rates: { "5xx": 0.3, reset: 0.1, delay: 0.02 } }),
    });
    const hours = length < 60_000 ? 1 : 12;
    world.swapsEvery(length, at("00:00:00"), at("00:00:00") + hours * HOUR);
    const came = watch(world, { timeframe, every: "close" });
    await world.clock.advanceTo(at("00:00:00") + hours * HOUR);
    const acted = decisions(came);
    const stamps = times(acted);
    expect(new Set(stamps).size).toBe(stamps.length);
    expect(stamps).toEqual([...stamps].sort());
    expect(acted.length).toBeGreaterThan((hours * HOUR) / length / 2);
    const bound = Math.min(Math.max(length / 2, 5_000), 60_000);
    expect(Math.max(...lateBys(acted))).toBeLessThanOrEqual(bound);
    // Every candle that closed in time is acted upon.
    const inTime = came.filter(({ event, at: when }) => {
      const due = event.candle.timestamp + length + 1_000;
      return event.type === "updated" && event.status === "closed" && when - due < bound / 2;
    });
    expect(stamps).toEqual(expect.arrayContaining(times(inTime)));
  });
});
