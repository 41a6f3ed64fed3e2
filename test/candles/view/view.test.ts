import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { CandleEvent } from "../../../src/candles/event.js";
import { dueAt } from "../../../src/candles/lateness.js";
import { emptyBook, readCandles } from "../../../src/candles/live/book.js";
import type { CandleState } from "../../../src/candles/live/poll-candles.js";
import type { CandleWatch } from "../../../src/candles/options.js";
import type { CandleRules } from "../../../src/candles/rules.js";
import { CandleView } from "../../../src/candles/view/view.js";
import type { Candle } from "../../../src/contract/model.js";
import {
  filledBatch,
  type Look,
  lineOf,
  MINUTE,
  MINUTES,
  type Prices,
  play,
  readOf,
  SERIES,
  scenes,
  someRules,
  standing,
} from "../market.js";

const RULES: CandleRules = { intervals: MINUTES, settle: 1_000, revisionWindow: 2 };

function watchOf(rules: CandleRules, more: Partial<CandleWatch> = {}): CandleWatch {
  const defaults = {
    every: 1_000,
    since: undefined,
    fillGaps: false,
    whenMissing: "fail",
    pollKey: "",
  } as const;
  return { series: SERIES, rules, ...defaults, ...more };
}

/** States of a book that begins at minute 0. */
function states() {
  let book = emptyBook(0);
  return (at: number, seconds: number, prices: Prices): { type: "state"; state: CandleState } => {
    const turn = readCandles(RULES, book, readOf(at * MINUTE + seconds * 1_000, [0, 100], prices));
    book = turn.book;
    return { type: "state", state: { book, changes: turn.changes } };
  };
}

const lines = (events: Iterable<CandleEvent>) =>
  [...events].map((event) => `${lineOf(event)}${event.live ? " live" : ""}`);

describe("without a history", () => {
  const options = { start: 5 * MINUTE, hasHistory: false };

  it("shows nothing that is older than its start, and everything since", () => {
    const look = states();
    const view = new CandleView(watchOf(RULES), options);
    expect(lines(view.take(look(5, 30, { 4: 1, 5: 1 })))).toEqual(["new 5=1 open r0 live"]);
    expect(lines(view.take(look(6, 1, { 4: 2, 5: 2, 6: 1 })))).toEqual([
      "updated 5=2 closed r1 live",
      "new 6=1 open r0 live",
    ]);
    expect(lines(view.take(look(9, 1, { 4: 2, 5: 2, 6: 1 })))).toEqual([
      "updated 5=2 final r2",
      "updated 6=1 final r1",
    ]);
  });

  it("shows one who comes late the candles as they stand, with the book's revision", () => {
    const look = states();
    look(4, 30, { 4: 1 });
    look(5, 30, { 4: 1, 5: 1 });
    const last = look(5, 40, { 4: 1, 5: 2 });
    const view = new CandleView(watchOf(RULES), options);
    expect(lines(view.take(last))).toEqual(["new 5=2 open r1 live"]);
    expect(lines(view.take(look(5, 50, { 4: 1, 5: 3 })))).toEqual(["updated 5=3 open r2 live"]);
  });

  it("is live at once only where none was asked for", () => {
    const look = states();
    const view = new CandleView(watchOf(RULES, { since: options.start }), options);
    expect(lines(view.take(look(5, 30, { 5: 1 })))).toEqual(["new 5=1 open r0"]);
    expect(lines(view.take(look(5, 31, { 5: 2 })))).toEqual(["updated 5=2 open r1 live"]);
  });

  it("fills no gap before the first candle that it shows", () => {
    const look = states();
    const view = new CandleView(watchOf(RULES, { fillGaps: true }), options);
    expect(lines(view.take(look(5, 30, { 3: 1 })))).toEqual([]);
    expect(lines(view.take(look(7, 30, { 3: 1, 6: 2 })))).toEqual(["new 6=2 closed r0 live"]);
    expect(lines(view.take(look(8, 30, { 6: 2 })))).toEqual(["new 7=2 closed r0 live"]);
  });

  it("tells when it was true, of which series, in events that are frozen", () => {
    const view = new CandleView(watchOf(RULES), options);
    const [event] = view.take(states()(5, 30, { 5: 1 }));
    expect(event).toMatchObject({ observedAt: 5 * MINUTE + 30_000, series: SERIES });
    expect(Object.isFrozen(event)).toBe(true);
  });
});

describe("with a history", () => {
  const history = (at: number, range: [number, number], prices: Prices) =>
    ({ type: "history", read: readOf(at * MINUTE, range, prices) }) as const;

  it("shows it first, then what became of the book meanwhile, then what changes", () => {
    const look = states();
    const view = new CandleView(watchOf(RULES, { since: 0 }), { start: 0, hasHistory: true });
    const events: CandleEvent[] = [];
    const take = (step: Parameters<CandleView["take"]>[0]) => {
      const taken = [...view.take(step)];
      events.push(...taken);
      return lines(taken);
    };
    expect(take(look(7, 30, { 5: 1, 6: 1, 7: 1 }))).toEqual([]);
    expect(take(history(7.6, [0, 3], { 1: 1 }))).toEqual(["new 1=1 final r0"]);
    // 5 becomes final, 6 goes, 7 closes, 8 comes.
    expect(take(look(8, 30, { 5: 1, 7: 2, 8: 1 }))).toEqual([]);
    expect(take(look(8, 31, { 5: 1, 7: 2, 8: 1 }))).toEqual([]);
    expect(take(history(8.6, [3, 5], { 3: 1, 4: 1 }))).toEqual(["new 3=1 final r0", "new 4=1 final r0"]);
    // What has closed meanwhile is late by when it is handed over, not by when it was read.
    expect(take({ type: "history-end", received: 8.6 * MINUTE })).toEqual([
      "new 5=1 final r1",
      "new 7=2 closed r2",
      "new 8=1 open r0",
    ]);
    expect(events.slice(-3).map(({ lateBy }) => lateBy)).toEqual([155_000, 35_000, 0]);
    expect(take(look(8, 50, { 7: 2, 8: 3 }))).toEqual(["updated 8=3 open r1 live"]);
    expect(events.map(({ observedAt }) => observedAt / MINUTE)).toEqual(
      [7.6, 8.6, 8.6, ...Array(3).fill(8 + 31 / 60), 8 + 50 / 60].map((at) => expect.closeTo(at, 6)),
    );
    expect(events.every(Object.isFrozen)).toBe(true);
  });

  it("fills the gap between it and the book", () => {
    const look = states();
    const view = new CandleView(watchOf(RULES, { since: 0, fillGaps: true }), { start: 0, hasHistory: true });
    expect(lines(view.take(look(7, 30, { 7: 9 })))).toEqual([]);
    expect(lines(view.take(history(7.6, [0, 5], { 3: 1 })))).toEqual([
      "new 3=1 final r0",
      "new 4=1 final r0",
    ]);
    expect(lines(view.take({ type: "history-end" }))).toEqual([
      "new 5=1 closed r0",
      "new 6=1 closed r0",
      "new 7=9 open r0",
    ]);
  });
});

interface Plan {
  /** The look at which the subscriber comes. */
  readonly at: number;
  /** How many minutes of history it asks for before the book's; 0: none. */
  readonly minutes: number;
  /** The lengths of its slices, and how many states come before each of them. */
  readonly slices: readonly { readonly minutes: number; readonly states: number }[];
  /** A minute of the history whose row is broken. */
  readonly broken: number;
}

const plan: fc.Arbitrary<Plan> = fc.record({
  at: fc.nat(20),
  minutes: fc.constantFrom(0, 1, 3, 10, 25),
  slices: fc.array(fc.record({ minutes: fc.integer({ min: 1, max: 9 }), states: fc.nat(3) }), {
    minLength: 1,
  }),
  broken: fc.nat(40),
});

/** Subscribes as planned, and tells what should have come of it. */
function subscribe(
  rules: CandleRules,
  looks: readonly Look[],
  { at, minutes, slices, broken }: Plan,
  isFilled: boolean,
) {
  const first = Math.min(at, looks.length - 1);
  const seam = looks[first]!.turn.book.finalUntil;
  const start = minutes > 0 ? seam - minutes * MINUTE : MINUTES.start(looks[first]!.now);
  const since = minutes > 0 ? start : undefined;
  const watch = watchOf(rules, { since, fillGaps: isFilled });
  const view = new CandleView(watch, { start, hasHistory: minutes > 0 });
  const events: CandleEvent[] = [];
  const expected = new Map<number, Candle>();
  const known = new Set<number>();
  const learn = (from: number, until: number) => {
    for (let minute = from; minute < until; minute += MINUTE) known.add(minute);
  };
  let next = first;
  const present = () => {
    const { book, changes } = looks[next]!.turn;
    learn(minutes > 0 ? Math.max(seam, book.coveredFrom) : book.coveredFrom, book.coveredUntil);
    if (next === first) for (const { candle } of book.entries) expected.set(candle.timestamp, candle);
    else {
      for (const { type, candle } of changes) {
        if (type === "removed") expected.delete(candle.timestamp);
        else expected.set(candle.timestamp, candle);
      }
    }
    events.push(...view.take({ type: "state", state: { book, changes } }));
    next += 1;
  };

  present();
  for (let from = start, slice = 0; minutes > 0 && from < seam; slice += 1) {
    const { minutes: length, states } = slices[slice % slices.length]!;
    for (let more = states; more > 0 && next < looks.length; more -= 1) present();
    const { truth, now } = looks[next - 1]!;
    const to = Math.min(seam, from + length * MINUTE);
    const lost = start + broken * MINUTE;
    const candles = [...truth.values()]
      .filter(({ timestamp }) => timestamp >= from && timestamp < to && timestamp !== lost)
      .sort((a, b) => a.timestamp - b.timestamp);
    for (const candle of candles) expected.set(candle.timestamp, candle);
    learn(from, to);
    const unreadable = new Set(lost >= from && lost < to ? [lost] : []);
    for (const one of unreadable) known.delete(one);
    events.push(
      ...view.take({ type: "history", read: { ...readOf(now, [0, 0], {}), from, to, candles, unreadable } }),
    );
    from = to;
  }
  if (minutes > 0) events.push(...view.take({ type: "history-end" }));
  const handedOver = events.length;
  while (next < looks.length) present();
  for (const timestamp of expected.keys()) if (timestamp < start) expected.delete(timestamp);
  return { events, handedOver, expected, known, end: looks.at(-1)!.now + 2 * MINUTE, first: looks[first]! };
}

it("joins history and book without hole or duplicate, however they interleave", () => {
  fc.assert(
    fc.property(someRules, scenes("unplaced", "unreadable"), plan, (rules, list, some) => {
      const { events, handedOver, expected } = subscribe(rules, play(rules, list), some, false);
      expect(standing(events)).toEqual([...expected.values()].sort((a, b) => a.timestamp - b.timestamp));

      const known = new Map<number, CandleEvent>();
      const closed = new Set<number>();
      /** By when they were observed. */
      const liveCloses = new Set<number>();
      events.forEach((event, index) => {
        const { timestamp } = event.candle;
        const before = known.get(timestamp);
        if (some.minutes > 0 && index < handedOver && event.status === "open") expect(event.live).toBe(false);
        const isClose = event.type !== "removed" && event.status !== "open" && !closed.has(timestamp);
        if (event.type === "removed" || event.status === "open") closed.delete(timestamp);
        else closed.add(timestamp);
        const due = dueAt(rules, timestamp, event.status, isClose);
        if (index >= handedOver) expect(event.lateBy).toBe(Math.max(0, event.observedAt - due));
        if (event.live) expect(event.lateBy).toBeLessThanOrEqual(MINUTE / 2);
        if (event.live && isClose) {
          expect(liveCloses.has(event.observedAt)).toBe(false);
          liveCloses.add(event.observedAt);
        }
        expect(event.type === "new").toBe(before === undefined);
        if (before !== undefined) expect(event.revision).toBe(before.revision + 1);
        if (event.type === "removed") known.delete(timestamp);
        else known.set(timestamp, event);
        if (index > 0) expect(event.observedAt).toBeGreaterThanOrEqual(events[index - 1]!.observedAt);
        if (index > 0 && index < handedOver) {
          expect(timestamp).toBeGreaterThan(events[index - 1]!.candle.timestamp);
        }
      });
    }),
    { numRuns: 500 },
  );
});

it("fills across the seam as a batch would", () => {
  fc.assert(
    fc.property(someRules, scenes(), plan, (rules, list, some) => {
      const { events, expected, known, end } = subscribe(rules, play(rules, list), some, true);
      expect(standing(events)).toEqual(filledBatch(expected, (at) => known.has(at), end));
    }),
    { numRuns: 500 },
  );
});
