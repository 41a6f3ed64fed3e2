import { expect, it } from "vitest";
import { type WatchOptions, watchCandles, watchFeedStatus } from "../../src/index.js";
import { at, MINUTES, World } from "../world.js";

it("sends one request a slot for all watches of one schedule, and their statuses", async () => {
  const start = at("12:00:10");
  const world = new World({ start });
  world.swapsEvery(60_000, at("11:00:00"), at("13:00:00"));
  const schedule: WatchOptions[] = [
    {},
    { every: 60_000 },
    { every: "close" },
    { every: 3_600_000 },
    { weekStart: "thursday" },
  ];
  for (const more of schedule) {
    watchCandles(world.client, { ...MINUTES, ...more }).subscribe();
    watchFeedStatus(world.client, { ...MINUTES, ...more }).subscribe();
  }
  await world.clock.advanceTo(at("12:05:30"));
  const minutes = [1, 2, 3, 4, 5].map((minute) => at("12:00:00") + minute * 60_000 + 1_000);
  expect(world.asked.map(({ sent }) => sent)).toEqual([start, ...minutes]);
});
