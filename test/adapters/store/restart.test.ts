import type { CandleEvent } from "pairstream";
import { sqliteStore } from "pairstream/store";
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
