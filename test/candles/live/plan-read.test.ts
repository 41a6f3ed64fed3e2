import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { emptyBook } from "../../../src/candles/live/book.js";
import {
  type ClockReading,
  isFarBehind,
  type KnownSeries,
  knownAtLook,
  knownAtRead,
  rangeToRead,
  UNKNOWN_SERIES,
} from "../../../src/candles/live/plan-read.js";
import { FULL_PAGE } from "../../../src/candles/read/range-reader.js";
import { windowStart } from "../../../src/candles/rules.js";
import { freezeDeep, MINUTE, MINUTES } from "../minute-candles.js";
import { someRules } from "../scenes.js";
import { books, clocks, epochs, FIRST, instants, maybe, steady } from "./random-reads.js";

describe("the range that a poll reads", () => {
  it("goes from what may still change to the end of the running interval", () => {
    fc.assert(
      fc.property(someRules, maybe(books), fc.boolean(), instants, (rules, book, hasCandles, now) => {
        const { from, to } = rangeToRead(rules, freezeDeep(book), hasCandles, now);
        expect([MINUTES.start(from), MINUTES.start(to)]).toEqual([from, to]);
        expect(to).toBeGreaterThan(Math.max(now, from));
        expect(to - MINUTE).toBeLessThanOrEqual(Math.max(now, from));
        expect(from).toBeGreaterThanOrEqual(book?.finalUntil ?? 0);
        expect(from).toBeLessThanOrEqual(Math.max(windowStart(rules, now), book?.finalUntil ?? 0));
      }),
    );
  });

  it("leaves out nothing that is not final once there is a candle", () => {
    fc.assert(
      fc.property(someRules, books, fc.boolean(), instants, (rules, book, hasCandles, now) => {
        fc.pre(hasCandles || book.entries.length > 0);
        const range = rangeToRead(rules, book, hasCandles, now);
        expect(range.from).toBe(book.finalUntil);
        expect(range.isUnseen).toBe(false);
        // What does not count as far behind fits one page, the revision window included.
        if (!range.isFarBehind) expect(MINUTES.count(range.from, range.to)).toBeLessThan(FULL_PAGE);
      }),
    );
  });

  it("leaves out what is covered while there is none, and never lags behind", () => {
    fc.assert(
      fc.property(someRules, books, instants, (rules, { entries: _, ...book }, now) => {
        const range = rangeToRead(rules, { ...book, entries: [] }, false, now);
        const known = Math.max(book.finalUntil, book.coveredUntil);
        expect([range.isUnseen, range.isFarBehind]).toEqual([true, false]);
        expect(range.from).toBe(Math.min(known, Math.max(book.finalUntil, windowStart(rules, now))));
      }),
    );
  });

  it("is the same while the first candles are cut off from what lies before, as long as it fits one page", () => {
    fc.assert(
      fc.property(someRules, books, instants, (rules, book, now) => {
        const range = rangeToRead(rules, freezeDeep(book), true, now, true);
        const unseen = rangeToRead(rules, { ...book, entries: [] }, false, now);
        const isNear = !isFarBehind(rules, { ...book, finalUntil: unseen.from }, windowStart(rules, now));
        if (isNear && unseen.from > book.finalUntil) {
          expect(range).toEqual({ ...unseen, isBlank: book.entries.length === 0 });
          expect(MINUTES.count(range.from, range.to)).toBeLessThan(FULL_PAGE);
        } else expect(range).toEqual(rangeToRead(rules, book, true, now));
      }),
      { numRuns: 1_000 },
    );
  });
});

it("is far behind with more than half a page", () => {
  const rules = { intervals: MINUTES, settle: 0, revisionWindow: 0 };
  const half = Math.floor(FULL_PAGE / 2) * MINUTE;
  expect(isFarBehind(rules, emptyBook(0), half)).toBe(false);
  expect(isFarBehind(rules, emptyBook(0), half + MINUTE)).toBe(true);
  expect(isFarBehind(rules, undefined, half + MINUTE)).toBe(false);
});

describe("what is known before a read", () => {
  const known: fc.Arbitrary<KnownSeries> = fc.record({
    book: maybe(books),
    seenUntil: instants.map(MINUTES.start),
    firstLook: maybe(fc.record({ from: instants.map(MINUTES.start), epoch: epochs })),
  });

  it("is the same unless the clock was set back behind the book; then no candle is passed over", () => {
    fc.assert(
      fc.property(someRules, known, clocks, (rules, before, clock) => {
        const after = knownAtRead(rules, freezeDeep(before), clock);
        const { book } = before;
        if (book === undefined || clock.epoch === book.epoch) {
          expect(after).toBe(before);
          return;
        }
        if (book.finalUntil <= MINUTES.start(clock.now)) {
          // It is held against this clock once.
          expect(after).toEqual({ ...before, book: { ...book, epoch: clock.epoch } });
          expect(knownAtRead(rules, after, { ...clock, now: FIRST * MINUTE })).toBe(after);
          return;
        }
        expect(knownAtLook(rules, after, clock)).toBe(after);
        const { from, to } = rangeToRead(rules, after.book, false, clock.now);
        expect(from).toBeLessThanOrEqual(Math.min(before.seenUntil, windowStart(rules, clock.now)));
        expect(to).toBe(MINUTES.end(Math.max(clock.now, from)));
        expect(after.book!.entries).toEqual([]);
      }),
    );
  });

  it("goes on from the book that was read, whatever the clock seems to be while looks fail, once it is right again", () => {
    const looks = fc.array(fc.record({ clock: clocks, hasJumped: fc.boolean(), repeats: fc.nat(2) }), {
      minLength: 1,
      maxLength: 6,
    });
    fc.assert(
      fc.property(someRules, books, looks, fc.nat(5 * MINUTE), (rules, drawn, list, wait) => {
        const now = drawn.finalUntil + wait;
        const book = { ...drawn, observedAt: drawn.finalUntil, epoch: 0 };
        let series: KnownSeries = freezeDeep({
          ...UNKNOWN_SERIES,
          book,
          seenUntil: now,
          firstLook: undefined,
        });
        let epoch = 0;
        const look = (clock: ClockReading, repeats: number) => {
          for (let at = 0; at <= repeats; at += 1) {
            series = knownAtRead(rules, series, clock);
            if (at === 0) series = knownAtLook(rules, series, clock);
          }
        };
        for (const { clock, hasJumped, repeats } of list) {
          epoch += hasJumped ? 1 : 0;
          look({ ...clock, epoch }, repeats);
        }
        look({ ...steady(now), epoch: epoch + 1 }, 0);
        const { finalUntil, entries, coveredFrom, coveredUntil } = book;
        expect(series.book).toMatchObject({ finalUntil, entries, coveredFrom, coveredUntil });
        expect(series.ranAhead).toBeUndefined();
      }),
    );
  });

  it("begins where the first look by a confirmed clock did, however many looks fail", () => {
    const waits = fc.array(fc.nat(10 * MINUTE), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(someRules, instants, waits, fc.nat(5), (rules, start, list, unconfirmed) => {
        let now = start;
        let series = UNKNOWN_SERIES;
        for (let at = 0; at < unconfirmed; at++) {
          series = knownAtLook(rules, series, { ...steady(now), isConfirmed: false });
          expect(series.book).toBeUndefined();
        }
        const first = windowStart(rules, now);
        series = knownAtLook(rules, series, steady(now));
        for (const wait of list) {
          now += wait;
          series = knownAtLook(rules, series, steady(now));
          expect(rangeToRead(rules, series.book, true, now).from).toBe(first);
        }
      }),
    );
  });

  it("stays with a book that has an answer, and begins one that has none with a clock that is confirmed", () => {
    fc.assert(
      fc.property(someRules, known, fc.boolean(), clocks, (rules, drawn, isRead, clock) => {
        const book = drawn.book && isRead ? { ...drawn.book, observedAt: FIRST * MINUTE } : drawn.book;
        const before = freezeDeep({ ...drawn, book });
        const { firstLook } = before;
        const isOfThisClock = firstLook?.epoch === clock.epoch;
        const after = knownAtLook(rules, before, clock);
        if (!clock.isConfirmed || (book !== undefined && (isRead || isOfThisClock))) {
          expect(after).toBe(before);
        } else if (isOfThisClock) {
          expect(after).toEqual({ ...before, book: emptyBook(firstLook!.from) });
        } else {
          const start = windowStart(rules, clock.now);
          const began = firstLook?.from ?? start;
          const isNear = began < start && MINUTES.count(began, start) <= FULL_PAGE / 2;
          const from = isNear ? began : start;
          const begun = isNear ? emptyBook(from) : undefined;
          expect(after).toEqual({ ...before, book: begun, firstLook: { from, epoch: clock.epoch } });
        }
      }),
      { numRuns: 1_000 },
    );
  });

  const half = Math.floor(FULL_PAGE / 2);
  it.each([
    [half, 0],
    [half + 1, half + 1],
    [-1, -1],
  ])("begins, where the clock has jumped to %i minutes after the first look, at minute %i", (now, from) => {
    const rules = { intervals: MINUTES, settle: 0, revisionWindow: 0 };
    const first = knownAtLook(rules, UNKNOWN_SERIES, steady(0));
    const second = knownAtLook(rules, first, { ...steady(now * MINUTE), epoch: 1 });
    expect(second.firstLook).toEqual({ from: from * MINUTE, epoch: 1 });
    expect(second.book).toEqual(from === now ? undefined : emptyBook(from * MINUTE));
  });
});
