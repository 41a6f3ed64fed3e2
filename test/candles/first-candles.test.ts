import { describe, expect, it } from "vitest";
import { type CandleEvent, type FeedStatus, watchCandles, watchFeedStatus } from "../../src/index.js";
import { at, MINUTES, World, withRows } from "../world.js";
import { standing } from "./minute-candles.js";

const MINUTE = 60_000;
/** How often polls are due, and how many closed minutes each reads again. */
const RHYTHMS = [
  ["close", 0],
  ["close", 2],
  [20_000, 0],
  [20_000, 2],
] as const;
/** After which requests, counted from the answer on, others fail. */
const PLACES = [0, 1, 2];

type Watch = { network: "mainnet" | "devnet"; every: "close" | number; revisionWindow: number };

/** A pair without a swap before 12:00:20, watched from 11:56:10 on; `hides`: what is asked for from before it is empty. */
function watched(watch: Watch, hides: boolean) {
  const world = new World({
    start: at("11:56:10"),
    createdAt: at("11:50:00"),
    quirks: { emptyBeforeCreation: hides },
    client: { retry: false },
  });
  world.swapsEvery(MINUTE, at("12:00:20"), at("13:00:00"));
  const options = { ...MINUTES, ...watch };
  const events: CandleEvent[] = [];
  const statuses: FeedStatus[] = [];
  watchCandles(world.client, options).subscribe((event) => events.push(event));
  watchFeedStatus(world.client, options).subscribe((status) => statuses.push(status));
  const coveredUntil = () => statuses.at(-1)?.coveredUntil ?? 0;
  /** Plays on until an answer to a poll has shown a candle; what looks for the beginning asks for a row or two. */
  const untilShown = async () => {
    let isShown = false;
    world.interfere = ({ url: { searchParams } }, answer) => {
      if (Number(searchParams.get("limit")) <= 3) return undefined;
      return withRows(answer, (rows) => {
        isShown ||= rows.length > 0;
        return rows;
      });
    };
    await world.clock.advanceTo(at("12:00:19"));
    expect(isShown).toBe(false);
    await world.clock.stopOnce(() => isShown, at("12:10:00"));
    expect(isShown).toBe(true);
  };
  return { world, events, statuses, coveredUntil, untilShown };
}

describe.each(["mainnet", "devnet"] as const)("the first candles that an answer shows: %s", (network) => {
  describe.each(RHYTHMS)("every %s, window %i", (every, revisionWindow) => {
    const watch = { network, every, revisionWindow };

    it.each([
      [false, [0]],
      [true, PLACES],
    ])(
      "are taken in though what lies before them cannot be read, and none is lost: hidden %s",
      async (hides, firsts) => {
        for (const first of firsts) {
          for (const failures of [1, 7]) {
            const { world, events, statuses, coveredUntil, untilShown } = watched(watch, hides);
            await untilShown();
            const asked = world.asked.length;
            let failed = 0;
            world.interfere = () => {
              if (world.asked.length <= asked + first || failed === failures) return undefined;
              failed += 1;
              return Promise.reject(new Error("lost"));
            };
            const isPast = () => failed > 0 || world.asked.length > asked + first;
            await world.clock.stopOnce(isPast, at("12:10:00"));
            // Without a report, which is only a help, the search goes on.
            await world.clock.advanceBy(2_000);
            const what = `after ${first}, ${failures} fail`;
            expect(standing(events).length, what).toBeGreaterThan(0);
            await world.clock.advanceTo(at("12:12:30"));
            expect(events.filter(({ type }) => type === "removed")).toEqual([]);
            expect(statuses.at(-1)!.state, what).toBe("live");
            expect(coveredUntil(), what).toBe(at("12:12:00"));
            const minutes = standing(events).map(({ timestamp }) => timestamp);
            expect(minutes.slice(0, 12), what).toEqual(
              Array.from({ length: 12 }, (_, index) => at("12:00:00") + index * MINUTE),
            );
          }
        }
      },
    );

    it.each([false, true])(
      "are all of them, though the newest shows alone at first: hidden %s",
      async (hides) => {
        const { world, events, coveredUntil } = watched(watch, hides);
        world.swaps.length = 0;
        // The first two trade in a minute each, and some minutes lie between them and the next ones.
        world.swap(at("12:00:20"), 1);
        world.swap(at("12:02:20"), 2);
        world.swapsEvery(MINUTE, at("12:07:20"), at("13:00:00"));
        world.interfere = ({ url }, answer) =>
          world.clock.now() < at("12:07:40") && url.pathname.endsWith("/ohlcv")
            ? withRows(answer, () => [])
            : undefined;
        await world.clock.advanceTo(at("12:12:30"));
        const minutes = standing(events).map(({ timestamp }) => timestamp);
        expect(minutes.slice(0, 4)).toEqual(
          ["12:00:00", "12:02:00", "12:07:00", "12:08:00"].map((time) => at(time)),
        );
        expect(events.filter(({ type }) => type === "removed")).toEqual([]);
        expect(coveredUntil()).toBe(at("12:12:00"));
      },
    );

    const followed: [string, boolean][] = [["before which nothing can be read", true]];
    // Without a window what is read before them ends with their minutes: it lacks them itself.
    if (revisionWindow > 0) followed.push(["before which there is nothing", false]);

    it.each(followed)("%s, hold up what is covered where the next answer lacks them", async (_, fails) => {
      const { world, events, coveredUntil, untilShown } = watched(watch, false);
      await untilShown();
      world.swaps.length = 0;
      world.interfere = () => (fails ? Promise.reject(new Error("lost")) : undefined);
      await world.clock.stopOnce(() => events.length > 0, at("12:10:00"));
      const shown = standing(events).map(({ timestamp }) => timestamp);
      expect(shown).not.toEqual([]);
      const until = coveredUntil();
      world.interfere = () => undefined;
      const asked = world.candleRequests().length;
      // Where nothing has failed the next request is on its way.
      if (fails) await world.clock.stopOnce(() => world.candleRequests().length > asked, at("12:12:00"));
      await world.clock.advanceBy(100);
      expect(standing(events).map(({ timestamp }) => timestamp)).toEqual(shown);
      expect(coveredUntil()).toBeLessThanOrEqual(Math.max(until, shown[0]!));
      await world.clock.advanceTo(at("12:12:30"));
      const finals = new Set(
        events.flatMap(({ status, candle }) => (status === "final" ? candle.timestamp : [])),
      );
      expect(standing(events).filter(({ timestamp }) => !finals.has(timestamp))).toEqual([]);
    });
  });
});

describe.each(["mainnet", "devnet"] as const)("a gap that a stream has filled for good: %s", (network) => {
  it.each([0, 1, 2])(
    "stays, though the first candle that a poll shows lies in it, window %i",
    async (revisionWindow) => {
      // Nobody finds a candle before the window by which an answer would prove itself.
      const quirks = { order: "oldest-first" } as const;
      const world = new World({ start: at("12:00:10"), createdAt: at("11:00:00"), hasDate: true, quirks });
      // A poll asks for one interval more than it needs.
      const late = at("12:04:30") - revisionWindow * MINUTE;
      for (const swapped of [at("11:10:00"), at("11:20:00"), late, at("12:06:40")]) world.swap(swapped, 1);
      world.interfere = ({ url }, answer) =>
        world.clock.now() < at("12:05:20") && url.pathname.endsWith("/ohlcv")
          ? withRows(answer, (rows) =>
              rows.filter(({ timestamp }) => Date.parse(String(timestamp)) < at("12:00:00")),
            )
          : undefined;
      const events: CandleEvent[] = [];
      const options = { ...MINUTES, network, revisionWindow, since: at("11:00:00"), fillGaps: true } as const;
      watchCandles(world.client, options).subscribe((event) => events.push(event));
      await world.clock.advanceTo(at("12:12:30"));
      const finals = new Set<number>();
      for (const { candle, status } of events) {
        expect(finals.has(candle.timestamp)).toBe(false);
        if (status === "final") finals.add(candle.timestamp);
      }
      expect(finals.has(at("12:06:00"))).toBe(true);
    },
  );
});

describe("the first answer with candles", () => {
  it.each([
    ["2 s", 2_000],
    ["a minute", 60_000],
    ["a minute back", -60_000],
  ])("brings back no older value than one that came since, by a Date that is off by %s", async (_, lie) => {
    const first = at("12:08:00");
    const world = new World({
      start: at("11:56:10"),
      createdAt: at("11:50:00"),
      hasDate: true,
      client: { retry: false },
    });
    world.swap(at("12:00:20"), 1);
    world.swap(first, 5);
    const rowOf = (timestamp: number) => new Date(timestamp).toISOString();
    let stage: "silent" | "shown" | "failing" = "silent";
    // The candle of 12:08 is the first that shows. The next answer has more of it.
    world.interfere = async (_, answer) => {
      if (stage === "failing" && world.clock.now() < first + 1_900) throw new Error("lost");
      const served = await withRows(answer, (rows) =>
        stage === "silent" ? rows.filter(({ timestamp }) => timestamp === rowOf(first)) : rows,
      );
      if (!(await served.text()).includes(rowOf(first))) return served;
      if (stage === "silent") world.swap(first + 10, 9);
      const isSecond = stage === "shown";
      stage = stage === "silent" ? "shown" : "failing";
      if (!isSecond) return served;
      const date = new Date(Date.parse(served.headers.get("date")!) + lie).toUTCString();
      const lacking = await withRows(
        async () => served,
        (rows) => rows.filter(({ timestamp }) => timestamp === rowOf(first)),
      );
      return { ...lacking, headers: { get: (name) => (name === "date" ? date : served.headers.get(name)) } };
    };
    const events: CandleEvent[] = [];
    watchCandles(world.client, { ...MINUTES, every: "close" }).subscribe((event) => events.push(event));
    await world.clock.advanceTo(at("12:12:30"));
    const closes = events.flatMap(({ candle }) => (candle.timestamp === first ? [candle.close] : []));
    expect(stage).toBe("failing");
    expect(closes.slice(closes.indexOf(9))).not.toContain(5);
    expect(standing(events).at(-1)!.close).toBe(9);
  });
});
