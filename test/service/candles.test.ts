import fc from "fast-check";
import { createPairService, type Swap, type SwapRange, type SwapSource, swapTape } from "pairstream/service";
import { describe, expect, it } from "vitest";
import { type AskedCandle, ask, naiveCandles, ohlcv, startOf, timeframes, toLine, walk } from "./harness.js";
import { pairAddress, smallTape } from "./small-tape.js";

const currencies = ["usd", "native"] as const;
const weekStarts = ["monday", "thursday"] as const;
const wide = { fromDate: "2023-12-01", toDate: "2024-03-01" };

function serve(
  swaps: readonly Swap[],
  options: { minimumUsd?: number; weekStart?: "monday" | "thursday"; now?: string } = {},
) {
  const { minimumUsd = 0, weekStart = "monday", now = "2024-02-10T00:00:00Z" } = options;
  const source = swapTape(swaps.map(toLine), { pairAddress, tokenAddress: "tokenA", minimumUsd });
  return createPairService({ source, weekStart, clock: () => Date.parse(now) });
}

async function candlesOf(service: ReturnType<typeof serve>, timeframe: string, currency = "usd") {
  const { candles } = await walk(service, pairAddress, { timeframe, currency, ...wide });
  return candles;
}

const row = ({ timestamp, open, high, low, close, volume, swaps }: AskedCandle) =>
  [timestamp, open, high, low, close, volume, swaps] as const;

describe("candles worked out by hand", () => {
  it("sums days up in US dollars", async () => {
    expect((await candlesOf(serve(smallTape), "1d")).map(row)).toEqual([
      ["2024-02-05T00:00:00.000Z", 7, 7, 7, 7, 140, 1],
      ["2024-02-04T00:00:00.000Z", 6, 6, 6, 6, 6, 1],
      ["2024-02-01T00:00:00.000Z", 4, 500, 3, 4, 400.5, 5],
      ["2024-01-31T00:00:00.000Z", 2, 2.5, 1.5, 1.5, 395, 4],
    ]);
  });

  it("sums days up in the native coin", async () => {
    expect((await candlesOf(serve(smallTape), "1d", "native")).map(row)).toEqual([
      ["2024-02-05T00:00:00.000Z", 0.05, 0.05, 0.05, 0.05, 1, 1],
      ["2024-02-04T00:00:00.000Z", 0.1, 0.1, 0.1, 0.1, 0.1, 1],
      ["2024-02-01T00:00:00.000Z", 0.05, 1, 0.025, 0.05, expect.closeTo(4.751, 12), 5],
      ["2024-01-31T00:00:00.000Z", 0.02, 0.02, 0.02, 0.02, 4, 4],
    ]);
  });

  it("puts a swap on a boundary into the interval that begins there, and leaves out what has no price", async () => {
    expect((await candlesOf(serve(smallTape), "1s")).map(row)).toEqual([
      ["2024-02-05T00:00:00.000Z", 7, 7, 7, 7, 140, 1],
      ["2024-02-04T23:59:59.000Z", 6, 6, 6, 6, 6, 1],
      ["2024-02-01T06:34:59.000Z", 4, 4, 4, 4, 240, 1],
      ["2024-02-01T06:30:00.000Z", 5, 5, 5, 5, 50, 1],
      ["2024-02-01T00:00:00.000Z", 4, 500, 3, 500, 110.5, 3],
      ["2024-01-31T23:59:59.000Z", 1.5, 1.5, 1.5, 1.5, 60, 1],
      ["2024-01-31T23:59:51.000Z", 2.5, 2.5, 2.5, 2.5, 25, 1],
      ["2024-01-31T23:59:50.000Z", 2, 2.2, 2, 2.2, 310, 2],
    ]);
  });

  it("begins weeks on Monday or on Thursday, and months by the calendar", async () => {
    const starts = async (timeframe: string, weekStart: "monday" | "thursday") =>
      (await candlesOf(serve(smallTape, { weekStart }), timeframe)).map(
        ({ timestamp, swaps }) => `${timestamp.slice(0, 10)} ${swaps}`,
      );
    expect(await starts("1w", "monday")).toEqual(["2024-02-05 1", "2024-01-29 10"]);
    expect(await starts("1w", "thursday")).toEqual(["2024-02-01 7", "2024-01-25 4"]);
    expect(await starts("1M", "monday")).toEqual(["2024-02-01 7", "2024-01-01 4"]);
  });

  it("leaves dust out with minimumUsd", async () => {
    expect((await candlesOf(serve(smallTape, { minimumUsd: 1 }), "1d")).map(row)[2]).toEqual([
      "2024-02-01T00:00:00.000Z",
      4,
      5,
      3,
      4,
      400,
      4,
    ]);
  });

  it("shows the running candle as far as it has come, and nothing of the future", async () => {
    const service = serve(smallTape, { now: "2024-02-01T00:00:00.998Z" });
    expect((await candlesOf(service, "1h")).map(row)).toEqual([
      ["2024-02-01T00:00:00.000Z", 4, 4, 3, 3, 110, 2],
      ["2024-01-31T23:00:00.000Z", 2, 2.5, 1.5, 1.5, 395, 4],
    ]);
  });
});

describe("candles against a naive recomputation", () => {
  for (const weekStart of weekStarts) {
    for (const timeframe of timeframes) {
      it.each(currencies)(`agrees on ${timeframe} with weeks from ${weekStart} in %s`, async (currency) => {
        const candles = await candlesOf(serve(smallTape, { weekStart }), timeframe, currency);
        const expected = naiveCandles(smallTape, timeframe, currency, weekStart);
        expect(candles.map(({ volume, ...rest }) => rest)).toEqual(
          expected.map(({ volume, ...rest }) => rest),
        );
        candles.forEach(({ volume }, at) => {
          expect(volume).toBeCloseTo(expected[at]!.volume, 9);
        });
      });
    }
  }

  const amount = fc.integer({ min: 0, max: 1_000 });
  const tapes = fc
    .array(
      fc.record({
        // Steps from none to a fortnight, so that seconds, silences and months all come up.
        step: fc.oneof(
          fc.constant(0),
          fc.integer({ min: 1, max: 5_000 }),
          fc.integer({ min: 1, max: 1.2e9 }),
        ),
        tokenAmount: amount,
        usdAmount: amount,
        nativeAmount: amount,
      }),
      { maxLength: 40 },
    )
    .map((steps) => {
      let timestamp = Date.UTC(2023, 11, 20);
      return steps.map(({ step, ...amounts }, at): Swap => {
        timestamp += step;
        const names = { transactionHash: `hash${at}`, walletAddress: "wallet", side: "buy" } as const;
        return { blockNumber: at, timestamp, ...names, ...amounts };
      });
    });

  it("agrees on any tape, range, clock and page size", async () => {
    const instant = fc.integer({ min: Date.UTC(2023, 11, 1) / 1_000, max: Date.UTC(2024, 6, 1) / 1_000 });
    await fc.assert(
      fc.asyncProperty(
        tapes,
        fc.constantFrom(...timeframes),
        fc.constantFrom(...currencies),
        fc.constantFrom(...weekStarts),
        fc.tuple(instant, instant).map(([a, b]) => [Math.min(a, b), Math.max(a, b)] as const),
        instant,
        fc.integer({ min: 1, max: 7 }),
        async (swaps, timeframe, currency, weekStart, [fromDate, toDate], now, limit) => {
          const service = serve(swaps, { weekStart, now: new Date(now * 1_000).toISOString() });
          const { pages, candles } = await walk(service, pairAddress, {
            timeframe,
            currency,
            fromDate,
            toDate,
            limit,
          });
          const visible = swaps.filter(({ timestamp }) => timestamp <= now * 1_000);
          const expected = naiveCandles(visible, timeframe, currency, weekStart).filter(({ timestamp }) => {
            const start = Date.parse(timestamp);
            return start >= fromDate * 1_000 && start < toDate * 1_000;
          });
          expect(candles).toEqual(expected);
          expect(pages.length).toBe(Math.max(1, Math.ceil(expected.length / limit)));
          expect(pages.map(({ page }) => page)).toEqual(pages.map((_, at) => at + 1));
        },
      ),
      { numRuns: 400 },
    );
  });

  it("takes a range by the starts of the intervals, end exclusive", async () => {
    const service = serve(smallTape);
    const starts = async (fromDate: string, toDate: string) => {
      const query = { timeframe: "1d", currency: "usd", fromDate, toDate };
      return (await walk(service, pairAddress, query)).candles.map(({ timestamp }) => timestamp.slice(0, 10));
    };
    expect(await starts("2024-02-01", "2024-02-04")).toEqual(["2024-02-01"]);
    expect(await starts("2024-02-01", "2024-02-04T00:00:00.001Z")).toEqual(["2024-02-04", "2024-02-01"]);
    expect(await starts("2024-02-01T00:00:00.001Z", "2024-02-05")).toEqual(["2024-02-04"]);
    expect(await starts("2024-02-01", "2024-02-01")).toEqual([]);
    expect(startOf(Date.parse("2024-02-04T12:00:00Z"), "1d", "monday")).toBe(Date.parse("2024-02-04"));
  });
});

describe("sources of one's own", () => {
  const late: Swap = {
    ...smallTape[0]!,
    timestamp: Date.parse("2024-02-01T00:10:00Z"),
    transactionHash: "late",
  };
  const indexedAt = Date.parse("2024-02-03T00:00:00Z");

  function lateSource(settled: boolean, asked: SwapRange[] = []): SwapSource {
    return {
      pair: (network, address) =>
        network !== "mainnet" || address !== pairAddress
          ? undefined
          : {
              tokenAddress: null,
              createdAt: 0,
              settled,
              swaps: (range) => {
                asked.push(range);
                return range.asOf >= indexedAt && late.timestamp >= range.from && late.timestamp < range.to
                  ? [late]
                  : [];
              },
            },
    };
  }

  it("asks a source that is not settled anew each time, with its clock", async () => {
    let now = indexedAt - 1;
    const service = createPairService({ source: lateSource(false), clock: () => now });
    const day = ohlcv(pairAddress, {
      timeframe: "1d",
      currency: "usd",
      fromDate: "2024-02-01",
      toDate: "2024-02-03",
    });
    expect((await ask(service, day)).body).toMatchObject({ tokenAddress: null, result: [] });
    now = indexedAt;
    expect((await ask(service, day)).body.result).toHaveLength(1);
  });

  it("keeps the sums of ended hours of a settled source", async () => {
    const asked: SwapRange[] = [];
    const service = createPairService({ source: lateSource(true, asked), clock: () => indexedAt + 60_000 });
    const days = ohlcv(pairAddress, {
      timeframe: "1d",
      currency: "usd",
      fromDate: "2024-02-01",
      toDate: "2024-02-04",
    });
    const first = (await ask(service, days)).body;
    expect(first.result).toHaveLength(1);
    const before = asked.length;
    expect((await ask(service, days)).body).toEqual(first);
    expect(asked.slice(before).map(({ from }) => from)).toEqual([indexedAt]);
  });

  it("never asks for what has not happened yet", async () => {
    const asked: SwapRange[] = [];
    const now = Date.parse("2024-02-01T00:30:00.250Z");
    const service = createPairService({ source: lateSource(false, asked), clock: () => now + 0.75 });
    for (const timeframe of ["1min", "1M"]) {
      await ask(
        service,
        ohlcv(pairAddress, { timeframe, currency: "usd", fromDate: 0, toDate: "2030-01-01" }),
      );
    }
    await ask(service, `/token/mainnet/pairs/${pairAddress}/snipers`);
    expect(asked.length).toBeGreaterThan(2);
    for (const { to, asOf } of asked) {
      expect(asOf).toBe(now);
      expect(to).toBeLessThanOrEqual(now + 1);
    }
  });
});
