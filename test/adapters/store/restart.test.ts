import type { CandleEvent } from "pairstream";
import { memoryStore, sqliteStore } from "pairstream/store";
import { describe, expect, it } from "vitest";
import { pacedMarket, started } from "../../../bench/store/starts.js";
import { DRIVERS, newPath } from "./drivers.js";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const START = Date.UTC(2026, 0, 5, 12, 0, 11);
const CANDLES = 500;
const WATCHES = (["10s", "1min", "5min", "10min", "30min"] as const).flatMap((timeframe) =>
  ["one", "two"].map((pairAddress) => {
    const series = { network: "mainnet", pairAddress, timeframe, currency: "usd" } as const;
    return { ...series, every: "close", since: { candles: CANDLES } } as const;
  }),
);
/** No swaps in some minutes. */
const source = pacedMarket(START - 100 * 24 * HOUR, 10_000, (at) => Math.floor(at / MINUTE) % 7 === 0);

const stripped = (events: readonly (readonly CandleEvent[])[]) =>
  events.map((each) => each.map(({ observedAt: _, lateBy: __, ...event }) => event));

describe.each(DRIVERS)("ten series of 500 candles in a file, by %s", (_, open) => {
  it.each([
    ["at once", 0],
    ["ten minutes later", 10 * MINUTE],
    ["an hour later", HOUR],
  ])("a restart %s is ten requests, and gives the same events", async (_, pause) => {
    const path = newPath();
    const run = async (at: number, ms: number, isStored: boolean) => {
      const store = isStored ? sqliteStore(open(path)) : undefined;
      const result = await started({ at, ms, watches: WATCHES, source, store });
      store?.close();
      return result;
    };
    await run(START, 5_000, true);
    const at = START + 5_000 + pause;
    // Until before the next close of the shortest.
    const again = await run(at, 2_000, true);
    const plain = await run(at, 2_000, false);
    expect(stripped(again.events)).toEqual(stripped(plain.events));
    expect(again.events.every(({ length }) => length >= CANDLES)).toBe(true);
    expect(again.requests).toBe(WATCHES.length);
    expect(again.units).toBe(150 * WATCHES.length);
  });
});

it.each([300, 500, 700])(
  "a history that is left after %i ms is read on, and not paid for again",
  async (ms) => {
    const watches = [{ ...WATCHES[0]!, since: { candles: 8_000 } }];
    const store = memoryStore();
    const run = (length: number, isStored: boolean) =>
      started({ at: START, ms: length, watches, source, ...(isStored && { store }) });
    const plain = await run(4_000, false);
    const left = await run(ms, true);
    expect(left.events).toEqual([[]]);
    const again = await run(4_000, true);
    expect(stripped(again.events)).toEqual(stripped(plain.events));
    // What runs is asked for anew, and the page that was under way.
    expect(left.requests + again.requests).toBeLessThanOrEqual(plain.requests + 2);
  },
);

describe.each(["mainnet", "devnet"] as const)(
  "a pair of %s that is younger than what is asked for",
  (network) => {
    const young = pacedMarket(START - 3 * HOUR + 4_000, 10_000, (at) => Math.floor(at / MINUTE) % 7 === 0);
    const watches = (["1min", "5min", "1h", "15min"] as const).map(
      (timeframe) =>
        ({
          network,
          pairAddress: "one",
          timeframe,
          currency: "usd",
          every: "close",
          since: { candles: CANDLES },
        }) as const,
    );

    it("is asked for once a series at each restart, and gives the same events", async () => {
      const store = memoryStore();
      const run = (at: number, isStored: boolean) =>
        started({ at, ms: 8_000, watches, source: young, ...(isStored && { store }) });
      await run(START, true);
      for (const pause of [MINUTE, 2 * HOUR]) {
        const again = await run(START + 8_000 + pause, true);
        const plain = await run(START + 8_000 + pause, false);
        expect(stripped(again.events)).toEqual(stripped(plain.events));
        expect(again.requests).toBe(watches.length);
        // As a status tells: from the first candle on, and not from the beginning of all time.
        expect(again.coveredFrom).toEqual(again.events.map(([first]) => first!.candle.timestamp));
      }
    });
  },
);
