import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CandleTable, type PlacedCandle, type TableStart } from "../../../src/adapters/nats/candle-table.js";
import type { StatusRecord } from "../../../src/adapters/nats/message.js";
import type { CandleEvent } from "../../../src/index.js";
import { intervalsOf } from "../../../src/timeframe.js";
import { flatCandle, MINUTE } from "../../candles/minute-candles.js";
import { breachOf, seriesOf } from "./busy-service.js";

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
    time: 1,
    candle: flatCandle(timestamp, price),
    ...rest,
  };
}

function status(
  time: number,
  [from, until]: [number, number],
  more: Partial<StatusRecord> = {},
): StatusRecord & { time: number } {
  const covered = { coveredFrom: from * MINUTE, coveredUntil: until * MINUTE };
  return {
    epoch: 0,
    observedAt: 0,
    revision: 0,
    publisher: "me",
    takeovers: [],
    from: undefined,
    status: { state: "live", failures: 0, ...covered },
    time,
    ...more,
  };
}

const table = ({ since }: { since?: TableStart } = { since: 0 }) =>
  new CandleTable(SERIES, intervalsOf("1min"), since);
const short = ({ type, candle, status, revision, live }: CandleEvent) =>
  `${type} ${candle.timestamp / MINUTE}=${candle.close} ${status} r${revision}${live ? "" : " history"}`;
const NOW = 100 * MINUTE;

describe("the table of a published series", () => {
  it("tells growing revisions where the stream was lost, and what it held is stored again from the first", () => {
    const one = table();
    one.candle(candle(1, { revision: 3, status: "closed", time: 2 }));
    one.caughtUp(NOW);
    const again = candle(1, { epoch: 1, revision: 0, status: "closed", time: 3 });
    const events = [again, { ...again, revision: 1, status: "final" as const, time: 4 }].flatMap(
      (message) => [...one.candle(message)],
    );
    expect(events.map(short)).toEqual(["removed 1=1 closed r4", "new 1=1 final r1"]);
  });

  it("begins with what is stored, ascending, whatever the order in which it was", () => {
    const one = table();
    const held = [
      one.candle(candle(3, { time: 4, status: "open" })),
      one.candle(candle(1, { time: 5, status: "final", revision: 2 })),
      one.status(status(6, [1, 3])),
      one.candle(candle(2, { time: 7, status: "closed" })),
    ];
    expect(held.flat()).toEqual([]);
    expect(one.caughtUp(NOW).map(short)).toEqual([
      "new 1=1 final r2 history",
      "new 2=1 closed r0 history",
      "new 3=1 open r0 history",
    ]);
    expect(one.candle(candle(3, { time: 8, revision: 1, price: 2 })).map(short)).toEqual([
      "updated 3=2 open r1",
    ]);
  });

  it("shows without since nothing older than the newest interval that was observed, and that as live", () => {
    const one = table({});
    one.candle(candle(1, { status: "final" }));
    one.candle(candle(2, { time: 2, observedAt: 3 * MINUTE + 100 }));
    one.candle(candle(3, { time: 3, observedAt: 3 * MINUTE + 100 }));
    expect(one.caughtUp(NOW).map(short)).toEqual(["new 3=1 open r0"]);
    expect(one.candle(candle(2, { time: 4, revision: 1, price: 7 }))).toEqual([]);
  });

  it("goes by the clock given where nothing is stored", () => {
    const one = table({});
    expect(one.caughtUp(5 * MINUTE + 1)).toEqual([]);
    expect(one.candle(candle(4, { time: 1 }))).toEqual([]);
    expect(one.candle(candle(5, { time: 2 })).map(short)).toEqual(["new 5=1 open r0"]);
  });

  it("counts candles back from the running interval", () => {
    const one = table({ since: { candles: 2 } });
    for (const minute of [1, 4, 6, 7]) one.candle(candle(minute, { time: minute, status: "final" }));
    one.status(status(9, [1, 8]));
    expect(one.caughtUp(NOW).map(short)).toEqual(["new 6=1 final r0 history", "new 7=1 final r0 history"]);
  });

  it("tells a removal, and one that it missed, where the candle came back", () => {
    const one = table();
    one.candle(candle(1, { revision: 3 }));
    one.caughtUp(NOW);
    expect(one.candle(candle(1, { time: 2, revision: 4, isRemoved: true })).map(short)).toEqual([
      "removed 1=1 open r4",
    ]);
    expect(one.candle(candle(1, { time: 3, revision: 5, isRemoved: true }))).toEqual([]);
    expect(one.candle(candle(1, { time: 4, price: 2 })).map(short)).toEqual(["new 1=2 open r0"]);
    one.candle(candle(1, { time: 5, price: 3, revision: 1 }));
    expect(one.candle(candle(1, { time: 9, price: 4, revision: 0 })).map(short)).toEqual([
      "removed 1=3 open r2",
      "new 1=4 open r0",
    ]);
  });

  it("says nothing where only the lease or the revision has changed", () => {
    const one = table();
    one.candle(candle(1));
    one.caughtUp(NOW);
    expect(one.candle(candle(1, { time: 2, epoch: 8, observedAt: 99 * MINUTE }))).toEqual([]);
    const later = { epoch: 8, observedAt: 99 * MINUTE };
    expect(one.candle(candle(1, { ...later, time: 3, revision: 4 }))).toEqual([]);
    expect(one.candle(candle(1, { ...later, time: 4, revision: 5, price: 2 })).map(short)).toEqual([
      "updated 1=2 open r5",
    ]);
  });

  it("keeps what it has shown as final", () => {
    const one = table();
    one.candle(candle(1, { status: "final" }));
    one.caughtUp(NOW);
    const again = candle(1, { epoch: 9, time: 5_000, revision: 4, status: "closed", price: 7 });
    expect(one.candle(again)).toEqual([]);
  });

  it("takes a message of an older lease that came after the newer one for never sent", () => {
    const one = table();
    one.status(status(1_000, [1, 1], { epoch: 5 }));
    one.caughtUp(NOW);
    one.status(status(10_000, [1, 1], { epoch: 7 }));
    expect(one.candle(candle(1, { time: 12_000, epoch: 5 }))).toEqual([]);
    expect(one.candle(candle(1, { time: 13_000, epoch: 7, price: 2 })).map(short)).toEqual([
      "new 1=2 open r0",
    ]);
  });

  it("takes such a message back that it saw before it heard of the newer lease", () => {
    const one = table();
    one.caughtUp(NOW);
    one.candle(candle(1, { time: 9_000, epoch: 5 }));
    expect(one.candle(candle(2, { time: 12_000, epoch: 5 })).map(short)).toEqual(["new 2=1 open r0"]);
    const takeovers = [{ epoch: 7, at: 10_000 }];
    const told = one.status(status(20_000, [1, 1], { epoch: 7, takeovers }));
    expect(told.map(short)).toEqual(["removed 2=1 open r1"]);
    expect(one.status(status(20_000, [1, 1], { epoch: 7, takeovers }))).toEqual([]);
  });

  it("does not begin with such a message either", () => {
    const one = table();
    one.candle(candle(1, { time: 9_000, epoch: 5 }));
    one.candle(candle(2, { time: 12_000, epoch: 5 }));
    one.status(status(20_000, [1, 1], { epoch: 7, takeovers: [{ epoch: 7, at: 10_000 }] }));
    expect(one.caughtUp(NOW).map(short)).toEqual(["new 1=1 open r0 history"]);
  });

  it("goes by the newest status, in whatever order they come", () => {
    const one = table();
    one.status(status(20_000, [1, 1], { epoch: 7 }));
    one.status(status(1_000, [1, 1], { epoch: 5 }));
    one.caughtUp(NOW);
    expect(one.candle(candle(1, { time: 22_000, epoch: 5 }))).toEqual([]);
  });

  it("goes on under a lease of a lower epoch where the stream and all leases were lost", () => {
    const one = table();
    one.status(status(10_000, [1, 2], { epoch: 9_000 }));
    one.candle(candle(1, { time: 9_000, epoch: 9_000, status: "final" }));
    one.candle(candle(2, { time: 9_500, epoch: 9_000 }));
    one.caughtUp(NOW);
    // It may have been on its way.
    one.status(status(11_000, [1, 2], { epoch: 5 }));
    expect(one.candle(candle(2, { time: 11_100, epoch: 5, price: 2 }))).toEqual([]);
    one.status(status(20_000, [2, 3], { epoch: 5 }));
    expect(one.candle(candle(2, { time: 20_100, epoch: 5, price: 3 })).map(short)).toEqual([
      "removed 2=1 open r1",
      "new 2=3 open r0",
    ]);
    expect(one.candle(candle(1, { time: 20_200, epoch: 5, price: 3 }))).toEqual([]);
    expect(one.candle(candle(3, { time: 20_300, epoch: 5 })).map(short)).toEqual(["new 3=1 open r0"]);
    one.status(status(30_000, [2, 4], { epoch: 7 }));
    expect(one.candle(candle(3, { time: 33_000, epoch: 5, price: 4, revision: 1 }))).toEqual([]);
    expect(one.candle(candle(3, { time: 33_000, epoch: 7, price: 5, revision: 1 })).map(short)).toEqual([
      "updated 3=5 open r1",
    ]);
  });

  it("gives up what can still change where it was away for longer than is kept", () => {
    const one = table();
    one.candle(candle(1, { status: "final" }));
    one.candle(candle(2, { time: 2, status: "closed" }));
    one.candle(candle(3, { time: 3 }));
    one.status(status(4, [1, 3]));
    one.caughtUp(NOW);
    one.candle(candle(9, { time: 50 }));
    expect(one.status(status(51, [2, 4])).map(short)).toEqual([]);
    expect(one.status(status(52, [8, 9])).map(short)).toEqual([
      "removed 2=1 closed r1",
      "removed 3=1 open r1",
    ]);
  });

  it("forgets final candles once they cannot come again", () => {
    const one = table();
    one.caughtUp(NOW);
    for (let minute = 0; minute < 1_000; minute++) {
      const time = minute * MINUTE;
      one.candle(candle(minute, { time, status: "final" }));
    }
    // It would be new again if the stream told of it once more, which it does not.
    expect(one.candle(candle(1, { time: MINUTE, status: "final" }))).toHaveLength(1);
    expect(one.candle(candle(999, { time: 999 * MINUTE, status: "final" }))).toEqual([]);
  });

  it("forgets a long history, too, that was stored just before it joined", () => {
    const one = table();
    for (let minute = 0; minute < 1_000; minute++) one.candle(candle(minute, { status: "final" }));
    one.caughtUp(NOW);
    for (let minute = 1_000; minute < 1_010; minute++) {
      one.candle(candle(minute, { time: (minute - 999) * MINUTE, status: "final" }));
    }
    expect(one.candle(candle(1, { status: "final" }))).toHaveLength(1);
  });

  it("counts lateness to the service's clock at delivery, for what is stored and for what comes late", () => {
    const due = 6 * MINUTE + 1_000;
    const closed = (time: number) =>
      candle(5, { time: 9_000_000 + time, observedAt: time, status: "closed", due, isLate: false });
    const table = new CandleTable(SERIES, intervalsOf("1min"), 0, () => due + 9_000_100);
    table.candle(closed(due + 50));
    expect(table.caughtUp(0)).toMatchObject([{ live: false, lateBy: 100 }]);
    const late = new CandleTable(SERIES, intervalsOf("1min"), undefined, () => 0);
    late.caughtUp(5 * MINUTE);
    expect(late.candle(closed(due + 100))).toMatchObject([{ live: true, lateBy: 100 }]);
    const slow = { now: 0 };
    const reader = new CandleTable(SERIES, intervalsOf("1min"), undefined, () => slow.now);
    reader.caughtUp(5 * MINUTE);
    reader.candle(candle(5, { time: 1, observedAt: 5.5 * MINUTE, due: 6 * MINUTE, isLate: false }));
    slow.now = 2 * 60 * MINUTE;
    const after = reader.candle({ ...closed(due + 100), revision: 1, time: 2 });
    expect(after).toMatchObject([{ type: "updated", live: false }]);
    expect(after[0]!.lateBy).toBe(2 * 60 * MINUTE - 31_000);
  });

  describe("told to a reader whose own clock is not the service's", () => {
    /** Reads closes as they come: their minutes, how far the reader's clock is ahead, and for how long they were held up. */
    function read(closes: readonly { minute: number; own?: number; held?: number }[]) {
      let [now, time] = [0, 0];
      const one = new CandleTable(SERIES, intervalsOf("1min"), undefined, () => now);
      one.caughtUp(0);
      return closes.flatMap(({ minute, own = 0, held = 0 }) => {
        const due = (minute + 1) * MINUTE + 1_000;
        time += 1;
        now = due + held + own;
        return one.candle(candle(minute, { status: "closed", due, observedAt: due, isLate: false, time }));
      });
    }
    const minutes = (from: number, count: number) => Array.from({ length: count }, (_, at) => from + at);

    it("are live again soon after its clock was set forward, by however much, and however seldom they come", () => {
      const often = read([
        ...minutes(0, 10).map((minute) => ({ minute, own: -10 * MINUTE })),
        ...minutes(10, 10).map((minute) => ({ minute })),
      ]);
      expect(often.map(({ live }) => live)).toEqual(minutes(0, 20).map((at) => at < 10 || at >= 15));
      expect(often.slice(10, 15).map(({ lateBy }) => lateBy)).toEqual(Array(5).fill(10 * MINUTE));
      expect(often.slice(15).map(({ lateBy }) => lateBy)).toEqual(Array(5).fill(0));
      const seldom = read([{ minute: 0, own: -10 * MINUTE }, { minute: 1 }, { minute: 1_441 }]);
      expect(seldom.map(({ live }) => live)).toEqual([true, false, true]);
    });

    it("are late by how long they were held up, after any outage, and before any word from after it", () => {
      const outage = 120;
      const told = read([
        ...minutes(0, 10).map((minute) => ({ minute })),
        ...minutes(10, outage).map((minute) => ({ minute, held: (10 + outage - minute) * MINUTE })),
      ]);
      expect(told.slice(10).map(({ lateBy }) => lateBy)).toEqual(
        minutes(0, outage).map((at) => (outage - at) * MINUTE),
      );
      expect(told.slice(10).filter(({ live }) => live)).toEqual([]);
    });
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
        fc.array(fc.nat({ max: 3 }), { minLength: 60, maxLength: 60 }),
        (steps, joinedAfter, readings) => {
          const stored = new Map<number, PlacedCandle>();
          const messages: PlacedCandle[] = [];
          for (const { minute, price, status, isRemoved } of steps) {
            const before = stored.get(minute);
            const isAlive = before !== undefined && !before.isRemoved;
            if (isAlive && before.status === "final") continue;
            if (isRemoved && !isAlive) continue;
            const later = isAlive && rank[before.status] > rank[status] ? before.status : status;
            const time = messages.length + 1;
            const next = candle(minute, {
              time,
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
          // The last message of each subject as of joining, then what comes: some of it missed by a slow reader, and
          // some of it, or of what is stored, once more.
          const before = messages.slice(0, joinedAfter);
          for (const message of before) if (isKept(message, before)) events.push(...one.candle(message));
          events.push(...one.caughtUp(NOW));
          const history = events.length;
          for (const [at, message] of messages.entries()) {
            if (at < joinedAfter) continue;
            const reading = readings[at % 60]!;
            const soFar = messages.slice(0, at + 1);
            if (reading > 0 || isKept(message, messages)) events.push(...one.candle(message));
            if (reading < 2) continue;
            for (const again of soFar.slice(-3 * reading))
              if (isKept(again, soFar)) events.push(...one.candle(again));
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
