import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CandleRows } from "../../../src/adapters/sse/candle-rows.js";
import { ReplayLog } from "../../../src/adapters/sse/replay-log.js";
import type { Candle } from "../../../src/contract/model.js";
import { minuteCandle } from "../../candles/minute-candles.js";

const timestamps = (table: CandleRows<{ candle: Candle }>) =>
  table.rows.map(({ candle }) => candle.timestamp / 60_000);

describe("the candle table", () => {
  it("holds the newest, ascending, and forgets for good", () => {
    const step = fc.oneof(
      fc.record({ do: fc.constantFrom("set", "set", "set", "delete"), minute: fc.nat(20), price: fc.nat(9) }),
      fc.record({ do: fc.constant("resize"), minute: fc.integer({ min: 1, max: 8 }), price: fc.nat(9) }),
    );
    fc.assert(
      fc.property(fc.array(step), fc.integer({ min: 1, max: 8 }), (steps, size) => {
        let keep = size;
        const table = new CandleRows<{ candle: Candle }>(keep);
        let known = new Map<number, number>();
        let after = -1;
        for (const { do: action, minute, price } of steps) {
          if (action === "resize") {
            keep = minute;
            table.resize(keep);
          } else if (action === "delete") {
            known.delete(minute);
            table.delete(minute * 60_000);
          } else {
            known.set(minute, price);
            table.set({ candle: minuteCandle(minute, price) });
          }
          const sorted = [...known].sort(([a], [b]) => a - b);
          for (const [old] of sorted.slice(0, Math.max(0, sorted.length - keep))) after = old;
          known = new Map(sorted.slice(-keep));
          expect(timestamps(table)).toEqual([...known.keys()]);
          expect(table.after).toBe(after < 0 ? undefined : after * 60_000);
          expect(table.newest?.candle.timestamp).toBe([...known.keys()].map((one) => one * 60_000).at(-1));
          for (let one = 0; one <= 20; one += 1) {
            expect(table.get(one * 60_000)?.candle.close).toBe(known.get(one));
            expect(table.isForgotten(one * 60_000)).toBe(one <= after);
          }
        }
      }),
    );
  });
});

describe("the replay log", () => {
  it("gives what came after a number as long as it holds all of it", () => {
    fc.assert(
      fc.property(fc.nat(8), fc.nat(30), (size, count) => {
        const log = new ReplayLog<number>(size);
        for (let number = 1; number <= count; number += 1) log.append(number);
        expect(log.head).toBe(count);
        for (let number = 0; number <= count; number += 1) {
          const expected = Array.from({ length: count - number }, (_, at) => number + 1 + at);
          expect(log.after(number)).toEqual(expected.length <= size ? expected : undefined);
        }
        expect(log.after(count + 1)).toBeUndefined();
      }),
    );
  });
});
