import {
  createPairService,
  type PairService,
  type ServiceQuirks,
  simulatedMarket,
  swapTape,
} from "pairstream/service";
import { describe, expect, it } from "vitest";
import { ask, ohlcv, toLine } from "./harness.js";
import { pairAddress, smallTape } from "./small-tape.js";

const MINUTE = 60_000;
const createdAt = Date.UTC(2024, 2, 1, 10, 3, 20);
const market = simulatedMarket({ seed: 3, createdAt });
const address = market.pairs[0]!;
const now = createdAt + 61 * MINUTE;

function serve(quirks?: ServiceQuirks): PairService {
  return createPairService({ source: market, clock: () => now, ...(quirks && { quirks }) });
}

interface Page {
  cursor?: string | null;
  page: number | string;
  result: ({ timestamp: string } & Record<string, number>)[];
}

async function pageOf(
  service: PairService,
  query: Record<string, string | number>,
  pair = address,
): Promise<Page> {
  const { status, body } = await ask(service, ohlcv(pair, query));
  expect(status).toBe(200);
  return body;
}

/** Relies on no order, no kind of last cursor and no page size; gives the pages as they came. */
async function pagesOf(service: PairService, query: Record<string, string | number>, pair = address) {
  const pages: Page[] = [];
  for (let cursor: string | null | undefined; ; ) {
    const page = await pageOf(service, cursor ? { ...query, cursor } : query, pair);
    pages.push(page);
    cursor = page.cursor;
    if (!cursor) return pages;
  }
}

/** All candles of `[from, to)`, ascending, each once, with the count of swaps under its own name. */
async function candlesOf(service: PairService, timeframe: string, length: number, from: number, to: number) {
  // With a margin of one interval on both sides, as it is not known which bounds are inclusive.
  const ask = (start: number) =>
    pagesOf(service, {
      timeframe,
      currency: "usd",
      fromDate: start / 1_000,
      toDate: (to + length) / 1_000,
      limit: 20,
    });
  let pages = await ask(from - length);
  if (pages.every(({ result }) => result.length === 0)) {
    const creation = Math.floor(createdAt / length) * length;
    pages = await ask(Math.max(from, creation));
  }
  const candles = new Map(
    pages.flatMap(({ result }) =>
      result.map(
        ({ trades, swaps = trades, ...candle }) => [candle.timestamp, { ...candle, swaps }] as const,
      ),
    ),
  );
  return [...candles.values()]
    .filter(({ timestamp }) => Date.parse(timestamp) >= from && Date.parse(timestamp) < to)
    .sort((a, b) => (a.timestamp < b.timestamp ? -1 : 1));
}

const hour = {
  timeframe: "10s",
  currency: "usd",
  fromDate: createdAt / 1_000,
  toDate: createdAt / 1_000 + 3_600,
};
const starts = (pages: readonly Page[]) => pages.flatMap(({ result }) => result.map((row) => row.timestamp));

describe("a careful client gets the same from any service", () => {
  const quirks: ServiceQuirks[] = [
    { order: "oldest-first" },
    { order: "shuffled" },
    { cursor: "absent" },
    { cursor: "empty" },
    { pageSize: 1 },
    { pageSize: 7 },
    { pageSize: 10_000 },
    { inclusive: "both" },
    { inclusive: "neither" },
    { emptyBeforeCreation: true },
    { trades: true },
    { pageAsText: true },
    {
      order: "shuffled",
      cursor: "absent",
      pageSize: 13,
      inclusive: "neither",
      trades: true,
      pageAsText: true,
    },
    { order: "oldest-first", cursor: "empty", pageSize: 5, inclusive: "both", emptyBeforeCreation: true },
  ];
  const series: [string, number][] = [
    ["10s", 10_000],
    ["1min", MINUTE],
    ["5min", 5 * MINUTE],
    ["1h", 60 * MINUTE],
  ];

  it.each(quirks)("%o", async (quirk) => {
    const [plain, odd] = [serve(), serve(quirk)];
    for (const [timeframe, length] of series) {
      const floor = (instant: number) => Math.floor(instant / length) * length;
      for (const [from, to] of [
        [floor(createdAt) - 3 * length, floor(now) + length],
        [floor(createdAt), floor(createdAt + 20 * MINUTE)],
        [floor(now) - 2 * length, floor(now)],
      ] as const) {
        const truth = await candlesOf(plain, timeframe, length, from, to);
        expect(await candlesOf(odd, timeframe, length, from, to)).toEqual(truth);
      }
    }
    expect(
      (await candlesOf(plain, "1min", MINUTE, createdAt - (createdAt % MINUTE), now)).length,
    ).toBeGreaterThan(30);
  });
});

describe("order", () => {
  it("walks from the oldest candle on", async () => {
    const newest = await pagesOf(serve(), { ...hour, limit: 50 });
    const oldest = await pagesOf(serve({ order: "oldest-first" }), { ...hour, limit: 50 });
    expect(starts(oldest)).toEqual(starts(newest).reverse());
    expect(oldest[0]!.result).toHaveLength(50);
    expect(oldest.length).toBe(newest.length);
  });

  it("shuffles each page, the same way for the same request, and walks to older ones", async () => {
    const service = serve({ order: "shuffled" });
    const plain = await pagesOf(serve(), { ...hour, limit: 50 });
    const pages = await pagesOf(service, { ...hour, limit: 50 });
    expect(await pagesOf(serve({ order: "shuffled" }), { ...hour, limit: 50 })).toEqual(pages);
    pages.forEach((page, at) => {
      const timestamps = starts([page]);
      expect(timestamps).not.toEqual(starts([plain[at]!]));
      expect(timestamps.sort().reverse()).toEqual(starts([plain[at]!]));
    });
  });

  it("walks through a snapshot from the oldest on too, however many swaps arrive on the way", async () => {
    let clock = now;
    const moving = createPairService({
      source: market,
      clock: () => {
        clock += MINUTE;
        return clock - MINUTE;
      },
      quirks: { order: "oldest-first" },
    });
    const query = { ...hour, toDate: now / 1_000 + 7_200, limit: 30 };
    expect(await pagesOf(moving, query)).toEqual(await pagesOf(serve({ order: "oldest-first" }), query));
  });
});

describe("cursor", () => {
  it.each([
    ["null", null],
    ["absent", undefined],
    ["empty", ""],
  ] as const)("says %s on the last page, and only there", async (cursor, last) => {
    const pages = await pagesOf(serve({ cursor }), { ...hour, limit: 50 });
    expect(pages.length).toBeGreaterThan(2);
    expect(pages.at(-1)!.cursor).toBe(last);
    for (const page of pages.slice(0, -1)) expect(page.cursor).toMatch(/./);
  });
});

describe("pages", () => {
  it("are as long as pageSize says, whatever limit asks", async () => {
    const sizes = async (pageSize: number, limit: number) =>
      (await pagesOf(serve({ pageSize }), { ...hour, limit })).map(({ result }) => result.length);
    const total = starts(await pagesOf(serve(), hour)).length;
    expect(await sizes(7, 100)).toEqual([
      ...Array.from({ length: Math.floor(total / 7) }, () => 7),
      ...(total % 7 === 0 ? [] : [total % 7]),
    ]);
    expect(await sizes(80, 10)).toEqual([
      ...Array.from({ length: Math.floor(total / 80) }, () => 80),
      total % 80,
    ]);
    expect(await sizes(5_000, 10)).toEqual([total]);
  });

  it("count in strings", async () => {
    const pages = await pagesOf(serve({ pageAsText: true }), { ...hour, limit: 100 });
    expect(pages.map(({ page }) => page)).toEqual(pages.map((_, at) => String(at + 1)));
  });

  it("name the count of swaps trades", async () => {
    const [plain, odd] = [await pageOf(serve(), hour), await pageOf(serve({ trades: true }), hour)];
    expect(odd.result).toEqual(plain.result.map(({ swaps, ...rest }) => ({ ...rest, trades: swaps })));
    expect(odd.result[0]).not.toHaveProperty("swaps");
  });
});

describe("bounds", () => {
  const minute = (at: number) => (Math.floor(createdAt / MINUTE) * MINUTE + at * MINUTE) / 1_000;
  const query = { timeframe: "1min", currency: "usd", fromDate: minute(1), toDate: minute(4) };

  it.each([
    ["start", [1, 2, 3]],
    ["both", [1, 2, 3, 4]],
    ["neither", [2, 3]],
  ] as const)("%s", async (inclusive, minutes) => {
    for (const order of ["newest-first", "oldest-first"] as const) {
      for (const limit of [1, 100]) {
        const found = starts(await pagesOf(serve({ inclusive, order }), { ...query, limit }));
        expect(found.sort()).toEqual(minutes.map((at) => new Date(minute(at) * 1_000).toISOString()));
      }
    }
  });
});

describe("emptyBeforeCreation", () => {
  const service = serve({ emptyBeforeCreation: true });
  const floor = (length: number) => Math.floor(createdAt / length) * length;

  it.each([
    ["1s", 1_000],
    ["1min", MINUTE],
    ["1h", 60 * MINUTE],
    ["1d", 1_440 * MINUTE],
  ])("empties %s ranges that start before the first candle, and no others", async (timeframe, length) => {
    const from = floor(length) / 1_000;
    const query = { timeframe, currency: "usd", toDate: now / 1_000 + 86_400, limit: 1_000 };
    expect(await pageOf(service, { ...query, fromDate: from - 1 })).toMatchObject({
      cursor: null,
      result: [],
    });
    for (const fromDate of [from, from + 1, now / 1_000 - 600]) {
      const truth = await pageOf(serve(), { ...query, fromDate });
      expect(await pageOf(service, { ...query, fromDate })).toEqual(truth);
    }
    expect((await pageOf(service, { ...query, fromDate: from })).result.length).toBeGreaterThan(0);
  });

  it("goes by the first swap that has a price, not by createdAt", async () => {
    const swaps = smallTape.map((swap, at) => (at < 4 ? { ...swap, tokenAmount: 0 } : swap));
    const source = swapTape(swaps.map(toLine), { pairAddress, tokenAddress: null });
    const tape = createPairService({
      source,
      clock: () => Date.parse("2024-02-10T00:00:00Z"),
      quirks: { emptyBeforeCreation: true },
    });
    const query = { timeframe: "1d", currency: "usd", toDate: "2024-02-10" };
    expect(starts(await pagesOf(tape, { ...query, fromDate: "2024-01-31" }, pairAddress))).toEqual([]);
    expect(starts(await pagesOf(tape, { ...query, fromDate: "2024-02-01" }, pairAddress))).toHaveLength(3);
  });
});

describe("quirks", () => {
  it("change nothing where they are not given", async () => {
    const text = async (quirks?: ServiceQuirks) => JSON.stringify(await pagesOf(serve(quirks), hour));
    expect(await text({})).toBe(await text());
    expect(
      await text({
        order: "newest-first",
        emptyBeforeCreation: false,
        cursor: "null",
        inclusive: "start",
        trades: false,
        pageAsText: false,
      }),
    ).toBe(await text());
  });

  it.each([
    [null, "quirks"],
    [[], "quirks"],
    ["shuffled", "quirks"],
    [{ order: "random" }, "quirks.order"],
    [{ cursor: null }, "quirks.cursor"],
    [{ pageSize: 0 }, "quirks.pageSize"],
    [{ pageSize: 10_001 }, "quirks.pageSize"],
    [{ pageSize: 1.5 }, "quirks.pageSize"],
    [{ inclusive: "end" }, "quirks.inclusive"],
    [{ trades: "yes" }, "quirks.trades"],
    [{ pageAsText: 1 }, "quirks.pageAsText"],
    [{ emptyBeforeCreation: null }, "quirks.emptyBeforeCreation"],
    [{ longPages: true }, "quirks.longPages"],
    [{ emptyBeforeCreation: true, inclusive: "neither" }, "quirks.inclusive"],
  ])("refuses %o", (quirks, parameter) => {
    expect(() => createPairService({ source: market, quirks: quirks as never })).toThrow(
      expect.objectContaining({ name: "InvalidInputError", parameter }),
    );
  });
});
