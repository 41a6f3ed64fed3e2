import { describe, expect, it } from "vitest";
import { answered, MINUTES, PAIR } from "../world.js";
import {
  DAY,
  HOUR,
  MINUTE,
  type Options,
  SECOND,
  START,
  watching,
  worldWithoutPair,
} from "./missing-pair.js";

describe("a slow series of a pair that is not known", () => {
  it("takes three answers, half a minute apart", async () => {
    const { world, asked } = worldWithoutPair();
    const watch = watching(world, { ...MINUTES, timeframe: "1d", every: "close" });
    await world.clock.advanceTo(START + 10 * MINUTE);
    expect(watch.error).toMatchObject({ status: 404 });
    expect(asked().map(Math.round)).toEqual([0, 30, 60]);
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
    // By then the clock is known better than by one answer, so it may even take fewer.
    expect(late!.length).toBeLessThanOrEqual(timely!.length);
    expect(late!.at(-1)).toBe(timely!.at(-1));
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

    it("are half a minute at most for one who joins to fail", async () => {
      const { world, asked } = datedWorld(aheadOf);
      watching(world, options, "wait");
      await world.clock.advanceTo(START + 8 * SECOND);
      watching(world, options, "fail");
      await world.clock.advanceTo(START + 61 * SECOND);
      expect(asked().map(Math.round)).toEqual([0, 18, 48]);
      await world.clock.advanceTo(START + 4 * MINUTE);
      const joined = watching(world, options, "fail");
      await world.clock.advanceTo(START + 7 * MINUTE + SECOND);
      expect(joined.error).toMatchObject({ status: 404 });
      expect(joined.failedAt! - 4 * 60).toBeLessThan(75);
      const toFail = asked().filter((each) => each > 4 * 60 && each < joined.failedAt!);
      expect(Math.max(...toFail.map(sinceLast))).toBeLessThan(30.1);
    });
  });
});
