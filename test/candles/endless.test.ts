import { describe, expect, it } from "vitest";
import {
  type FeedStatus,
  fetchCandles,
  type PairstreamError,
  type Timeframe,
  watchCandles,
  watchFeedStatus,
} from "../../src/index.js";
import { intervalsOf } from "../../src/timeframe.js";
import { type Asked, answered, at, MINUTES, tradedCandle, World } from "../world.js";

const NOON = at("12:00:00");
/** What one walk may take besides its range: a margin on both sides, two pages more, and two retries of the last. */
const MARGIN = 6;
const ATTEMPTS = 3;

interface Page {
  readonly timestamp: number;
  readonly cursor: string;
}

/** Where the one row of page `index` lies, from the first and the last interval that were asked for. */
type Walk = (index: number, ends: { first: number; last: number; length: number }) => Page;

/** Pages of one row and a cursor that nobody has seen, without end. From the newest on they tell of all of a range, and lead out of it. */
const ORDERED: [string, Walk][] = [
  ["to older ones", (index, { last, length }) => page(index, last - index * length)],
  [
    "by cursors that grow",
    (index, { last, length }) => page(`${index}`.padEnd(4_000, "x"), last - index * length),
  ],
];
const WALKS: [string, Walk][] = [
  ["to newer ones", (index, { first, length }) => page(index, first + index * length)],
  ["to both sides", (index, { last, length }) => page(index, last - (index % 2 ? -index : index) * length)],
  ["of the same", (index, { last }) => page(index, last)],
];
const RANGES: [Timeframe, number][] = [
  ["1min", 1],
  ["1min", 7],
  ["1min", 120],
  ["1s", 300],
  ["1d", 31],
];

const rowOf = (timestamp: number) => ({
  ...tradedCandle(timestamp, 5),
  timestamp: new Date(timestamp).toISOString(),
});
const page = (cursor: number | string, timestamp: number): Page => ({ timestamp, cursor: `next-${cursor}` });

/** A service that walks so, for each range anew. */
function endless(world: World, timeframe: Timeframe, walk: Walk): void {
  const intervals = intervalsOf(timeframe);
  let steps = 0;
  world.interfere = ({ url: { searchParams, pathname } }) => {
    if (!pathname.endsWith("/ohlcv")) return undefined;
    const first = intervals.start(Number(searchParams.get("fromDate")) * 1_000);
    const last = intervals.start(Number(searchParams.get("toDate")) * 1_000 - 1);
    steps = searchParams.has("cursor") ? steps + 1 : 0;
    const length = intervals.end(first) - first;
    const { timestamp, cursor } = walk(steps, { first, last, length });
    const body = { page: 1, pairAddress: MINUTES.pairAddress, timeframe, currency: "usd", cursor };
    return answered(200, { ...body, result: [rowOf(timestamp)] });
  };
}

/** How many intervals a request asks for. */
function intervalsIn({ url: { searchParams } }: Asked, timeframe: Timeframe): number {
  const [from, to] = ["fromDate", "toDate"].map((name) => Number(searchParams.get(name)) * 1_000);
  return intervalsOf(timeframe).count(from!, to!);
}

/** What a download of so many intervals an hour ago gives, and how it ends within two minutes. */
async function download(timeframe: Timeframe, count: number, walk: Walk) {
  const world = new World({ start: NOON + 10_000 });
  endless(world, timeframe, walk);
  const intervals = intervalsOf(timeframe);
  const to = intervals.start(NOON - 3_600_000);
  const from = intervals.shift(to, -count);
  const given: number[] = [];
  const ends: (PairstreamError | "complete")[] = [];
  fetchCandles(world.client, { ...MINUTES, timeframe, from, to }).subscribe({
    next: (candles) => given.push(...[candles].flat().map(({ timestamp }) => timestamp)),
    error: (error) => ends.push(error),
    complete: () => ends.push("complete"),
  });
  await world.clock.advanceBy(120_000);
  const wanted = Array.from({ length: count }, (_, at) => intervals.shift(from, at));
  return { given, wanted, ends, requests: world.candleRequests().length };
}

describe.each(ORDERED)("pages of one row and a new cursor each, %s", (_, walk) => {
  it.each(RANGES)("give a download of %s x %d once they lead out of it", async (timeframe, count) => {
    const { given, wanted, ends, requests } = await download(timeframe, count, walk);
    expect(ends).toEqual(["complete"]);
    expect(given).toEqual(wanted);
    expect(requests).toBeLessThanOrEqual(2 * (count + MARGIN));
  });

  it("keep a watch live, each look within what it asks for", async () => {
    const world = new World({ start: NOON + 10_000 });
    endless(world, "1min", walk);
    const statuses: FeedStatus[] = [];
    const closed: number[] = [];
    watchCandles(world.client, MINUTES).subscribe(({ status, candle, type }) => {
      if (type !== "removed" && status === "closed") closed.push(candle.timestamp);
    });
    watchFeedStatus(world.client, MINUTES).subscribe((status) => statuses.push(status));
    await world.clock.advanceTo(NOON + 1_210_000);
    expect(statuses.at(-1)).toMatchObject({ state: "live", coveredUntil: NOON + 1_200_000 });
    expect(closed).toEqual(Array.from({ length: closed.length }, (_, at) => closed[0]! + at * 60_000));
    expect(closed.at(-1)).toBe(NOON + 1_140_000);
    let walked = 0;
    for (const asked of world.candleRequests()) {
      walked = asked.url.searchParams.has("cursor") ? walked + 1 : 1;
      expect(walked).toBeLessThanOrEqual(intervalsIn(asked, "1min") + MARGIN);
    }
  });
});

describe.each(WALKS)("pages of one row and a new cursor each, %s", (_, walk) => {
  it.each(RANGES)("fail a download of %s x %d within what it can hold", async (timeframe, count) => {
    const { ends, requests } = await download(timeframe, count, walk);
    expect(ends).toMatchObject([{ name: "ContractError", path: ["cursor"] }]);
    expect(requests).toBeLessThanOrEqual(ATTEMPTS * (count + MARGIN));
    for (const end of ends) expect((end as PairstreamError).message.length).toBeLessThan(300);
  });

  it("stall a watch, each look within what it asks for, and it goes on after", async () => {
    const world = new World({ start: NOON + 10_000 });
    world.swapsEvery(60_000, NOON - 3_600_000, NOON + 7_200_000);
    const statuses: FeedStatus[] = [];
    const births: number[] = [];
    watchCandles(world.client, MINUTES).subscribe(({ type, candle }) => {
      if (type === "new") births.push(candle.timestamp);
    });
    watchFeedStatus(world.client, MINUTES).subscribe((status) => statuses.push(status));
    await world.clock.advanceTo(NOON + 130_000);
    const before = world.asked.length;
    endless(world, "1min", walk);
    await world.clock.advanceTo(NOON + 1_950_000);
    expect(statuses.at(-1)).toMatchObject({
      state: "stalled",
      coveredUntil: NOON + 120_000,
      lastError: { name: "ContractError", path: ["cursor"] },
    });
    let walked = 0;
    for (const asked of world.asked.slice(before)) {
      walked = asked.url.searchParams.has("cursor") ? walked + 1 : 1;
      expect(walked).toBeLessThanOrEqual(intervalsIn(asked, "1min") + MARGIN + ATTEMPTS);
    }
    world.interfere = () => undefined;
    await world.clock.advanceTo(NOON + 2_110_000);
    expect(statuses.at(-1)).toMatchObject({ state: "live", coveredUntil: NOON + 2_100_000 });
    expect(births).toEqual(births.map((_, index) => NOON + index * 60_000));
    expect(births).toHaveLength(36);
  });
});

it("pages of rows beside an interval's start lead a watch to no third one", async () => {
  const world = new World({ start: NOON + 10_000 });
  endless(world, "1min", (index, { last }) => page(index, last + 5 - (index % 5)));
  watchCandles(world.client, { ...MINUTES, every: 10_000 }).subscribe();
  await world.clock.advanceBy(180_000);
  const cursors = world.candleRequests().map(({ url }) => url.searchParams.get("cursor"));
  expect(cursors).toContain("next-0");
  expect(cursors).not.toContain("next-1");
});
