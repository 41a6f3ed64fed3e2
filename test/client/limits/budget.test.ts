import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Priority } from "../../../src/client/activity.js";
import { Budget, type Throttling } from "../../../src/client/limits/budget.js";
import type { RateLimit } from "../../../src/client/limits/places.js";
import { sleepUntil } from "../../../src/client/timers.js";
import { VirtualClock } from "../../../src/replay/virtual-clock.js";

const PRIORITIES = ["close", "refresh", "history"] as const;

function budgetOn(clock: VirtualClock, limit: RateLimit | undefined) {
  const told: Throttling[] = [];
  const budget = new Budget(clock, limit, (throttling) => told.push(throttling));
  const starts: { name: string; at: number; ends: number }[] = [];
  /** Asks for what takes so many ms, of which the head of the answer takes all but `body`. */
  const ask = (name: string, priority: Priority = "refresh", signal?: AbortSignal, takes = 0, body = 0) =>
    budget.start(priority, signal, async (at, end) => {
      starts.push({ name, at, ends: at + takes });
      if (takes + body > 0) await sleepUntil(clock, at + takes + body);
      end(at + takes);
      return name;
    });
  return { budget, told, starts, ask };
}

describe("the budget", () => {
  it("starts at once what it can, the rest as the window moves on", async () => {
    const clock = new VirtualClock();
    const { starts, ask, told } = budgetOn(clock, { requests: 2, per: 1_000 });
    const all = [ask("a"), ask("b"), ask("c"), ask("d"), ask("e")];
    expect(starts.map(({ name }) => name)).toEqual(["a", "b"]);
    expect(clock.pending).toBe(1);
    await clock.advanceTo(5_000);
    expect(starts.map(({ at }) => at)).toEqual([0, 0, 1_000, 1_000, 2_000]);
    expect(await Promise.all(all)).toEqual(["a", "b", "c", "d", "e"]);
    expect(clock.pending).toBe(0);
    expect(told).toEqual([
      { until: 1_000, reason: "rate-limit", waiting: 1 },
      { until: 2_000, reason: "rate-limit", waiting: 1 },
    ]);
  });

  it("lets closing polls go before refreshes before history, each in their order", async () => {
    const clock = new VirtualClock();
    const { starts, ask } = budgetOn(clock, { requests: 1, per: 100 });
    void ask("first");
    void ask("h1", "history");
    void ask("r1", "refresh");
    void ask("c1", "close");
    void ask("h2", "history");
    void ask("c2", "close");
    void ask("r2", "refresh");
    await clock.advanceTo(1_000);
    expect(starts.map(({ name }) => name)).toEqual(["first", "c1", "c2", "r1", "r2", "h1", "h2"]);
  });

  it("starts half as many after a refusal, and as many as before ten windows later", async () => {
    const clock = new VirtualClock();
    const { budget, starts, ask, told } = budgetOn(clock, { requests: 20, per: 1_000 });
    for (let count = 0; count < 400; count += 1) void ask(`${count}`);
    budget.slowDown();
    await clock.advanceTo(14_999);
    const inSecond = (second: number) => starts.filter(({ at }) => Math.floor(at / 1_000) === second).length;
    const sent = Array.from({ length: 15 }, (_, second) => inSecond(second));
    expect(sent).toEqual([20, 10, 11, 12, 13, 14, 15, 16, 17, 19, 20, 20, 20, 20, 20]);
    expect(told[0]).toMatchObject({ until: 1_000, reason: "rate-limit" });
    expect(told[1]).toMatchObject({ until: 2_000, reason: "too-many-requests" });
    expect(told.at(-1)).toMatchObject({ until: 15_000, reason: "rate-limit" });
  });

  it("starts no more after a pause, or a rest, than before: only what was sent shows what is allowed", async () => {
    const clock = new VirtualClock();
    const { budget, starts, ask } = budgetOn(clock, { requests: 40, per: 1_000 });
    const burst = async () => {
      const before = starts.length;
      for (let count = 0; count < 40; count += 1) void ask(`${count}`);
      await clock.advanceBy(999);
      return starts.length - before;
    };
    budget.pause(60_000);
    budget.slowDown();
    budget.slowDown();
    await clock.advanceTo(60_000);
    expect(await burst()).toBe(10);
    await clock.advanceBy(60_000);
    expect(starts).toHaveLength(40);
    expect(await burst()).toBeLessThan(15);
  });

  it("halves what it starts with each refusal, down to one, and not without a limit", async () => {
    const clock = new VirtualClock();
    const { budget, starts, ask } = budgetOn(clock, { requests: 8, per: 1_000 });
    for (let count = 0; count < 9; count += 1) budget.slowDown();
    for (let count = 0; count < 3; count += 1) void ask(`${count}`);
    expect(starts).toHaveLength(1);
    await clock.advanceTo(1_000);
    expect(starts).toHaveLength(2);
    const free = budgetOn(clock, undefined);
    free.budget.slowDown();
    for (let count = 0; count < 9; count += 1) void free.ask(`${count}`);
    expect(free.starts).toHaveLength(9);
  });

  it("gives one start in four to whoever has waited longest, once that is two seconds", async () => {
    const clock = new VirtualClock();
    const { starts, ask } = budgetOn(clock, { requests: 1, per: 100 });
    // Closings alone would take twice what there is.
    for (let at = 0; at < 30_000; at += 100) {
      for (let count = 0; count < 2; count += 1) void ask("close", "close");
      if (at < 200) void ask(`history ${at}`, "history");
      if (at === 5_000) void ask("refresh", "refresh");
      await clock.advanceTo(at + 100);
    }
    const others = starts.filter(({ name }) => name !== "close");
    expect(others.map(({ name }) => name)).toEqual(["history 0", "history 100", "refresh"]);
    expect(others[0]!.at).toBeGreaterThanOrEqual(2_000);
    expect(others[0]!.at).toBeLessThanOrEqual(2_400);
    expect(others[1]!.at - others[0]!.at).toBe(400);
    // Until then closings have waited for longer.
    expect(others[2]!.at).toBeLessThanOrEqual(10_600);
  });

  it("counts a request until it has ended, and for a window after the head of its answer", async () => {
    const clock = new VirtualClock();
    const { starts, ask, told } = budgetOn(clock, { requests: 2, per: 1_000 });
    void ask("a", "refresh", undefined, 300, 200);
    void ask("b", "refresh", undefined, 4_000);
    void ask("c", "refresh", undefined, 100, 2_500);
    void ask("d");
    await clock.advanceTo(20_000);
    expect(starts.map(({ name, at }) => [name, at])).toEqual([
      ["a", 0],
      ["b", 0],
      ["c", 1_300],
      // Its head has long been there, but its body has not: it has a place for as long as it is under way.
      ["d", 3_900],
    ]);
    expect(told).toEqual([
      { reason: "rate-limit", waiting: 1 },
      { until: 1_300, reason: "rate-limit", waiting: 2 },
      { reason: "rate-limit", waiting: 1 },
    ]);
    expect(clock.pending).toBe(0);
  });

  it("counts nothing for what was not sent", async () => {
    const clock = new VirtualClock();
    const { budget, starts, ask } = budgetOn(clock, { requests: 1, per: 1_000 });
    await expect(budget.start("refresh", undefined, () => Promise.reject("refused"))).rejects.toBe("refused");
    void ask("a");
    await clock.advanceTo(5_000);
    expect(starts.map(({ at }) => at)).toEqual([0]);
  });

  it("takes out who leaves, without a trace", async () => {
    const clock = new VirtualClock();
    const { starts, ask } = budgetOn(clock, { requests: 1, per: 100 });
    const controller = new AbortController();
    void ask("a");
    const leaving = ask("b", "close", controller.signal);
    expect(clock.pending).toBe(1);
    controller.abort("gone");
    await expect(leaving).rejects.toBe("gone");
    expect(clock.pending).toBe(0);
    await expect(ask("c", "close", controller.signal)).rejects.toBe("gone");
    await clock.advanceTo(50);
    void ask("d");
    await clock.advanceTo(1_000);
    expect(starts.map(({ name, at }) => [name, at])).toEqual([
      ["a", 0],
      ["d", 100],
    ]);
  });

  it("serves the others on time where one of those who wait leaves", async () => {
    const clock = new VirtualClock();
    const { starts, ask } = budgetOn(clock, { requests: 1, per: 100 });
    const controller = new AbortController();
    void ask("a");
    const leaving = ask("b", "close", controller.signal);
    void ask("c");
    controller.abort("gone");
    await expect(leaving).rejects.toBe("gone");
    await clock.advanceTo(1_000);
    expect(starts.map(({ name, at }) => [name, at])).toEqual([
      ["a", 0],
      ["c", 100],
    ]);
  });

  it("listens to a signal only while its request waits", async () => {
    const clock = new VirtualClock();
    const { ask } = budgetOn(clock, { requests: 1, per: 100 });
    const { signal } = new AbortController();
    const listeners = new Set<unknown>();
    let added = 0;
    signal.addEventListener = (_: string, listener: unknown) => {
      added += 1;
      listeners.add(listener);
    };
    signal.removeEventListener = (type: string, listener: unknown) => {
      if (type === "abort") listeners.delete(listener);
    };
    void ask("a", "refresh", signal);
    expect(added).toBe(0);
    void ask("b", "refresh", signal);
    expect([added, listeners.size]).toEqual([1, 1]);
    await clock.advanceTo(100);
    expect(listeners.size).toBe(0);
  });

  it("lets nobody pass those who wait, at the instant at which a place opens either", async () => {
    const clock = new VirtualClock();
    const { starts, ask } = budgetOn(clock, { requests: 1, per: 100 });
    clock.schedule(() => void ask("late", "history"), 100);
    void ask("a");
    void ask("b");
    await clock.advanceTo(1_000);
    expect(starts.map(({ name, at }) => [name, at])).toEqual([
      ["a", 0],
      ["b", 100],
      ["late", 200],
    ]);
  });

  it("has one timer, for the instant at which a place opens by what is known", async () => {
    const clock = new VirtualClock();
    let timers = 0;
    const scheduler = {
      now: () => clock.now(),
      schedule: ((...all: Parameters<VirtualClock["schedule"]>) => {
        timers += 1;
        return clock.schedule(...all);
      }) as VirtualClock["schedule"],
    };
    const budget = new Budget(scheduler, { requests: 2, per: 1_000 }, () => {});
    const starts: number[] = [];
    const ask = (head: number, body: number) =>
      budget.start("refresh", undefined, async (at, end) => {
        starts.push(at);
        await sleepUntil(clock, at + head + body);
        end(at + head);
      });
    void ask(500, 0);
    void ask(200, 800);
    for (let waiting = 0; waiting < 5; waiting += 1) void ask(0, 0);
    // Nobody knows yet when one of the two ends.
    expect([timers, clock.pending]).toEqual([0, 2]);
    await clock.advanceTo(999);
    expect(timers).toBe(1);
    // The second one ended later, but its head was there sooner: the first place is free earlier than was known.
    await clock.advanceTo(1_300);
    expect(starts).toEqual([0, 0, 1_200]);
    expect(timers).toBe(3);
  });

  it("counts nothing for what was not sent, whatever else is counted", async () => {
    const clock = new VirtualClock();
    const { budget, starts, ask } = budgetOn(clock, { requests: 3, per: 1_000 });
    void ask("a", "refresh", undefined, 400);
    void ask("b", "refresh", undefined, 0, 500);
    await clock.advanceTo(450);
    await expect(budget.start("refresh", undefined, () => Promise.reject("refused"))).rejects.toBe("refused");
    await clock.advanceTo(500);
    void ask("c");
    expect(starts.map(({ at }) => at)).toEqual([0, 0, 500]);
  });

  it("says anew why requests wait, where that has changed, and nothing of a pause that is over", async () => {
    const clock = new VirtualClock();
    const { budget, ask, told } = budgetOn(clock, { requests: 1, per: 1_000 });
    void ask("a", "refresh", undefined, 500);
    budget.pause(2_000);
    void ask("b");
    await clock.advanceTo(2_100);
    void ask("c");
    budget.pause(2_000);
    await clock.advanceTo(10_000);
    expect(told).toStrictEqual([
      { until: 2_000, reason: "too-many-requests", waiting: 0 },
      { reason: "rate-limit", waiting: 1 },
      { until: 2_000, reason: "too-many-requests", waiting: 1 },
      { until: 3_000, reason: "rate-limit", waiting: 1 },
    ]);
  });

  it("starts nothing during a pause, even without a limit", async () => {
    const clock = new VirtualClock();
    const { budget, starts, ask, told } = budgetOn(clock, undefined);
    budget.pause(500);
    budget.pause(300);
    void ask("a");
    void ask("b");
    await clock.advanceTo(200);
    budget.pause(700);
    await clock.advanceTo(1_000);
    expect(starts.map(({ at }) => at)).toEqual([700, 700]);
    expect(told.map(({ until, reason, waiting }) => [until, reason, waiting])).toEqual([
      [500, "too-many-requests", 0],
      [700, "too-many-requests", 2],
    ]);
  });

  it("lets all wait through a short pause, and turns all away once it is a long one", async () => {
    for (const limit of [undefined, { requests: 1, per: 1_000 }]) {
      const clock = new VirtualClock();
      const budget = new Budget(clock, limit, () => {}, undefined, 2_000);
      const ends: unknown[] = [];
      const starts: number[] = [];
      const ask = (priority: Priority) =>
        budget
          .start(priority, undefined, async (now, end) => {
            starts.push(now);
            end(now);
          })
          .catch((error) => ends.push([priority, error.name, error.retryAfter, clock.now()]));
      budget.pause(2_000);
      for (const priority of PRIORITIES) void ask(priority);
      await clock.advanceBy(500);
      expect([starts, ends]).toEqual([[], []]);
      budget.pause(60_500);
      await clock.advanceBy(0);
      expect(ends).toEqual(PRIORITIES.map((priority) => [priority, "RateLimitError", 60_000, 500]));
      expect(clock.pending).toBe(0);
      await clock.advanceTo(58_500);
      void ask("history");
      await clock.advanceBy(2_000);
      expect(starts).toEqual([60_500]);
    }
  });

  it("is not stuck when the clock is set back", async () => {
    const clock = new VirtualClock(10_000_000);
    let back = 0;
    const scheduler = {
      now: () => clock.now() - back,
      schedule: clock.schedule.bind(clock),
    };
    const budget = new Budget(scheduler, { requests: 1, per: 1_000 }, () => {});
    const starts: number[] = [];
    const ask = () =>
      budget.start("refresh", undefined, async (now, end) => {
        starts.push(clock.now());
        await sleepUntil(scheduler, now + 100);
        end(now);
      });
    void ask();
    await clock.advanceBy(50);
    back = 3_600_000;
    void ask();
    await clock.advanceBy(5_000);
    // When it ended by a clock that was set back meanwhile, it did so now.
    expect(starts).toEqual([10_000_000, 10_001_100]);
  });

  it.each([
    ["window", (budget: Budget) => budget.start("refresh", undefined, async (now, end) => end(now))],
    ["pause", (budget: Budget) => budget.pause(10_001_000)],
  ])("makes a %s no longer where the clock is set back", async (_, begin) => {
    const clock = new VirtualClock(10_000_000);
    let back = 0;
    const scheduler = { now: () => clock.now() - back, schedule: clock.schedule.bind(clock) };
    const budget = new Budget(scheduler, { requests: 1, per: 1_000 }, () => {}, undefined, 2_000);
    // It has looked at the clock.
    await budget.start("refresh", undefined, () => Promise.reject("not sent")).catch(() => {});
    await begin(budget);
    await clock.advanceBy(50);
    back = 3_600_000;
    let startedAt = 0;
    void budget.start("refresh", undefined, async () => {
      startedAt = clock.now();
    });
    await clock.advanceBy(5_000);
    // What has passed since the last look at the clock is not known.
    expect(startedAt).toBe(10_001_050);
  });

  it("keeps every promise, for any arrivals, leavings and pauses", async () => {
    const step = fc.oneof(
      {
        weight: 6,
        arbitrary: fc.record({
          kind: fc.constant("ask"),
          priority: fc.constantFrom(...PRIORITIES),
          takes: fc.nat(400),
          body: fc.nat(200),
        }),
      },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant("leave"), who: fc.nat(50) }) },
      {
        weight: 1,
        arbitrary: fc.record({ kind: fc.constant("pause"), ms: fc.integer({ min: 1, max: 400 }) }),
      },
    );
    const steps = fc.array(fc.tuple(fc.integer({ min: 0, max: 120 }), step), { minLength: 1, maxLength: 60 });
    const limit = fc.record({
      requests: fc.integer({ min: 1, max: 5 }),
      per: fc.integer({ min: 1, max: 300 }),
    });
    await fc.assert(
      fc.asyncProperty(steps, fc.option(limit, { nil: undefined }), async (schedule, rateLimit) => {
        const clock = new VirtualClock();
        const { budget, starts, ask } = budgetOn(clock, rateLimit);
        const asked: { name: string; at: number; priority: Priority; left: number; leave: () => void }[] = [];
        const pauses: { from: number; to: number }[] = [];
        for (const [wait, action] of schedule) {
          await clock.advanceBy(wait);
          const at = clock.now();
          if ("priority" in action) {
            const controller = new AbortController();
            const name = String(asked.length);
            const entry = {
              name,
              at,
              priority: action.priority as Priority,
              left: Number.POSITIVE_INFINITY,
              leave: () => {
                if (!starts.some((start) => start.name === name))
                  entry.left = Math.min(entry.left, clock.now());
                controller.abort();
              },
            };
            asked.push(entry);
            const { priority, takes, body } = action as { priority: Priority; takes: number; body: number };
            ask(name, priority, controller.signal, takes, body).catch(() => {});
          } else if ("who" in action) {
            asked[action.who]?.leave();
          } else {
            pauses.push({ from: at, to: at + action.ms });
            budget.pause(at + action.ms);
          }
        }
        await clock.advanceBy(100_000);
        expect(clock.pending).toBe(0);

        const startOf = new Map(starts.map(({ name, at }) => [name, at]));
        // Everyone who stayed was served, nobody who left.
        for (const { name, left } of asked) expect(startOf.has(name)).toBe(left === Number.POSITIVE_INFINITY);
        // No window sees more than the limit, whenever each arrives between its start and its answer.
        if (rateLimit !== undefined) {
          const { requests, per } = rateLimit;
          for (const arrival of [...starts.map(({ at }) => at), ...starts.map(({ ends }) => ends)]) {
            const possible = starts.filter(({ at, ends }) => at <= arrival && ends > arrival - per);
            expect(possible.length).toBeLessThanOrEqual(requests);
          }
        }
        // Nothing starts during a pause; what had started when it began may have done so at the same instant.
        for (const { from, to } of pauses) {
          expect(starts.filter(({ at }) => from < at && at < to)).toEqual([]);
        }
        // First come, first served within a class, and no class before a higher one, unless it has waited for long.
        starts.forEach(({ name, at }, position) => {
          const self = asked[Number(name)]!;
          for (const other of asked) {
            const isAhead =
              PRIORITIES.indexOf(other.priority) < PRIORITIES.indexOf(self.priority)
                ? other.at < at && at - self.at < 2_000
                : other.priority === self.priority && Number(other.name) < Number(self.name);
            if (!isAhead || other.left <= at) continue;
            expect(starts.findIndex((start) => start.name === other.name)).toBeLessThan(position);
          }
        });
      }),
      { numRuns: 150 },
    );
  });

  it.each([
    [20, 39],
    [100, 36],
    [500, 26],
  ])("lets through the default limit at a round trip of %i ms: %i a second", async (roundTrip, expected) => {
    const clock = new VirtualClock();
    const limit = { requests: 40, per: 1_000 };
    const { starts, ask } = budgetOn(clock, limit);
    const all = Array.from({ length: 1_000 }, (_, at) => ask(String(at), "refresh", undefined, roundTrip));
    await clock.advanceTo(60_000);
    await Promise.all(all);
    const seconds = (starts.at(-1)!.at - starts[0]!.at) / 1_000;
    expect(Math.floor((starts.length - limit.requests) / seconds)).toBe(expected);
    expect(limit.requests / (1 + roundTrip / 1_000)).toBeCloseTo(
      (starts.length - limit.requests) / seconds,
      6,
    );
  });
});
