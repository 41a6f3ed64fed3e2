import fc from "fast-check";
import { auditCandles, auditCost, type Finding, memoryStore } from "pairstream/store";
import type { SchedulerLike } from "rxjs";
import { describe, expect, it } from "vitest";
import {
  type Candle,
  type CandleStore,
  type FetchLike,
  fetchCandles,
  InvalidInputError,
  PairstreamError,
  type StoreKey,
} from "../../../src/index.js";
import { withFaults } from "../../../src/service/index.js";
import { bearableFaults } from "../../candles/bearable-faults.js";
import { answered, at, MINUTES, time, tradedCandle, World, withRows } from "../../world.js";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const START = at("12:00:10");
const FROM = at("08:00:00");
const TO = at("11:00:00");
const KEY: StoreKey = { ...MINUTES, service: "http://localhost", weekStart: "monday" };

/** `RUNS=1000` tries as many. */
const RUNS = Number(process.env.RUNS ?? 40);
const RATES = bearableFaults(0.05);

/** Two swaps a minute, but none in every seventh minute. */
function market(options: Partial<ConstructorParameters<typeof World>[0]> = {}): World {
  const world = new World({ start: START, createdAt: FROM - HOUR, hasDate: true, ...options });
  for (let timestamp = FROM - HOUR, index = 0; timestamp < START; timestamp += 30_000, index++) {
    if (Math.floor(timestamp / MINUTE) % 7 !== 0) world.swap(timestamp, 100 + Math.sin(index * index));
  }
  return world;
}

type Query = Parameters<typeof auditCandles>[1];

async function audited(world: World, query: Partial<Query> & Pick<Query, "against">) {
  const findings: Finding[] = [];
  let outcome: "running" | "complete" | PairstreamError = "running";
  const subscription = auditCandles(world.client, { ...MINUTES, from: FROM, to: TO, ...query }).subscribe({
    next: (finding) => findings.push(finding),
    error: (error) => {
      outcome = error;
    },
    complete: () => {
      outcome = "complete";
    },
  });
  await world.clock.advanceBy(HOUR);
  return { findings, outcome: outcome as "running" | "complete" | PairstreamError, subscription };
}

/** What is told of candles that are not as they should be; outliers apart. */
const told = (findings: readonly Finding[]) =>
  findings.flatMap((finding) =>
    finding.type === "outlier" ? [] : [`${finding.type} ${time(finding.timestamp)}`],
  );

async function truth(from = FROM, to = TO): Promise<Candle[]> {
  const world = market();
  const candles: Candle[] = [];
  fetchCandles(world.client, { ...MINUTES, from, to }).subscribe((candle) => candles.push(candle));
  await world.clock.advanceBy(30_000);
  expect(candles.length).toBeGreaterThan(100);
  return candles;
}

async function stored(candles: readonly Candle[], from = FROM, to = TO): Promise<CandleStore> {
  const store = memoryStore();
  await store.write(KEY, { from, to, candles });
  return store;
}

const changed = (candles: readonly Candle[], clock: string, change: Partial<Candle>) =>
  candles.map((candle) => (candle.timestamp === at(clock) ? { ...candle, ...change } : candle));
const without = (candles: readonly Candle[], clock: string) =>
  candles.filter(({ timestamp }) => timestamp !== at(clock));

describe("auditCandles", () => {
  it("finds nothing where the store has what the service has", async () => {
    const world = market();
    const { findings, outcome } = await audited(world, { against: await stored(await truth()) });
    expect({ told: told(findings), outcome }).toEqual({ told: [], outcome: "complete" });
    expect(world.clock.pending).toBe(0);
  });

  it("tells each kind of difference, ascending, with both candles", async () => {
    const all = await truth();
    const served = (clock: string) => all.find(({ timestamp }) => timestamp === at(clock))!;
    expect(all.some(({ timestamp }) => timestamp === at("09:08:00"))).toBe(false);
    let candles = changed(all, "08:30:00", { volume: 1 });
    candles = without(candles, "08:41:00");
    const extra = tradedCandle(at("09:08:00"), 100);
    candles = [...candles, extra].sort((a, b) => a.timestamp - b.timestamp);
    const store = await stored(candles);
    await store.forget(KEY, at("09:30:00"), at("09:40:00"));
    // No store takes an impossible candle in; one that has gone wrong may hold it.
    const broken: CandleStore = {
      ...store,
      read: async (key, range) => {
        const held = await store.read(key, range);
        return { ...held, candles: changed(held.candles, "10:00:00", { close: 300 }) };
      },
    };
    const { findings } = await audited(market(), { against: broken });
    const wrong = { ...served("10:00:00"), close: 300 };
    expect(findings.filter(({ type }) => type !== "outlier")).toEqual([
      {
        type: "differs",
        timestamp: at("08:30:00"),
        stored: { ...served("08:30:00"), volume: 1 },
        served: served("08:30:00"),
      },
      { type: "missing", timestamp: at("08:41:00"), served: served("08:41:00") },
      { type: "extra", timestamp: at("09:08:00"), stored: extra },
      { type: "hole", timestamp: at("09:30:00"), to: at("09:40:00") },
      {
        type: "impossible",
        timestamp: at("10:00:00"),
        side: "stored",
        issue: expect.stringMatching(/^close is 300, outside of /),
        candle: wrong,
      },
      { type: "differs", timestamp: at("10:00:00"), stored: wrong, served: served("10:00:00") },
    ]);
    expect(findings.every((finding) => Object.isFrozen(finding))).toBe(true);
  });

  it("alters nothing", async () => {
    const candles = without(changed(await truth(), "08:30:00", { close: 1 }), "09:00:00");
    const store = await stored(candles);
    const refuse = () => Promise.reject(new Error("altered"));
    const { outcome } = await audited(market(), { against: { ...store, write: refuse, forget: refuse } });
    expect(outcome).toBe("complete");
    expect((await store.read(KEY, { from: FROM, to: TO })).candles).toEqual(candles);
  });

  it("asks the service for what the client's own store covers", async () => {
    const candles = changed(await truth(), "08:30:00", { close: 99.5 });
    const store = await stored(candles);
    const world = market({ client: { store } });
    const { findings } = await audited(world, { against: store });
    expect(told(findings)).toEqual(["differs 08:30:00"]);
    expect((await store.read(KEY, { from: FROM, to: TO })).candles).toEqual(candles);
  });

  it("takes a list, in any order, for all that there is: what it lacks is missing, and no hole", async () => {
    const candles = without(changed(await truth(), "08:30:00", { close: 99.5 }), "08:41:00");
    const beyond = [tradedCandle(FROM - MINUTE, 5), ...candles, tradedCandle(TO, 5)];
    function* reversed() {
      yield* beyond.toReversed();
    }
    const world = market();
    const query = { ...MINUTES, from: FROM, to: TO, against: reversed() };
    const stream = auditCandles(world.client, query);
    for (let subscription = 1; subscription <= 2; subscription += 1) {
      const findings: Finding[] = [];
      stream.subscribe((finding) => findings.push(finding));
      await world.clock.advanceBy(30_000);
      expect(told(findings)).toEqual(["differs 08:30:00", "missing 08:41:00"]);
    }
    const twice = await audited(market(), { against: [...(await truth()), candles[3]!] });
    expect(told(twice.findings)).toEqual([`impossible ${time(candles[3]!.timestamp)}`]);
  });

  it("says of a store that knows nothing of the series that all is a hole, over many pages", async () => {
    const world = market();
    const seconds = { timeframe: "1s", from: at("09:00:00"), to: at("10:00:00") } as const;
    const { findings } = await audited(world, { against: memoryStore(), ...seconds });
    expect(findings.filter(({ type }) => type !== "outlier")).toEqual([
      { type: "hole", timestamp: seconds.from, to: seconds.to },
    ]);
    const elsewhere = await stored(await truth());
    const other = await audited(market({ client: { baseUrl: "http://localhost/v2" } }), {
      against: elsewhere,
    });
    expect(told(other.findings)).toEqual(["hole 08:00:00"]);
  });

  it("ends with what is final by the service's clock: two intervals before the running one", async () => {
    const world = market({ offset: 5 * MINUTE });
    const { findings, outcome } = await audited(world, { to: at("23:00:00"), against: memoryStore() });
    expect(outcome).toBe("complete");
    // The service says 12:05:10.
    expect(findings[0]).toEqual({ type: "hole", timestamp: FROM, to: at("12:03:00") });
    const future = await audited(market(), { from: at("11:59:00"), to: at("13:00:00"), against: [] });
    expect(future).toMatchObject({ findings: [], outcome: "complete" });
  });

  it("tells an outlier of what is served", async () => {
    const world = market();
    world.swap(at("10:30:05"), 2_000_000, { tokenAmount: 1e-6, usdAmount: 2 });
    const { findings } = await audited(world, { against: memoryStore() });
    const worst = findings
      .filter((finding) => finding.type === "outlier")
      .reduce((a, b) => (Math.abs(b.score) > Math.abs(a.score) ? b : a));
    expect(worst).toMatchObject({ timestamp: at("10:30:00"), field: "high", served: { high: 2_000_000 } });
    expect(worst.before.timestamp).toBe(at("10:29:00"));
  });

  it("goes on past a row of the service that cannot be read, and counts nothing there as absent", async () => {
    const world = market();
    world.interfere = (_asked, answer) =>
      withRows(answer, (rows) =>
        rows.map((row) => (row.timestamp === "2024-01-05T08:30:00.000Z" ? { ...row, volume: -5 } : row)),
      );
    const { findings, outcome } = await audited(world, { against: await stored(await truth()) });
    expect(outcome).toBe("complete");
    expect(findings.filter(({ type }) => type !== "outlier")).toEqual([
      {
        type: "impossible",
        timestamp: at("08:30:00"),
        side: "served",
        issue: "the row of this interval cannot be read",
      },
    ]);
  });

  it("tells a row of the service without a time, and counts nothing as absent by that answer", async () => {
    const world = market();
    world.interfere = (_asked, answer) =>
      withRows(answer, (rows) =>
        rows.map((row) => (row.timestamp === "2024-01-05T08:30:00.000Z" ? { ...row, timestamp: "?" } : row)),
      );
    const { findings, outcome } = await audited(world, { against: await stored(await truth()) });
    expect(outcome).toBe("complete");
    expect(findings.filter(({ type }) => type !== "outlier")).toEqual([
      {
        type: "impossible",
        timestamp: FROM,
        side: "served",
        issue: "from here on an answer cannot be read in full",
      },
    ]);
  });

  it("reads long ranges in parts, a store that has far more than the service too", async () => {
    const world = new World({ start: START, createdAt: START - 40 * 24 * HOUR, hasDate: true });
    const from = START - 35 * 24 * HOUR - (START % MINUTE);
    const to = from + 30 * 24 * HOUR;
    world.swap(from - HOUR, 5);
    world.swap(to + HOUR, 5);
    const parts: number[] = [];
    const store: CandleStore = {
      ...memoryStore(),
      read: async (_key, range) => {
        const candles: Candle[] = [];
        if (range.last !== 0) {
          for (let start = range.from; start < range.to; start += 10_000)
            candles.push(tradedCandle(start, 5));
          parts.push(candles.length);
        }
        return { candles, covered: [{ from: range.from, to: range.to }] };
      },
    };
    let extras = 0;
    const query = { ...MINUTES, timeframe: "10s", from, to, against: store } as const;
    auditCandles(world.client, query).subscribe(({ type }) => {
      if (type === "extra") extras += 1;
    });
    await world.clock.advanceBy(30_000);
    expect(extras).toBe((to - from) / 10_000);
    expect(Math.max(...parts)).toBeLessThanOrEqual(100_000);
    expect(world.clock.pending).toBe(0);
  });

  it.each([1, 2, 3])(
    "tells no candle as extra after %i empty answers, as a further one shows it",
    async (empty) => {
      const world = market();
      let answers = 0;
      world.interfere = ({ url }, answer) => {
        if (!url.pathname.endsWith("/ohlcv")) return undefined;
        answers += 1;
        return answers > empty ? undefined : withRows(answer, () => []);
      };
      const candles = changed(await truth(), "10:00:00", { volume: 1 });
      const { findings, outcome } = await audited(world, { against: await stored(candles) });
      expect({ told: told(findings), outcome }).toEqual({ told: ["differs 10:00:00"], outcome: "complete" });
    },
  );

  it("asks a second later about what the service lacks, between candles that it has", async () => {
    const extra = tradedCandle(at("09:08:00"), 100);
    const candles = [...(await truth()), extra].sort((a, b) => a.timestamp - b.timestamp);
    const world = market();
    const { findings } = await audited(world, { against: await stored(candles) });
    expect(told(findings)).toEqual(["extra 09:08:00"]);
    const [first, second, ...others] = world.asked;
    expect(others).toEqual([]);
    expect(second!.sent - first!.sent).toBe(2 * world.latency + 1_000);
    // From 09:07 to 09:09, with room for bounds that are exclusive.
    expect(second!.url.searchParams.get("fromDate")).toBe(String(at("09:06:00") / 1_000));
    expect(second!.url.searchParams.get("toDate")).toBe(String(at("09:10:00") / 1_000));
  });

  it("takes a second look that lacks what was there for no answer", async () => {
    const extra = tradedCandle(at("09:08:00"), 100);
    const candles = [...(await truth()), extra].sort((a, b) => a.timestamp - b.timestamp);
    const world = market();
    const emptied = (times: number) => {
      let asked = 0;
      world.interfere = (_asked, answer) => {
        asked += 1;
        return asked > 1 && asked <= 1 + times ? withRows(answer, () => []) : undefined;
      };
    };
    emptied(1);
    const once = await audited(world, { against: await stored(candles) });
    expect(told(once.findings)).toEqual(["extra 09:08:00"]);
    emptied(Number.POSITIVE_INFINITY);
    const always = await audited(world, { against: await stored(candles) });
    expect(always.outcome).toMatchObject({ name: "ContractError" });
    expect(told(always.findings)).toEqual([]);
  });

  it("looks again ten times at most where that shows no more", async () => {
    const world = new World({ start: START, createdAt: FROM - HOUR, hasDate: true });
    const seconds = { timeframe: "1s", from: FROM, to: TO } as const;
    const all: Candle[] = [];
    for (let timestamp = FROM; timestamp < TO; timestamp += 1_000) {
      all.push(tradedCandle(timestamp, 5));
      if (timestamp % 10_000 !== 0) world.swap(timestamp, 5);
    }
    const store = memoryStore();
    await store.write({ ...KEY, timeframe: "1s" }, { from: FROM, to: TO, candles: all });
    const { findings, outcome } = await audited(world, { ...seconds, against: store });
    expect(outcome).toBe("complete");
    expect(findings.filter(({ type }) => type === "extra")).toHaveLength(all.length / 10);
    expect(world.asked.length).toBe(11 + 10);
    expect(auditCost({ ...MINUTES, ...seconds }).requests).toBe(11 + 10);
  });

  it("leaves nothing running when it is left", async () => {
    const world = market();
    const store = await stored(await truth());
    const subscription = auditCandles(world.client, {
      ...MINUTES,
      from: FROM,
      to: TO,
      against: store,
    }).subscribe();
    await world.clock.advanceBy(5);
    expect(world.asked.map(({ outcome }) => outcome)).toEqual([undefined]);
    subscription.unsubscribe();
    await world.clock.advanceBy(0);
    expect(world.asked.map(({ outcome }) => outcome)).toEqual(["aborted"]);
    await world.clock.advanceBy(60_000);
    expect({ asked: world.asked.length, pending: world.clock.pending }).toEqual({ asked: 1, pending: 0 });
  });

  it("fails where the service, or the store, cannot be read", async () => {
    const world = market();
    world.interfere = () => answered(500, {});
    const down = await audited(world, { against: [] });
    expect(down.outcome).toMatchObject({ name: "HttpError", status: 500 });
    const fails = { ...memoryStore(), read: () => Promise.reject(new Error("disk gone")) };
    const torn = { ...memoryStore(), read: async () => ({}) as never };
    const nowhere = { ...memoryStore(), read: async () => ({ candles: [], covered: [null] }) as never };
    const throws = {
      ...memoryStore(),
      read: () => {
        throw new Error("disk gone");
      },
    };
    for (const [store, reason] of [
      [fails, "disk gone"],
      [throws, "disk gone"],
      [torn, "it returns no candles and spans"],
      [nowhere, "it returns no candles and spans"],
    ] as const) {
      const { outcome, findings } = await audited(market(), { against: store });
      expect(findings).toEqual([]);
      expect(outcome).toBeInstanceOf(PairstreamError);
      expect((outcome as PairstreamError).message).toBe(`The store cannot be read: ${reason}`);
    }
  });

  it("fails where the store does not answer within the client's timeout, and leaves nothing running", async () => {
    const never = { ...memoryStore(), read: () => new Promise<never>(() => {}) };
    const late = market({ client: { timeout: 2_000 } });
    const { findings, outcome } = await audited(late, { against: never });
    expect({ findings, outcome }).toMatchObject({
      findings: [],
      outcome: { name: "PairstreamError", message: "The store has not answered within 2000 ms" },
    });
    expect(late.clock.pending).toBe(0);
    const left = market();
    const query = { ...MINUTES, from: FROM, to: TO, against: never };
    const subscription = auditCandles(left.client, query).subscribe();
    await left.clock.advanceBy(1_000);
    expect(left.clock.pending).toBe(1);
    subscription.unsubscribe();
    expect(left.clock.pending).toBe(0);
  });

  it("finds in any store what has been done to it, and nothing else, whatever befalls the answers", async () => {
    const all = await truth();
    let completed = 0;
    const touches = fc.array(
      fc.record({
        at: fc.integer({ min: 0, max: all.length - 1 }),
        kind: fc.constantFrom("differs", "missing", "extra", "hole"),
      }),
      { maxLength: 8 },
    );
    const property = async (done: readonly { at: number; kind: string }[], seed: number | undefined) => {
      const store = memoryStore();
      const kinds = new Map(done.map(({ at: index, kind }) => [all[index]!.timestamp, kind]));
      const silent = all.find(({ timestamp }, index) => all[index + 1]!.timestamp > timestamp + MINUTE)!;
      const extra = tradedCandle(silent.timestamp + MINUTE, 100);
      const hasExtra = [...kinds.values()].includes("extra");
      const candles = all.flatMap((candle) => {
        const kind = kinds.get(candle.timestamp);
        if (kind === "missing" || kind === "hole") return [];
        return kind === "differs" ? [{ ...candle, swaps: candle.swaps + 1 }] : [candle];
      });
      const held = hasExtra ? [...candles, extra].sort((a, b) => a.timestamp - b.timestamp) : candles;
      await store.write(KEY, { from: FROM, to: TO, candles: held });
      const expected = hasExtra ? [`extra ${time(extra.timestamp)}`] : [];
      const holes = [...kinds].flatMap(([timestamp, kind]) => (kind === "hole" ? [timestamp] : []));
      for (const timestamp of holes) await store.forget(KEY, timestamp, timestamp + MINUTE);
      for (const [timestamp, kind] of kinds) {
        // Holes that touch are one.
        if (kind === "extra" || (kind === "hole" && holes.includes(timestamp - MINUTE))) continue;
        expected.push(`${kind} ${time(timestamp)}`);
      }
      const before = (fetch: FetchLike, scheduler: SchedulerLike) =>
        seed === undefined ? fetch : withFaults(fetch, { seed, scheduler, rates: RATES });
      const { findings, outcome } = await audited(market({ before }), { against: store });
      // The client has given up, and says so; it has found nothing that is not so.
      if (outcome !== "complete") {
        expect(outcome).toMatchObject({ name: expect.stringMatching(/Error$/) });
        expect(seed).toBeDefined();
        return;
      }
      completed += 1;
      const byTime = (a: string, b: string) => (a.slice(-8) < b.slice(-8) ? -1 : 1);
      expect(told(findings)).toEqual(expected.sort(byTime));
    };
    const seeds = fc.option(fc.integer({ min: 1, max: 1e6 }), { nil: undefined });
    await fc.assert(fc.asyncProperty(touches, seeds, property), { numRuns: RUNS });
    expect(completed).toBeGreaterThan(RUNS / 2);
  });

  it.each<[string, Partial<Record<keyof Query, unknown>>]>([
    ["pairAddress", { pairAddress: "../elsewhere" }],
    ["timeframe", { timeframe: "7min" }],
    ["from", { from: "yesterday" }],
    ["to", { to: undefined }],
    ["to", { to: FROM }],
    ["weekStart", { weekStart: "sunday" }],
    ["against", { against: undefined }],
    ["against", { against: "candles.db" }],
    ["against", { against: 5 }],
    ["timestamp of candle 1 of against", { against: [tradedCandle(FROM, 5), { close: 5 }] }],
    ["timestamp of candle 0 of against", { against: [null] }],
    ["since", { since: 5 } as never],
  ])("refuses at the call, by its name: %s (%j)", (parameter, change) => {
    const query = { ...MINUTES, from: FROM, to: TO, against: [], ...change } as unknown as Query;
    expect(() => auditCandles(market().client, query)).toThrow(
      expect.objectContaining({ constructor: InvalidInputError, parameter }),
    );
  });

  it("refuses a client that is none", () => {
    const query = { ...MINUTES, from: FROM, to: TO, against: [] };
    expect(() => auditCandles({} as never, query)).toThrow(/^client /);
  });
});

describe("auditCost", () => {
  it.each([
    ["a day of minutes", { from: "2024-01-05", to: "2024-01-06" }, 2 + 2],
    ["a page", { from: FROM, to: FROM + 995 * MINUTE }, 1 + 1],
    ["a page and one", { from: FROM, to: FROM + 996 * MINUTE }, 2 + 2],
    ["a year of minutes", { from: "2023-01-01", to: "2024-01-01" }, 529 + 10],
    ["no interval", { from: FROM + 1, to: FROM + 2 }, 0],
  ])("counts %s", (_name, range, requests) => {
    const cost = auditCost({ ...MINUTES, ...range });
    expect(cost).toEqual({ requests, units: 150 * requests });
    expect(Object.isFrozen(cost)).toBe(true);
  });

  it("is twice what an audit of a series with all its candles costs, as that needs no second look", async () => {
    for (const hours of [3, 24, 50]) {
      const world = new World({ start: START, createdAt: START - 60 * 24 * HOUR, hasDate: true });
      const to = at("11:00:00");
      const from = to - hours * HOUR;
      world.swapsEvery(MINUTE, from - HOUR, START);
      const query = { ...MINUTES, from, to, against: memoryStore() };
      const { outcome } = await audited(world, query);
      expect(outcome).toBe("complete");
      expect(2 * world.asked.length).toBe(auditCost(query).requests);
    }
  });

  it("refuses what an audit would refuse", () => {
    expect(() => auditCost({ ...MINUTES, from: TO, to: FROM })).toThrow(InvalidInputError);
    expect(() => auditCost({ ...MINUTES, from: FROM } as never)).toThrow(/^to /);
  });
});
