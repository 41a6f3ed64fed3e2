import fc from "fast-check";
import { expect, it } from "vitest";
import { isSame } from "../../../src/candles/event.js";
import type { CandleBook, CandleChange } from "../../../src/candles/read/book.js";
import { judge } from "../../../src/candles/read/judge.js";
import type { Page } from "../../../src/candles/read/page.js";
import { type CandleRules, windowStart } from "../../../src/candles/rules.js";
import type { Candle } from "../../../src/contract/model.js";
import { MINUTE } from "../minute-candles.js";
import { HONEST, type Look, play, type Scene, scenes, someRules } from "../scenes.js";

const trouble = scenes("broken", "unplaced", "range", "copy", "cut", "doubt");
const withJumps = scenes("broken", "unplaced", "range", "copy", "cut", "doubt", "jump");
const RANK = { open: 0, closed: 1, final: 2 } as const;
/** Long enough for a candle at the newest end to be gone, and for the longest time to settle to pass with the next one. */
const LATER: Scene = { ...HONEST, wait: 61_000 };
const HEALTHY = Array<Scene>(7).fill(LATER);

function holdsFor(check: (rules: CandleRules, looks: readonly Look[]) => void, list = trouble, runs = 500) {
  fc.assert(
    fc.property(someRules, list, (rules, some) => check(rules, play(rules, some))),
    { numRuns: runs },
  );
}

function fold(candles: Map<number, Candle>, changes: readonly CandleChange[]): Map<number, Candle> {
  for (const { type, candle } of changes) {
    if (type === "removed") candles.delete(candle.timestamp);
    else candles.set(candle.timestamp, candle);
  }
  return candles;
}

const byTime = (candles: Iterable<Candle>) => [...candles].sort((a, b) => a.timestamp - b.timestamp);

/** What a page says of an interval by itself. */
function shows({ from, to, candles, broken, hasUnplaced }: Page, timestamp: number) {
  if (candles.some((candle) => candle.timestamp === timestamp)) return "shown";
  if (timestamp < from || timestamp >= to) return "unasked";
  if (broken.includes(timestamp)) return "unreadable";
  return hasUnplaced ? "unknown" : "lacking";
}

/** What a book tells others, without what it keeps to judge the next answer by. */
function toldBy({ entries, broken, finalUntil, covered }: CandleBook) {
  return { entries, broken, finalUntil, covered };
}

/**
 * Where a clock was set back, what was final and is of a time that has not come by the new one is told anew. So is what
 * lies behind the newest final candle that is not gone: nobody knows how far a book was final there.
 */
function forgetFuture(told: Map<number, unknown>, { page, before, judgement }: Look): void {
  if (before.epoch === undefined || before.epoch === judgement.book.epoch) return;
  const kept = new Set(before.entries.map(({ candle }) => candle.timestamp));
  const certainUntil = before.anchors.at(-1) ?? Number.NEGATIVE_INFINITY;
  for (const timestamp of told.keys())
    if ((timestamp > certainUntil || timestamp + MINUTE > page.at) && !kept.has(timestamp))
      told.delete(timestamp);
}

/** Whether nothing at all speaks against a page. */
const isGood = ({ isInDoubt, hasUnplaced, lacking }: Page) =>
  !isInDoubt && !hasUnplaced && lacking.length === 0;

it("holds what is not final: what its changes make of it, one entry an interval, ascending", () => {
  holdsFor((_, looks) => {
    const candles = new Map<number, Candle>();
    for (const { judgement } of looks) {
      const { entries, finalUntil } = judgement.book;
      fold(candles, judgement.changes);
      // A row that left the window unread stays with those who have seen it.
      const unsettled = byTime(candles.values()).filter(({ timestamp }) => timestamp >= finalUntil);
      expect(entries.map(({ candle }) => candle)).toEqual(unsettled);
      expect(entries.every(({ status }) => status !== "final")).toBe(true);
    }
  });
});

it("comes to what the service holds with whole answers, whatever came before", () => {
  holdsFor(
    (rules, looks) => {
      const candles = new Map<number, Candle>();
      for (const { judgement } of looks) fold(candles, judgement.changes);
      const { truth, before } = looks.at(-HEALTHY.length)!;
      const since = ({ timestamp }: Candle) => timestamp >= before.finalUntil;
      expect(byTime(candles.values()).filter(since)).toEqual(byTime(truth.values()).filter(since));
      const { now, judgement } = looks.at(-1)!;
      // Where nothing has shown yet, what has passed since the last look is a silence that the next one confirms.
      const { finalUntil, anchors } = judgement.book;
      const behind = anchors.length > 0 ? 0 : 2 * MINUTE;
      expect([undefined, ...(behind > 0 ? ["silence"] : [])]).toContain(judgement.doubt);
      expect(finalUntil).toBeGreaterThanOrEqual(windowStart(rules, now) - behind);
      expect(judgement.book.covered.at(-1)!.to).toBeGreaterThanOrEqual(
        rules.intervals.start(now - rules.settle) - behind,
      );
    },
    trouble.map((list) => [...list, ...HEALTHY]),
  );
});

it("leads every candle through lives: new at 0, one more each time, without echo, ascending", () => {
  holdsFor((_, looks) => {
    const lives = new Map<number, CandleChange>();
    for (const look of looks) {
      const { judgement } = look;
      forgetFuture(lives, look);
      let last = Number.NEGATIVE_INFINITY;
      for (const change of judgement.changes) {
        const { timestamp } = change.candle;
        expect(timestamp).toBeGreaterThan(last);
        last = timestamp;
        const before = lives.get(timestamp);
        if (change.type === "new") {
          expect(before).toBeUndefined();
          expect(change.revision).toBe(0);
        } else expect(change.revision).toBe(before!.revision + 1);
        if (change.type === "updated") {
          expect(change.previous).toEqual(before!.candle);
          expect(change.status !== before!.status || !isSame(change.candle, before!.candle)).toBe(true);
        }
        if (change.type === "removed") {
          expect([change.status, change.candle]).toEqual([before!.status, before!.candle]);
          lives.delete(timestamp);
        } else lives.set(timestamp, change);
      }
    }
  }, withJumps);
});

it("closes nothing before its end and settle, takes no status back, and is silent of what is final", () => {
  holdsFor(({ intervals, settle, ...rules }, looks) => {
    const stages = new Map<number, CandleChange["status"]>();
    for (const look of looks) {
      const { page, judgement } = look;
      forgetFuture(stages, look);
      for (const { type, candle, status } of judgement.changes) {
        const { timestamp } = candle;
        const before = stages.get(timestamp);
        expect(before).not.toBe("final");
        if (before !== undefined) expect(RANK[status]).toBeGreaterThanOrEqual(RANK[before]);
        const isReached = status === "open" || type === "removed" || before === status;
        if (!isReached) expect(page.at).toBeGreaterThanOrEqual(intervals.end(timestamp) + settle);
        if (!isReached && status === "final") {
          expect(timestamp).toBeLessThan(windowStart({ intervals, settle, ...rules }, page.at));
          expect(timestamp).toBeLessThan(judgement.book.finalUntil);
        }
        if (type === "removed") stages.delete(timestamp);
        else stages.set(timestamp, status);
      }
    }
  }, withJumps);
});

it("makes more and more final, until an answer whose time is certain is of another clock", () => {
  holdsFor((_, looks) => {
    for (const { page, before, judgement } of looks) {
      const { finalUntil, broken, observedAt } = judgement.book;
      const hasSeen = before.entries.length + before.anchors.length > 0;
      // As long as no candle has shown, the first one may lie in what was taken for silent.
      if ((before.epoch !== page.epoch && !page.isInDoubt) || !hasSeen) continue;
      expect(finalUntil).toBeGreaterThanOrEqual(before.finalUntil);
      expect(observedAt).toBeGreaterThanOrEqual(before.observedAt);
      const coveredUntil = judgement.book.covered.at(-1)!.to;
      if (broken.size === 0) expect(coveredUntil).toBeGreaterThanOrEqual(before.covered.at(-1)!.to);
    }
  }, withJumps);
});

it("removes only what two answers lack that were made apart, and long apart at the newest end", () => {
  let removals = 0;
  holdsFor(({ intervals }, looks) => {
    /** When the first answer was made that lacks a candle, since the last one that has shown it or could not be read. */
    const lackedAt = new Map<number, number>();
    for (const { page, judgement } of looks) {
      for (const { type, candle } of judgement.changes) {
        if (type !== "removed") continue;
        removals += 1;
        const { timestamp } = candle;
        expect([shows(page, timestamp), page.isInDoubt]).toEqual(["lacking", false]);
        const newest = Math.max(page.candles.at(-1)?.timestamp ?? 0, page.broken.at(-1) ?? 0);
        const length = intervals.end(timestamp) - timestamp;
        const behind = Math.max(5_000, length - 1_000);
        const apart = timestamp > newest && page.to > page.at - behind ? behind : 1_000;
        expect(page.at).toBeGreaterThanOrEqual(lackedAt.get(timestamp)! + apart);
        lackedAt.delete(timestamp);
      }
      for (const { candle } of judgement.book.entries) {
        const state = shows(page, candle.timestamp);
        if (state === "shown" || state === "unreadable") lackedAt.delete(candle.timestamp);
        else if (state === "lacking") {
          lackedAt.set(candle.timestamp, Math.min(page.at, lackedAt.get(candle.timestamp) ?? page.at));
        }
      }
    }
  });
  expect(removals).toBeGreaterThan(10);
});

it("closes nothing and makes nothing final at or after what is in doubt, and covers no more", () => {
  holdsFor((_, looks) => {
    const stages = new Map<number, CandleChange["status"]>();
    /** Candles that a good answer has lacked, until another one tells of them. */
    const absent = new Set<number>();
    /** In how many answers, made apart, a row was broken since it was last read, and the last of them. */
    const broken = new Map<number, { reads: number; at: number }>();
    for (const { page, before, judgement } of looks) {
      const { book, changes } = judgement;
      const doubted: number[] = [];
      for (const { candle } of before.entries) {
        const { timestamp } = candle;
        const state = shows(page, timestamp);
        if (state !== "lacking" && state !== "unasked") absent.delete(timestamp);
        const isKept = book.entries.some((entry) => entry.candle.timestamp === timestamp);
        if (state === "lacking" && isKept) doubted.push(timestamp);
        if (state === "lacking" && isKept && isGood(page)) absent.add(timestamp);
        if (!isKept) absent.delete(timestamp);
        if (absent.has(timestamp)) doubted.push(timestamp);
      }
      for (const { timestamp } of page.candles) broken.delete(timestamp);
      for (const start of page.broken) {
        const { reads, at } = broken.get(start) ?? { reads: 0, at: Number.NEGATIVE_INFINITY };
        if (page.at >= at + 1_000) broken.set(start, { reads: reads + 1, at: page.at });
        if (start >= before.finalUntil && broken.get(start)!.reads < 3) doubted.push(start);
      }
      if (page.isInDoubt) doubted.push(before.finalUntil);
      const first = Math.min(...doubted);
      for (const { type, candle, status } of changes) {
        if (RANK[status] > RANK[stages.get(candle.timestamp) ?? "open"])
          expect(candle.timestamp).toBeLessThan(first);
        if (type === "removed") stages.delete(candle.timestamp);
        else stages.set(candle.timestamp, status);
      }
      const hasSeen = before.entries.length + before.anchors.length > 0;
      if (hasSeen) expect(book.finalUntil).toBeLessThanOrEqual(Math.max(before.finalUntil, first));
      const { from, to } = book.covered.at(-1)!;
      if (from < to) expect(to).toBeLessThanOrEqual(Math.max(before.covered.at(-1)!.to, first));
    }
  });
});

it("covers only what an answer tells of that was made after its end and settle", () => {
  holdsFor(({ intervals, settle }, looks) => {
    const known = new Set<number>();
    for (const { page, before, judgement } of looks) {
      const { from, to } = judgement.book.covered.at(-1)!;
      const settled = (at: number) => at < page.to && intervals.end(at) + settle <= page.at;
      for (let at = page.from; settled(at); at = intervals.end(at)) {
        if (!page.isInDoubt && !page.hasUnplaced) known.add(at);
      }
      const isBelieved = isGood(page) && page.from <= before.finalUntil;
      // A row that turns up in what was final as a silence is passed over.
      const news = page.broken.filter((start) => start >= before.finalUntil);
      if (isBelieved) for (const broken of news) known.delete(broken);
      for (let at = from; at < to; at = intervals.end(at)) expect(known).toContain(at);
    }
  });
});

it("takes nothing from a copy of the same answer", () => {
  holdsFor((rules, looks) => {
    for (const { page, judgement } of looks) {
      if (judgement.book.anchors.length === 0 && page.lacking.length > 0) continue;
      const again = judge(rules, judgement.book, page);
      expect(again.changes).toEqual([]);
      expect(again.dropped).toEqual([]);
      expect(toldBy(again.book)).toEqual(toldBy(judgement.book));
    }
  }, withJumps);
});

it("says nothing where it sees the same again", () => {
  holdsFor(
    (_, looks) => {
      const { judgement } = looks.at(-1)!;
      expect(judgement.changes).toEqual([]);
      expect(toldBy(judgement.book)).toEqual(toldBy(looks.at(-2)!.judgement.book));
    },
    trouble.map((list) => [...list, ...HEALTHY, { ...HONEST, wait: 1 }]),
  );
});

it("makes nothing final by an answer that lacks what has to be there, unless that is gone", () => {
  holdsFor((_, looks) => {
    let lackedAt = Number.POSITIVE_INFINITY;
    for (const { page, before, judgement } of looks) {
      const own = before.anchors.filter((anchor) => page.lacking.includes(anchor));
      if (own.length === 0 && !page.isInDoubt) lackedAt = Number.POSITIVE_INFINITY;
      const isSecond = page.at >= lackedAt + 1_000 && own.length < before.anchors.length;
      if (own.length > 0 && !page.isInDoubt) lackedAt = Math.min(lackedAt, page.at);
      if (own.length === 0 || isSecond) continue;
      const { book, changes } = judgement;
      expect(book.finalUntil).toBe(before.finalUntil);
      expect(book.covered.at(-1)!.to).toBe(before.covered.at(-1)!.to);
      expect(changes.filter(({ type }) => type === "removed")).toEqual([]);
    }
  });
});

it("makes final what has closed and cannot be read as it leaves the window, and not what was open", () => {
  // After every scene minutes pass, and old rows break for good.
  const breaking = scenes("broken").map((list) =>
    list.flatMap((scene) => {
      const broken = { ...HONEST, broken: [1, 2, 3, 4, 5, 6] };
      return [scene, { ...broken, wait: 3 * MINUTE }, ...Array<Scene>(3).fill({ ...broken, wait: 1_000 })];
    }),
  );
  let told = 0;
  holdsFor(
    (_, looks) => {
      for (const { page, before, judgement } of looks) {
        for (const { candle, status, revision } of before.entries) {
          const { timestamp } = candle;
          if (!page.broken.includes(timestamp) || timestamp >= judgement.book.finalUntil) continue;
          const own = judgement.changes.filter((change) => change.candle.timestamp === timestamp);
          const final = {
            type: "updated",
            candle,
            previous: candle,
            status: "final",
            revision: revision + 1,
          };
          expect(own).toEqual(status === "closed" ? [final] : []);
          const { covered } = judgement.book;
          expect(covered.some(({ from, to }) => from <= timestamp && timestamp < to)).toBe(false);
          told += own.length;
        }
      }
    },
    breaking,
    200,
  );
  expect(told).toBeGreaterThan(30);
});
