import { describe, expect, it } from "vitest";
import { estimateCost, watchCandles, watchFeedStatus, watchSnipers } from "../../src/index.js";
import { answered, MINUTES } from "../world.js";
import {
  CANDLES,
  HOUR,
  KINDS,
  MINUTE,
  type Options,
  SECOND,
  SNIPERS,
  START,
  watching,
  worldWithoutPair,
} from "./missing-pair.js";

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

  it("are trouble like any other once an answer has shown the pair, though it has told only the time", async () => {
    const { world, index } = worldWithoutPair({ hasDate: true, offset: HOUR / 2 });
    const lost = world.interfere;
    world.interfere = (asked, answer) => (asked === world.asked[0] ? undefined : lost(asked, answer));
    const slow = "timeframe" in options ? { timeframe: "5min" as const } : {};
    const all = (["fail", "wait"] as const).map((whenMissing) =>
      watching(world, { ...options, ...slow, every: 5 * MINUTE }, whenMissing),
    );
    await world.clock.advanceTo(START + 2 * SECOND);
    index();
    await world.clock.advanceTo(START + 10 * SECOND);
    for (const { error, statuses } of all) {
      expect(error).toBeUndefined();
      expect(statuses.at(-1)).toMatchObject({ state: "live" });
    }
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
