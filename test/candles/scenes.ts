import fc from "fast-check";
import { type CandleBook, emptyBook, withoutAnchors } from "../../src/candles/read/book.js";
import { type Judgement, judge, lacksAllAnchors } from "../../src/candles/read/judge.js";
import type { Page } from "../../src/candles/read/page.js";
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
  /** Rows that the answer leaves out. */
  readonly dropped: readonly number[];
  readonly broken: readonly number[];
  readonly isEmpty: boolean;
  readonly hasUnplaced: boolean;
  /** By how many minutes the range begins and ends later than it should. */
  readonly shift: readonly [number, number];
  /** The rows that are older are cut off, known candles from before the range among them. */
  readonly cutBefore?: number | undefined;
  /** Whether the same answer comes once more. */
  readonly isCopy?: boolean;
  readonly isInDoubt?: boolean;
  /** By how many minutes the service's clock is set back. */
  readonly setBack?: number;
}

export interface Look {
  /** By the service's clock. */
  readonly now: number;
  /** What the service holds, by timestamp. */
  readonly truth: ReadonlyMap<number, Candle>;
  readonly page: Page;
  readonly before: CandleBook;
  readonly judgement: Judgement;
}

type Trouble = "broken" | "unplaced" | "range" | "copy" | "cut" | "doubt" | "jump";

const rarely = <T>(usual: T, other: fc.Arbitrary<T>, weight = 5) =>
  fc.oneof({ weight, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: other });
const backs = fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 1, maxLength: 3 });

/** Random scenes; `troubles` names what may go wrong beyond rows that are dropped. */
export function scenes(...troubles: Trouble[]): fc.Arbitrary<Scene[]> {
  const may = <T>(trouble: Trouble, usual: T, other: fc.Arbitrary<T>) =>
    troubles.includes(trouble) ? rarely(usual, other) : fc.constant(usual);
  const change = fc.record({
    back: fc.integer({ min: 0, max: 6 }),
    price: fc.constantFrom(0, 0, 1, 2, 3, 4),
  });
  const scene = fc.record({
    wait: fc.constantFrom(0, 0, 900, 1_000, 5_000, 30_000, 60_000, 61_000, 250_000),
    changes: fc.array(change, { maxLength: 3 }),
    dropped: rarely<number[]>([], backs, 2),
    isEmpty: rarely(false, fc.constant(true), 12),
    broken: may<number[]>("broken", [], backs),
    hasUnplaced: may("unplaced", false, fc.constant(true)),
    shift: may<[number, number]>(
      "range",
      [0, 0],
      fc.tuple(fc.integer({ min: -2, max: 3 }), fc.integer({ min: -3, max: 1 })),
    ),
    cutBefore: may<number | undefined>("cut", undefined, fc.integer({ min: 0, max: 6 })),
    isCopy: may("copy", false, fc.constant(true)),
    isInDoubt: may("doubt", false, fc.constant(true)),
    setBack: troubles.includes("jump") ? rarely(0, fc.integer({ min: 1, max: 9 }), 12) : fc.constant(0),
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
  let now = OPENING;
  let epoch = 0;
  let book = emptyBook(windowStart(rules, now));
  let truth: ReadonlyMap<number, Candle> = new Map();
  let last: Page | undefined;
  return list.map((scene) => {
    now += scene.wait;
    if (scene.setBack) {
      now -= scene.setBack * MINUTE;
      epoch += 1;
    }
    truth = changedBy(scene, truth, now);
    const page =
      scene.isCopy && last !== undefined ? last : answer(rules, book, scene, { truth, now, epoch });
    last = page;
    const before = freezeDeep(book);
    const judgement = looked(rules, judge(rules, before, freezeDeep(page)), page, truth);
    book = judgement.book;
    return { now, truth, page, before, judgement };
  });
}

function changedBy({ changes }: Scene, truth: ReadonlyMap<number, Candle>, now: number) {
  const changed = new Map(truth);
  for (const { back, price } of changes) {
    const timestamp = MINUTES.shift(MINUTES.start(now), -back);
    if (price === 0) changed.delete(timestamp);
    else changed.set(timestamp, flatCandle(timestamp, price));
  }
  return changed;
}

/** What the service answers where somebody asks for all that is not final by the book. */
function answer(
  { intervals }: CandleRules,
  { finalUntil, anchors }: CandleBook,
  scene: Scene,
  { truth, now, epoch }: { truth: ReadonlyMap<number, Candle>; now: number; epoch: number },
): Page {
  const minute = (back: number) => intervals.shift(intervals.start(now), -back);
  const from = intervals.shift(finalUntil, scene.shift[0]);
  const to = Math.max(from, intervals.shift(intervals.end(Math.max(now, from)), scene.shift[1]));
  // Bounds may be exclusive, so that each request begins an interval sooner than it has to.
  const askedFrom = Math.min(from, anchors[0] ?? from) - MINUTE;
  const isAsked = (timestamp: number) => timestamp >= askedFrom && timestamp < to;
  const broken = [...new Set(scene.broken.map(minute).filter(isAsked))].sort((a, b) => a - b);
  const unshown = new Set([...scene.dropped.map(minute), ...broken]);
  const shownFrom = scene.cutBefore === undefined ? askedFrom : minute(scene.cutBefore);
  const candles = [...truth.values()]
    .filter(({ timestamp }) => isAsked(timestamp) && timestamp >= shownFrom && !unshown.has(timestamp))
    .filter(() => !scene.isEmpty)
    .sort((a, b) => a.timestamp - b.timestamp);
  const there = new Set([...candles.map(({ timestamp }) => timestamp), ...broken]);
  const { hasUnplaced } = scene;
  return {
    from,
    to,
    at: now,
    epoch,
    isInDoubt: scene.isInDoubt === true,
    candles,
    lacking: hasUnplaced ? [] : anchors.filter((anchor) => !there.has(anchor)),
    broken: broken.filter((start) => start >= from),
    hasUnplaced,
    refusal: undefined,
    isEmpty: there.size === 0 && !hasUnplaced,
    bornAt: undefined,
  };
}

/** Where two answers lack all that has to be there, that is asked for alone, and whole answers show whether it is gone. */
function looked(
  rules: CandleRules,
  judgement: Judgement,
  page: Page,
  truth: ReadonlyMap<number, Candle>,
): Judgement {
  const { book } = judgement;
  const isGone = lacksAllAnchors(rules, book, page) && !book.anchors.some((anchor) => truth.has(anchor));
  return isGone ? { ...judgement, book: withoutAnchors(book), doubt: "time" } : judgement;
}

/** A scene in which nothing happens and nothing goes wrong. */
export const HONEST: Scene = {
  wait: 0,
  changes: [],
  dropped: [],
  broken: [],
  isEmpty: false,
  hasUnplaced: false,
  shift: [0, 0],
};
