import { expect, it } from "vitest";
import { applyCandleEvent } from "../../src/candles/event.js";
import type { Candle } from "../../src/contract/model.js";
import { eventOf } from "../operators/events.js";
import { candleOf } from "./market.js";

it("folds events into candles kept by timestamp", () => {
  const candles = new Map<number, Candle>();
  for (const event of [
    eventOf("new", 1),
    eventOf("new", 2),
    eventOf("updated", 1, "closed", 5),
    eventOf("removed", 2),
    eventOf("removed", 3),
  ]) {
    applyCandleEvent(candles, event);
  }
  expect([...candles]).toEqual([[60_000, candleOf(1, 5)]]);
});
