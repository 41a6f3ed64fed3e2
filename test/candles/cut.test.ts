import { describe, expect, it } from "vitest";
import { watchCandles } from "../../src/index.js";
import { at, MINUTES, time, World, withRows } from "../world.js";
import { describeCutRanges, QUICK_CASES } from "./cut-ranges.js";

// cut.long.test.ts plays the others.
describeCutRanges(QUICK_CASES);

describe("a history of so many candles that is asked for while every answer is empty", () => {
  it("comes once the service shows again what the stream has seen", async () => {
    const world = new World({ start: at("12:00:10"), createdAt: at("11:55:00"), hasDate: true });
    world.swap(at("11:58:30"), 1);
    const shown: number[] = [];
    watchCandles(world.client, MINUTES).subscribe();
    await world.clock.advanceTo(at("12:06:30"));
    world.interfere = ({ url }, answer) =>
      url.pathname.endsWith("/ohlcv") && world.clock.now() < at("12:08:00")
        ? withRows(answer, () => [])
        : undefined;
    watchCandles(world.client, { ...MINUTES, since: { candles: 2 } }).subscribe(({ candle }) =>
      shown.push(candle.timestamp),
    );
    await world.clock.advanceTo(at("12:12:30"));
    expect(shown.map(time)).toEqual(["11:58:00"]);
  });
});
