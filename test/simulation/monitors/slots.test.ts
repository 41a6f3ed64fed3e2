import { expect, it } from "vitest";
import { leastOf, slackOf } from "./slots.js";

it("wants a poll for each slot that comes once the one before is surely answered", () => {
  const slots = [0, 447, 894, 1_000, 1_447, 1_894, 2_000];
  expect(leastOf(slots, 20)).toBe(7);
  expect(leastOf(slots, 107)).toBe(5);
  // A poll that is a second late leaves out those that are due meanwhile.
  expect(leastOf(slots, 1_000)).toBe(3);
});

it("lets polls come two seconds late behind machines whose clocks are less than a second apart", () => {
  expect(slackOf(426, 427, false)).toBe(2_000);
  expect(slackOf(999, 1_000, false)).toBe(2_050);
  // Others are as late as the clock is unknown.
  expect(slackOf(0, 1, false)).toBe(1_051);
  expect(slackOf(1_000, 1_001, false)).toBe(2_051);
  expect(slackOf(1_000, 1, true)).toBe(1_501);
});
