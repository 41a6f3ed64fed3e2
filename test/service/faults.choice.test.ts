import {
  createPairService,
  FAULT_KINDS,
  type FaultKind,
  type FaultOptions,
  withFaults,
} from "pairstream/service";
import { describe, expect, it } from "vitest";
import { Bench, candlesPath, headers, market, snipersPath, start, times } from "./fault-bench.js";

/** What a number of calls comes to, in short; waits for none of them longer than 20 s. */
async function logOf(options: Partial<FaultOptions>, calls = 300): Promise<string[]> {
  const bench = new Bench({ longestDelay: 5_000, ...options });
  const log: string[] = [];
  for (const at of times(calls)) {
    const controller = new AbortController();
    const timer = bench.clock.schedule(() => controller.abort(), 20_000);
    const outcome = await bench.call(at % 3 === 0 ? snipersPath : candlesPath, controller.signal);
    timer.unsubscribe();
    log.push(outcome === undefined || "error" in outcome ? "failed" : `${outcome.status} ${outcome.date}`);
  }
  return [...log, ...bench.faults.map((fault) => JSON.stringify(fault))];
}

/** A cache that says what the service says is not told; `faults.cache.test.ts` counts where the two differ. */
const TOLD_HERE = FAULT_KINDS.filter((kind) => kind !== "cached");

describe("which calls it befalls", () => {
  const chosen = ({ faults }: Bench, kind: FaultKind) =>
    faults.filter((fault) => fault.kind === kind).map(({ call }) => call);

  it("follows from the seed and the order of the calls", async () => {
    const log = await logOf({ seed: 7 });
    expect(log.length).toBeGreaterThan(310);
    expect(await logOf({ seed: 7 })).toEqual(log);
    expect(await logOf({ seed: 8 })).not.toEqual(log);
  });

  it("is about as many as the rate says", async () => {
    const kinds = TOLD_HERE.filter((kind) => !["delay", "hang"].includes(kind));
    for (const kind of kinds) {
      const bench = new Bench({ rates: { [kind]: 0.2 } });
      for (const _ of times(500))
        await bench.fetch(`http://service.test${candlesPath}`, { headers }).catch(() => {});
      expect(bench.faults.every((fault) => fault.kind === kind)).toBe(true);
      expect(bench.faults.length).toBeGreaterThan(65);
      expect(bench.faults.length).toBeLessThan(135);
    }
  });

  it("is every kind, seldom, by default", async () => {
    const bench = new Bench({});
    for (const _ of times(4_000)) {
      void bench.fetch(`http://service.test${candlesPath}`, { headers }).catch(() => {});
    }
    await bench.clock.advanceBy(60_000);
    for (const kind of TOLD_HERE) {
      const { length } = chosen(bench, kind);
      expect(length).toBeGreaterThan(10);
      expect(length).toBeLessThan(75);
    }
  });

  it("does not depend on what else is switched on, nor on how it was chosen", async () => {
    const run = async (options: Partial<FaultOptions>) => {
      const bench = new Bench(options);
      const texts: string[] = [];
      for (const _ of times(80)) texts.push((await bench.answer()).text);
      return { calls: chosen(bench, "dropped"), texts };
    };
    const alone = await run({ rates: { dropped: 0.3 } });
    const beside = await run({ rates: { wrongDate: 0.5, dropped: 0.3, noDate: 0.5, jumpingDate: 0.2 } });
    const scheduled = await run({ schedule: alone.calls.map((call) => ({ call, kind: "dropped" })) });
    expect(beside).toEqual(alone);
    expect(scheduled).toEqual(alone);
  });

  it("is as scheduled, whatever the order, several of one call too", async () => {
    const bench = new Bench({
      schedule: [
        { call: 4, kind: "shuffled" },
        { call: 2, kind: "429" },
        { call: 4, kind: "noDate" },
      ],
    });
    const statuses: number[] = [];
    for (const _ of times(5)) statuses.push((await bench.answer()).status);
    expect(statuses).toEqual([200, 429, 200, 200, 200]);
    expect(bench.faults.map(({ call, kind }) => `${call} ${kind}`)).toEqual([
      "2 429",
      "4 noDate",
      "4 shuffled",
    ]);
    for (const options of [{ schedule: [] }, { rates: {} }, { rates: { hang: 0 } }]) {
      const healthy = new Bench(options);
      for (const _ of times(20)) expect(await healthy.answer()).toMatchObject(await healthy.truth());
      expect(healthy.faults).toEqual([]);
    }
  });

  it("is none from a given instant on, and Dates are right again", async () => {
    const bench = new Bench({ rates: { jumpingDate: 1, dropped: 1 }, until: start + 10_000 });
    await bench.answer();
    expect(bench.faults).toHaveLength(2);
    await bench.clock.advanceTo(start + 10_000);
    expect(await bench.answer()).toMatchObject(await bench.truth());
    expect(bench.faults).toHaveLength(2);
  });
});

describe("withFaults", () => {
  it("tells of a fault as it takes effect, with the URL and never the headers", async () => {
    const bench = new Bench({ rates: { 425: 1 } });
    await bench.clock.advanceBy(5_000);
    await bench.answer();
    const told = { kind: "425", call: 1, url: `http://service.test${candlesPath}`, at: start + 5_000 };
    expect(bench.faults).toEqual([told]);
    expect(Object.isFrozen(bench.faults[0])).toBe(true);
    expect(JSON.stringify(bench.faults)).not.toContain("secret-key");
  });

  it("asks as it was asked, and passes on what the service rejects with", async () => {
    const failure = new Error("no route");
    const asked: unknown[] = [];
    const fetch = withFaults(
      async (...call) => {
        asked.push(...call);
        throw failure;
      },
      { seed: 1, rates: { 429: 1, dropped: 1 } },
    );
    const init = { method: "GET", headers, redirect: "manual" } as const;
    await expect(fetch("http://service.test/", init)).rejects.toBe(failure);
    expect(asked).toEqual(["http://service.test/", init]);
    expect(asked[1]).toBe(init);
  });

  it("rejects at once where the signal is aborted already", async () => {
    const bench = new Bench({ rates: {} });
    const aborted = { headers, signal: AbortSignal.abort("gone") };
    await expect(bench.fetch(candlesPath, aborted)).rejects.toBe("gone");
    expect(bench.reached).toEqual([]);
  });

  it("works without a scheduler of its own", async () => {
    const service = createPairService({ source: market });
    const fetch = withFaults(service.fetch, { seed: 1, rates: { delay: 1 }, longestDelay: 1 });
    expect((await fetch(`http://service.test${candlesPath}`, { headers })).status).toBe(200);
  });

  it.each([
    ["options", undefined],
    ["seed", {}],
    ["seed", { seed: 1.5 }],
    ["scheduler", { seed: 1, scheduler: {} }],
    ["rates", { seed: 1, rates: 0.5 }],
    ["rates", { seed: 1, rates: null }],
    ["rates.hang", { seed: 1, rates: { hang: 1.01 } }],
    ["rates.delay", { seed: 1, rates: { delay: -0.1 } }],
    ["rates.500", { seed: 1, rates: { 500: 0.1 } }],
    ["schedule", { seed: 1, schedule: { 1: "hang" } }],
    ["schedule", { seed: 1, rates: {}, schedule: [] }],
    [
      "schedule[1].call",
      {
        seed: 1,
        schedule: [
          { call: 1, kind: "hang" },
          { call: 0, kind: "hang" },
        ],
      },
    ],
    ["schedule[0].kind", { seed: 1, schedule: [{ call: 1, kind: "sleep" }] }],
    ["schedule[0].call", { seed: 1, schedule: [null] }],
    ["longestDelay", { seed: 1, longestDelay: 2 ** 31 }],
    ["furthestDate", { seed: 1, furthestDate: 10 }],
    ["until", { seed: 1, until: Number.NaN }],
    ["onFault", { seed: 1, onFault: [] }],
    ["rate", { seed: 1, rate: 0.1 }],
  ])("refuses a bad %s: %o", (parameter, options) => {
    expect(() => withFaults(async () => Promise.reject(), options as never)).toThrow(
      expect.objectContaining({ name: "InvalidInputError", parameter }),
    );
  });

  it("refuses what is no fetch", () => {
    expect(() => withFaults({} as never, { seed: 1 })).toThrow(
      expect.objectContaining({ name: "InvalidInputError", parameter: "fetch" }),
    );
  });
});
