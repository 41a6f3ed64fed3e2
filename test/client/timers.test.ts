import { asyncScheduler } from "rxjs";
import { describe, expect, it } from "vitest";
import { callAt, sleepUntil } from "../../src/client/timers.js";
import { VirtualClock } from "../../src/replay/virtual-clock.js";
import { BentClock } from "../bent-clock.js";

describe("sleepUntil", () => {
  it("resolves at the instant, and at once where that is past", async () => {
    const clock = new VirtualClock(1_000);
    const woken: number[] = [];
    void sleepUntil(clock, 5_000).then(() => woken.push(clock.now()));
    await sleepUntil(clock, 1_000);
    await sleepUntil(clock, 3);
    await clock.advanceTo(4_999);
    expect(woken).toEqual([]);
    await clock.advanceTo(9_000);
    expect(woken).toEqual([5_000]);
    expect(clock.pending).toBe(0);
  });

  it("never asks for a delay that timers do not take", async () => {
    const clock = new BentClock();
    const month = 31 * 86_400_000;
    const woken: number[] = [];
    void sleepUntil(clock, 3 * month).then(() => woken.push(clock.now()));
    await clock.advanceTo(4 * month);
    expect(woken).toEqual([3 * month]);
    expect(Math.max(...clock.delays)).toBeLessThan(2 ** 31);
    expect(clock.delays.length).toBeLessThan(1_000);
  });

  it.each([
    [20_000, 20_000],
    [1_500_000, 60_000],
    [12_000_000, 120_000],
    [30 * 86_400_000, 25_920_000],
  ])("of %i ms ends within %i ms after a machine wakes that has slept past its end", async (wait, most) => {
    for (const passed of [0, wait / 7, wait / 2]) {
      const clock = new BentClock(1_000_000);
      const woken: number[] = [];
      void sleepUntil(clock, clock.now() + wait).then(() => woken.push(clock.now()));
      await clock.advanceBy(passed);
      clock.back = -wait;
      const wokeUpAt = clock.now();
      await clock.advanceBy(most);
      expect(woken).toHaveLength(1);
      expect(woken[0]! - wokeUpAt).toBeLessThanOrEqual(most);
    }
  });

  it("sleeps on when a timer fires early", async () => {
    const clock = new BentClock(0, (delay) => Math.ceil(delay * 0.9));
    const woken: number[] = [];
    void sleepUntil(clock, 1_000).then(() => woken.push(clock.now()));
    await clock.advanceTo(999);
    expect(woken).toEqual([]);
    await clock.advanceTo(1_000);
    expect(woken).toEqual([1_000]);
    expect(clock.delays.length).toBeGreaterThan(2);
  });

  it("counts the time that has passed when the clock is set back by less than a timer was long", async () => {
    const clock = new BentClock(1_000_000);
    const asleep = 600_000;
    const woken: number[] = [];
    void sleepUntil(clock, 1_000_000 + asleep).then(() => woken.push(clock.now()));
    await clock.advanceBy(60_000);
    clock.back = 500_000;
    await clock.advanceBy(asleep);
    expect(woken).toEqual([1_000_000 + asleep - clock.back]);
  });

  it("counts the time that has passed when the clock is set back", async () => {
    const clock = new BentClock(1_000_000);
    const woken: number[] = [];
    void sleepUntil(clock, 1_010_000).then(() => woken.push(clock.now()));
    await clock.advanceBy(3_000);
    clock.back = 900_000;
    await clock.advanceBy(20_000);
    expect(woken).toEqual([110_000]);
  });

  it("rejects with the signal's reason and leaves no timer", async () => {
    const clock = new VirtualClock();
    const controller = new AbortController();
    const sleep = sleepUntil(clock, 5_000, controller.signal);
    const reason = { why: "enough" };
    controller.abort(reason);
    await expect(sleep).rejects.toBe(reason);
    expect(clock.pending).toBe(0);
    await expect(sleepUntil(clock, 5_000, controller.signal)).rejects.toBe(reason);
    await expect(sleepUntil(clock, 0, controller.signal)).rejects.toBe(reason);
  });

  it("works on real timers", async () => {
    const instant = asyncScheduler.now() + 5;
    await sleepUntil(asyncScheduler, instant);
    expect(asyncScheduler.now()).toBeGreaterThanOrEqual(instant);
  });
});

describe("callAt", () => {
  it("calls once, and not after it was cancelled", async () => {
    const clock = new VirtualClock();
    const called: string[] = [];
    callAt(clock, 100, () => called.push("kept"));
    callAt(clock, 100, () => called.push("cancelled")).unsubscribe();
    expect(clock.pending).toBe(1);
    await clock.advanceTo(1_000);
    expect(called).toEqual(["kept"]);
  });
});
