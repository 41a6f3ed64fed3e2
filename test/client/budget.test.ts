import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  Budget,
  openGate,
  opensAt,
  type Priority,
  type RateLimit,
  setBack,
  started,
  type Throttling,
} from "../../src/client/budget.js";
import { VirtualClock } from "../../src/replay/virtual-clock.js";

const PRIORITIES = ["close", "refresh", "history"] as const;

function budgetOn(clock: VirtualClock, limit: RateLimit | undefined) {
  const told: Throttling[] = [];
  const budget = new Budget(clock, limit, (throttling) => told.push(throttling));
  const starts: { name: string; at: number }[] = [];
  const ask = (name: string, priority: Priority = "refresh", signal?: AbortSignal) =>
    budget.start(priority, signal, async (at) => {
      starts.push({ name, at });
      return name;
    });
  return { budget, told, starts, ask };
}

describe("the gate", () => {
  it("opens when the oldest start of a full window leaves it", () => {
    const limit = { requests: 2, per: 100 };
    let gate = started(openGate, limit, 10);
    expect(opensAt(gate, limit)).toBeLessThanOrEqual(10);
    gate = started(gate, limit, 50);
    expect(opensAt(gate, limit)).toBe(110);
    gate = started(gate, limit, 110);
    expect(gate.starts).toEqual([50, 110]);
    expect(opensAt(gate, limit)).toBe(150);
    expect(opensAt({ ...gate, pausedUntil: 900 }, limit)).toBe(900);
    expect(opensAt(gate, undefined)).toBe(Number.NEGATIVE_INFINITY);
    expect(opensAt(setBack(gate, 30), limit)).toBe(120);
  });
});

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
    expect(starts).toEqual([
      { name: "a", at: 0 },
      { name: "d", at: 100 },
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

  it("is not stuck when the clock is set back", async () => {
    const clock = new VirtualClock(10_000_000);
    let back = 0;
    const scheduler = {
      now: () => clock.now() - back,
      schedule: clock.schedule.bind(clock),
    };
    const budget = new Budget(scheduler, { requests: 1, per: 1_000 }, () => {});
    const starts: number[] = [];
    const ask = () => budget.start("refresh", undefined, async () => starts.push(clock.now()));
    void ask();
    back = 3_600_000;
    void ask();
    await clock.advanceBy(5_000);
    expect(starts).toEqual([10_000_000, 10_001_000]);
  });

  it("keeps every promise, for any arrivals, leavings and pauses", async () => {
    const step = fc.oneof(
      {
        weight: 6,
        arbitrary: fc.record({ kind: fc.constant("ask"), priority: fc.constantFrom(...PRIORITIES) }),
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
              priority: action.priority,
              left: Number.POSITIVE_INFINITY,
              leave: () => {
                if (!starts.some((start) => start.name === name))
                  entry.left = Math.min(entry.left, clock.now());
                controller.abort();
              },
            };
            asked.push(entry);
            ask(name, action.priority, controller.signal).catch(() => {});
          } else if ("who" in action) {
            asked[action.who]?.leave();
          } else {
            pauses.push({ from: at, to: at + action.ms });
            budget.pause(at + action.ms);
          }
          expect(clock.pending).toBeLessThanOrEqual(1);
        }
        await clock.advanceBy(100_000);
        expect(clock.pending).toBe(0);

        const startOf = new Map(starts.map(({ name, at }) => [name, at]));
        // Everyone who stayed was served, nobody who left.
        for (const { name, left } of asked) expect(startOf.has(name)).toBe(left === Number.POSITIVE_INFINITY);
        // No window sees more than the limit.
        if (rateLimit !== undefined) {
          starts.forEach(({ at }, index) => {
            const later = starts[index + rateLimit.requests];
            if (later !== undefined) expect(later.at - at).toBeGreaterThanOrEqual(rateLimit.per);
          });
        }
        // Nothing starts during a pause; what had started when it began may have done so at the same instant.
        for (const { from, to } of pauses) {
          expect(starts.filter(({ at }) => from < at && at < to)).toEqual([]);
        }
        // First come, first served within a class, and no class before a higher one that waited.
        starts.forEach(({ name, at }, position) => {
          const self = asked[Number(name)]!;
          for (const other of asked) {
            const isAhead =
              PRIORITIES.indexOf(other.priority) < PRIORITIES.indexOf(self.priority)
                ? other.at < at
                : other.priority === self.priority && Number(other.name) < Number(self.name);
            if (!isAhead || other.left <= at) continue;
            expect(starts.findIndex((start) => start.name === other.name)).toBeLessThan(position);
          }
        });
      }),
      { numRuns: 150 },
    );
  });
});
