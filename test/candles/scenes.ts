import fc from "fast-check";
import { applyRead, type BookUpdate, type CandleBook, emptyBook } from "../../src/candles/live/book.js";
import type { CandleRead } from "../../src/candles/read/range-reader.js";
import { type CandleRules, windowStart } from "../../src/candles/rules.js";
import type { Candle } from "../../src/contract/model.js";
import { flatCandle, freezeDeep, MINUTE, MINUTES } from "./minute-candles.js";

/** Where random markets begin. */
const OPENING = 1_000 * MINUTE;

/** What happens before a look at a random market, and what goes wrong in it. Minutes are counted back from now. */
export interface Scene {
  readonly wait: number;
  /** Price 0: the candle goes. */
  readonly changes: readonly { readonly back: number; readonly price: number }[];
  readonly dropped: readonly number[];
  readonly unreadable: readonly number[];
  /** Rows that were broken before, and are not there any more. */
  readonly lost?: readonly number[];
  readonly isEmpty: boolean;
  readonly hasUnidentifiedRow: boolean;
  /** By how many minutes the range begins and ends later than it should. */
  readonly shift: readonly [number, number];
  /** Whether it is asked for right after the look before. */
  readonly isRepeat?: boolean;
  /** Whether nothing proves that an answer without rows, or with one that cannot be placed, is whole. */
  readonly isUnproven?: boolean;
  /** By how many minutes what an answer without rows proves ends before its range does. */
  readonly unprovenEnd?: number;
}

export interface Look {
  readonly now: number;
  /** What the service holds, by timestamp. */
  readonly truth: ReadonlyMap<number, Candle>;
  readonly read: CandleRead;
  readonly before: CandleBook;
  readonly turn: BookUpdate;
}

const rarely = <T>(usual: T, other: fc.Arbitrary<T>, weight = 5) =>
  fc.oneof({ weight, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: other });
const backs = fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 1, maxLength: 3 });

/** Random scenes; `troubles` names what may go wrong beyond rows that are dropped. */
export function scenes(
  ...troubles: ("unreadable" | "lost" | "unplaced" | "range" | "repeat" | "unproven")[]
): fc.Arbitrary<Scene[]> {
  const may = <T>(trouble: (typeof troubles)[number], usual: T, other: fc.Arbitrary<T>) =>
    troubles.includes(trouble) ? rarely(usual, other) : fc.constant(usual);
  const change = fc.record({
    back: fc.integer({ min: 0, max: 6 }),
    price: fc.constantFrom(0, 0, 1, 2, 3, 4),
  });
  const scene = fc.record({
    wait: fc.constantFrom(0, 0, 900, 5_000, 30_000, 60_000, 61_000, 250_000),
    changes: fc.array(change, { maxLength: 3 }),
    dropped: rarely<number[]>([], backs, 2),
    isEmpty: rarely(false, fc.constant(true), 12),
    unreadable: may<number[]>("unreadable", [], backs),
    lost: may<number[]>("lost", [], backs),
    hasUnidentifiedRow: may("unplaced", false, fc.constant(true)),
    shift: may<[number, number]>(
      "range",
      [0, 0],
      fc.tuple(fc.integer({ min: -2, max: 3 }), fc.integer({ min: -3, max: 1 })),
    ),
    isRepeat: may("repeat", false, fc.constant(true)),
    isUnproven: troubles.includes("unproven") ? fc.boolean() : fc.constant(false),
    unprovenEnd: may("unproven", 0, fc.integer({ min: 0, max: 3 })),
  });
  return fc.array(scene, { minLength: 1, maxLength: 30 });
}

export const someRules: fc.Arbitrary<CandleRules> = fc.record({
  intervals: fc.constant(MINUTES),
  settle: fc.constantFrom(0, 1_000, 90_000),
  revisionWindow: fc.constantFrom(0, 1, 2),
});

/** Plays scenes before one book, each input frozen. */
export function play(rules: CandleRules, list: readonly Scene[]): Look[] {
  const { intervals } = rules;
  let now = OPENING;
  let book = emptyBook(windowStart(rules, now));
  let truth: ReadonlyMap<number, Candle> = new Map();
  return list.map((scene) => {
    now += scene.wait;
    const minute = (back: number) => intervals.shift(intervals.start(now), -back);
    const changed = new Map(truth);
    for (const { back, price } of scene.changes) {
      const timestamp = minute(back);
      if (price === 0) changed.delete(timestamp);
      else changed.set(timestamp, flatCandle(timestamp, price));
    }
    truth = changed;
    const from = intervals.shift(book.finalUntil, scene.shift[0]);
    const to = Math.max(from, intervals.shift(intervals.end(now), scene.shift[1]));
    const within = (some: readonly number[]) => some.map(minute).filter((one) => one >= from && one < to);
    const lost = new Set(within(scene.lost ?? []));
    const unreadable = new Set([...within(scene.unreadable), ...lost]);
    const unshown = new Set([...scene.dropped.map(minute), ...unreadable]);
    const candles = [...truth.values()]
      .filter(
        ({ timestamp }) => timestamp >= from && timestamp < to && !unshown.has(timestamp) && !scene.isEmpty,
      )
      .sort((a, b) => a.timestamp - b.timestamp);
    const { hasUnidentifiedRow } = scene;
    const isSilent = candles.length === 0 && unreadable.size === 0 && !hasUnidentifiedRow;
    const isUnproven = scene.isUnproven === true && (isSilent || hasUnidentifiedRow);
    const doubts = { isRepeat: scene.isRepeat === true, isUnproven };
    const read: CandleRead = {
      from,
      to,
      candles,
      unreadable,
      lost,
      hasUnidentifiedRow,
      observedAt: now,
      epoch: 0,
      provenUntil: isSilent ? Math.max(from, intervals.shift(to, -(scene.unprovenEnd ?? 0))) : to,
      ...doubts,
    };
    const before = freezeDeep(book);
    const turn = applyRead(rules, before, freezeDeep(read));
    book = turn.book;
    return { now, truth, read, before, turn };
  });
}

/** A scene in which nothing happens and nothing goes wrong. */
export const HONEST: Scene = {
  wait: 0,
  changes: [],
  dropped: [],
  unreadable: [],
  isEmpty: false,
  hasUnidentifiedRow: false,
  shift: [0, 0],
};
