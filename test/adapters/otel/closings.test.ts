import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { closingsLateBy } from "../../../src/adapters/otel/closings.js";
import type { CandleStatus } from "../../../src/candles/event.js";
import { type CandleChange, emptyBook } from "../../../src/candles/read/book.js";
import type { CandleRules } from "../../../src/candles/rules.js";
import { intervalsOf } from "../../../src/timeframe.js";
import { flatCandle, MINUTE, SERIES } from "../../candles/minute-candles.js";

const START = Date.UTC(2024, 0, 5);
const rules: CandleRules = { intervals: intervalsOf("1min"), settle: 1_000, revisionWindow: 2 };

const entryOf = (timestamp: number, status: CandleStatus) => ({
  candle: flatCandle(timestamp),
  status,
  revision: 0,
});

const status = fc.constantFrom<CandleStatus>("open", "closed", "final");
const change = fc.record({
  type: fc.constantFrom("new", "updated", "removed"),
  status,
  known: fc.option(status),
});

describe("what closes with an answer", () => {
  it("is told once a candle, by when that was due: after its interval and the time to settle", () => {
    fc.assert(
      fc.property(
        fc.array(change, { maxLength: 6 }),
        fc.integer({ min: -MINUTE, max: 60 * MINUTE }),
        (all, late) => {
          const before = {
            ...emptyBook(START),
            epoch: 1,
            entries: all.flatMap(({ known }, at) =>
              known === null ? [] : [entryOf(START + at * MINUTE, known)],
            ),
          };
          const changes = all.map(({ type, status }, at): CandleChange => {
            const candle = flatCandle(START + at * MINUTE);
            const base = { candle, status, revision: 1 };
            return type === "updated"
              ? { ...base, type, previous: candle }
              : { ...base, type: type as "new" | "removed" };
          });
          const observedAt = START + MINUTE + late;
          const expected = all.flatMap(({ type, status, known }, at) => {
            const isFirst = type !== "removed" && status !== "open" && known !== "closed";
            return isFirst ? [Math.max(0, observedAt - (START + (at + 1) * MINUTE + 1_000))] : [];
          });
          const told = { type: "candles", series: SERIES, rules, before, changes, observedAt } as const;
          expect(closingsLateBy(told)).toEqual(expected);
          expect(closingsLateBy({ ...told, before: { ...before, epoch: undefined } })).toEqual([]);
        },
      ),
    );
  });
});
