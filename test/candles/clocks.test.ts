import { describe, expect, it } from "vitest";
import {
  type CandleEvent,
  type FeedStatus,
  type WatchOptions,
  watchCandles,
  watchFeedStatus,
} from "../../src/index.js";
import { at, type Interference, MINUTES, World } from "../world.js";

const OFFSET = 437;
const LENGTH = { "1s": 1_000, "1min": 60_000 };
type Served = Awaited<ReturnType<Exclude<Interference, undefined>>>;

/** An answer with some headers said otherwise. */
function withHeaders(served: NonNullable<Served>, headers: Record<string, string>): NonNullable<Served> {
  const get = (name: string) => headers[name.toLowerCase()] ?? served.headers.get(name);
  return { status: served.status, headers: { get }, text: () => served.text() };
}

interface Figures {
  readonly requests: number;
  /** ms between the instant at which a candle was settled, by the service's clock, and its event. */
  readonly lates: readonly number[];
  readonly jumps: number;
}

/** What `minutes` of a watch take and give once it has run for two. */
async function measured(
  timeframe: "1s" | "1min",
  options: WatchOptions,
  interferenceOf: (world: World) => Interference,
  minutes = 6,
  hasDate = true,
): Promise<Figures> {
  // Without a Date the machine's own clock has to do.
  const offset = hasDate ? OFFSET : 0;
  const world = new World({ start: at("12:00:10.3") - offset, offset, hasDate });
  const length = LENGTH[timeframe];
  world.swapsEvery(length / 2, at("11:59:00"), at("14:00:00"));
  world.interfere = interferenceOf(world);
  const { settle = 1_000 } = options;
  const lates: number[] = [];
  watchCandles(world.client, { ...MINUTES, timeframe, ...options }).subscribe(
    ({ status, candle }: CandleEvent) => {
      if (status === "closed") lates.push(world.clock.now() + offset - candle.timestamp - length - settle);
    },
  );
  await world.clock.advanceBy(120_000);
  const [asked, closed] = [world.asked.length, lates.length];
  await world.clock.advanceBy(minutes * 60_000);
  expect(lates.length - closed).toBeGreaterThanOrEqual((minutes * 60_000) / length - 1);
  const jumps = world.activity.filter((told) => told.type === "clock" && told.jumped).length;
  return { requests: world.asked.length - asked, lates: lates.slice(closed), jumps };
}

describe.each([0, 400, 999, 1_000, 1_250])(
  "closings of a second's candles, settled after %i ms",
  (settle) => {
    it("cost a request each, and come about a round trip later", async () => {
      const { requests, lates } = await measured("1s", { settle, every: "close" }, () => () => undefined);
      expect(requests / lates.length).toBeLessThan(1.02);
      expect(Math.min(...lates)).toBeGreaterThanOrEqual(0);
      expect(Math.max(...lates)).toBeLessThanOrEqual(settle % 1_000 === 0 ? 60 : 150);
    });
  },
);

const TURNS = [
  ["in turn", (turn: number) => turn % 2 === 0],
  ["two by two", (turn: number) => turn % 4 < 2],
  ["in no order", (turn: number) => (turn * 7_919) % 13 < 6],
] as const;

/** Two machines, one of which is ahead of the other. */
function twoMachines(isFirst: (turn: number) => boolean, skew: number) {
  return (world: World): Interference => {
    let turn = 0;
    return async (_asked, answer) => {
      const ahead = isFirst(turn++) ? 0 : skew;
      const served = await answer();
      return withHeaders(served, { date: new Date(world.clock.now() + OFFSET + ahead).toUTCString() });
    };
  };
}

describe.each(TURNS)("two machines less than a second apart that answer %s", (_, isFirst) => {
  it.each([430, 600, 900])("leave out no poll of four a second: %i ms apart", async (skew) => {
    const { requests } = await measured("1min", { every: 250 }, twoMachines(isFirst, skew), 2);
    expect(requests).toBeGreaterThan(0.95 * 2 * 240);
    expect(requests).toBeLessThan(1.05 * 2 * 240);
  });
});

describe.each(TURNS)("two machines 1.5 s apart that answer %s", (_, isFirst) => {
  const interference = twoMachines(isFirst, 1_500);

  it.each([0, 400, 1_000])("are no clock that jumps: settled after %i ms", async (settle) => {
    const { requests, lates, jumps } = await measured("1s", { settle, every: "close" }, interference);
    expect(jumps).toBe(0);
    expect(requests / lates.length).toBeLessThan(1.02);
    // By the one that is behind.
    expect(Math.min(...lates)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...lates)).toBeLessThanOrEqual(150);
  });
});

describe.each([0, 400, 1_000])("machines that first show at a closing, settled after %i ms", (settle) => {
  // Two answers of the one that is ahead tell that there is another machine; by the one that is behind the interval still runs.
  const sequences = [0, -1_400].flatMap((other) => [
    [1_400, 1_400, other],
    [1_400, other, 1_400],
    [other, 1_400, 1_400],
  ]);

  it.each(sequences)("leave it to no later one: ahead by %i, then %i, then %i ms", async (...skews) => {
    const world = new World({ start: at("12:00:10.3"), hasDate: true });
    world.swapsEvery(20_000, at("11:59:00"), at("13:00:00"));
    const closed = new Map<number, number>();
    watchCandles(world.client, { ...MINUTES, settle, every: "close" }).subscribe(({ status, candle }) => {
      if (status === "closed") closed.set(candle.timestamp, world.clock.now());
    });
    let turn = 0;
    world.interfere = async (_asked, answer) => {
      const served = await answer();
      const skew = world.clock.now() < at("12:03:50") ? 0 : skews[turn++ % 3]!;
      return withHeaders(served, { date: new Date(world.clock.now() + skew).toUTCString() });
    };
    await world.clock.advanceTo(at("12:07:00"));
    const settled = at("12:04:00") + settle;
    expect(closed.get(at("12:03:00"))! - settled).toBeLessThan(4_500);
  });

  const pairs = [-400, -900].flatMap((behind) => [-400, -900].map((other) => [behind, other] as const));
  const swings = pairs.flatMap(([behind, other]) => [
    [behind, 900, other],
    [behind, 1_400, other],
  ]);

  it.each([...swings, [-1_400, 1_400, -1_400], [1_400, -1_400, -1_400]])(
    "stall no feed whose poll has not failed: ahead by %i, then %i, then %i ms",
    async (...skews) => {
      const world = new World({ start: at("12:00:10.3"), hasDate: true });
      world.swapsEvery(20_000, at("11:59:00"), at("13:00:00"));
      const stalled: FeedStatus[] = [];
      watchFeedStatus(world.client, { ...MINUTES, settle, every: "close" }).subscribe((status) => {
        if (status.state === "stalled") stalled.push(status);
      });
      let turn = 0;
      world.interfere = async (_asked, answer) => {
        const served = await answer();
        const skew = world.clock.now() < at("12:03:50") ? 0 : (skews[turn++] ?? 0);
        return withHeaders(served, { date: new Date(world.clock.now() + skew).toUTCString() });
      };
      await world.clock.advanceTo(at("12:07:00"));
      expect(turn).toBeGreaterThanOrEqual(3);
      expect(stalled.filter(({ failures }) => failures === 0)).toEqual([]);
    },
  );
});

describe.each([3_000, 20_000])("a cache that keeps answers for %i ms", (keeps) => {
  const cache =
    (tellsAge: boolean) =>
    (world: World): Interference => {
      const kept = new Map<string, { served: NonNullable<Served>; at: number }>();
      return async ({ url }, answer) => {
        const now = world.clock.now();
        const known = kept.get(url.href);
        if (known !== undefined && now - known.at < keeps)
          return withHeaders(
            known.served,
            tellsAge ? { age: String(Math.floor((now - known.at) / 1_000)) } : {},
          );
        const served = await answer();
        kept.set(url.href, { served, at: now });
        return served;
      };
    };

  it("is no clock that jumps where it tells the Age", async () => {
    const { requests, lates, jumps } = await measured("1min", { every: 5_000 }, cache(true), 30);
    expect(jumps).toBe(0);
    // A poll every 5 s, and one for the closing.
    expect(requests / lates.length).toBeLessThanOrEqual(13.5);
    expect(Math.min(...lates)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...lates)).toBeLessThanOrEqual(500);
  });

  it.each([true, false])("gives no close what it has given a poll just before: Dates %s", async (hasDate) => {
    const options = { every: 2_700, settle: 3_000 };
    const { requests, lates } = await measured("1min", options, cache(true), 30, hasDate);
    expect(requests / lates.length).toBeLessThanOrEqual(23.05);
    expect(Math.min(...lates)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...lates)).toBeLessThanOrEqual(500);
  });

  it.each([500, 1_000, 1_700])(
    "makes no close wait for the next one where it hides the Age: settled after %i ms",
    async (settle) => {
      const { lates, jumps } = await measured("1min", { settle, every: "close" }, cache(false), 30);
      expect(jumps).toBe(0);
      expect(Math.min(...lates)).toBeGreaterThanOrEqual(0);
      expect(Math.max(...lates)).toBeLessThanOrEqual(2_000);
    },
  );
});

it.each([-2, 2])(
  "fill gaps and cover the present once a Date has told that the machine's clock is wrong: ahead by %i h",
  async (hours) => {
    const offset = -hours * 3_600_000;
    const world = new World({ start: at("12:00:10") - offset, offset, hasDate: true });
    world.swapsEvery(180_000, at("11:00:00"), at("13:00:00"));
    const dated = at("12:02:30") - offset;
    world.interfere = async (_asked, answer) => {
      const served = await answer();
      if (world.clock.now() >= dated) return served;
      const get = (name: string) => (name.toLowerCase() === "date" ? null : served.headers.get(name));
      return { status: served.status, headers: { get }, text: () => served.text() };
    };
    const options = { ...MINUTES, fillGaps: true };
    const closed = new Set<number>();
    watchCandles(world.client, options).subscribe(({ status, candle }) => {
      if (status !== "open") closed.add(candle.timestamp);
    });
    let status: FeedStatus | undefined;
    watchFeedStatus(world.client, options).subscribe((told) => {
      status = told;
    });
    await world.clock.advanceTo(at("12:12:30") - offset);
    expect(status).toMatchObject({ state: "live", coveredUntil: at("12:12:00") });
    const minutes = Array.from({ length: 8 }, (_, minute) => at("12:04:00") + minute * 60_000);
    expect(minutes.filter((minute) => !closed.has(minute))).toEqual([]);
  },
);
