import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type CandleBook, emptyBook } from "../../../src/candles/live/book.js";
import {
  asShownBy,
  type ClockReading,
  countedRead,
  isFarBehind,
  type KnownSeries,
  knownAtLook,
  knownAtRead,
  type ReadContext,
  type ReadVerdict,
  rangeToRead,
  type Silence,
  UNKNOWN_SERIES,
  verdictOn,
  type WholeRead,
} from "../../../src/candles/live/plan-read.js";
import { FULL_PAGE, type SeriesRead } from "../../../src/candles/read/range-reader.js";
import { windowStart } from "../../../src/candles/rules.js";
import type { Candle } from "../../../src/contract/model.js";
import { freezeDeep, MINUTE, MINUTES, minuteCandle, readOf } from "../minute-candles.js";
import { someRules } from "../scenes.js";

/** All instants lie in these minutes, half of them among the last ones, and so do all candles. */
const [FIRST, LAST] = [1_000, 3_000];
const instants = fc.oneof(
  fc.integer({ min: FIRST * MINUTE, max: LAST * MINUTE }),
  fc.integer({ min: (LAST - 8) * MINUTE, max: LAST * MINUTE }),
);
const minutes = fc.integer({ min: LAST - 8, max: LAST });
const epochs = fc.constantFrom(0, 1);

const clocks: fc.Arbitrary<ClockReading> = fc.record({
  now: instants,
  epoch: epochs,
  isConfirmed: fc.boolean(),
  isContradicted: fc.boolean(),
});
/** The clock a poll mostly has: it runs on, and nothing contradicts it. */
const steady = (now: number): ClockReading => ({ now, epoch: 0, isConfirmed: true, isContradicted: false });

const books: fc.Arbitrary<CandleBook> = fc
  .record({
    from: instants,
    covered: fc.nat(5),
    entries: fc.uniqueArray(minutes, { maxLength: 4 }),
    epoch: epochs,
  })
  .map(({ from, covered, entries, epoch }) => {
    const start = Math.min(MINUTES.start(from), ...entries.map((minute) => minute * MINUTE));
    const kept = entries
      .sort((a, b) => a - b)
      .map((minute) => ({
        candle: minuteCandle(minute),
        status: "open" as const,
        revision: 0,
        isMissing: false,
      }));
    return { ...emptyBook(start), coveredUntil: start + covered * MINUTE, entries: kept, epoch };
  });
const maybe = <T>(some: fc.Arbitrary<T>) => fc.option(some, { nil: undefined, freq: 2 });

const reads: fc.Arbitrary<SeriesRead> = fc
  .record({
    at: instants,
    length: fc.nat(8),
    end: fc.constantFrom(LAST + 1, LAST + 1, LAST, LAST - 2),
    candles: fc.uniqueArray(minutes, { maxLength: 4 }),
    unreadable: fc.uniqueArray(minutes, { maxLength: 1 }),
    hasUnidentifiedRow: fc.boolean(),
    isWitnessed: fc.boolean(),
    lacks: maybe(minutes),
    epoch: epochs,
  })
  .map(({ at, length, end, candles, unreadable, lacks, ...rest }) => {
    const [from, to] = [end - 1 - length, end];
    const inside = candles.filter((minute) => minute >= from && minute < to);
    const shown = Object.fromEntries(inside.map((minute) => [minute, 1]));
    return {
      ...readOf(at, [from, to], shown, { unreadable: new Set(unreadable.map((minute) => minute * MINUTE)) }),
      ...rest,
      lacks: lacks && lacks * MINUTE,
      sentAt: at,
    };
  });

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

const isWhole = (verdict: ReadVerdict): verdict is WholeRead =>
  typeof verdict === "object" && "isLast" in verdict;

describe("the verdict on an answer", () => {
  const contexts = fc.record({
    book: maybe(books),
    hasCandles: fc.boolean(),
    firstSeen: maybe(reads),
    mayRepeat: fc.boolean(),
  });
  const cases = fc
    .record({
      rules: someRules,
      context: contexts,
      read: reads,
      clock: clocks,
      early: fc.oneof(fc.constant(0), fc.integer({ min: -5 * MINUTE, max: 5 * MINUTE })),
      hadCandles: fc.boolean(),
    })
    .map(({ rules, context, read: answer, clock, early, hadCandles }) => {
      const hasCandles = context.hasCandles && hadCandles;
      const range = rangeToRead(rules, context.book, hasCandles, answer.observedAt - early);
      // Where a request has waited, it has asked for more.
      const read = { ...answer, to: Math.max(answer.to, range.to) };
      const full: ReadContext = { ...context, range };
      return { rules, context: full, read, clock, verdict: verdictOn(rules, read, full, clock) };
    });

  it("asks again exactly where it may, and the time may have been wrong and has missed the present", () => {
    fc.assert(
      fc.property(cases, ({ rules, context: { book, range, mayRepeat }, read, clock, verdict }) => {
        const isAhead =
          book !== undefined && clock.epoch !== book.epoch && book.finalUntil > MINUTES.start(clock.now);
        const isTimely =
          range.from <= windowStart(rules, read.observedAt) && read.to > MINUTES.start(read.observedAt);
        expect(verdict === "ask-again").toBe(mayRepeat && (book === undefined || isAhead) && !isTimely);
      }),
      { numRuns: 400 },
    );
  });

  it("takes in no answer that lacks a known candle, and asks again where its time is contradicted", () => {
    fc.assert(
      fc.property(cases, ({ context: { book, mayRepeat }, read, clock, verdict }) => {
        if (verdict === "ask-again") return;
        const lacking = mayRepeat && clock.isContradicted ? "take-part-and-ask-again" : "not-whole";
        if (book !== undefined && read.lacks !== undefined) expect(verdict).toBe(lacking);
        else expect(["not-whole", "take-part-and-ask-again"]).not.toContain(verdict);
      }),
      { numRuns: 400 },
    );
  });

  it("reads first what lies before the first candles", () => {
    fc.assert(
      fc.property(cases, ({ context: { book, range, hasCandles }, verdict }) => {
        if (["ask-again", "take-part-and-ask-again", "not-whole"].some((other) => other === verdict)) return;
        const hasHole = range.isUnseen && hasCandles && book !== undefined && book.finalUntil < range.from;
        expect(verdict === "catch-up-first").toBe(hasHole);
      }),
      { numRuns: 1_000 },
    );
  });

  it("believes emptiness only with a witness, and without one as far as known candles are missed", () => {
    fc.assert(
      fc.property(cases, ({ rules, context: { book }, read, verdict }) => {
        if (!isWhole(verdict)) return;
        const isSilent = read.candles.length === 0 && read.unreadable.size === 0 && !read.hasUnidentifiedRow;
        expect(verdict.isUnproven).toBe(isSilent && !read.isWitnessed);
        const misses = book?.entries.filter(
          ({ candle: { timestamp } }) => timestamp >= read.from && timestamp < read.to,
        );
        const last = misses?.at(-1)?.candle.timestamp;
        const end = last === undefined || !verdict.isUnproven ? undefined : rules.intervals.end(last);
        expect(verdict.lacksUntil).toBe(end);
      }),
      { numRuns: 1_000 },
    );
  });

  it("ends the look unless another answer may tell more", () => {
    fc.assert(
      fc.property(cases, ({ context, read, clock, verdict }) => {
        if (!isWhole(verdict)) return;
        const hasPresent = read.to > MINUTES.start(read.observedAt);
        expect(verdict.isLast).toBe(!context.mayRepeat || (hasPresent && !clock.isContradicted));
      }),
    );
  });

  it("keeps what the answer just before has shown, unless something has settled in between", () => {
    fc.assert(
      fc.property(someRules, maybe(books), maybe(reads), reads, fc.boolean(), (rules, book, ...answers) => {
        const [first, second, isSameTime] = answers;
        const firstSeen = first && isSameTime ? { ...first, observedAt: second.observedAt } : first;
        const read = { ...second, lacks: undefined };
        const range = rangeToRead(rules, book, true, read.observedAt);
        const context = { book, range, hasCandles: true, firstSeen, mayRepeat: false };
        const verdict = verdictOn(rules, freezeDeep(read), context, steady(read.observedAt));
        const settled = ({ observedAt }: SeriesRead) => MINUTES.start(observedAt - rules.settle);
        const times = (of: SeriesRead) => of.candles.map(({ timestamp }) => timestamp);
        const isComparable =
          book !== undefined && firstSeen?.epoch === read.epoch && settled(firstSeen) >= settled(read);
        const inRange = (firstSeen === undefined ? [] : times(firstSeen)).filter(
          (time) => time >= read.from && time < read.to,
        );
        const both = [...new Set([...inRange, ...times(read)])].sort((a, b) => a - b);
        if (isComparable && both.length > read.candles.length) {
          expect((verdict as readonly Candle[]).map(({ timestamp }) => timestamp)).toEqual(both);
        } else expect(isWhole(verdict)).toBe(true);
      }),
      { numRuns: 400 },
    );
  });
});

it("gives an answer the values of a later one, and none of its other candles", () => {
  fc.assert(
    fc.property(reads, reads, (before, after) => {
      const { candles, ...others } = asShownBy(freezeDeep(before), freezeDeep(after));
      expect(others).toEqual({ ...before, candles: undefined });
      expect(candles).toEqual(
        before.candles.map(
          (candle) => after.candles.find(({ timestamp }) => timestamp === candle.timestamp) ?? candle,
        ),
      );
    }),
  );
});

describe("what of an answer counts", () => {
  const answers = fc.array(
    fc.record({
      end: fc.integer({ min: LAST - 6, max: LAST }),
      wait: fc.nat(3 * MINUTE),
      isUnproven: fc.boolean(),
      isRepeat: fc.boolean(),
      hasJumped: fc.constantFrom(false, false, false, true),
    }),
    { minLength: 1, maxLength: 12 },
  );

  it("is all of a proven one, and of another what an answer before it, no copy, has shown as well", () => {
    fc.assert(
      fc.property(someRules, answers, (rules, list) => {
        let silence: Silence | undefined;
        let [now, epoch] = [LAST * MINUTE, 0];
        /** The ends of the silences shown since the last proof, those of one breath together. */
        let shown: number[][] = [];
        for (const { end, wait, isUnproven, isRepeat, hasJumped } of list) {
          now += wait;
          if (hasJumped) epoch += 1;
          const read = {
            ...readOf(now, [LAST - 7, end], {}, { epoch, isUnproven }),
            sentAt: now,
            lacks: undefined,
          };
          const before = silence;
          const counted = countedRead(rules, { ...read, isWitnessed: false }, before, isRepeat);
          silence = counted.silence;
          if (hasJumped || !isUnproven) shown = [];
          if (!isUnproven) {
            expect(counted).toEqual({ to: read.to, provenUntil: read.to, silence: undefined });
            continue;
          }
          const until = Math.min(read.to, MINUTES.start(now - rules.settle));
          if (isRepeat && shown.length > 0) shown.at(-1)!.push(until);
          else shown.push([until]);
          const shownBefore = shown.at(-2)?.at(-1);
          const confirmed = shownBefore === undefined ? read.from : Math.min(shownBefore, read.to);
          expect(counted.to).toBe(Math.max(read.from, confirmed));
          expect(counted.provenUntil).toBe(counted.to);
          // What it lacks counts further than what it proves.
          const lacking = countedRead(rules, { ...read, isWitnessed: false }, before, isRepeat, read.to);
          expect(lacking).toEqual({ ...counted, to: read.to });
        }
      }),
    );
  });
});
