import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CandleMirror } from "../../../src/adapters/sse/candle-mirror.js";
import { LongerMirror } from "../../../src/adapters/sse/longer-mirror.js";
import { Mirror, type ParsedMessage } from "../../../src/adapters/sse/mirror.js";
import { longerCandles } from "../../../src/candles/longer-candle.js";
import { checkWatch } from "../../../src/candles/options.js";
import { NetworkError } from "../../../src/errors.js";
import { startFrom } from "../../../src/timeframe.js";
import { SERIES } from "../../candles/minute-candles.js";
import { CheckedFold } from "./checked-fold.js";
import { isCandleEvent } from "./gateway.js";
import { atOnce, candle, hello, message, ready, snapshot } from "./mirror-messages.js";

const MINUTE = 60_000;
const MOST = 24;
const minute = fc.nat(MOST);
const price = fc.integer({ min: 1, max: 3 });
const status = fc.constantFrom("open", "closed", "final", "final", "final");
const row = fc.record({ minute, price, status, live: fc.boolean() });
const covered = (until: number) =>
  message("status", {
    state: "live",
    failures: 0,
    coveredFrom: 0,
    coveredUntil: until * MINUTE,
  });

/** A connection to a gateway: one that has begun anew tells its state first, then what changes. */
const connection = fc.record({
  from: fc.option(minute, { nil: undefined }),
  rows: fc.uniqueArray(row, { selector: ({ minute }) => minute, maxLength: MOST }),
  until: minute,
  /** How much of the opening comes before the connection is lost; usually all of it. */
  isCut: fc.integer({ min: 0, max: 4 }).map((draw) => draw === 0),
  changes: fc.array(
    fc.oneof(
      { weight: 4, arbitrary: fc.record({ row, isRemoved: fc.integer({ max: 4, min: 0 }) }) },
      { weight: 1, arbitrary: minute },
    ),
    { maxLength: 8 },
  ),
});

describe("longer candles of a gateway", () => {
  it.each(["2min", "3min", "5min"] as const)(
    "are those of the parts that its viewer has, whatever has changed of these, over restarts, too: %s",
    (timeframe) => {
      const watch = checkWatch({ ...SERIES, timeframe, since: new Date(0) });
      const { intervals } = watch.rules;
      fc.assert(
        fc.property(fc.array(connection, { minLength: 1, maxLength: 6 }), (connections) => {
          const source = new CandleMirror(SERIES);
          const [parts, longer] = [new Mirror(source), new Mirror(new LongerMirror(watch))];
          const [partFold, longerFold] = [new CheckedFold(), new CheckedFold(MINUTE)];
          let failures = 0;
          const take = (...messages: ParsedMessage[]) => {
            for (const event of parts.take(messages, 0).events) partFold.take(event);
            const { events, error } = longer.take(messages, 0);
            expect(error).toBeUndefined();
            for (const event of events) longerFold.take(event);
            const starts = events.filter(isCandleEvent).map(({ candle }) => candle.timestamp);
            expect(starts).toEqual([...new Set(starts)].sort((a, b) => a - b));
          };
          const check = () => {
            const whole = partFold.standing(startFrom(intervals, source.from));
            const expected = longerCandles(
              intervals,
              whole.map(({ candle }) => candle),
            );
            expect(longerFold.standing().map(({ candle }) => candle)).toEqual(expected);
            for (const { candle, status } of longerFold.standing()) {
              const last = intervals.end(candle.timestamp) - MINUTE;
              const isFinal = whole.some((part) => part.candle.timestamp >= last && part.status === "final");
              if (isFinal) expect(status).toBe("final");
            }
          };
          for (const { from, rows, until, isCut, changes } of connections) {
            const told = [...rows]
              .filter(({ minute }) => minute >= (from ?? 0))
              .sort((a, b) => a.minute - b.minute)
              .map(({ minute, ...rest }) => candle(minute, rest));
            parts.connect();
            longer.connect();
            const isFirst = failures === 0;
            const opening = from === undefined && !isFirst ? told : [snapshot(from ?? 0), ...told];
            take(hello(), ...opening);
            if (!isCut) {
              take(covered(until), ready());
              check();
              for (const change of changes) {
                if (typeof change === "number") take(covered(change));
                else {
                  const { minute, ...rest } = change.row;
                  const more = change.isRemoved === 0 ? { isRemoved: true } : {};
                  take(...atOnce(candle(minute, { ...rest, ...more })));
                }
                check();
              }
            }
            failures += 1;
            const cut = new NetworkError("cut");
            partFold.take(parts.lose(cut, failures));
            longerFold.take(longer.lose(cut, failures));
          }
        }),
        { numRuns: 100 },
      );
    },
  );
});
