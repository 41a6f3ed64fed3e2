import { expect, it } from "vitest";
import { type CandleEvent, resample, watchCandles, withIndicators } from "../../src/index.js";
import { at, MINUTES, World } from "../world.js";
import { mean } from "./kernels.js";

const HOUR = 3_600_000;

it.each([
  ["withIndicators", withIndicators({ mean: mean(2) })],
  ["resample", resample("5min")],
])(
  "%s goes on where the service's clock was set back behind final candles, and has caught up",
  async (_, operator) => {
    const world = new World({ start: at("12:00:10"), hasDate: true });
    world.swapsEvery(60_000, at("10:00:00"), at("14:00:00"));
    const errors: unknown[] = [];
    const events: CandleEvent[] = [];
    watchCandles(world.client, { ...MINUTES, since: { candles: 10 } })
      .pipe(operator)
      .subscribe({ next: (event) => events.push(event), error: (error) => errors.push(error) });
    await world.clock.advanceTo(at("12:05:30"));
    expect(errors).toEqual([]);
    world.jump(-HOUR);
    await world.clock.advanceTo(at("13:20:30"));
    expect(errors).toEqual([]);
    expect(events.at(-1)!.candle.timestamp).toBe(at("12:20:00"));
  },
);
