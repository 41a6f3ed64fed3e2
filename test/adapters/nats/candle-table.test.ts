import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CandleTable, type PlacedCandle, type TableStart } from "../../../src/adapters/nats/candle-table.js";
import type { StatusRecord } from "../../../src/adapters/nats/message.js";
import type { CandleEvent } from "../../../src/index.js";
import { intervalsOf } from "../../../src/timeframe.js";
import { breachOf, seriesOf } from "./market.js";

const MINUTE = 60_000;
const SERIES = { ...seriesOf("pair"), timeframe: "1min" as const };

/** A message about the candle of a minute. */
function candle(minute: number, more: Partial<PlacedCandle> & { price?: number } = {}): PlacedCandle {
  const { price = 1, ...rest } = more;
  const timestamp = minute * MINUTE;
  return {
    epoch: 0,
    observedAt: timestamp + 5_000,
    revision: 0,
    status: "open",
    isRemoved: false,
    sequence: 1,
    candle: Object.freeze({
      timestamp,
      open: price,
      high: price,
      low: price,
      close: price,
      volume: 1,
      swaps: 1,
    }),
    ...rest,
  };
}

function status(
  sequence: number,
  [from, until]: [number, number],
  more: Partial<StatusRecord> = {},
): StatusRecord & { sequence: number } {
  const covered = { coveredFrom: from * MINUTE, coveredUntil: until * MINUTE };
  return {
    epoch: 0,
    observedAt: 0,
    revision: 0,
    publisher: "me",
    takeovers: [],
    from: undefined,
    status: { state: "live", failures: 0, ...covered },
    sequence,
    ...more,
  };
}

const table = ({ since }: Partial<TableStart> = { since: 0 }) =>
  new CandleTable(SERIES, intervalsOf("1min"), since);
const short = ({ type, candle, status, revision, live }: CandleEvent) =>
  `${type} ${candle.timestamp / MINUTE}=${candle.close} ${status} r${revision}${live ? "" : " history"}`;
const NOW = 100 * MINUTE;

describe("the table of a published series", () => {
  it("begins with what is stored, ascending, whatever the order in which it was", () => {
    const one = table();
    const held = [
      one.candle(candle(3, { sequence: 4, status: "open" })),
      one.candle(candle(1, { sequence: 5, status: "final", revision: 2 })),
      one.status(status(6, [1, 3])),
      one.candle(candle(2, { sequence: 7, status: "closed" })),
    ];
    expect(held.flat()).toEqual([]);
    expect(one.caughtUp(NOW).map(short)).toEqual([
      "new 1=1 final r2 history",
      "new 2=1 closed r0 history",
      "new 3=1 open r0 history",
    ]);
    expect(one.candle(candle(3, { sequence: 8, revision: 1, price: 2 })).map(short)).toEqual([
      "updated 3=2 open r1",
    ]);
  });

  it("shows without since nothing older than the newest interval that was observed, and that as live", () => {
    const one = table({});
    one.candle(candle(1, { status: "final" }));
    one.candle(candle(2, { sequence: 2, observedAt: 3 * MINUTE + 100 }));
    one.candle(candle(3, { sequence: 3, observedAt: 3 * MINUTE + 100 }));
    expect(one.caughtUp(NOW).map(short)).toEqual(["new 3=1 open r0"]);
    expect(one.candle(candle(2, { sequence: 4, revision: 1, price: 7 }))).toEqual([]);
  });

  it("goes by the clock given where nothing is stored", () => {
    const one = table({});
    expect(one.caughtUp(5 * MINUTE + 1)).toEqual([]);
    expect(one.candle(candle(4, { sequence: 1 }))).toEqual([]);
    expect(one.candle(candle(5, { sequence: 2 })).map(short)).toEqual(["new 5=1 open r0"]);
  });

  it("counts candles back from the running interval", () => {
    const one = table({ since: { candles: 2 } });
    for (const minute of [1, 4, 6, 7]) one.candle(candle(minute, { sequence: minute, status: "final" }));
    one.status(status(9, [1, 8]));
    expect(one.caughtUp(NOW).map(short)).toEqual(["new 6=1 final r0 history", "new 7=1 final r0 history"]);
  });

  it("takes what is stored twice, and what comes both ways, once", () => {
    const one = table();
    one.candle(candle(1, { sequence: 5, price: 5 }));
    one.candle(candle(1, { sequence: 3, price: 3 }));
    one.caughtUp(NOW);
    expect(one.candle(candle(1, { sequence: 4, price: 4, revision: 9 }))).toEqual([]);
    expect(one.candle(candle(1, { sequence: 5, price: 5, revision: 9 }))).toEqual([]);
  });

  it("tells a removal, and one that it missed, where the candle came back", () => {
    const one = table();
    one.candle(candle(1, { revision: 3 }));
    one.caughtUp(NOW);
    expect(one.candle(candle(1, { sequence: 2, revision: 4, isRemoved: true })).map(short)).toEqual([
      "removed 1=1 open r4",
    ]);
    expect(one.candle(candle(1, { sequence: 3, revision: 5, isRemoved: true }))).toEqual([]);
    expect(one.candle(candle(1, { sequence: 4, price: 2 })).map(short)).toEqual(["new 1=2 open r0"]);
    one.candle(candle(1, { sequence: 5, price: 3, revision: 1 }));
    expect(one.candle(candle(1, { sequence: 9, price: 4, revision: 0 })).map(short)).toEqual([
      "removed 1=3 open r2",
      "new 1=4 open r0",
    ]);
  });

  it("says nothing where only the lease or the revision has changed", () => {
    const one = table();
    one.candle(candle(1));
    one.caughtUp(NOW);
    expect(one.candle(candle(1, { sequence: 2, epoch: 8, observedAt: 99 * MINUTE }))).toEqual([]);
    expect(one.candle(candle(1, { sequence: 3, epoch: 8, revision: 4 }))).toEqual([]);
    expect(one.candle(candle(1, { sequence: 4, epoch: 8, revision: 5, price: 2 })).map(short)).toEqual([
      "updated 1=2 open r5",
    ]);
  });

  it("takes a message of an older lease that came after the newer one for never sent", () => {
    const one = table();
    one.status(status(1, [1, 1], { epoch: 5 }));
    one.caughtUp(NOW);
    one.status(status(10, [1, 1], { epoch: 7 }));
    expect(one.candle(candle(1, { sequence: 11, epoch: 5 }))).toEqual([]);
    expect(one.candle(candle(1, { sequence: 12, epoch: 7, price: 2 })).map(short)).toEqual([
      "new 1=2 open r0",
    ]);
  });

  it("takes such a message back that it saw before it heard of the newer lease", () => {
    const one = table();
    one.caughtUp(NOW);
    one.candle(candle(1, { sequence: 9, epoch: 5 }));
    expect(one.candle(candle(2, { sequence: 11, epoch: 5 })).map(short)).toEqual(["new 2=1 open r0"]);
    const takeovers = [{ epoch: 7, sequence: 10 }];
    expect(one.status(status(20, [1, 1], { epoch: 7, takeovers })).map(short)).toEqual([
      "removed 2=1 open r1",
    ]);
  });

  it("does not begin with such a message either", () => {
    const one = table();
    one.candle(candle(1, { sequence: 9, epoch: 5 }));
    one.candle(candle(2, { sequence: 11, epoch: 5 }));
    one.status(status(20, [1, 1], { epoch: 7, takeovers: [{ epoch: 7, sequence: 10 }] }));
    expect(one.caughtUp(NOW).map(short)).toEqual(["new 1=1 open r0 history"]);
  });

  it("gives up what can still change where it was away for longer than is kept", () => {
    const one = table();
    one.candle(candle(1, { status: "final" }));
    one.candle(candle(2, { sequence: 2, status: "closed" }));
    one.candle(candle(3, { sequence: 3 }));
    one.status(status(4, [1, 3]));
    one.caughtUp(NOW);
    one.candle(candle(9, { sequence: 50 }));
    expect(one.status(status(51, [2, 4])).map(short)).toEqual([]);
    expect(one.status(status(52, [8, 9])).map(short)).toEqual([
      "removed 2=1 closed r1",
      "removed 3=1 open r1",
    ]);
  });

  it("compares what it knows with a stream that was made anew", () => {
    const one = table();
    one.candle(candle(1, { status: "final" }));
    one.candle(candle(2, { sequence: 2, status: "closed", revision: 4 }));
    one.candle(candle(3, { sequence: 3 }));
    one.caughtUp(NOW);
    one.renewed();
    one.candle(candle(1, { sequence: 1, status: "final" }));
    one.candle(candle(3, { sequence: 2, price: 2, revision: 1 }));
    one.candle(candle(4, { sequence: 3 }));
    expect(one.caughtUp(NOW).map(short)).toEqual([
      "removed 2=1 closed r5",
      "updated 3=2 open r1",
      "new 4=1 open r0",
    ]);
    expect(one.candle(candle(4, { sequence: 4, price: 2, revision: 1 })).map(short)).toEqual([
      "updated 4=2 open r1",
    ]);
  });

  it("gives events in the order of the contract, frozen, that fold to what is stored", () => {
    // What one publisher does to a few candles, one message after another.
    const step = fc.record({
      minute: fc.nat({ max: 4 }),
      price: fc.integer({ min: 1, max: 3 }),
      status: fc.constantFrom(...(["open", "closed", "final"] as const)),
      isRemoved: fc.boolean(),
    });
    const rank = { open: 0, closed: 1, final: 2 };
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 60 }),
        fc.nat({ max: 60 }),
        fc.array(fc.boolean(), { minLength: 60, maxLength: 60 }),
        (steps, joinedAfter, isRead) => {
          const stored = new Map<number, PlacedCandle>();
          const messages: PlacedCandle[] = [];
          for (const { minute, price, status, isRemoved } of steps) {
            const before = stored.get(minute);
            const isAlive = before !== undefined && !before.isRemoved;
            if (isAlive && before.status === "final") continue;
            if (isRemoved && !isAlive) continue;
            const later = isAlive && rank[before.status] > rank[status] ? before.status : status;
            const sequence = messages.length + 1;
            const next = candle(minute, {
              sequence,
              price: isRemoved ? before!.candle.close : price,
              status: isRemoved ? before!.status : later,
              isRemoved,
              revision: isAlive ? before.revision + 1 : 0,
            });
            messages.push(next);
            stored.set(minute, next);
          }
          const isKept = (message: PlacedCandle, by: readonly PlacedCandle[]) =>
            by.findLast(({ candle }) => candle.timestamp === message.candle.timestamp) === message;

          const one = table();
          const events: CandleEvent[] = [];
          // The last message of each subject as of joining, then what comes, of which a slow reader misses some.
          const before = messages.slice(0, joinedAfter);
          for (const message of before) if (isKept(message, before)) events.push(...one.candle(message));
          events.push(...one.caughtUp(NOW));
          const history = events.length;
          for (const message of messages.slice(joinedAfter)) {
            if (isRead[message.sequence % 60] || isKept(message, messages))
              events.push(...one.candle(message));
          }

          const known = new Map<number, CandleEvent>();
          expect(events.map((event) => breachOf(known, event)).filter(Boolean)).toEqual([]);
          expect(events.map(({ live }) => live)).toEqual(events.map((_, at) => at >= history));
          expect(events.slice(0, history).map(({ candle }) => candle.timestamp)).toEqual(
            events
              .slice(0, history)
              .map(({ candle }) => candle.timestamp)
              .sort((a, b) => a - b),
          );
          const shown = new Map(
            [...known].map(([timestamp, event]) => [timestamp, [event.candle.close, event.status]]),
          );
          const truth = new Map(
            [...stored.values()]
              .filter(({ isRemoved }) => !isRemoved)
              .map(({ candle, status }) => [candle.timestamp, [candle.close, status]]),
          );
          expect(shown).toEqual(truth);
        },
      ),
      { numRuns: 1_000 },
    );
  });
});
