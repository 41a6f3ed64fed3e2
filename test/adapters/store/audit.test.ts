import { auditCandles, auditCost, type Finding, memoryStore } from "pairstream/store";
import { describe, expect, it } from "vitest";
import type { CandleStore } from "../../../src/adapters/store/index.js";
import { type Candle, InvalidInputError, PairstreamError } from "../../../src/index.js";
import { answered, at, MINUTES, time, tradedCandle, World, withRows } from "../../world.js";
import {
  audited,
  changed,
  FROM,
  HOUR,
  KEY,
  MINUTE,
  market,
  type Query,
  START,
  stored,
  TO,
  told,
  truth,
  without,
} from "./audited-market.js";

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
    // The first second is silent, which a second answer has to show at either look.
    expect(world.asked.length).toBe(11 + 10 + 2);
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
      [torn, "it lacks candles or covered"],
      [nowhere, "it lacks candles or covered"],
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
