import fc from "fast-check";
import { expect, it } from "vitest";
import type { CandleEvent } from "../../src/candles/event.js";
import type { Candle } from "../../src/contract/model.js";
import { IndicatorChain, KernelSet } from "../../src/operators/indicator-chain.js";
import type { IndicatorEvent } from "../../src/operators/indicator-event.js";
import { standing } from "../candles/minute-candles.js";
import { eventOf } from "./events.js";
import { average, channel, mean } from "./kernels.js";
import { reachable } from "./manners.js";
import { Lives, sequences } from "./sequences.js";

const INDICATORS = new Map(Object.entries({ slow: average(0.3), mean: mean(3), channel: channel(2) }));
const chainOf = () => new IndicatorChain(KernelSet.of(INDICATORS), [...INDICATORS.keys()]);
const sameValues = (a: IndicatorEvent, b: IndicatorEvent) =>
  JSON.stringify(a.values) === JSON.stringify(b.values);

function batch(candles: readonly Candle[]) {
  const kernels = KernelSet.of(INDICATORS);
  return candles.map((candle) => kernels.push(candle));
}

it("after every event tells what a batch over the candles as they stand says, in lives without echo", () => {
  fc.assert(
    fc.property(sequences, (events) => {
      const chain = chainOf();
      const lives = new Lives(sameValues);
      events.forEach((event, index) => {
        const seen: readonly CandleEvent[] = events.slice(0, index + 1);
        lives.take(event, chain.apply(event));
        const candles = standing(seen);
        const last = [...lives.last.values()].sort((a, b) => a.candle.timestamp - b.candle.timestamp);
        expect(last.map(({ candle }) => candle)).toEqual(candles);
        expect(last.map(({ values }) => values)).toEqual(batch(candles));
      });
    }),
    { numRuns: 300 },
  );
});

it("holds what is not final, and nothing else", () => {
  const chain = chainOf();
  const sizes: number[] = [];
  for (let at = 0; at < 3_000; at += 1) {
    if (at >= 4) chain.apply(eventOf("updated", at - 4, "final", 2));
    if (at >= 1) chain.apply(eventOf("updated", at - 1, "closed", 2));
    chain.apply(eventOf("new", at, "open"));
    if (at % 7 === 0 && at > 3) {
      chain.apply(eventOf("removed", at - 2, "closed", 2));
      chain.apply(eventOf("new", at - 2, "closed", 2));
    }
    sizes.push(reachable(chain));
  }
  expect(Math.max(...sizes.slice(100))).toBeLessThanOrEqual(Math.max(...sizes.slice(0, 100)));
});
