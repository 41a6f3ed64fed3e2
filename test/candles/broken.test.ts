import { describe, expect, it } from "vitest";
import {
  type Candle,
  type CandleEvent,
  type FeedStatus,
  finals,
  watchCandles,
  watchFeedStatus,
} from "../../src/index.js";
import { at, MINUTES, short, World, withRows } from "../world.js";

const MINUTE = 60_000;
const BROKEN = at("12:01:00");

const BREAKS: [string, Record<string, unknown>][] = [
  ["a word for a price", { close: "five" }],
  ["no volume", { volume: undefined }],
  ["a high below the low", { high: 0, low: 1 }],
  ["half a swap", { swaps: 0.5 }],
];

interface Spell {
  readonly revisionWindow: number;
  readonly every?: number | "close";
  /** The row of 12:01 is broken in answers from one instant until another. */
  readonly from: number;
  readonly until?: number;
  readonly fields?: Record<string, unknown>;
}

/** A watch from 12:00:10 to 12:12:30 of a pair with a swap a minute, and one at 12:02:20 that is late for 12:01. */
async function watched({
  revisionWindow,
  every = "close",
  from,
  until = Infinity,
  fields = { high: null },
}: Spell) {
  const world = new World({ start: at("12:00:10") });
  world.swapsEvery(MINUTE, at("11:00:00"), at("13:00:00"));
  world.interfere = ({ sent }, answer) =>
    sent >= from && sent < until
      ? withRows(answer, (rows) =>
          rows.map((row) => (row.timestamp === new Date(BROKEN).toISOString() ? { ...row, ...fields } : row)),
        )
      : undefined;
  const options = { ...MINUTES, revisionWindow, every };
  const events: CandleEvent[] = [];
  const final: Candle[] = [];
  const statuses: FeedStatus[] = [];
  watchCandles(world.client, options).subscribe((event) => events.push(event));
  watchCandles(world.client, options)
    .pipe(finals())
    .subscribe(({ candle }) => final.push(candle));
  watchFeedStatus(world.client, options).subscribe((status) => statuses.push(status));
  await world.clock.advanceTo(at("12:02:20"));
  world.swap(BROKEN + 59_000, 999);
  await world.clock.advanceTo(at("12:12:30"));
  const dropped = world.activity.filter(({ type }) => type === "dropped");
  const ofBroken = events.filter(({ candle }) => candle.timestamp === BROKEN);
  return { events, final, ofBroken, statuses, dropped };
}

/** All minutes from noon on that are out of the window in the end. */
const minutesFinal = (revisionWindow: number) =>
  Array.from({ length: 12 - revisionWindow }, (_, minute) => at("12:00:00") + minute * MINUTE);

const WINDOWS = [1, 2, 5];
/** The row breaks at each of the polls after the one that closes the candle, up to the one at which it leaves. */
const LATE = WINDOWS.flatMap((revisionWindow) =>
  Array.from({ length: revisionWindow }, (_, index) => ({ revisionWindow, polls: index + 1 })),
);

describe("a candle whose row breaks after it has closed", () => {
  it.each(LATE)("is final with its last values: window $revisionWindow, broken for $polls", async (late) => {
    const { revisionWindow, polls } = late;
    // It closes at 12:02:01, and leaves the window as many minutes later as that has intervals.
    const leaves = at("12:02:01") + revisionWindow * MINUTE;
    const from = leaves - polls * MINUTE + MINUTE - 500;
    const { final, ofBroken, statuses, dropped } = await watched({ revisionWindow, from });
    expect(final.map(({ timestamp }) => timestamp)).toEqual(minutesFinal(revisionWindow));
    const told = ofBroken.at(-1)!;
    expect(told).toMatchObject({ type: "updated", status: "final", previous: told.candle });
    expect(told.revision).toBe(ofBroken.at(-2)!.revision + 1);
    expect(told.candle).toEqual(ofBroken.at(-2)!.candle);
    // The late swap is known only where an answer before has told of it.
    expect(told.candle.close).toBe(from > at("12:03:01") ? 999 : 62);
    // It is read three times, a second apart, before it is given up.
    expect(told.observedAt - leaves).toBeGreaterThanOrEqual(0);
    expect(told.observedAt - leaves).toBeLessThan(2_500);
    expect(dropped).toMatchObject([{ what: "row", key: BROKEN, error: { name: "ContractError" } }]);
    expect(statuses.at(-1)).toMatchObject({
      state: "live",
      coveredFrom: BROKEN + MINUTE,
      coveredUntil: at("12:12:00"),
    });
    for (const { coveredFrom = 0, coveredUntil = 0 } of statuses.slice(-3)) {
      expect(coveredFrom > BROKEN || coveredUntil <= BROKEN).toBe(true);
    }
  });

  it.each(BREAKS)("by %s is final all the same", async (_, fields) => {
    const { final, dropped } = await watched({ revisionWindow: 2, from: at("12:02:30"), fields });
    expect(final.map(({ timestamp }) => timestamp)).toEqual(minutesFinal(2));
    expect(dropped).toHaveLength(1);
  });

  it("is final where refresh polls come in between, too", async () => {
    const { final } = await watched({ revisionWindow: 2, every: 10_000, from: at("12:02:30") });
    expect(final.map(({ timestamp }) => timestamp)).toEqual(minutesFinal(2));
  });

  it("goes on as any where the row is good again in time", async () => {
    const spell = { revisionWindow: 2, from: at("12:02:30"), until: at("12:03:30") };
    const { ofBroken, statuses } = await watched(spell);
    expect(ofBroken.map(short).slice(1)).toEqual([
      "updated closed 12:01:00 #1 62",
      "updated final 12:01:00 #2 999",
    ]);
    expect(statuses.at(-1)).toMatchObject({ state: "live", coveredUntil: at("12:12:00") });
  });
});

describe("a candle whose row breaks while it is open", () => {
  it.each([0, 1, 2, 5])(
    "is not told as closed or final, and dropped says so: window %d",
    async (revisionWindow) => {
      const spell = { revisionWindow, from: at("12:01:30") };
      const { final, ofBroken, statuses, dropped } = await watched(spell);
      expect(ofBroken.map(short)).toEqual(["new open 12:01:00 #0 62"]);
      const others = minutesFinal(revisionWindow).filter((timestamp) => timestamp !== BROKEN);
      expect(final.map(({ timestamp }) => timestamp)).toEqual(others);
      expect(dropped).toMatchObject([{ what: "row", key: BROKEN }]);
      expect(statuses.at(-1)).toMatchObject({ state: "live", coveredFrom: BROKEN + MINUTE });
    },
  );

  it("is closed late where its row is good again before it leaves the window", async () => {
    const spell = { revisionWindow: 2, from: at("12:01:30"), until: at("12:02:30") };
    const { ofBroken, final } = await watched(spell);
    expect(ofBroken.map(short)).toEqual([
      "new open 12:01:00 #0 62",
      "updated closed 12:01:00 #1 999",
      "updated final 12:01:00 #2 999",
    ]);
    expect(final.map(({ timestamp }) => timestamp)).toEqual(minutesFinal(2));
  });
});

describe("an interval whose row has broken answers", () => {
  it.each([1, 2])(
    "is not filled where %i of them have held it, and one has lacked it in between",
    async (refused) => {
      const world = new World({ start: at("12:10:10"), client: { retry: false } });
      world.swapsEvery(2 * MINUTE, at("11:00:00"), at("12:30:00"));
      world.swap(BROKEN, 7);
      let reads = 0;
      world.interfere = (_, answer) =>
        withRows(answer, (rows) => {
          const others = rows.filter(({ timestamp }) => timestamp !== new Date(BROKEN).toISOString());
          const hasRow = others.length < rows.length;
          if (hasRow) reads += 1;
          if (hasRow && reads === refused + 1) return others;
          return rows.map((row) => (others.includes(row) ? row : { ...row, close: null }));
        });
      const shown = new Set<number>();
      const options = { ...MINUTES, since: at("11:30:00"), fillGaps: true };
      watchCandles(world.client, options).subscribe(({ candle }) => shown.add(candle.timestamp));
      await world.clock.advanceTo(at("12:20:30"));
      const minutes = Array.from({ length: 50 }, (_, minute) => at("11:30:00") + minute * MINUTE);
      expect(reads).toBeGreaterThan(refused + 1);
      expect(minutes.filter((minute) => !shown.has(minute))).toEqual([BROKEN]);
    },
  );
});
