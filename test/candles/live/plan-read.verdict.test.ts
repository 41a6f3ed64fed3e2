import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  asShownBy,
  countedRead,
  type ReadContext,
  rangeToRead,
  type Silence,
  verdictOn,
} from "../../../src/candles/live/plan-read.js";
import type { SeriesRead } from "../../../src/candles/read/range-reader.js";
import { windowStart } from "../../../src/candles/rules.js";
import type { Candle } from "../../../src/contract/model.js";
import { freezeDeep, MINUTE, MINUTES, readOf } from "../minute-candles.js";
import { someRules } from "../scenes.js";
import { books, clocks, isWhole, LAST, maybe, reads, steady } from "./random-reads.js";

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
