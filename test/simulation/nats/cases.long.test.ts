import { describe, expect, it } from "vitest";
import { calm, onTime, purgedInLoss } from "./calm.js";
import { checkNats } from "./check.js";
import type { NatsPlan } from "./plan.js";
import { playNats } from "./run.js";
import { runNatsSeed } from "./run-seed.js";

it("collectors keep every promise under a seed more", async () => {
  expect((await runNatsSeed(38)).breaches).toEqual([]);
});

it("a collector that reads a feed while it is purged does not count as covered what is gone", async () => {
  expect((await runNatsSeed(1_212, { faults: [1, 2, 3, 4], subscribers: [1] })).breaches).toEqual([]);
});

it("the next holder of a series whose stream was deleted covers only what it has stored itself", async () => {
  expect((await runNatsSeed(802, { faults: [2, 3], subscribers: [] })).breaches).toEqual([]);
});

it("a status that is stored long after it arose covers nothing that has grown too old meanwhile", async () => {
  expect((await runNatsSeed(4067, { faults: [4], subscribers: [] })).breaches).toEqual([]);
});

it("what the service has taken back need not be stored again after a purge", async () => {
  expect((await runNatsSeed(4930, { faults: [3, 4], subscribers: [] })).breaches).toEqual([]);
});

it("what the service takes back for a moment after a purge need not be stored until it shows it again", async () => {
  expect((await runNatsSeed(2867, { faults: [3], subscribers: [] })).breaches).toEqual([]);
});

it("a later leader covers what the service had taken back from an earlier one before a purge", async () => {
  expect((await runNatsSeed(3034, { subscribers: [] })).breaches).toEqual([]);
});

it("a swap in an interval that began before its pair is the truth, too", async () => {
  expect((await runNatsSeed(4501, { faults: [], subscribers: [] })).breaches).toEqual([]);
});

it.each([1, 2, 3, 4, 5, 6])(
  "a purge while messages are lost leaves nothing covered that is gone, by chance %i",
  async (seed) => {
    expect(checkNats(await playNats(purgedInLoss(seed)))).toEqual([]);
  },
);

it("a closed candle costs a group one request, however many collectors there are", async () => {
  const market = { swaps: undefined, settlesAfter: 1_000, late: 0, forks: 0, revisionWindow: 2 };
  const plan = calm({ collectors: onTime(5), market, length: 60_000 });
  const { arrivals } = await playNats(plan);
  const [from, until] = [plan.start + 20_000, plan.start + 50_000];
  const asked = arrivals.filter(({ at }) => from <= at && at < until);
  expect(asked.length / (plan.pairs.length * 30)).toBe(1);
});

it("the next holder reads the history that an earlier one had no time for", async () => {
  const { breaches } = await runNatsSeed(621, { faults: [1], subscribers: [] });
  expect(breaches).toEqual([]);
});

it("a collector whose clock is set back by minutes goes on to lead", async () => {
  const whom = { collector: 1 };
  const fault = { kind: "clock set", from: 15_000, until: 15_000, whom, by: -400_000 } as const;
  expect(checkNats(await playNats(calm({ collectors: onTime(2), faults: [fault] })))).toEqual([]);
});

it("a feed goes on where the leases are lost, and the next holder's clock is an hour behind", async () => {
  const clocks = [0, -3_600_000, -3_600_000].map((offset) => ({ offset, drift: 0 }));
  const collectors = clocks.map((clock, at) => ({ ...clock, from: at === 0 ? 20 : 10_000 }));
  const subscribers = [{ series: 0, from: 1_000, offset: 0, drift: 0, until: undefined, since: undefined }];
  const plan = calm({ collectors, subscribers, length: 60_000 });
  const faults = [
    { kind: "leave", from: 15_000, until: 59_000, collector: 0 },
    { kind: "deleted", from: 15_100, until: 15_100, what: "leases" },
  ] as const;
  expect(checkNats(await playNats({ ...plan, faults, healthyFrom: 60_000 }))).toEqual([]);
});

describe("a clock that is set back by minutes while the servers are asked", () => {
  const latency = { servers: 100, service: 20, spread: 1 };

  it("costs a collector no lease, and nobody else asks", async () => {
    const whom = { collector: 1 };
    const instants = Array.from({ length: 10 }, (_, at) => 12_000 + at * 2_050);
    const faults = instants.map(
      (from) => ({ kind: "clock set", from, until: from, whom, by: -400_000 }) as const,
    );
    const plan = calm({ collectors: onTime(3), latency, faults, length: 50_000, healthyFrom: 33_000 });
    const log = await playNats(plan);
    expect(checkNats(log)).toEqual([]);
    const moves = log.lives.flatMap(({ activities }) =>
      activities.filter(({ at, activity }) => activity.type === "leading" && at > plan.start + 10_000),
    );
    expect(moves).toEqual([]);
  });

  it.each([{ collector: 0 }, { subscriber: 0 }])("does not stop %o once they answer again", async (whom) => {
    const subscribers = [{ series: 0, from: 1_000, offset: 0, drift: 0, until: undefined, since: undefined }];
    const faults = [
      { kind: "messages", from: 15_000, until: 24_000, how: "lost", rate: 1 },
      { kind: "clock set", from: 22_300, until: 22_300, whom, by: -400_000 },
    ] as const;
    const plan = calm({ collectors: onTime(1), subscribers, faults, length: 60_000, healthyFrom: 24_000 });
    expect(checkNats(await playNats(plan))).toEqual([]);
  });
});

describe("two versions of the package side by side", () => {
  const subscribers = [0, 1, 2, 0].map((series) => ({
    ...{ series, from: 1_000, offset: 0, drift: 0, until: undefined },
    since: { candles: 5 },
  }));
  const faults = [
    { kind: "leave", from: 10_000, until: 14_000, collector: 0 },
    { kind: "crash", from: 16_000, until: 22_000, collector: 1, operation: 0, isSent: true },
  ] as const;
  const plan = calm({ collectors: onTime(4), subscribers, faults, length: 60_000, healthyFrom: 30_000 });

  it("work together where one says more than the other knows", async () => {
    const others = { kind: "additions", collectors: [0, 2], subscribers: [1] } as const;
    const log = await playNats({ ...plan, others });
    expect(checkNats(log)).toEqual([]);
    expect(log.subscribers.map(({ events }) => events.length > 50)).toEqual([true, true, true, true]);
  });

  it.each([1, -1] as const)(
    "refuse one another where the version differs by %i, and one works on",
    async (by) => {
      const others = { kind: "version", by, collectors: [2, 3], subscribers: [1] } as const;
      const collectors = onTime(4).map((one, at) => ({ ...one, from: at < 2 ? 20 : 3_000 }));
      const log = await playNats({ ...plan, collectors, others });
      expect(checkNats(log)).toEqual([]);
      const errors = log.lives.filter(({ collector }) => collector > 1).map(({ error }) => String(error));
      expect(errors).toEqual(
        Array(2).fill(expect.stringMatching(/^ContractError.*lease has the format of another version$/)),
      );
      expect(log.subscribers.map(({ events, error }) => [events.length > 50, error === undefined])).toEqual([
        [true, true],
        [false, false],
        [true, true],
        [true, true],
      ]);
    },
  );

  it("refuse one another where their rules differ", async () => {
    const others = { kind: "rules", lease: 6_000, collectors: [3], subscribers: [] } as const;
    const collectors = onTime(4).map((one, at) => ({ ...one, from: at < 3 ? 20 : 3_000 }));
    const log = await playNats({ ...plan, collectors, others });
    expect(checkNats(log)).toEqual([]);
    expect(log.lives.map(({ error }) => error !== undefined)).toContain(true);
  });
});

it("a candle that vanishes while nobody holds its series is removed by the next holder", async () => {
  const market = { swaps: 0.6, settlesAfter: 3_000, late: 0.2, forks: 1, revisionWindow: 4 };
  const subscribers = [0, 1, 2].map((series) => ({
    ...{ series, from: 1_000, offset: 0, drift: 0, until: undefined },
    since: { back: 5_000 },
  }));
  const faults = Array.from({ length: 12 }, (_, at) => ({
    ...{ kind: "crash", from: 5_000 + at * 6_000, until: 8_000 + at * 6_000 },
    ...{ collector: at % 2, operation: 0, isSent: true },
  })) as NatsPlan["faults"];
  const plan = calm({ collectors: onTime(2), subscribers, faults, market, length: 110_000, lease: 1_000 });
  const log = await playNats({ ...plan, healthyFrom: 77_000 });
  expect(checkNats(log)).toEqual([]);
  const removals = log.subscribers.flatMap(({ events }) =>
    events.filter(({ event }) => event.type === "removed"),
  );
  expect(removals.length).toBeGreaterThan(0);
});
