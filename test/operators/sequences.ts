import fc from "fast-check";
import { expect } from "vitest";
import { type CandleEvent, isSame } from "../../src/candles/event.js";
import type { CandleRules } from "../../src/candles/rules.js";
import { CandleView } from "../../src/candles/view/view.js";
import type { Candle } from "../../src/contract/model.js";
import { MINUTE, MINUTES, partOf, SERIES } from "../candles/minute-candles.js";
import { play, type Scene } from "../candles/scenes.js";

const RANK = { open: 0, closed: 1, final: 2 } as const;

interface Subscription {
  /** The look at which the subscriber comes. */
  readonly at: number;
  /** How many minutes of history it asks for; 0: none. */
  readonly minutes: number;
  /** How many looks come while the history is read. */
  readonly during: number;
  readonly isFilled: boolean;
}

const rules: fc.Arbitrary<CandleRules> = fc.record({
  intervals: fc.constant(MINUTES),
  settle: fc.constantFrom(0, 1_000, 90_000),
  revisionWindow: fc.constantFrom(0, 1, 2, 2, 5),
});

/** A market in which more happens, and to older candles, than in those before which the book is tested. */
const scenes: fc.Arbitrary<Scene[]> = fc.array(
  fc.record({
    wait: fc.constantFrom(0, 0, 5_000, 30_000, 60_000, 61_000, 130_000),
    changes: fc.array(
      fc.record({
        back: fc.oneof({ weight: 2, arbitrary: fc.constant(0) }, { weight: 3, arbitrary: fc.nat(6) }),
        price: fc.constantFrom(0, 1, 2, 3, 4, 5),
      }),
      { minLength: 1, maxLength: 4 },
    ),
    dropped: rarely<number[]>([], fc.array(fc.nat(5), { minLength: 1, maxLength: 2 })),
    broken: rarely<number[]>([], fc.array(fc.nat(5), { minLength: 1, maxLength: 2 })),
    isEmpty: rarely(false, fc.constant(true)),
    hasUnplaced: rarely(false, fc.constant(true)),
    shift: rarely<[number, number]>(
      [0, 0],
      fc.tuple(fc.integer({ min: -2, max: 3 }), fc.integer({ min: -3, max: 1 })),
    ),
  }),
  { minLength: 1, maxLength: 40, size: "max" },
);

function rarely<T>(usual: T, other: fc.Arbitrary<T>): fc.Arbitrary<T> {
  return fc.oneof({ weight: 11, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: other });
}

const subscription: fc.Arbitrary<Subscription> = fc.record({
  at: fc.nat(6),
  minutes: fc.constantFrom(0, 0, 0, 1, 10),
  during: fc.nat(3),
  isFilled: fc.boolean(),
});

/**
 * Events as one subscriber gets them: a real book reads a random market, and a real view shows what it finds.
 * Now and then the first ones are missed, as by one who comes late to a shared stream.
 */
export const sequences: fc.Arbitrary<readonly CandleEvent[]> = fc
  .tuple(rules, scenes, subscription, fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, fc.nat(20)))
  .map(([some, list, plan, missed]) => subscribe(some, list, plan).slice(missed));

function subscribe(
  rules: CandleRules,
  list: readonly Scene[],
  { at, minutes, during, isFilled }: Subscription,
): readonly CandleEvent[] {
  const looks = play(rules, list);
  const first = Math.min(at, looks.length - 1);
  const { judgement, truth, now } = looks[first]!;
  const seam = judgement.book.finalUntil;
  const hasHistory = minutes > 0;
  const start = hasHistory ? seam - minutes * MINUTE : MINUTES.start(now);
  const since = hasHistory ? start : undefined;
  const poll = { every: 1_000, weekStart: "monday", whenMissing: "fail", pollKey: "" } as const;
  const watch = {
    series: SERIES,
    rules,
    served: { series: SERIES, rules },
    since,
    fillGaps: isFilled,
    ...poll,
  };
  const view = new CandleView(watch, { start, hasHistory });
  const events: CandleEvent[] = [];
  const take = (step: Parameters<CandleView["take"]>[0]) => events.push(...view.take(step));
  looks.slice(first).forEach((look, index) => {
    const isHandedOver = hasHistory && index === Math.min(during, looks.length - first - 1);
    const { book, changes } = look.judgement;
    take({ type: "state", state: { book, changes, endsEarly: false } });
    if (!isHandedOver) return;
    // Some of the past that nobody has watched.
    const past = [...truth.values()].filter(({ timestamp }) => timestamp >= start && timestamp < seam);
    for (let minute = start; minute < seam; minute += 3 * MINUTE) {
      if (!truth.has(minute)) past.push(partOf(0, [0, 0], { [minute / MINUTE]: 2 }).candles[0]!);
    }
    const candles = past.sort((a, b) => a.timestamp - b.timestamp);
    take({ type: "history", part: { ...partOf(now, [0, 0], {}), from: start, to: seam, candles } });
    take({ type: "history-end" });
  });
  return events.map(lifelike);
}

/**
 * The same event, its candle with prices that differ from each other; equal ones stay equal, flat ones flat.
 */
function lifelike(event: CandleEvent): CandleEvent {
  const candle = shaped(event.candle);
  return Object.freeze(
    event.type === "updated" ? { ...event, candle, previous: shaped(event.previous) } : { ...event, candle },
  );
}

function shaped(candle: Candle): Candle {
  if (candle.swaps === 0) return candle;
  const minute = candle.timestamp / MINUTE;
  const open = candle.close + ((minute * 7) % 5) / 10;
  return Object.freeze({
    ...candle,
    open,
    high: Math.max(open, candle.close) + (minute % 3) / 10,
    low: Math.min(open, candle.close) - (minute % 4) / 10,
    volume: candle.close * (0.1 + (minute % 7)),
    swaps: 1 + (minute % 2),
  });
}

/** Follows what comes out of an operator, and holds it to the promises about the life of a candle. */
export class Lives<E extends CandleEvent> {
  /** The last event of each candle that is there. */
  readonly last = new Map<number, E>();
  private finalUntil = Number.NEGATIVE_INFINITY;

  constructor(private readonly isSameExtra: (a: E, b: E) => boolean = () => true) {}

  /** What follows from one event. */
  take(cause: CandleEvent, events: readonly E[]): void {
    let newest = Number.NEGATIVE_INFINITY;
    for (const event of events) {
      const { timestamp } = event.candle;
      expect(timestamp).toBeGreaterThan(newest);
      newest = timestamp;
      this.follow(event);
      expect(event.observedAt).toBe(cause.observedAt);
      expect([event, event.candle].every(Object.isFrozen)).toBe(true);
    }
  }

  private follow(event: E): void {
    const { type, candle, status, revision } = event;
    const { timestamp } = candle;
    const before = this.last.get(timestamp);
    expect(timestamp).toBeGreaterThan(this.finalUntil);
    expect(type === "new").toBe(before === undefined);
    expect("previous" in event).toBe(type === "updated");
    if (before !== undefined) {
      expect(revision).toBe(before.revision + 1);
      expect(RANK[status]).toBeGreaterThanOrEqual(RANK[before.status]);
    }
    if (event.type === "updated") {
      expect(event.previous).toEqual(before!.candle);
      const isEcho =
        status === before!.status && isSame(candle, before!.candle) && this.isSameExtra(event, before!);
      expect(isEcho).toBe(false);
    }
    if (type === "removed") {
      expect([candle, status]).toEqual([before!.candle, before!.status]);
      this.last.delete(timestamp);
      return;
    }
    if (status === "final") this.finalUntil = timestamp;
    this.last.set(timestamp, event);
  }
}
