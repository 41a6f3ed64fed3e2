import fc from "fast-check";
import type { Subscription } from "rxjs";
import { describe, expect, it } from "vitest";
import {
  estimateCost,
  type FeedStatus,
  type PairstreamError,
  type SniperWatch,
  type WatchOptions,
  watchCandles,
  watchFeedStatus,
  watchSnipers,
} from "../../src/index.js";
import { answered, at, MINUTES, PAIR, World } from "../world.js";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const START = at("12:00:00");
/** The longest that an answer takes. */
const TRIP = 40;

type Options = Parameters<typeof watchFeedStatus>[1];
type WhenMissing = WatchOptions["whenMissing"];

const CANDLES = { ...MINUTES, timeframe: "1s" } as const;
const SNIPERS = { pairAddress: PAIR, every: SECOND };
const KINDS: [string, Options][] = [
  ["candles", CANDLES],
  ["snipers", SNIPERS],
];

/** A service that knows no pair until it is told to; `answers`: when each answer was there. */
function worldWithoutPair(more: Partial<ConstructorParameters<typeof World>[0]> = {}) {
  const world = new World({ start: START, client: { rateLimit: false }, ...more });
  world.swapsEvery(SECOND, START - MINUTE, START + HOUR);
  // Whoever has bought early and sold is a sniper.
  world.swap(START - 10 * SECOND, 2, { side: "sell" });
  const missing = () => answered(404, { message: "no such pair" });
  world.interfere = missing;
  return {
    world,
    index: () => {
      world.interfere = () => undefined;
    },
    lose: () => {
      world.interfere = missing;
    },
    /** When it was asked, in s after the start. */
    asked: () => world.asked.map(({ sent }) => (sent - START) / SECOND),
  };
}

/** One subscriber, and what it has been told by now. */
function watching(world: World, options: Options, whenMissing?: WhenMissing) {
  const own = whenMissing === undefined ? options : { ...options, whenMissing };
  const given = {
    events: 0,
    error: undefined as PairstreamError | undefined,
    failedAt: undefined as number | undefined,
    joinedAt: world.clock.now(),
    statuses: [] as FeedStatus[],
    subscription: undefined as Subscription | undefined,
  };
  const error = (reason: PairstreamError) => {
    given.error = reason;
    given.failedAt = (world.clock.now() - START) / SECOND;
  };
  const next = () => {
    given.events += 1;
  };
  const statuses = watchFeedStatus(world.client, own).subscribe({
    next: (status) => given.statuses.push(status),
    error: () => {},
  });
  given.subscription =
    "timeframe" in own
      ? watchCandles(world.client, own).subscribe({ next, error })
      : watchSnipers(world.client, own as SniperWatch).subscribe({ next, error });
  given.subscription.add(statuses);
  return given;
}

describe.each(KINDS)("the %s of a pair that is not known", (_, options) => {
  it("come when it is indexed six seconds late", async () => {
    const { world, index } = worldWithoutPair();
    const watch = watching(world, options);
    await world.clock.advanceTo(START + 6 * SECOND);
    expect(watch.statuses.at(-1)).toMatchObject({ state: "starting", lastError: { status: 404 } });
    index();
    await world.clock.advanceTo(START + 10 * SECOND);
    expect(watch.error).toBeUndefined();
    expect(watch.events).toBeGreaterThan(0);
    expect(watch.statuses.at(-1)).toMatchObject({ state: "live", failures: 0 });
  });

  it.each(["fail", undefined] as const)(
    "fail a minute after the first answer, with %s",
    async (whenMissing) => {
      const { world, asked } = worldWithoutPair();
      const watch = watching(world, options, whenMissing);
      await world.clock.advanceTo(START + MINUTE);
      expect(watch.error).toBeUndefined();
      await world.clock.advanceTo(START + 5 * MINUTE);
      expect(watch.error).toMatchObject({ name: "HttpError", status: 404 });
      expect(watch.failedAt).toBeGreaterThanOrEqual(60);
      expect(watch.failedAt).toBeLessThan(62);
      expect(asked().at(-1)).toBeLessThan(62);
      expect(world.clock.pending).toBe(0);
    },
  );

  it("are asked for by one who waits after a minute, then after twice as long, up to an hour, for ever", async () => {
    const { world, asked, index } = worldWithoutPair();
    const watch = watching(world, options, "wait");
    await world.clock.advanceTo(START + 8 * HOUR);
    expect(watch.error).toBeUndefined();
    expect(watch.statuses.at(-1)).toMatchObject({
      state: "starting",
      failures: 13,
      lastError: { status: 404 },
    });
    const minutes = asked().map((seconds) => Math.round(seconds / 60));
    expect(minutes).toEqual([0, 1, 3, 7, 15, 31, 63, 123, 183, 243, 303, 363, 423]);
    index();
    world.swapsEvery(SECOND, START + 8 * HOUR, START + 9 * HOUR);
    await world.clock.advanceTo(START + 483 * MINUTE + 5 * SECOND);
    expect(watch.events).toBeGreaterThan(0);
    expect(watch.statuses.at(-1)).toMatchObject({ state: "live" });
    watch.subscription!.unsubscribe();
    expect(world.clock.pending).toBe(0);
  });

  it("end for one and are waited for by another, in either order, of one poll", async () => {
    for (const [first, second] of [
      ["fail", "wait"],
      ["wait", "fail"],
    ] as const) {
      const { world, asked, index } = worldWithoutPair();
      const both = { [first]: watching(world, options, first), [second]: watching(world, options, second) };
      const { fail, wait } = both as Record<"fail" | "wait", ReturnType<typeof watching>>;
      await world.clock.advanceTo(START + 61.5 * SECOND);
      expect(fail.error).toMatchObject({ status: 404 });
      const before = asked().length;
      expect(before).toBeLessThanOrEqual(62);
      // What the other was answered is news for this one too: its minute counts from there, and then it doubles.
      await world.clock.advanceTo(START + 10 * MINUTE);
      expect(asked().slice(before).map(Math.round)).toEqual(
        [120, 240, 480].map((each) => expect.closeTo(each, -0.5)),
      );
      expect(wait.error).toBeUndefined();
      index();
      await world.clock.advanceTo(START + 17 * MINUTE);
      expect(wait.events).toBeGreaterThan(0);
    }
  });

  it("are asked for at the pace of one who joins to fail, and then again at that of those who wait", async () => {
    const { world, asked } = worldWithoutPair();
    const waiting = watching(world, options, "wait");
    await world.clock.advanceTo(START + 70 * MINUTE);
    const before = asked().length;
    const failing = watching(world, options, "fail");
    expect(failing.statuses).toMatchObject([
      { state: "starting", failures: before, lastError: { status: 404 } },
    ]);
    await world.clock.advanceTo(START + 70 * MINUTE + 59 * SECOND);
    expect(failing.error).toBeUndefined();
    await world.clock.advanceTo(START + 72 * MINUTE);
    expect(failing.failedAt! - 70 * 60).toBeGreaterThanOrEqual(60);
    expect(failing.failedAt! - 70 * 60).toBeLessThan(63);
    const during = asked().length;
    await world.clock.advanceTo(START + 130 * MINUTE);
    expect(asked().length).toBe(during);
    await world.clock.advanceTo(START + 132 * MINUTE);
    expect(asked().length).toBe(during + 1);
    expect(waiting.error).toBeUndefined();
  });

  it("are asked for at once where one who waits joins others that were answered over a minute ago", async () => {
    const { world, asked } = worldWithoutPair();
    watching(world, options, "wait");
    await world.clock.advanceTo(START + 40 * MINUTE);
    const before = asked().length;
    watching(world, options, "wait");
    watching(world, options, "wait");
    expect(asked().length).toBe(before + 1);
    await world.clock.advanceTo(START + 40 * MINUTE + 30 * SECOND);
    watching(world, options, "wait");
    await world.clock.advanceTo(START + 40 * MINUTE + 50 * SECOND);
    expect(asked().length).toBe(before + 1);
    await world.clock.advanceTo(START + 41 * MINUTE + SECOND);
    expect(asked().length).toBe(before + 2);
  });

  it("are asked for in a slot, and not at once, where one joins to fail within a minute", async () => {
    const { world, asked } = worldWithoutPair();
    const slots =
      "timeframe" in options ? { every: 10 * SECOND, timeframe: "1min" as const } : { every: 10 * SECOND };
    watching(world, { ...options, ...slots }, "wait");
    await world.clock.advanceTo(START + 33 * SECOND);
    watching(world, { ...options, ...slots }, "fail");
    await world.clock.advanceTo(START + 55 * SECOND);
    expect(asked().map(Math.round)).toEqual([0, 40, 50]);
  });

  it("take three answers of his own for one who comes back when another has failed", async () => {
    const { world } = worldWithoutPair();
    watching(world, options, "wait");
    const first = watching(world, options, "fail");
    await world.clock.advanceTo(START + 2 * MINUTE + SECOND);
    expect(first.error).toBeDefined();
    const joined = (world.clock.now() - START) / SECOND;
    const second = watching(world, options, "fail");
    await world.clock.advanceBy(59 * SECOND);
    expect(second.error).toBeUndefined();
    await world.clock.advanceBy(4 * SECOND);
    expect(second.failedAt! - joined).toBeGreaterThanOrEqual(60);
  });

  it("cost a hundred who wait, whenever they came, the polls of one", async () => {
    const { world, asked } = worldWithoutPair();
    for (let count = 0; count < 100; count += 1) {
      watching(world, options, "wait");
      await world.clock.advanceBy(0.7 * SECOND);
    }
    await world.clock.advanceTo(START + 8 * HOUR);
    expect(asked().length).toBeLessThanOrEqual(16);
  });

  it("leave nothing behind, whoever leaves first", async () => {
    for (const order of [
      [0, 1],
      [1, 0],
    ]) {
      const { world, asked } = worldWithoutPair();
      const all = [watching(world, options, "wait"), watching(world, options, "fail")];
      await world.clock.advanceTo(START + 10 * SECOND);
      for (const one of order) all[one]!.subscription!.unsubscribe();
      expect(world.clock.pending).toBe(0);
      const before = asked().length;
      await world.clock.advanceBy(3 * HOUR);
      expect(asked().length).toBe(before);
    }
  });

  it("are trouble like any other once a page has come, for all", async () => {
    const { world, index, lose } = worldWithoutPair();
    index();
    const all = [watching(world, options, "wait"), watching(world, options, "fail")];
    await world.clock.advanceTo(START + 5 * SECOND);
    lose();
    all.push(watching(world, options, "wait"), watching(world, options, "fail"));
    await world.clock.advanceTo(START + 5 * MINUTE);
    for (const { error, statuses } of all) {
      expect(error).toBeUndefined();
      expect(statuses.at(-1)).toMatchObject({ state: "stalled", lastError: { status: 404 } });
    }
    index();
    await world.clock.advanceTo(START + 7 * MINUTE);
    for (const { statuses } of all) expect(statuses.at(-1)).toMatchObject({ state: "live" });
  });

  it("fail by answers alone: other trouble in between neither counts nor begins anew", async () => {
    const { world, lose } = worldWithoutPair();
    const watch = watching(world, options, "fail");
    await world.clock.advanceTo(START + 0.5 * SECOND);
    world.interfere = () => answered(500, "down");
    await world.clock.advanceTo(START + 3 * MINUTE);
    expect(watch.error).toBeUndefined();
    lose();
    await world.clock.advanceTo(START + 3 * MINUTE + 20 * SECOND);
    expect(watch.error).toMatchObject({ status: 404 });
  });
});

describe("a slow series of a pair that is not known", () => {
  it("takes three answers, a minute apart at most", async () => {
    const { world, asked } = worldWithoutPair();
    const watch = watching(world, { ...MINUTES, timeframe: "1d", every: "close" });
    await world.clock.advanceTo(START + 10 * MINUTE);
    expect(watch.error).toMatchObject({ status: 404 });
    expect(asked().map(Math.round)).toEqual([0, 60, 120]);
  });

  it("is found without the first close being taken for one that was asked for before", async () => {
    const closings = [true, false].map(async (isMissing) => {
      const { world, asked, index } = worldWithoutPair({ hasDate: true, offset: 500 });
      if (!isMissing) index();
      else
        world.interfere = (_, answer) => answer().then(({ headers }) => ({ ...answered(404, {}), headers }));
      watching(world, { ...MINUTES, timeframe: "5min", every: "close" });
      await world.clock.advanceTo(START + 30 * SECOND);
      index();
      await world.clock.advanceTo(START + 6 * MINUTE);
      return asked().filter((each) => each > 4 * 60);
    });
    const [late, timely] = await Promise.all(closings);
    expect(late).toEqual(timely);
  });
});

describe.each<[string, Options]>([
  ["a slow series", { ...MINUTES, timeframe: "1d", every: "close" }],
  ["snipers", { pairAddress: PAIR, every: DAY }],
])("the waits for %s of a pair that is not known", (_, options) => {
  /** Answers of two machines, of a clock that is set, and of one that is far off. */
  const clocks: [string, (elapsed: number, answer: number) => number][] = [
    ["are of two machines", (_elapsed, answer) => (answer % 2 === 1 ? 1_900 : 0)],
    ["come from a machine behind, later", (elapsed) => (elapsed > 10 * SECOND ? -1_900 : 0)],
    ["come from a machine ahead, later", (elapsed) => (elapsed > 10 * SECOND ? 1_900 : 0)],
    ["jump ahead", (elapsed) => (elapsed > 10 * SECOND ? DAY : 0)],
    ["jump back", (elapsed) => (elapsed > 10 * SECOND ? -DAY : 0)],
    ["jump to and fro", (elapsed) => (Math.floor(elapsed / (20 * SECOND)) % 2) * HOUR],
  ];

  /** A world in which other answers come twice a second. */
  function datedWorld(aheadOf: (elapsed: number, answer: number) => number) {
    const { world, asked: all } = worldWithoutPair({ hasDate: true, start: START + 300 });
    let answers = 0;
    world.interfere = () => {
      const elapsed = world.clock.now() - START;
      const now = world.clock.now() + aheadOf(elapsed, answers++);
      return answered(404, { message: "no such pair" }, { date: new Date(now).toUTCString() });
    };
    const askOther = () => {
      world.client.sniperReport({ pairAddress: "another" }).catch(() => {});
      world.clock.schedule(askOther, SECOND / 2);
    };
    world.clock.schedule(askOther, SECOND / 2);
    const isOwn = (_seconds: number, at: number) => world.asked[at]!.url.pathname.includes(PAIR);
    return { world, asked: () => all().filter(isOwn) };
  }

  const sinceLast = (each: number, index: number, all: readonly number[]) => each - (all[index - 1] ?? each);

  describe.each(clocks)("where the Dates %s", (_how, aheadOf) => {
    it("are as long as if the service told no time", async () => {
      const { world, asked } = datedWorld(aheadOf);
      watching(world, options, "wait");
      await world.clock.advanceTo(START + 10 * MINUTE);
      const waits = [0, 60, 120, 240].map((each) => (each === 0 ? 0 : each + (2 * world.latency) / SECOND));
      expect(asked().map(sinceLast)).toEqual(waits.map((each) => expect.closeTo(each, 2)));
    });

    it("are a minute at most for one who joins to fail", async () => {
      const { world, asked } = datedWorld(aheadOf);
      watching(world, options, "wait");
      await world.clock.advanceTo(START + 8 * SECOND);
      watching(world, options, "fail");
      await world.clock.advanceTo(START + 61 * SECOND);
      expect(asked()).toHaveLength(2);
      await world.clock.advanceTo(START + 4 * MINUTE);
      const joined = watching(world, options, "fail");
      await world.clock.advanceTo(START + 7 * MINUTE + SECOND);
      expect(joined.error).toMatchObject({ status: 404 });
      const toFail = asked().filter((each) => each > 4 * 60);
      expect(Math.max(...toFail.map(sinceLast))).toBeLessThan(60.1);
    });
  });
});

describe("a history of a pair that is known", () => {
  it.each(["fail", "wait"] as const)("outlives a 404, with %s", async (whenMissing) => {
    const { world, index } = worldWithoutPair();
    world.swapsEvery(SECOND, START - 2 * HOUR, START - MINUTE);
    let answers = 0;
    const isHistory = (url: URL) => Number(url.searchParams.get("toDate")) < START / SECOND - 100;
    world.interfere = ({ url }) => {
      if (!isHistory(url)) return undefined;
      answers += 1;
      return answered(404, { message: "no such pair" });
    };
    const watch = watching(world, { ...CANDLES, since: START - 2 * HOUR }, whenMissing);
    await world.clock.advanceTo(START + 5 * MINUTE);
    expect(answers).toBeGreaterThan(3);
    expect(watch.error).toBeUndefined();
    expect(watch.statuses.at(-1)).toMatchObject({ state: "starting", lastError: { status: 404 } });
    index();
    await world.clock.advanceTo(START + 7 * MINUTE);
    expect(watch.statuses.at(-1)).toMatchObject({ state: "live", coveredFrom: START - 2 * HOUR });
  });
});

describe("whenMissing", () => {
  const { world } = worldWithoutPair();
  const calls: [string, (options: never) => unknown][] = [
    ["watchCandles", (options) => watchCandles(world.client, options)],
    ["watchSnipers", (options) => watchSnipers(world.client, options)],
    ["watchFeedStatus", (options) => watchFeedStatus(world.client, options)],
    ["estimateCost", (options) => estimateCost([options])],
  ];

  it.each(calls)("is checked by %s", (name, call) => {
    const options = name === "watchSnipers" ? SNIPERS : MINUTES;
    expect(() => call({ ...options, whenMissing: "never" } as never)).toThrow(
      expect.objectContaining({ name: "InvalidInputError", parameter: "whenMissing", allowed: "fail, wait" }),
    );
    for (const whenMissing of ["fail", "wait"]) call({ ...options, whenMissing } as never);
  });

  it.each(KINDS)("is no part of what the polls of %s cost", (_, options) => {
    const all: Options[] = [
      options,
      { ...options, whenMissing: "fail" },
      { ...options, whenMissing: "wait" },
    ];
    expect(estimateCost(all)).toEqual(estimateCost([options]));
  });
});

it("is each subscriber's own, whoever comes and goes", async () => {
  const stay = fc.record({
    from: fc.integer({ min: 0, max: 120 }),
    length: fc.oneof(fc.integer({ min: 1, max: 30 }), fc.constant(1_000)),
    whenMissing: fc.constantFrom("fail" as const, "wait" as const),
  });
  const property = fc.asyncProperty(
    fc.constantFrom(20 * SECOND, MINUTE, 10 * MINUTE),
    fc.array(stay, { minLength: 1, maxLength: 6 }),
    async (every, stays) => {
      const { world } = worldWithoutPair();
      const answers: number[] = [];
      world.client.activity.subscribe(({ type, at }) => {
        if (type === "response") answers.push(at);
      });
      const options = { pairAddress: PAIR, every };
      const all = stays.map((each) => ({
        ...each,
        given: undefined as ReturnType<typeof watching> | undefined,
      }));
      for (const each of all) {
        world.clock.schedule(() => {
          each.given = watching(world, options, each.whenMissing);
        }, each.from * MINUTE);
        world.clock.schedule(
          () => each.given!.subscription!.unsubscribe(),
          (each.from + each.length) * MINUTE,
        );
      }
      await world.clock.advanceTo(START + 200 * MINUTE);
      const ends = all.map(({ from, length, given, whenMissing }) => {
        const { joinedAt, failedAt } = given!;
        const end = failedAt === undefined ? undefined : START + failedAt * SECOND;
        const left = START + Math.min(200, from + length) * MINUTE;
        const own = answers.filter((answer) => answer > joinedAt && answer <= left);
        const isOver = (answer: number, index: number) => index >= 2 && answer - own[0]! >= MINUTE;
        // It fails with the first answer that is enough, and only then.
        expect(end).toBe(whenMissing === "fail" ? own.find(isOver) : undefined);
        // Three answers, none more than a minute after the one before, are never further than that.
        if (whenMissing === "fail" && length > 3)
          expect(end! - joinedAt).toBeLessThanOrEqual(3 * MINUTE + 3 * TRIP);
        return { from: joinedAt, until: end ?? left, whenMissing };
      });
      // Between two answers while all who are there wait lies a minute at least.
      answers.forEach((answer, index) => {
        const before = answers[index - 1] ?? Number.NEGATIVE_INFINITY;
        // Where one leaves as the next one comes, the poll begins anew.
        const there = ends.filter((who) => who.from < answer && who.until > answer - TRIP);
        const isNew = there.every((who) => who.from > before);
        // Whoever leaves as the request goes out may have asked for it.
        const isHasty = ends.some(
          (who) => who.whenMissing === "fail" && who.from < answer && who.until >= answer - TRIP,
        );
        if (isNew || isHasty) return;
        expect(answer - before).toBeGreaterThanOrEqual(MINUTE);
      });
      for (const who of ends) {
        const own = answers.filter((answer) => answer > who.from && answer <= who.until);
        const gaps = [...own, who.until].map((answer, index) => answer - (own[index - 1] ?? who.from));
        expect(Math.max(...gaps)).toBeLessThanOrEqual(HOUR + TRIP);
      }
    },
  );
  await fc.assert(property, { numRuns: 60 });
});
