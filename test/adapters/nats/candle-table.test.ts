import { describe, expect, it } from "vitest";
import { CandleTable } from "../../../src/adapters/nats/candle-table.js";
import type { FeedSignal } from "../../../src/adapters/nats/feed-reader.js";
import type { CandleRecord, StatusRecord } from "../../../src/adapters/nats/message.js";
import { MINUTES } from "../../world.js";

const MINUTE = 60_000;
const NOON = Date.UTC(2026, 0, 1, 12);
/** The reader's own clock, which nobody has set. */
const now = () => 5;

/** A candle that begins so many minutes after noon, told by a run at its place in it. */
function candle(
  [epoch, number]: readonly [number, number],
  minute: number,
  close: number,
  more: Partial<CandleRecord> = {},
): FeedSignal<CandleRecord> {
  const timestamp = NOON + minute * MINUTE;
  const record: CandleRecord = {
    ...{ epoch, number, observedAt: timestamp + MINUTE, revision: number, due: timestamp + MINUTE },
    candle: { timestamp, open: 1, high: 9, low: 1, close, volume: 1, swaps: 1 },
    status: "final",
    ...more,
  };
  return { type: "message", record };
}

function status(
  [epoch, number]: readonly [number, number],
  {
    covered = [0, 3],
    ...more
  }: Partial<StatusRecord> & { covered?: readonly [from: number, until: number] } = {},
): FeedSignal<CandleRecord> {
  const [from, until] = covered.map((minute) => NOON + minute * MINUTE) as [number, number];
  const record: StatusRecord = {
    ...{ epoch, number, observedAt: 0, revision: 0, publisher: "me", rules: { every: MINUTE } },
    ...{ told: true, from },
    status: { state: "live", coveredFrom: from, coveredUntil: until, failures: 0 },
    ...more,
  };
  return { type: "status", record, isWhole: true, isFresh: true };
}
const READ = { type: "read" } as const;

function reader(since?: number | { candles: number }) {
  const table = new CandleTable({ ...MINUTES, ...(since === undefined ? {} : { since }) }, now);
  const told = (...signals: readonly FeedSignal<CandleRecord>[]) =>
    signals.flatMap((signal) =>
      table.take(signal).map(({ type, candle: of, status: its, live }) => {
        return `${type} ${(of.timestamp - NOON) / MINUTE} = ${of.close} ${its}${live && type !== "removed" ? " live" : ""}`;
      }),
    );
  return { table, told };
}

describe("the table of a published series", () => {
  it("begins with the history that was asked for, ascending, none of it live, and goes on from there", () => {
    const { told } = reader({ candles: 2 });
    expect(told(candle([1, 3], 2, 5), candle([1, 2], 1, 4), candle([1, 1], 0, 3), status([1, 4]))).toEqual(
      [],
    );
    expect(told(READ)).toEqual(["new 1 = 4 final", "new 2 = 5 final"]);
    expect(told(candle([1, 5], 0, 7))).toEqual([]);
    expect(told(candle([1, 6], 3, 6, { status: "open" }))).toEqual(["new 3 = 6 open live"]);
  });

  it("begins with the running interval, or where it is told to", () => {
    const running = reader();
    running.told(
      candle([1, 1], 2, 5),
      candle([1, 2], 3, 6, { status: "open", observedAt: NOON + 3 * MINUTE }),
    );
    expect(running.told(status([1, 3]), READ)).toEqual(["new 3 = 6 open live"]);
    const instant = reader(NOON + 2 * MINUTE);
    expect(instant.told(candle([1, 1], 1, 5), candle([1, 2], 2, 6), READ)).toEqual(["new 2 = 6 final"]);
  });

  it("waits for somebody to tell of the series where only that says where it begins", () => {
    const { told } = reader({ candles: 2 });
    expect(told(READ)).toEqual([]);
    expect(told(candle([1, 1], 2, 5), status([1, 2]))).toEqual(["new 2 = 5 final"]);
  });

  it("begins where the collector's weeks begin, also where only a later status tells of them", () => {
    const [thursday, monday] = [Date.UTC(2026, 0, 1), Date.UTC(2026, 0, 5)];
    const weeks = { ...MINUTES, timeframe: "1w", since: monday + 3_600_000 } as const;
    const table = new CandleTable(weeks, now);
    expect(table.take(READ)).toEqual([]);
    table.take(status([1, 1], { rules: { every: MINUTE, weekStart: "thursday" } }));
    const { record } = candle([1, 2], 0, 5) as { record: CandleRecord };
    const first = { ...record, candle: { ...record.candle, timestamp: thursday } };
    expect(table.take({ type: "message", record: first })).toMatchObject([{ type: "new" }]);
  });

  it("takes a candle that has become final for a close where it was not told as closed", () => {
    const table = new CandleTable({ ...MINUTES, since: NOON }, now);
    const rules = { every: MINUTE, settle: 2_000 };
    for (const signal of [candle([1, 1], 0, 1, { status: "closed" }), status([1, 2], { rules }), READ])
      table.take(signal);
    const at = NOON + 5 * MINUTE;
    const final = { due: at - 1_000, observedAt: at };
    const told = [0, 1].flatMap((minute) => table.take(candle([1, 3 + minute], minute, 1, final)));
    expect(told).toMatchObject([
      { type: "updated", status: "final", live: true, lateBy: 1_000 },
      { type: "new", status: "final", live: false, lateBy: 3 * MINUTE - 2_000 },
    ]);
  });

  it("tells of what was missed only the newest close as live", () => {
    const { told } = reader(NOON);
    told(candle([1, 1], 0, 1), status([1, 2]), READ);
    const close = (at: number, minute: number, time?: number) => {
      const { record } = candle([1, at], minute, 1, { status: "closed" }) as { record: CandleRecord };
      return { type: "message", record, ...(time === undefined ? {} : { time }) } as const;
    };
    expect(told(close(4, 2, 9), close(3, 1, 9))).toEqual([]);
    expect(told(READ)).toEqual(["new 1 = 1 closed", "new 2 = 1 closed live"]);
    expect(told(close(5, 3), close(6, 4))).toEqual(["new 3 = 1 closed live", "new 4 = 1 closed live"]);
  });

  it("takes the newer one of two messages, in any order", () => {
    const { told } = reader(NOON);
    told(candle([1, 4], 0, 4), candle([1, 2], 0, 2), READ);
    expect(told(candle([1, 3], 0, 3), candle([0, 9], 0, 9))).toEqual([]);
    expect(told(candle([2, 1], 0, 8))).toEqual(["updated 0 = 8 final live"]);
  });

  it("tells a removal, and takes for gone what a later run has not told again once that has told all", () => {
    const { told } = reader(NOON);
    told(candle([1, 1], 0, 1), candle([1, 2], 1, 1), candle([1, 3], 2, 1), status([1, 4]), READ);
    expect(told(candle([1, 5], 2, 1, { removed: true }))).toEqual(["removed 2 = 1 final"]);
    expect(told(status([2, 1], { told: undefined }), candle([2, 2], 0, 1))).toEqual([]);
    expect(told(status([2, 3]))).toEqual(["removed 1 = 1 final"]);
    // What the earlier run still sends is outdated.
    expect(told(candle([1, 9], 1, 7))).toEqual([]);
  });

  it("leaves alone what a later run cannot know, before where it tells of all", () => {
    const { told } = reader(NOON);
    told(candle([1, 1], 0, 1), candle([1, 2], 1, 1), status([1, 3]), READ);
    expect(told(status([2, 1], { from: NOON + 2 * MINUTE }))).toEqual([]);
  });

  it.each([
    ["long after", 60, ["removed 0 = 1 final", "removed 1 = 1 closed", "removed 2 = 1 open"]],
    ["one interval after", 4, ["removed 0 = 1 final", "removed 1 = 1 closed", "removed 2 = 1 open"]],
    ["with", 3, []],
    ["before", 2, ["removed 2 = 1 open"]],
  ])("leaves no hole: what is covered begins %s the end of what was covered", (_, from, gone) => {
    const { told } = reader(NOON);
    told(
      candle([1, 1], 0, 1),
      candle([1, 2], 1, 1, { status: "closed" }),
      candle([1, 3], 2, 1, { status: "open" }),
      status([1, 4], { covered: [0, 3] }),
      READ,
    );
    // Until what follows is stored, it is not known whether it meets that.
    const { status: before } = (status([1, 4]) as { record: StatusRecord }).record;
    const { coveredFrom: _from, coveredUntil: _until, ...starting } = before;
    expect(told(status([2, 1], { told: undefined, status: starting }))).toEqual([]);
    expect(told(candle([2, 2], 60, 2))).toEqual(["new 60 = 2 final live"]);
    const covered = [from, 61] as const;
    expect(told(status([2, 3], { covered, from: NOON + from * MINUTE }))).toEqual(gone);
    expect(told(status([2, 4], { covered, from: NOON + from * MINUTE }), READ)).toEqual([]);
  });

  it("reads further back until there are as many candles as were asked for, or no more", () => {
    const { table, told } = reader({ candles: 3 });
    const record = (status([1, 9], { covered: [-100, 3] }) as { record: StatusRecord }).record;
    expect(table.since(undefined)).toBe(-Infinity);
    expect(table.since(record)).toBe(NOON - MINUTE);
    told(candle([1, 1], 2, 1), { type: "status", record, isWhole: false, isFresh: false });
    expect([table.isShort(), table.since(record)]).toEqual([true, NOON - 5 * MINUTE]);
    told(candle([1, 2], -2, 1), candle([1, 3], -3, 1));
    expect(table.isShort()).toBe(false);
    const taken = reader({ candles: 2 });
    taken.told(candle([2, 1], 2, 1), candle([1, 1], 1, 1), candle([2, 2], 0, 1, { removed: true }));
    // What a later run has not told again is gone, as what was removed.
    taken.told(status([2, 3], { covered: [-100, 3], from: NOON }), candle([1, 2], -90, 1));
    expect(taken.table.isShort()).toBe(false);
    expect(taken.told(READ)).toEqual(["new -90 = 1 final", "new 2 = 1 final"]);
    const gone = reader({ candles: 2 });
    gone.told(candle([2, 1], 2, 1), candle([1, 1], 1, 1), candle([2, 2], 0, 1, { removed: true }));
    gone.told(status([2, 3], { covered: [-100, 3], from: NOON }));
    expect(gone.table.isShort()).toBe(true);
    const young = reader({ candles: 3 });
    young.told(candle([1, 1], 2, 1), status([1, 2], { covered: [0, 3] }));
    expect(young.table.isShort()).toBe(false);
  });

  it("reads on from the first candle that can still change, or the newest", () => {
    const { table, told } = reader(NOON);
    told(candle([1, 1], 0, 1), candle([1, 2], 1, 1), status([1, 3]), READ);
    expect(table.since(undefined)).toBe(NOON + MINUTE);
    told(candle([1, 4], 2, 1, { status: "closed" }), candle([1, 5], 3, 1, { status: "open" }));
    expect(table.since(undefined)).toBe(NOON + 2 * MINUTE);
  });
});
