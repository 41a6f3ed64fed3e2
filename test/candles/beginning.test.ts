import { describe, expect, it } from "vitest";
import { TIMEFRAMES } from "../../src/contract/model.js";
import { type DateLike, fetchCandles, type Timeframe, watchCandles } from "../../src/index.js";
import { intervalsOf } from "../../src/timeframe.js";
import { type Answer, answered, at, MINUTES, time, tradedCandle, World, withRows } from "../world.js";

const DAY = 86_400_000;
const NOW = at("12:00:10");

/** When a pair was created and how long it then traded, in days before now, and its swaps, evenly over that time. */
interface Life {
  readonly created: number;
  readonly until: number;
  readonly swaps: number;
}

const LIVES: Readonly<Record<string, Life>> = {
  "an old pair": { created: 3 * 365, until: 0, swaps: 300 },
  "a young pair": { created: 1 / 12, until: 0, swaps: 100 },
  "a quiet pair": { created: 900, until: 150, swaps: 5 },
  "a pair that never traded": { created: 900, until: 150, swaps: 0 },
};

/** What is known of a pair's creation, and whether the service hides what is asked for from before it. */
interface Place {
  readonly name: string;
  readonly network: "mainnet" | "devnet";
  readonly hides: boolean;
  readonly report: boolean;
  /** So many requests are enough, without those of the polls. */
  readonly most: number;
}

const PLACES: readonly Place[] = [
  { name: "mainnet", network: "mainnet", hides: false, report: true, most: 35 },
  { name: "mainnet, hidden", network: "mainnet", hides: true, report: true, most: 35 },
  { name: "mainnet, hidden, without a report", network: "mainnet", hides: true, report: false, most: 80 },
  { name: "devnet", network: "devnet", hides: false, report: false, most: 35 },
  { name: "devnet, hidden", network: "devnet", hides: true, report: false, most: 80 },
];

const BEGINNINGS: readonly DateLike[] = [0, "1970-01-01", "1970-01-01T00:00:00Z", new Date(0), 1];

function worldOf({ created, until, swaps }: Life, { hides, report }: Pick<Place, "hides" | "report">): World {
  const createdAt = NOW - created * DAY;
  const world = new World({ start: NOW, createdAt, quirks: { emptyBeforeCreation: hides } });
  const step = ((created - until) * DAY) / Math.max(1, swaps - 1);
  for (let index = 0; index < swaps; index += 1) {
    world.swap(Math.round((createdAt + index * step) / 1_000) * 1_000, index + 1);
  }
  world.interfere = ({ url: { pathname } }) =>
    pathname.endsWith("/snipers") && !report ? answered(404, { message: "no such pair" }) : undefined;
  return world;
}

const startsOf = (world: World, timeframe: Timeframe) => {
  const { start } = intervalsOf(timeframe);
  return [...new Set(world.swaps.map(({ timestamp }) => start(timestamp)))];
};

describe.each(PLACES)("$name: from the beginning of time", ({ network, most, ...place }) => {
  it.each(Object.entries(LIVES))("%s is all there by fetchCandles, in few requests", async (_, life) => {
    for (const timeframe of TIMEFRAMES) {
      const world = worldOf(life, place);
      const got: number[] = [];
      let outcome: unknown = "running";
      fetchCandles(world.client, { ...MINUTES, network, timeframe, from: 0 }).subscribe({
        next: ({ timestamp }) => got.push(timestamp),
        error: (error) => {
          outcome = error;
        },
        complete: () => {
          outcome = "complete";
        },
      });
      await world.clock.advanceBy(30_000);
      expect(outcome, timeframe).toBe("complete");
      const { end } = intervalsOf(timeframe);
      // What closes while the beginning is searched for may be in it, or not.
      const closedAt = (now: number) => (start: number) => end(start) + 1_000 <= now;
      expect(got.filter(closedAt(NOW)), timeframe).toEqual(startsOf(world, timeframe).filter(closedAt(NOW)));
      expect(got.every(closedAt(world.clock.now())), timeframe).toBe(true);
      expect(world.asked.length, timeframe).toBeLessThanOrEqual(most);
    }
  });

  it.each(Object.entries(LIVES))("%s is all there by watchCandles, in few requests", async (_, life) => {
    for (const timeframe of TIMEFRAMES) {
      const world = worldOf(life, place);
      const births: number[] = [];
      const errors: unknown[] = [];
      const options = { ...MINUTES, network, timeframe, since: 0, every: "close" } as const;
      watchCandles(world.client, options).subscribe({
        next: ({ type, candle }) => {
          if (type === "new") births.push(candle.timestamp);
        },
        error: (error) => errors.push(error),
      });
      await world.clock.advanceBy(30_000);
      expect(errors, timeframe).toEqual([]);
      expect(births, timeframe).toEqual(startsOf(world, timeframe));
      const polls = 1 + Math.floor(30_000 / intervalsOf(timeframe).shortest);
      expect(world.asked.length, timeframe).toBeLessThanOrEqual(most + polls);
    }
  });
});

describe("every way to say the beginning of time", () => {
  it.each(BEGINNINGS)("asks for the same, and for nothing before 1970: %s", async (beginning) => {
    const counts = [];
    for (const from of [0, beginning]) {
      const world = worldOf(LIVES["a young pair"]!, PLACES[0]!);
      const births: number[] = [];
      fetchCandles(world.client, { ...MINUTES, from }).subscribe(({ timestamp }) => births.push(timestamp));
      watchCandles(world.client, { ...MINUTES, since: from === 1 ? new Date(1) : from }).subscribe();
      await world.clock.advanceBy(10_000);
      expect(births.length).toBeGreaterThan(90);
      for (const { url } of world.candleRequests()) {
        expect(Number(url.searchParams.get("fromDate"))).toBeGreaterThanOrEqual(0);
      }
      counts.push([births.length, world.asked.length]);
    }
    expect(counts[0]).toEqual(counts[1]);
  });
});

describe.each(["mainnet", "devnet"] as const)(
  "a history of %s that is hidden before its creation",
  (network) => {
    it("is read, though a cache that took no notice of the start gave the rows of another range at first", async () => {
      const createdAt = at("11:00:30");
      const quirks = { emptyBeforeCreation: true };
      const world = new World({ start: NOW, createdAt, hasDate: true, quirks });
      world.swapsEvery(60_000, createdAt, at("13:00:00"));
      const others = [at("11:57:00"), at("11:58:00")].map((timestamp) => ({
        ...tradedCandle(timestamp, 1),
        timestamp: new Date(timestamp).toISOString(),
      }));
      const date = new Date(NOW).toUTCString();
      world.interfere = ({ url }, answer) => {
        const isEarlier = Number(url.searchParams.get("fromDate")) * 1_000 < at("11:56:00");
        const isHistory = url.pathname.endsWith("/ohlcv") && isEarlier;
        if (!isHistory || world.clock.now() > NOW + 20_000) return undefined;
        return answer().then(async (honest) =>
          answered(200, { ...JSON.parse(await honest.text()), result: others }, { date }),
        );
      };
      const shown: number[] = [];
      const options = { ...MINUTES, network, since: { candles: 500 } } as const;
      watchCandles(world.client, options).subscribe(({ candle }) => shown.push(candle.timestamp));
      await world.clock.advanceTo(at("12:06:30"));
      expect(shown.slice(0, 2).map(time)).toEqual(["11:00:00", "11:01:00"]);
    });
  },
);

describe("a history that searches for its beginning", () => {
  it("does not read its range again while it is told 429", async () => {
    const world = worldOf(LIVES["an old pair"]!, { hides: true, report: false });
    const refusedUntil = NOW + 300_000;
    const isSearch = ({ url }: (typeof world.asked)[number]) => url.searchParams.get("limit") === "2";
    world.interfere = (asked) =>
      isSearch(asked) && world.clock.now() < refusedUntil ? answered(429, {}) : undefined;
    const births: number[] = [];
    const options = { ...MINUTES, network: "devnet", timeframe: "1d", since: 0, every: "close" } as const;
    watchCandles(world.client, options).subscribe(({ candle }) => births.push(candle.timestamp));
    await world.clock.advanceTo(refusedUntil);
    // The poll, and the range itself.
    expect(world.asked.filter((asked) => !isSearch(asked))).toHaveLength(2);
    expect(world.asked.length).toBeGreaterThan(10);
    await world.clock.advanceBy(900_000);
    expect(births).toEqual(startsOf(world, "1d"));
  });
});

describe("a history whose start has answered", () => {
  it("is not hidden by a cache's copy of an empty answer from before", async () => {
    const world = new World({ start: NOW, createdAt: 0, hasDate: true });
    world.swapsEvery(60_000, at("11:00:00"), at("13:00:00"));
    const options = { ...MINUTES, network: "devnet" } as const;
    watchCandles(world.client, options).subscribe();
    await world.clock.advanceTo(at("12:02:30"));
    let asks = 0;
    let copied: Answer;
    // What is asked for whether a start shows anything comes empty, too, once it has been answered.
    world.interfere = async ({ url: { searchParams } }, answer) => {
      const from = Number(searchParams.get("fromDate")) * 1_000;
      if (from < at("11:57:00")) asks += 1;
      const isProbe = searchParams.get("limit") === "2";
      if (from >= at("11:57:00") || asks === 2 || (asks > 4 && !isProbe)) return answer();
      const empty = await withRows(answer, () => []);
      if (asks === 1) copied = empty;
      if (asks !== 3) return empty;
      const get = (name: string) => (name.toLowerCase() === "age" ? "1" : copied.headers.get(name));
      return { ...copied, headers: { get } };
    };
    const shown: number[] = [];
    watchCandles(world.client, { ...options, since: { candles: 30 } }).subscribe(({ candle }) =>
      shown.push(candle.timestamp),
    );
    await world.clock.advanceTo(at("12:04:30"));
    expect(time(shown[0]!)).toBe("11:32:00");
  });
});

describe("a history of which a part has been read", () => {
  it("goes on, though another stream has taken later candles for the first ones", async () => {
    const start = NOW - 3_000 * 60_000;
    const world = new World({ start: NOW, createdAt: start, hasDate: true });
    world.swapsEvery(60_000, start, at("13:00:00"));
    const hides = at("12:00:20");
    let pages = 0;
    world.interfere = ({ url: { pathname, searchParams } }, answer) => {
      const [from, to] = ["fromDate", "toDate"].map((name) => Number(searchParams.get(name)) * 1_000);
      const now = world.clock.now();
      if (!pathname.endsWith("/ohlcv") || now > at("12:00:40")) return undefined;
      if (to! < at("11:50:00")) return ++pages > 1 ? answered(503, {}) : undefined;
      return from! < at("11:59:00") && now >= hides ? withRows(answer, () => []) : undefined;
    };
    const births: number[] = [];
    const options = { ...MINUTES, network: "devnet", every: "close" } as const;
    watchCandles(world.client, { ...options, since: start }).subscribe(({ type, candle }) => {
      if (type === "new") births.push(candle.timestamp);
    });
    await world.clock.advanceTo(hides);
    expect(births.length).toBeGreaterThan(900);
    expect(births.length).toBeLessThan(2_000);
    watchCandles(world.client, { ...options, revisionWindow: 1 }).subscribe();
    await world.clock.advanceTo(at("12:05:10"));
    expect(births).toHaveLength(3_005);
  });
});

describe.each(["mainnet", "devnet"] as const)("a quiet pair of %s, of whose machines one lags", (network) => {
  const turns = ["FL", "FLL", "FFL", "FLLL", "FFFL"];
  it.each(turns.flatMap((turns) => [...turns].map((_, first) => [turns, first] as const)))(
    "begins no later by a candle that only the others show yet: %s from %i",
    async (turns, first) => {
      const world = new World({ start: NOW, createdAt: at("11:00:00"), hasDate: true });
      for (const swapped of ["11:02:00", "11:17:00", "11:31:00", "12:00:08"]) world.swap(at(swapped), 1);
      let turn = first;
      world.interfere = ({ url }, answer) => {
        if (!url.pathname.endsWith("/ohlcv")) return undefined;
        const lags = turns[turn++ % turns.length] === "L" && world.clock.now() < at("12:00:12");
        const isOld = ({ timestamp }: Record<string, unknown>) =>
          Date.parse(String(timestamp)) < at("12:00:00");
        return lags ? withRows(answer, (rows) => rows.filter(isOld)) : undefined;
      };
      const births: number[] = [];
      const options = { ...MINUTES, network, since: at("11:00:00") } as const;
      watchCandles(world.client, options).subscribe(({ type, candle }) => {
        if (type === "new") births.push(candle.timestamp);
      });
      await world.clock.advanceTo(at("12:02:30"));
      expect(births.map(time)).toEqual(["11:02:00", "11:17:00", "11:31:00", "12:00:00"]);
    },
  );
});

describe.each(["start", "both", "neither"] as const)(
  "a candle in whose interval the pair was created, bounds: %s",
  (inclusive) => {
    it.each([1, 2, 3, 5])("is shown again, though %i answers were empty at random", async (empty) => {
      const createdAt = at("11:40:30");
      const world = new World({ start: NOW, createdAt, hasDate: true, quirks: { inclusive } });
      world.swapsEvery(60_000, createdAt, at("13:00:00"));
      let left = empty;
      world.interfere = ({ url }, answer) =>
        url.pathname.endsWith("/ohlcv") && left-- > 0 ? withRows(answer, () => []) : undefined;
      const shown = new Set<number>();
      const options = { ...MINUTES, timeframe: "1h", since: at("11:00:00"), every: 60_000 } as const;
      watchCandles(world.client, options).subscribe(({ type, candle }) => {
        if (type === "removed") shown.delete(candle.timestamp);
        else shown.add(candle.timestamp);
      });
      await world.clock.advanceTo(at("12:02:30"));
      left = empty;
      await world.clock.advanceTo(at("12:10:30"));
      expect([...shown].sort()).toEqual([at("11:00:00"), at("12:00:00")]);
    });

    it("is read, though the answers from before it and from its start on were empty at random", async () => {
      const createdAt = at("11:40:30");
      const world = new World({ start: NOW, createdAt, hasDate: true, quirks: { inclusive } });
      world.swapsEvery(60_000, createdAt, at("13:00:00"));
      let left = 2;
      world.interfere = ({ url }, answer) =>
        url.pathname.endsWith("/ohlcv") && left-- > 0 ? withRows(answer, () => []) : undefined;
      const candles: number[] = [];
      fetchCandles(world.client, { ...MINUTES, from: at("11:00:00"), to: at("11:45:00") }).subscribe(
        ({ timestamp }) => candles.push(timestamp),
      );
      await world.clock.advanceBy(30_000);
      expect(candles.map(time)).toEqual(["11:40:00", "11:41:00", "11:42:00", "11:43:00", "11:44:00"]);
    });
  },
);

describe.each(["mainnet", "devnet"] as const)(
  "a stream of %s that has found where its pair begins",
  (network) => {
    it("asks for no more when somebody joins later, who looks for that anew", async () => {
      const world = new World({ start: NOW, createdAt: NOW - 10_000, quirks: { emptyBeforeCreation: true } });
      world.swapsEvery(60_000, NOW - 10_000, at("13:00:00"));
      const options = { ...MINUTES, network, timeframe: "1d", every: 60_000 } as const;
      watchCandles(world.client, options).subscribe();
      await world.clock.advanceBy(5 * 60_000);
      const startOf = ({ url }: (typeof world.asked)[number]) => url.searchParams.get("fromDate");
      const settled = world.candleRequests().at(-1)!;
      watchCandles(world.client, { ...options, since: NOW - 30 * DAY }).subscribe();
      await world.clock.advanceBy(30_000);
      const before = world.candleRequests().length;
      await world.clock.advanceBy(5 * 60_000);
      expect(world.candleRequests().slice(before).map(startOf)).toEqual(Array(5).fill(startOf(settled)));
    });
  },
);
