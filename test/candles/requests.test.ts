import { describe, expect, it } from "vitest";
import { memoryStore } from "../../src/adapters/store/memory.js";
import { watchCandles } from "../../src/index.js";
import { at, MINUTES, World, type WorldOptions, withRows } from "../world.js";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const START = at("12:00:10");
/** The clock is learned in the first ten closings. */
const SETTLED = START + 11 * 60_000;

const TRADED: [string, (world: World) => void][] = [
  ["long ago", (world) => world.swapsEvery(60_000, START - 40 * DAY, START - 39 * DAY)],
  ["until an hour ago", (world) => world.swapsEvery(60_000, START - 3 * HOUR, START - HOUR)],
  ["every 17 minutes", (world) => world.swapsEvery(17 * 60_000, START - 2 * DAY, START + 4 * HOUR)],
  ["all the time", (world) => world.swapsEvery(15_000, START - 6 * HOUR, START + 4 * HOUR)],
];
const NETWORKS = ["mainnet", "devnet"] as const;
const RHYTHMS: ["close" | number | undefined, number][] = [
  ["close", 60],
  [undefined, 60],
  [20_000, 180],
];
const CASES = NETWORKS.flatMap((network) =>
  RHYTHMS.flatMap(([every, polls]) => [true, false].map((hasDate) => ({ network, every, polls, hasDate }))),
);

/** The requests of each of three hours, and of those after the clock is learned. */
async function requests(
  { network, every, hasDate }: (typeof CASES)[number],
  fill: (world: World) => void = () => {},
) {
  const world = new World({ start: START, hasDate, offset: hasDate ? 437 : 0, createdAt: START - 41 * DAY });
  fill(world);
  watchCandles(world.client, { ...MINUTES, network, ...(every === undefined ? {} : { every }) }).subscribe();
  await world.clock.advanceTo(START + 3 * HOUR);
  const between = (from: number, to: number) =>
    world.asked.filter(({ sent }) => sent > from && sent <= to).length;
  const hours = [0, 1, 2].map((hour) => between(START + hour * HOUR - 1, START + (hour + 1) * HOUR - 1));
  return { hours, settled: between(SETTLED, START + 3 * HOUR - 1) };
}

describe.each(CASES)("1min of $network, every: $every, Date: $hasDate", (plan) => {
  const { polls } = plan;

  it.each(TRADED)(
    "takes what it polls, and a few at the start, of a pair that traded %s",
    async (_, fill) => {
      const { hours, settled } = await requests(plan, fill);
      expect(hours[0]).toBeLessThanOrEqual(polls + 8);
      expect(hours.slice(1)).toEqual([polls, polls]);
      // At `every: "close"` that is 1.00 a closing.
      expect(settled).toBe((169 * polls) / 60);
    },
  );

  it("takes a few an hour more than it polls of a pair that has never traded", async () => {
    const { hours } = await requests(plan);
    expect(hours[0]).toBeLessThanOrEqual(polls + 25);
    expect(Math.max(...hours.slice(1))).toBeLessThanOrEqual(polls + 5);
  });

  it("finds the first swap of a pair with the next poll, and then takes what it polls", async () => {
    const { hours } = await requests(plan, (world) =>
      world.swapsEvery(30_000, START + 1.5 * HOUR, START + 4 * HOUR),
    );
    expect(hours[1]).toBeLessThanOrEqual(polls + 11);
    expect(hours[2]).toBe(polls);
  });

  it("takes a few an hour more than it polls of a service that shows nothing any more", async () => {
    const { hours } = await requests(plan, (world) => {
      world.swapsEvery(15_000, START - 6 * HOUR, START + 4 * HOUR);
      world.interfere = ({ url, sent }, answer) =>
        url.pathname.endsWith("/ohlcv") && sent > START + HOUR ? withRows(answer, () => []) : undefined;
    });
    // A slot whose answer lacks all that was known asks twice more.
    expect(Math.max(...hours.slice(1))).toBeLessThanOrEqual(3 * polls + 25);
  });
});

/** A cache that gives the same answer to the same question for so long, in ms, and says how old it is. */
const behindCache =
  (keeps: number): NonNullable<WorldOptions["before"]> =>
  (fetch, clock) => {
    const kept = new Map<
      string,
      { readonly at: number; readonly answer: Awaited<ReturnType<typeof fetch>> }
    >();
    return async (url, init) => {
      const copy = kept.get(url);
      if (copy === undefined || clock.now() - copy.at > keeps) {
        const answer = await fetch(url, init);
        kept.set(url, { at: clock.now(), answer });
        return answer;
      }
      const age = String(Math.floor((clock.now() - copy.at) / 1_000));
      const get = (name: string) => (name.toLowerCase() === "age" ? age : copy.answer.headers.get(name));
      return { ...copy.answer, headers: { get }, text: () => copy.answer.text() };
    };
  };

it("asks in other words again for what confirms a silence, where a cache has a copy of these as well", async () => {
  const start = { start: START, hasDate: true, offset: -DAY, createdAt: START - 41 * DAY };
  const world = new World({ ...start, before: behindCache(40_000), client: { store: memoryStore() } });
  world.swapsEvery(60_000, START - DAY - 3 * HOUR, START - DAY - 30 * 60_000);
  const options = { ...MINUTES, every: 3_000 } as const;
  const first = watchCandles(world.client, { ...options, since: { candles: 5 } }).subscribe();
  await world.clock.advanceBy(10 * 60_000);
  first.unsubscribe();
  await world.clock.advanceBy(2_000);
  const before = world.asked.length;
  watchCandles(world.another(), options).subscribe();
  await world.clock.advanceBy(30_000);
  expect(world.asked.length - before).toBeLessThanOrEqual(10 + 5);
});

it("asks no cache the same again for what confirms a silence that lasts", async () => {
  const world = new World({ start: START, hasDate: true, before: behindCache(3_900) });
  const options = { ...MINUTES, timeframe: "10s", every: "close", settle: 0, revisionWindow: 2 } as const;
  watchCandles(world.client, options).subscribe();
  await world.clock.advanceBy(5 * 60_000);
  const before = world.asked.length;
  // Of one answer nobody knows when it was made.
  const get = () => new Date(START - DAY).toUTCString();
  world.interfere = (_, answer) =>
    world.asked.length > before + 1
      ? undefined
      : answer().then((served) => ({ ...served, headers: { get }, text: () => served.text() }));
  await world.clock.advanceBy(10_000);
  const urls = world.asked.slice(before).map(({ url }) => url.href);
  expect(urls.length).toBeGreaterThan(1);
  expect(new Set(urls).size).toBe(urls.length);
});

it.each([
  { keeps: 15_000, hasDate: true, timeframe: "1min", every: 10_000, settle: 25_000, polls: 72 },
  { keeps: 15_000, hasDate: false, timeframe: "1min", every: 10_000, settle: 25_000, polls: 72 },
  // Each poll of a closing comes just after another one, and its copy seems to be a little younger.
  { keeps: 3_500, hasDate: false, timeframe: "10s", every: 424, settle: 3_000, polls: 60 * 25 },
  { keeps: 2_200, hasDate: true, timeframe: "10s", every: 333, settle: 1_000, polls: 60 * 32 },
] as const)(
  "asks once for each time at which it is due, though a cache gives each answer for a while and says how old it is: %o",
  async ({ keeps, hasDate, timeframe, every, settle, polls }) => {
    const world = new World({
      start: START,
      hasDate,
      before: behindCache(keeps),
    });
    world.swapsEvery(60_000, START - HOUR, START + HOUR);
    watchCandles(world.client, { ...MINUTES, timeframe, every, settle }).subscribe();
    await world.clock.advanceTo(SETTLED);
    const before = world.asked.length;
    await world.clock.advanceTo(SETTLED + 10 * 60_000);
    expect(world.asked.length - before).toBeLessThanOrEqual(polls);
  },
);

/** Polls of one series that share nothing, as each reads another number of intervals again. */
const WINDOWS = [1, 2, 3, 4, 5, 6, 7, 8];
const MINUTE = 60_000;

describe.each([
  // The polls of a start wait into the next interval.
  { requests: 1, per: 6_000, isEnough: true },
  { requests: 3, per: 20_000, isEnough: true },
  // All polls do, some through several intervals.
  { requests: 1, per: 9_000, isEnough: false },
  { requests: 3, per: 45_000, isEnough: false },
])("polls that wait for a limit of $requests in $per ms", ({ requests, per, isEnough }) => {
  it.each([true, false])("ask once for what has come until they go out; Date: %s", async (hasDate) => {
    const client = { rateLimit: { requests, per } };
    const world = new World({ start: at("12:00:50"), hasDate, createdAt: START - DAY, client });
    world.swapsEvery(5_000, START - HOUR, START + HOUR);
    const live = new Set<number>();
    for (const revisionWindow of WINDOWS) {
      const watch = { ...MINUTES, revisionWindow, every: "close" } as const;
      watchCandles(world.client, watch).subscribe(() => live.add(revisionWindow));
    }
    await world.clock.advanceBy(10 * MINUTE);
    const stale = world.asked.filter(({ url, sent }) => {
      // A request covers an interval more than it has to.
      const to = Number(url.searchParams.get("toDate")) * 1_000 - MINUTE;
      return to < Math.floor(sent / MINUTE) * MINUTE + MINUTE;
    });
    expect(stale.map(({ url, sent }) => `${new Date(sent).toISOString()} ${url.search}`)).toEqual([]);
    expect(live.size).toBeGreaterThanOrEqual(isEnough ? WINDOWS.length : 1);
  });
});
