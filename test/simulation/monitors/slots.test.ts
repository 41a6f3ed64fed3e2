import { expect, it } from "vitest";
import { leastOf } from "./slots.js";

it("wants a poll for each slot that comes once the one before is surely answered", () => {
  const slots = [0, 447, 894, 1_000, 1_447, 1_894, 2_000];
  expect(leastOf(slots, 20)).toBe(7);
  expect(leastOf(slots, 107)).toBe(5);
  // A poll that is a second late leaves out those that are due meanwhile.
  expect(leastOf(slots, 1_000)).toBe(3);
});
