import { type Candle, type ClientActivity, ContractError } from "pairstream";
import { Subject } from "rxjs";
import { describe, expect, it } from "vitest";
import { Tally } from "../../../examples/live/tally.js";

describe("the last line", () => {
  it("counts candles, closes in time, corrections, removals, snipers and what they took", () => {
    const activity = new Subject<ClientActivity>();
    const tally = new Tally({ activity }, 1_000);
    const [at, series] = [
      0,
      { network: "mainnet", pairAddress: "p", timeframe: "1s", currency: "usd" } as const,
    ];
    const candleAt = (timestamp: number, close: number): Candle => {
      return { timestamp, open: 1, high: 9, low: 1, close, volume: 1, swaps: 1 };
    };
    const common = { stream: "candle", revision: 0, lateBy: 0, observedAt: at, series } as const;
    const candle = candleAt(0, 2);
    const corrected = candleAt(0, 3);
    tally.count({ ...common, type: "new", status: "final", live: false, candle: candleAt(-1_000, 1) });
    tally.count({ ...common, type: "new", status: "open", live: true, candle });
    tally.count({ ...common, type: "updated", status: "closed", live: true, candle, previous: candle });
    tally.count({
      ...common,
      type: "updated",
      status: "closed",
      live: true,
      candle: corrected,
      previous: candle,
    });
    tally.count({
      ...common,
      type: "updated",
      status: "final",
      live: true,
      candle: corrected,
      previous: corrected,
    });
    tally.count({ ...common, type: "removed", status: "final", live: true, candle: corrected });
    const response = { type: "response", url: "/", attempt: 1, at, duration: 1 } as const;
    activity.next({ type: "request", url: "/", attempt: 1, priority: "close", at });
    activity.next({ ...response, status: 200, weight: 1_150 });
    activity.next({ ...response, status: 503 });
    expect(tally.line(32_000)).toBe(
      "Followed for 31 s: 2 candles, 1 closed live, 1 corrected, 1 removed; 1 requests, 1,150 units",
    );
    const dropped = { type: "dropped", what: "row", at, url: "/", key: null, pairAddress: "p" } as const;
    const error = new ContractError(["result", 0], "odd");
    activity.next({ ...dropped, reading: "poll", error });
    for (let row = 0; row < 2; row += 1) activity.next({ ...dropped, reading: "history", series, error });
    expect(tally.line(32_000)).toBe(
      "Followed for 31 s: 2 candles, 1 closed live, 1 corrected, 1 removed; 3 rows could not be read (2 of the history); 1 requests, 1,150 units",
    );
  });
});
