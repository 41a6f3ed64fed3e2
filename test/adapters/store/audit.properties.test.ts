import fc from "fast-check";
import { memoryStore } from "pairstream/store";
import type { SchedulerLike } from "rxjs";
import { expect, it } from "vitest";
import type { FetchLike } from "../../../src/index.js";
import { withFaults } from "../../../src/service/index.js";
import { bearableFaults } from "../../candles/bearable-faults.js";
import { time, tradedCandle } from "../../world.js";
import { audited, FROM, KEY, MINUTE, market, TO, told, truth } from "./audited-market.js";

/** `RUNS=1000` tries as many. */
const RUNS = Number(process.env.RUNS ?? 40);
const RATES = bearableFaults(0.05);

it("an audit finds in any store what has been done to it, and nothing else, whatever befalls the answers", async () => {
  const all = await truth();
  let completed = 0;
  const touches = fc.array(
    fc.record({
      at: fc.integer({ min: 0, max: all.length - 1 }),
      kind: fc.constantFrom("differs", "missing", "extra", "hole"),
    }),
    { maxLength: 8 },
  );
  const property = async (done: readonly { at: number; kind: string }[], seed: number | undefined) => {
    const store = memoryStore();
    const kinds = new Map(done.map(({ at: index, kind }) => [all[index]!.timestamp, kind]));
    const silent = all.find(({ timestamp }, index) => all[index + 1]!.timestamp > timestamp + MINUTE)!;
    const extra = tradedCandle(silent.timestamp + MINUTE, 100);
    const hasExtra = [...kinds.values()].includes("extra");
    const candles = all.flatMap((candle) => {
      const kind = kinds.get(candle.timestamp);
      if (kind === "missing" || kind === "hole") return [];
      return kind === "differs" ? [{ ...candle, swaps: candle.swaps + 1 }] : [candle];
    });
    const held = hasExtra ? [...candles, extra].sort((a, b) => a.timestamp - b.timestamp) : candles;
    await store.write(KEY, { from: FROM, to: TO, candles: held });
    const expected = hasExtra ? [`extra ${time(extra.timestamp)}`] : [];
    const holes = [...kinds].flatMap(([timestamp, kind]) => (kind === "hole" ? [timestamp] : []));
    for (const timestamp of holes) await store.forget(KEY, timestamp, timestamp + MINUTE);
    for (const [timestamp, kind] of kinds) {
      // Holes that touch are one.
      if (kind === "extra" || (kind === "hole" && holes.includes(timestamp - MINUTE))) continue;
      expected.push(`${kind} ${time(timestamp)}`);
    }
    const before = (fetch: FetchLike, scheduler: SchedulerLike) =>
      seed === undefined ? fetch : withFaults(fetch, { seed, scheduler, rates: RATES });
    const { findings, outcome } = await audited(market({ before }), { against: store });
    // The client has given up, and says so; it has found nothing that is not so.
    if (outcome !== "complete") {
      expect(outcome).toMatchObject({ name: expect.stringMatching(/Error$/) });
      expect(seed).toBeDefined();
      return;
    }
    completed += 1;
    const byTime = (a: string, b: string) => (a.slice(-8) < b.slice(-8) ? -1 : 1);
    expect(told(findings)).toEqual(expected.sort(byTime));
  };
  const seeds = fc.option(fc.integer({ min: 1, max: 1e6 }), { nil: undefined });
  await fc.assert(fc.asyncProperty(touches, seeds, property), { numRuns: RUNS });
  expect(completed).toBeGreaterThan(RUNS / 2);
});
