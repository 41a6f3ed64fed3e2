import { expect, it } from "vitest";
import { watchCandles, watchFeedStatus } from "../../src/index.js";
import { at, MINUTES, World } from "../world.js";
import { DAILY_SCENES, describeHistoryJumps } from "./history-jumps.js";

// history-jump.long.test.ts plays the others.
describeHistoryJumps(DAILY_SCENES);

it("waits for a history that no cache has kept from before its candles were final", async () => {
  const start = at("12:00:30");
  for (const since of [start - 600_000, { candles: 8 }]) {
    const world = new World({ start, hasDate: true, createdAt: at("00:00:00") });
    world.swapsEvery(20_000, at("11:00:00"), at("12:30:00"));
    const old = 195_000;
    world.interfere = async (asked, answer) => {
      const isHistory = Number(asked.url.searchParams.get("toDate")) * 1_000 < start;
      if (!isHistory || world.clock.now() > start + 5_000) return answer();
      world.offset -= old;
      const kept = await answer();
      world.offset += old;
      const get = (name: string) =>
        name.toLowerCase() === "age" ? String(old / 1_000) : kept.headers.get(name);
      return { ...kept, headers: { get } };
    };
    const swaps = new Map<number, number>();
    watchCandles(world.client, { ...MINUTES, since }).subscribe(({ candle }) => {
      swaps.set(candle.timestamp, candle.swaps);
    });
    await world.clock.advanceBy(150_000);
    const closed = [...swaps].filter(([timestamp]) => timestamp < at("12:02:00"));
    expect(closed.map(([, count]) => count)).toEqual(closed.map(() => 3));
    expect(closed.length).toBeGreaterThanOrEqual(10);
    // It asks again after 1, 2 and 4 s.
    expect(world.candleRequests().length).toBeLessThanOrEqual(24);
  }
});

it.each([{ candles: 5 }, { back: 600_000 }])(
  "ends the history of a pair without a swap, with since %o",
  async (since) => {
    for (const createdAt of [at("00:00:00"), at("11:59:10"), 0]) {
      const start = at("12:00:30");
      const world = new World({ start, hasDate: true, createdAt });
      const options = { ...MINUTES, since: "back" in since ? start - since.back : since };
      const states: string[] = [];
      const telling = watchFeedStatus(world.client, options).subscribe(({ state }) => states.push(state));
      await world.clock.advanceBy(20_000);
      telling.unsubscribe();
      expect(states.at(-1)).toBe("live");
      expect(world.asked.length).toBeLessThanOrEqual(40);
    }
  },
);
