import fc from "fast-check";
import { expect, it } from "vitest";
import type { CandleEvent } from "../../../src/candles/event.js";
import { dueAt } from "../../../src/candles/lateness.js";
import type { CandleWatch } from "../../../src/candles/options.js";
import type { CandleRules } from "../../../src/candles/rules.js";
import { CandleView } from "../../../src/candles/view/view.js";
import type { Candle } from "../../../src/contract/model.js";
import type { Span } from "../../../src/spans.js";
import { filledBatch, MINUTE, MINUTES, partOf, SERIES, standing } from "../minute-candles.js";
import { type Look, play, scenes, someRules } from "../scenes.js";

function watchOf(rules: CandleRules, more: Partial<CandleWatch> = {}): CandleWatch {
  const defaults = {
    every: 1_000,
    since: undefined,
    weekStart: "monday",
    fillGaps: false,
    whenMissing: "fail",
    pollKey: "",
  } as const;
  return { series: SERIES, rules, served: { series: SERIES, rules }, ...defaults, ...more };
}

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
  const seam = looks[first]!.judgement.book.finalUntil;
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
  const learnFrom = ({ from, to }: Span) => learn(minutes > 0 ? Math.max(seam, from) : from, to);
  let next = first;
  let newestPast = Number.NEGATIVE_INFINITY;
  const present = () => {
    const { book, changes } = looks[next]!.judgement;
    for (const span of book.covered) learnFrom(span);
    if (next === first) for (const { candle } of book.entries) expected.set(candle.timestamp, candle);
    else {
      for (const { type, candle } of changes) {
        // What a history has told is final, though the first candles of a book lie before it.
        if (candle.timestamp <= newestPast) continue;
        if (type === "removed") expected.delete(candle.timestamp);
        else expected.set(candle.timestamp, candle);
      }
    }
    events.push(...view.take({ type: "state", state: { book, changes, endsEarly: false } }));
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
    newestPast = candles.at(-1)?.timestamp ?? newestPast;
    learn(from, to);
    const unreadable = new Set(lost >= from && lost < to ? [lost] : []);
    for (const one of unreadable) known.delete(one);
    events.push(
      ...view.take({ type: "history", part: { ...partOf(now, [0, 0], {}), from, to, candles, unreadable } }),
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
    fc.property(someRules, scenes("unplaced", "broken", "cut"), plan, (rules, list, some) => {
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
