import fc from "fast-check";
import { memoryStore } from "pairstream/store";
import { describe, expect, it } from "vitest";
import {
  type Candle,
  ContractError,
  clientSource,
  HttpError,
  InvalidInputError,
  type LatestCandles,
  latestCandles,
  type PairSource,
  watchCandles,
} from "../../src/index.js";
import type { ServiceQuirks } from "../../src/service/index.js";
import { answered, at, MINUTES, World, withRows } from "../world.js";
import { settled } from "./settled.js";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const START = at("12:00:30");
const BORN = at("06:00:00");

/** Two swaps a minute, but none in every seventh minute. */
function market(options: Partial<ConstructorParameters<typeof World>[0]> = {}): World {
  const world = new World({ start: START, createdAt: BORN, hasDate: true, ...options });
  for (let time = BORN, price = 1; time < START + 2 * HOUR; time += 30_000, price++)
    if (Math.floor(time / MINUTE) % 7 !== 0) world.swap(time, price);
  return world;
}

/** The candles that the swaps up to an instant make. */
function truth({ swaps }: World, now: number, length = MINUTE): Candle[] {
  const candles = new Map<number, Candle>();
  for (const { timestamp, usdAmount: price } of swaps) {
    if (timestamp > now) continue;
    const start = Math.floor(timestamp / length) * length;
    const { open = price, volume = 0, swaps: n = 0, high = price, low = price } = candles.get(start) ?? {};
    candles.set(start, {
      timestamp: start,
      open,
      high: Math.max(high, price),
      low: Math.min(low, price),
      close: price,
      volume: volume + price,
      swaps: n + 1,
    });
  }
  return [...candles.values()];
}

type Asking = Parameters<typeof latestCandles>[2];

function ask(world: World, count: number, options?: Asking): Promise<LatestCandles> {
  return settled(world, latestCandles(world.client, { ...MINUTES, count }, options));
}

const inTwo = (promise: Promise<unknown>) => promise.then(undefined, (error: unknown) => error);

describe("latestCandles", () => {
  it.each([1, 2, 100, 308, 1_000])(
    "gives the newest %i candles, the running one last, for one request",
    async (count) => {
      const world = market();
      const { candles, closed, observedAt, age } = await ask(world, count);
      expect(candles).toEqual(truth(world, START + 20).slice(-count));
      expect(candles.at(-1)!.timestamp).toBe(at("12:00:00"));
      expect(closed).toBe(candles.length - 1);
      expect(Math.abs(observedAt - START)).toBeLessThan(1_000);
      expect(age).toBeGreaterThanOrEqual(0);
      expect(age).toBeLessThan(1_000);
      expect(world.asked).toHaveLength(1);
      expect(world.clock.pending).toBe(0);
    },
  );

  it.each([
    ["3min", 3, 1],
    ["3min", 3, 50],
    ["15min", 15, 20],
    ["15min", 15, 1_000],
    ["2h", 120, 3],
    ["2h", 120, 4],
  ] as const)(
    "gives longer candles, too, for one request: %s, of %i minutes, %i",
    async (timeframe, minutes, count) => {
      const world = market();
      const query = { ...MINUTES, timeframe, count };
      const { candles, closed } = await settled(world, latestCandles(world.client, query));
      expect(candles).toEqual(truth(world, START + 20, minutes * MINUTE).slice(-count));
      expect(closed).toBe(candles.length - 1);
      expect(world.asked).toHaveLength(1);
    },
  );

  it("counts a candle as closed a second after its end", async () => {
    for (const [instant, open] of [
      ["12:02:00.500", 2],
      ["12:02:02.500", 1],
    ] as const) {
      const world = market({ start: at(instant), hasDate: false });
      const { candles, closed } = await ask(world, 10);
      expect(candles.length - closed, instant).toBe(open);
    }
  });

  it.each([2 * HOUR, -2 * HOUR])("leaves out rows that were not asked for, %i ms away", async (away) => {
    const world = market();
    const from = away > 0 ? world.clock.now() : BORN;
    const timestamp = new Date(Math.floor((from + away) / MINUTE) * MINUTE).toISOString();
    world.interfere = (_asked, answer) => withRows(answer, (rows) => [{ ...rows[0], timestamp }, ...rows]);
    const { candles, closed } = await ask(world, 20);
    expect(candles).toEqual(truth(world, START).slice(-20));
    expect(closed).toBe(19);
  });

  it("freezes what it gives", async () => {
    const latest = await ask(market(), 3);
    expect(Object.isFrozen(latest) && Object.isFrozen(latest.candles)).toBe(true);
    expect(Object.isFrozen(latest.candles[0])).toBe(true);
  });

  it("gives all that there is of a young pair, and nothing of one without swaps", async () => {
    const young = new World({ start: START, createdAt: START - 90_000, hasDate: true });
    young.swap(START - 80_000, 5);
    expect((await ask(young, 50)).candles.map(({ close }) => close)).toEqual([5]);
    const silent = new World({ start: START, createdAt: START - 90_000, hasDate: true });
    expect(
      await settled(silent, latestCandles(silent.client, { ...MINUTES, count: 5 }), 30_000),
    ).toMatchObject({
      candles: [],
      closed: 0,
    });
  });

  const QUIRKS: ServiceQuirks[] = [
    { order: "oldest-first" },
    { order: "shuffled" },
    { pageSize: 7 },
    { pageSize: 1 },
    { order: "oldest-first", pageSize: 1 },
    { inclusive: "both", trades: true },
    { inclusive: "neither", cursor: "absent" },
    { emptyBeforeCreation: true },
  ];
  it.each(QUIRKS)("gives the same of a service that differs: %j", async (quirks) => {
    const world = market({ quirks });
    for (const count of [1, 20]) {
      const { candles, closed } = await settled(
        world,
        latestCandles(world.client, { ...MINUTES, count }),
        60_000,
      );
      expect(candles).toEqual(truth(world, world.clock.now()).slice(-count));
      expect(closed).toBe(count - 1);
    }
  });

  it("asks once where a range before the creation comes back empty, as soon as it knows", async () => {
    const world = market({ quirks: { emptyBeforeCreation: true } });
    await settled(world, latestCandles(world.client, { ...MINUTES, count: 20 }), 60_000);
    const before = world.asked.length;
    await ask(world, 20);
    expect(world.asked.length - before).toBe(1);
  });

  it.each([-HOUR, HOUR])("goes by the service's clock, %i ms from the machine's", async (offset) => {
    const world = market({ start: START - offset, offset });
    const { candles, closed } = await ask(world, 10);
    expect(candles).toEqual(truth(world, START).slice(-10));
    expect(closed).toBe(9);
    expect(world.asked.length).toBeLessThanOrEqual(3);
  });

  it("equals the newest candles of any market", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 0, max: 90 * MINUTE }), { maxLength: 60 }),
        fc.integer({ min: 1, max: 40 }),
        fc.constantFrom(["1min", 1] as const, ["3min", 3] as const, ["45min", 45] as const),
        async (times, count, [timeframe, minutes]) => {
          const world = new World({ start: START, createdAt: BORN, hasDate: true });
          for (const [index, time] of [...times].sort((a, b) => a - b).entries())
            world.swap(START - 90 * MINUTE + time, index + 1);
          const { candles } = await settled(
            world,
            latestCandles(world.client, { ...MINUTES, timeframe, count }),
            60_000,
          );
          expect(candles).toEqual(truth(world, world.clock.now(), minutes * MINUTE).slice(-count));
        },
      ),
      { numRuns: 40 },
    );
  });
});

describe("callers of latestCandles", () => {
  it("share one request, five hundred at once", async () => {
    const world = market();
    const sources = [world.client, clientSource(world.client), clientSource(world.client)];
    const all = Array.from({ length: 500 }, (_, at) =>
      latestCandles(sources[at % 3]!, { ...MINUTES, count: 100 }, { maxAge: at % 2 ? 5_000 : 0 }),
    );
    const answers = await settled(world, Promise.all(all));
    expect(world.asked).toHaveLength(1);
    expect(new Set(answers.map(({ candles }) => candles)).size).toBe(1);
    console.log(`500 callers at once: ${world.asked.length} request`);
  });

  it("get a kept answer while it is young enough, and its age", async () => {
    const world = market();
    const first = await ask(world, 100, { maxAge: 15_000 });
    await world.clock.advanceBy(10_000);
    const second = await ask(world, 100, { maxAge: 15_000 });
    expect(world.asked).toHaveLength(1);
    expect(second.candles).toBe(first.candles);
    expect(second.observedAt).toBe(first.observedAt);
    expect(second.age - first.age).toBeCloseTo(10_000, -3);
    await ask(world, 100, { maxAge: 5_000 });
    expect(world.asked).toHaveLength(2);
    await world.clock.advanceBy(16_000);
    await ask(world, 100, { maxAge: 15_000 });
    expect(world.asked).toHaveLength(3);
    expect(world.clock.pending).toBe(0);
  });

  it("get a new answer each time without maxAge", async () => {
    const world = market();
    for (const _ of "123") await ask(world, 5);
    expect(world.asked).toHaveLength(3);
  });

  it("get no answer of a clock that was set since", async () => {
    const world = market();
    await ask(world, 5, { maxAge: HOUR });
    world.jump(-30 * MINUTE);
    // Two answers of different seconds tell that it was.
    for (const _ of "123") {
      await ask(world, 6);
      await world.clock.advanceBy(1_000);
    }
    const { observedAt } = await ask(world, 5, { maxAge: HOUR });
    expect(observedAt).toBeLessThan(START - 29 * MINUTE);
  });

  it("share a failure for a second, and then ask anew", async () => {
    const world = market({ client: { retry: false } });
    world.interfere = () => answered(503, { message: "down" });
    const asks = Array.from({ length: 20 }, () =>
      inTwo(latestCandles(world.client, { ...MINUTES, count: 5 })),
    );
    const failed = await settled(world, Promise.all(asks));
    expect(new Set(failed).size).toBe(1);
    expect(failed[0]).toBeInstanceOf(HttpError);
    expect(world.asked).toHaveLength(1);
    expect(await inTwo(ask(world, 5))).toBe(failed[0]);
    expect(world.asked).toHaveLength(1);
    world.interfere = () => undefined;
    await world.clock.advanceBy(1_000);
    expect((await ask(world, 5)).candles).toHaveLength(5);
    expect(world.asked).toHaveLength(2);
  });

  it("get what is kept and young enough although the last question has failed", async () => {
    const world = market({ client: { retry: false } });
    const kept = await ask(world, 5);
    world.interfere = () => answered(503, { message: "down" });
    await expect(ask(world, 5)).rejects.toThrow("down");
    expect((await ask(world, 5, { maxAge: 30_000 })).candles).toBe(kept.candles);
  });

  it("leave alone when their signal aborts, and the last one ends the request", async () => {
    const world = market();
    const [one, two] = [new AbortController(), new AbortController()];
    const asks = [one, two].map(({ signal }) =>
      inTwo(latestCandles(world.client, { ...MINUTES, count: 5 }, { signal })),
    );
    await world.clock.advanceBy(10);
    one.abort(new Error("left"));
    expect(await asks[0]).toEqual(new Error("left"));
    expect(world.asked[0]!.signal?.aborted).toBe(false);
    two.abort(new Error("left, too"));
    expect(await asks[1]).toEqual(new Error("left, too"));
    await world.clock.advanceBy(0);
    expect(world.asked.map(({ outcome }) => outcome)).toEqual(["aborted"]);
    expect(world.clock.pending).toBe(0);
    expect((await ask(world, 5)).candles).toHaveLength(5);
    const gone = latestCandles(world.client, { ...MINUTES, count: 5 }, { signal: AbortSignal.abort("no") });
    expect(await inTwo(gone)).toBe("no");
  });

  it("get an error for a row that breaks the contract, and an answer once that is over", async () => {
    const world = market({ client: { retry: false } });
    world.interfere = (_, answer) =>
      withRows(answer, (rows) => [{ ...rows[0], close: -1 }, ...rows.slice(1)]);
    await expect(ask(world, 5)).rejects.toThrow(ContractError);
    world.interfere = () => undefined;
    await world.clock.advanceBy(1_000);
    expect((await ask(world, 5)).candles).toHaveLength(5);
  });
});

describe("latestCandles beside a stream", () => {
  async function beside(options: Parameters<typeof market>[0], since?: { candles: number }) {
    const world = market(options);
    const following = watchCandles(world.client, {
      ...MINUTES,
      every: 10_000,
      ...(since && { since }),
    }).subscribe();
    await world.clock.advanceBy(5 * MINUTE + 5_000);
    return { world, following, before: world.asked.length };
  }

  it("costs nothing where that knows enough, and no answer is older than wanted", async () => {
    const { world, following, before } = await beside({});
    const { candles, closed, age } = await ask(world, 2, { maxAge: 12_000 });
    expect(world.asked).toHaveLength(before);
    expect(age).toBeLessThanOrEqual(12_000);
    expect(candles).toEqual(truth(world, world.clock.now() - age).slice(-2));
    expect(closed).toBe(candles.filter(({ timestamp }) => timestamp < at("12:05:00")).length);
    await ask(world, 2, { maxAge: 1_000 });
    expect(world.asked).toHaveLength(before + 1);
    following.unsubscribe();
  });

  it("costs one request where that does not reach back far enough", async () => {
    const { world, following, before } = await beside({});
    const { candles } = await ask(world, 50, { maxAge: 12_000 });
    expect(candles).toEqual(truth(world, world.clock.now()).slice(-50));
    expect(world.asked).toHaveLength(before + 1);
    following.unsubscribe();
  });

  it("costs nothing where the store has what came before", async () => {
    const { world, following, before } = await beside({ client: { store: memoryStore() } }, { candles: 60 });
    const { candles, closed } = await ask(world, 50, { maxAge: 12_000 });
    expect(world.asked).toHaveLength(before);
    expect(candles).toEqual(truth(world, world.clock.now()).slice(-50));
    expect(closed).toBe(49);
    await ask(world, 200, { maxAge: 12_000 });
    expect(world.asked).toHaveLength(before + 1);
    following.unsubscribe();
  });
});

describe("latestCandles of a source that is no client of this process", () => {
  const wrapped = (world: World): PairSource => ({ ...clientSource(world.client) });

  it("takes what its stream has shown, and shares that", async () => {
    const world = market();
    const source = wrapped(world);
    const query = { ...MINUTES, count: 30 };
    const asks = Array.from({ length: 50 }, () => latestCandles(source, query));
    const answers = await settled(world, Promise.all(asks), 30_000);
    expect(answers[0]!.candles).toEqual(truth(world, world.clock.now()).slice(-30));
    expect(answers[0]!.closed).toBe(29);
    expect(new Set(answers.map(({ candles }) => candles)).size).toBe(1);
    expect(world.asked.length).toBeLessThanOrEqual(4);
    await world.clock.advanceBy(0);
    expect(world.clock.pending).toBe(0);
  });

  it("fails with its first trouble", async () => {
    const world = market({ client: { retry: false } });
    world.interfere = () => answered(503, { message: "down" });
    await expect(
      settled(world, latestCandles(wrapped(world), { ...MINUTES, count: 3 }), 30_000),
    ).rejects.toThrow("down");
    await world.clock.advanceBy(0);
    expect(world.clock.pending).toBe(0);
  });
});

describe("bad input to latestCandles", () => {
  const world = market();
  const good = { ...MINUTES, count: 5 };
  it.each<[string, () => unknown[]]>([
    ["source", () => [undefined, good]],
    ["source", () => [null, good]],
    ["source", () => [{ candles: () => {} }, good]],
    ["count", () => [world.client, MINUTES]],
    ["count", () => [world.client, { ...good, count: 0 }]],
    ["count", () => [world.client, { ...good, count: 1_001 }]],
    ["count", () => [world.client, { ...good, count: 1.5 }]],
    ["timeframe", () => [world.client, { ...good, timeframe: "1m" }]],
    ["weekStart", () => [world.client, { ...good, weekStart: "friday" }]],
    ["since", () => [world.client, { ...good, since: 5 }]],
    ["options", () => [world.client, undefined]],
    ["maxAge", () => [world.client, good, { maxAge: -1 }]],
    ["maxAge", () => [world.client, good, { maxAge: Number.NaN }]],
    ["maxage", () => [world.client, good, { maxage: 1 }]],
    ["signal", () => [world.client, good, { signal: "no" }]],
  ])("is refused by its name, %s, before any request", async (parameter, input) => {
    const error = await inTwo(latestCandles(...(input() as Parameters<typeof latestCandles>)));
    expect(error).toBeInstanceOf(InvalidInputError);
    expect((error as InvalidInputError).parameter).toBe(parameter);
    expect(world.asked).toEqual([]);
  });
});
