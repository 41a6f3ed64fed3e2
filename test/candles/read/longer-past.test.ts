import { expect, it } from "vitest";
import type { BackwardOptions } from "../../../src/candles/read/backward.js";
import type { FinalPart, ForwardOptions } from "../../../src/candles/read/forward.js";
import { longerPast } from "../../../src/candles/read/longer-past.js";
import { intervalsOf } from "../../../src/timeframe.js";
import { MINUTE, minuteCandle } from "../minute-candles.js";

const QUARTERS = intervalsOf("15min");
const OPTIONS = { priority: "history", signal: new AbortController().signal } as const;

/** Minutes `[from, to)`, a candle in each. */
const partOf = (from: number, to: number): FinalPart => ({
  from: from * MINUTE,
  to: to * MINUTE,
  candles: Array.from({ length: to - from }, (_, at) => minuteCandle(from + at)),
  unreadable: new Set(),
  hasUnplaced: false,
  observedAt: to * MINUTE,
  epoch: 0,
});

/** A past that comes in these parts. */
const pastOf = (parts: readonly FinalPart[]) =>
  longerPast(QUARTERS, {
    async *parts() {
      yield* parts;
    },
    newest: async () => parts,
  });

async function swapsOf(parts: readonly FinalPart[]): Promise<number[]> {
  const query = { from: parts[0]!.from, until: () => parts.at(-1)!.to } as ForwardOptions;
  const swaps: number[] = [];
  for await (const { candles } of pastOf(parts).parts(query, OPTIONS))
    for (const candle of candles) swaps.push(candle.swaps);
  return swaps;
}

it.each([
  [0, 7, 7, 15, 15, 45],
  [0, 1, 1, 29, 29, 45],
  [0, 45, 45, 45, 45, 45],
])("gives each longer candle once, as a whole, wherever parts end: %i-%i, %i-%i, %i-%i", async (...ends) => {
  const parts = [0, 2, 4].map((at) => partOf(ends[at]!, ends[at + 1]!)).filter(({ from, to }) => from < to);
  expect(await swapsOf(parts)).toEqual([15, 15, 15]);
});

it("takes a part of any size, as a store has them", async () => {
  const swaps = await swapsOf([partOf(0, 15 * 20_000)]);
  expect(swaps).toEqual(Array(20_000).fill(15));
});

it("begins with the first longer candle that is there as a whole", async () => {
  const query = {
    count: 2,
    until: () => 60 * MINUTE,
    walk: { parts: [] },
  } as BackwardOptions;
  const parts = await pastOf([partOf(20, 33), partOf(33, 60)]).newest(query, OPTIONS);
  expect(
    parts.flatMap(({ candles }) => candles.map(({ timestamp, swaps }) => [timestamp / MINUTE, swaps])),
  ).toEqual([
    [30, 15],
    [45, 15],
  ]);
});
