import { expect, it } from "vitest";
import { serviceClockOf } from "./service-time.js";

const START = Date.UTC(2024, 0, 1);
const HOUR = 3_600_000;

it("goes on as the machine's clock does where it does not drift", () => {
  const clock = serviceClockOf({ start: START, offset: -250.5, drift: 0 });
  expect(clock.at(START + HOUR)).toBe(START + HOUR - 250.5);
  expect(clock.until(START + HOUR - 250.5)).toBe(START + HOUR);
});

it("gains so much on the machine's clock, or loses it", () => {
  const fast = serviceClockOf({ start: START, offset: 1_000, drift: 1e-4 });
  expect(fast.at(START)).toBe(START + 1_000);
  expect(fast.at(START + HOUR)).toBeCloseTo(START + 1_000 + HOUR + 360, 2);
  const slow = serviceClockOf({ start: START, offset: 1_000, drift: -1e-4 });
  expect(slow.at(START + HOUR)).toBeCloseTo(START + 1_000 + HOUR - 360, 2);
});

it("leads back to the very ms of the run", () => {
  for (const drift of [1e-4, -3.7e-5]) {
    const clock = serviceClockOf({ start: START, offset: 98_765, drift });
    for (let instant = START; instant < START + HOUR; instant += 12_347)
      expect(clock.until(clock.at(instant))).toBe(instant);
  }
});
