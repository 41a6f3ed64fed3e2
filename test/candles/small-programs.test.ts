import { lastValueFrom, type Observable, toArray } from "rxjs";
import { describe, expect, it } from "vitest";
import { type CandleEvent, fetchCandles, watchCandles } from "../../src/index.js";
import { openMarket, type Sent, seriesOf } from "./loopback-market.js";

/*
 * Programs as a user writes them, over real connections. What they take and tell is what somebody pays for and trades on.
 */
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const OCTOBER = Date.UTC(2026, 9, 1);
const MINUTES = seriesOf("1min");

type Market = Awaited<ReturnType<typeof openMarket>>;

/** What a stream that completes has given. */
async function allOf<T>({ clock }: Market, stream: Observable<T>): Promise<T[]> {
  const done = lastValueFrom(stream.pipe(toArray()));
  await clock.advanceBy(10 * MINUTE);
  return done;
}

/** What a stream tells in some time. */
async function toldIn(
  { clock }: Market,
  stream: Observable<CandleEvent>,
  ms: number,
): Promise<CandleEvent[]> {
  const told: CandleEvent[] = [];
  const watching = stream.subscribe((event) => told.push(event));
  await clock.advanceBy(ms);
  watching.unsubscribe();
  return told;
}

describe("one client that reads an hour of 1 October, then one of 31 October, then watches with since: { candles: 5 }", () => {
  const open = () =>
    openMarket({ start: OCTOBER + 40 * DAY + 20 * SECOND, every: MINUTE, from: OCTOBER - DAY });
  const counted = async (market: Market, program: () => Promise<void>) => {
    const before = market.requests.length;
    await program();
    return market.requests.length - before;
  };
  const hour = (market: Market, from: number) =>
    counted(market, async () => {
      const range = { from, to: from + HOUR };
      expect(await allOf(market, fetchCandles(market.client, { ...MINUTES, ...range }))).toHaveLength(60);
    });
  const watch = (market: Market) =>
    counted(market, async () => {
      const stream = watchCandles(market.client, { ...MINUTES, since: { candles: 5 } });
      const told = await toldIn(market, stream, 20 * SECOND);
      expect(told.filter(({ status }) => status !== "open")).toHaveLength(5);
    });

  it("takes for each what a fresh client takes", async () => {
    const later = OCTOBER + 30 * DAY;
    const fresh = { hour: await hour(await open(), later), watch: await watch(await open()) };
    const market = await open();
    await hour(market, OCTOBER);
    expect(await hour(market, later)).toBeLessThanOrEqual(fresh.hour);
    expect(await watch(market)).toBeLessThanOrEqual(fresh.watch);
    expect(fresh.hour).toBeLessThanOrEqual(2);
    expect(fresh.watch).toBeLessThanOrEqual(4);
  });
});

/** A last page, with other rows. */
function withRows(answer: Sent, change: (rows: readonly unknown[]) => readonly unknown[]): Sent {
  const page = JSON.parse(answer.body) as { result: readonly unknown[] };
  return { ...answer, body: JSON.stringify({ ...page, cursor: null, result: change(page.result) }) };
}

/** The newest come first: the two behind the running candle are not there. */
const withoutTwo = (answer: Sent) => withRows(answer, (rows) => rows.filter((_, at) => at !== 1 && at !== 2));
const removedIn = (told: readonly CandleEvent[]) => told.filter(({ type }) => type === "removed");

describe("a watch", () => {
  const start = OCTOBER + 250;
  const ofSeconds = { start, every: SECOND, from: OCTOBER - 5 * MINUTE };

  it("is told of nothing as removed by copies of one answer of a cache, which lacks two candles", async () => {
    const since = start + 30 * SECOND;
    const kept: { at: number; answer: Sent }[] = [];
    let copies = 0;
    const market = await openMarket({
      ...ofSeconds,
      change: (answer, now) => {
        if (now < since) return answer;
        const last = kept.at(-1);
        const isCopy = last !== undefined && now - last.at <= 20 * SECOND;
        if (isCopy) copies += 1;
        else kept.push({ at: now, answer: kept.length === 0 ? withoutTwo(answer) : answer });
        const { at, answer: given } = kept.at(-1)!;
        const age = String(Math.floor((now - at) / SECOND));
        return { ...given, headers: { ...given.headers, age } };
      },
    });
    const options = { ...seriesOf("10s"), every: 2 * SECOND, revisionWindow: 5 };
    const told = await toldIn(market, watchCandles(market.client, options), 75 * SECOND);
    expect(copies).toBeGreaterThan(5);
    expect(removedIn(told)).toEqual([]);
  });

  it.each([
    ["two by two", 2],
    ["five by five", 5],
  ])("is told of two candles as removed at most where half of the answers lag by 4 s, %s", async (_, run) => {
    let asked = 0;
    const lag = () => (Math.floor(asked / run) % 2 === 0 ? 0 : 4 * SECOND);
    const market = await openMarket({
      ...ofSeconds,
      lag,
      change: (answer, now) => {
        if (now > start + 10 * SECOND) asked += 1;
        return answer;
      },
    });
    const options = { ...seriesOf("1s"), every: SECOND, revisionWindow: 5 };
    const told = await toldIn(market, watchCandles(market.client, options), 55 * SECOND);
    expect(asked).toBeGreaterThan(30);
    expect(removedIn(told).length).toBeLessThanOrEqual(2);
  });
});

describe("a history of which the first page is followed by an empty one without a cursor", () => {
  const [from, to] = [OCTOBER + DAY - 8 * HOUR, OCTOBER + DAY];
  /** The last of the candles has settled by then. */
  const start = to + 2 * SECOND;

  const cut = async () => {
    let cuts = 0;
    const market = await openMarket({
      start,
      every: MINUTE,
      from: from - DAY,
      quirks: { pageSize: 199 },
      change: (answer, _, url) => {
        if (cuts > 0 || !url.searchParams.has("cursor")) return answer;
        cuts += 1;
        return withRows(answer, () => []);
      },
    });
    return { market, cuts: () => cuts };
  };

  it("is fetched with 480 of 480 candles", async () => {
    const { market, cuts } = await cut();
    const candles = await allOf(market, fetchCandles(market.client, { ...MINUTES, from, to }));
    expect(cuts()).toBe(1);
    expect(candles.map(({ timestamp }) => timestamp)).toEqual(
      Array.from({ length: 480 }, (_, at) => from + at * MINUTE),
    );
  });

  it("is watched with 480 of 480 closings", async () => {
    const { market, cuts } = await cut();
    const told = await toldIn(market, watchCandles(market.client, { ...MINUTES, since: from }), 20 * SECOND);
    const closed = told.filter(({ status }) => status !== "open").map(({ candle }) => candle.timestamp);
    expect(cuts()).toBe(1);
    expect([...new Set(closed)]).toEqual(Array.from({ length: 480 }, (_, at) => from + at * MINUTE));
  });
});
