import { describe, expect, it } from "vitest";
import { type CandleEvent, closes, watchCandles } from "../../src/index.js";
import { type Answer, at, MINUTES, short, World, withRows } from "../world.js";
import { openMarket, seriesOf } from "./loopback-market.js";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const DAY = 24 * 60 * MINUTE;
const NOON = Date.UTC(2026, 9, 15, 12);

describe("a service that indexes swaps later than the revision window", () => {
  it.each([
    ["1s", SECOND, 5 * SECOND, 10, 1_000],
    ["1s", SECOND, 5 * SECOND, 5, 41],
    ["1min", MINUTE, 4 * MINUTE, 4, 100],
  ] as const)(
    "costs a request a closing at %s, however long that goes on",
    async (timeframe, every, lag, hours, pageSize) => {
      const market = await openMarket({
        start: NOON + 250,
        every,
        from: NOON - DAY,
        lag: () => lag,
        quirks: { pageSize },
      });
      const watching = watchCandles(market.client, seriesOf(timeframe)).subscribe();
      await market.clock.advanceBy(60 * every);
      const before = market.requests.length;
      await market.clock.advanceBy(hours * 60 * every);
      watching.unsubscribe();
      expect(market.requests.length - before).toBeLessThanOrEqual(1.1 * hours * 60);
    },
  );

  it("costs a request a closing where it indexes one now and then in time", async () => {
    const world = new World({ start: at("09:00:10"), quirks: { pageSize: 41 } });
    world.swapsEvery(MINUTE, at("08:00:05"), at("15:00:00"));
    world.interfere = ({ sent, url }, answer) =>
      url.pathname.endsWith("/ohlcv")
        ? withRows(answer, (rows) =>
            rows.filter(({ timestamp }) => {
              const start = Date.parse(String(timestamp));
              return start % (30 * MINUTE) === 0 || start < sent - 5 * MINUTE;
            }),
          )
        : undefined;
    const watching = watchCandles(world.client, { ...MINUTES, every: "close" }).subscribe();
    await world.clock.advanceTo(at("10:00:30"));
    const before = world.asked.length;
    await world.clock.advanceTo(at("14:00:30"));
    watching.unsubscribe();
    expect(world.asked.length - before).toBeLessThanOrEqual(1.1 * 240);
  });
});

describe("a pair that was quiet for longer than a page", () => {
  it("is filled on time, at the cost of its closings", async () => {
    const market = await openMarket({ start: NOON + 20 * SECOND, every: 3 * DAY, from: NOON - 30 * DAY });
    const told: CandleEvent[] = [];
    const options = { ...seriesOf("1min"), since: { candles: 1 }, fillGaps: true } as const;
    const watching = watchCandles(market.client, options)
      .pipe(closes())
      .subscribe((event) => told.push(event));
    await market.clock.advanceBy(15 * MINUTE);
    watching.unsubscribe();
    const live = told.filter(({ candle }) => candle.timestamp >= NOON + MINUTE);
    expect(live).toHaveLength(14);
    expect(live.filter((event) => !event.live || event.lateBy > 2 * SECOND)).toEqual([]);
    expect(market.requests.length).toBeLessThan(15 + 20);
  });
});

describe("a service whose clock is set back", () => {
  it.each([6, 20, 60])("by %i minutes takes no candle away", async (minutes) => {
    const world = new World({ start: at("12:00:10"), createdAt: at("11:00:00"), hasDate: true });
    world.swapsEvery(MINUTE, at("11:00:05"), at("15:00:00"));
    const told: CandleEvent[] = [];
    const watching = watchCandles(world.client, { ...MINUTES, since: { candles: 5 } }).subscribe((event) =>
      told.push(event),
    );
    await world.clock.advanceBy(15 * MINUTE);
    world.jump(-minutes * MINUTE);
    await world.clock.advanceBy(10 * MINUTE);
    watching.unsubscribe();
    expect(told.filter(({ type }) => type === "removed")).toEqual([]);
  });
});

describe("a service that shows nothing for minutes", () => {
  it.each([
    [150, 0, 3],
    [200, 0, 4],
    [150, 2, 6],
    [90, 1, 9],
  ])(
    "contradicts nothing final of a pair with a swap every %i s: window %i, %i minutes",
    async (seconds, revisionWindow, minutes) => {
      const world = new World({ start: at("12:10:10"), createdAt: at("10:00:00"), hasDate: true });
      world.swapsEvery(seconds * SECOND, at("11:00:05"), at("15:00:00"));
      const finals = new Map<number, number>();
      const contradicted: number[] = [];
      const options = { ...MINUTES, since: { candles: 5 }, fillGaps: true, revisionWindow } as const;
      const watching = watchCandles(world.client, options).subscribe(({ candle, status }) => {
        if (finals.has(candle.timestamp)) contradicted.push(candle.timestamp);
        if (status === "final") finals.set(candle.timestamp, candle.swaps);
      });
      await world.clock.advanceTo(at("12:11:30"));
      world.interfere = ({ url }, answer) =>
        url.pathname.endsWith("/ohlcv") ? withRows(answer, () => []) : undefined;
      await world.clock.advanceBy(minutes * MINUTE);
      world.interfere = () => undefined;
      await world.clock.advanceTo(at("12:40:30"));
      watching.unsubscribe();
      expect(contradicted).toEqual([]);
      expect(finals.has(at("12:36:00"))).toBe(true);
    },
  );
});

describe("a service that tells of the oldest candle where it is asked for the newest", () => {
  it("is not read from there to the present by one who watches", async () => {
    const market = await openMarket({
      start: NOON + 20 * SECOND,
      every: 3 * MINUTE,
      from: NOON - 30 * DAY,
      lag: () => 10 * MINUTE,
      quirks: { order: "oldest-first" },
      change: (answer, _, url) => {
        const rows = (body: { result: unknown[] }) => ({
          ...body,
          cursor: null,
          result: body.result.slice(0, 1),
        });
        const isShort = url.searchParams.get("limit") === "2";
        return isShort ? { ...answer, body: JSON.stringify(rows(JSON.parse(answer.body))) } : answer;
      },
    });
    const watching = watchCandles(market.client, seriesOf("1min")).subscribe();
    await market.clock.advanceBy(3 * MINUTE);
    watching.unsubscribe();
    expect(market.requests.length).toBeLessThan(12);
  });
});

describe("a service that pays no heed to a part of the range, and pages", () => {
  it.each([
    ["fromDate", "newest-first", {}],
    ["fromDate", "newest-first", { since: { candles: 20 } }],
    ["fromDate", "newest-first", { since: at("12:05:00") }],
    ["toDate", "oldest-first", { since: { candles: 20 } }],
  ] as const)("gives the same candles at the same cost: no %s, %s, %j", async (ignored, order, more) => {
    const run = async (isHeeded: boolean) => {
      const world = new World({
        start: at("16:00:10"),
        createdAt: at("06:00:00"),
        hasDate: true,
        quirks: { order },
        before: (fetch) => (url, init) => {
          const asked = new URL(url, "http://service");
          const far = ignored === "fromDate" ? "1514764800" : String(at("17:00:00") / 1_000);
          if (!isHeeded && asked.searchParams.has(ignored)) asked.searchParams.set(ignored, far);
          return fetch(asked.href, init);
        },
      });
      world.swapsEvery(MINUTE, at("06:00:05"), at("20:00:00"));
      const told: CandleEvent[] = [];
      const watching = watchCandles(world.client, { ...MINUTES, every: "close", ...more }).subscribe(
        (event) => told.push(event),
      );
      await world.clock.advanceBy(10 * MINUTE);
      watching.unsubscribe();
      return { told: told.map(short), requests: world.candleRequests().length };
    };
    const [plain, odd] = [await run(true), await run(false)];
    expect(odd.told).toEqual(plain.told);
    expect(odd.requests).toBeLessThanOrEqual(plain.requests + 2);
  });
});

describe("a cache in front of a pair that shows no candle", () => {
  it.each(["mainnet", "devnet"] as const)(
    "is asked in other words for the second answer of its silence: %s",
    async (network) => {
      const world = new World({ start: at("12:00:10"), hasDate: true, createdAt: at("11:00:00") });
      world.interfere = cached(world, 15_000, (url) => url);
      const options = { ...MINUTES, network, every: 3_000, revisionWindow: 5 };
      const watching = watchCandles(world.client, options).subscribe();
      await world.clock.advanceBy(14_000);
      watching.unsubscribe();
      // Five polls, the second answer, and two looks for a candle from before it.
      expect(world.candleRequests().length).toBeLessThanOrEqual(5 + 1 + 2);
    },
  );
});

/** Keeps answers to the same question for so many ms, and says how old they are. */
function cached(world: World, keeps: number, questionOf: (url: string) => string): World["interfere"] {
  const kept = new Map<string, { answer: Promise<Answer>; made: number }>();
  return ({ url }, answer) => {
    const question = questionOf(url.href);
    const known = kept.get(question);
    const now = world.clock.now();
    if (known !== undefined && now - known.made < keeps)
      return known.answer.then((one) => withAge(one, now - known.made));
    const own = answer();
    kept.set(question, { answer: own, made: now });
    return own;
  };
}

function withAge({ status, headers, text }: Answer, old: number): Answer {
  const age = String(Math.floor(old / SECOND));
  return { status, text, headers: { get: (name) => (name === "age" ? age : headers.get(name)) } };
}
