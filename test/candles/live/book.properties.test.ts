import fc from "fast-check";
import { expect, it } from "vitest";
import { type CandleChange, isSame } from "../../../src/candles/live/book.js";
import { type CandleRules, windowStart } from "../../../src/candles/rules.js";
import type { Candle } from "../../../src/contract/model.js";
import { HONEST, type Look, play, scenes, someRules } from "../scenes.js";

const trouble = scenes("unreadable", "lost", "unplaced", "range", "repeat", "unproven");

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

/** The absences as they stand after each look: how often in a row each candle has been missing. */
function absences(looks: readonly Look[]) {
  const known = new Map<number, Candle>();
  const counts = new Map<number, number>();
  return looks.map(({ read, before, turn }) => {
    const { from, to, unreadable, lost, hasUnidentifiedRow, isRepeat = false } = read;
    const shown = new Set(read.candles.map(({ timestamp }) => timestamp));
    const confirmed: number[] = [];
    const unconfirmed = new Set<number>();
    let needsSecondLook = false;
    for (const timestamp of [...known.keys()].sort((a, b) => a - b)) {
      if (timestamp < before.finalUntil) continue;
      const isAsked = timestamp >= from && timestamp < to;
      const isBroken = unreadable.has(timestamp) && !lost?.has(timestamp);
      if (isAsked && (shown.has(timestamp) || isBroken)) counts.delete(timestamp);
      else if (isAsked && hasUnidentifiedRow) unconfirmed.add(timestamp);
      else if (isAsked && counts.has(timestamp) && !isRepeat && !lost?.has(timestamp)) {
        counts.delete(timestamp);
        confirmed.push(timestamp);
      } else if (isAsked) {
        counts.set(timestamp, 1);
        needsSecondLook = true;
      }
    }
    for (const timestamp of counts.keys()) unconfirmed.add(timestamp);
    fold(known, turn.changes);
    return { confirmed, needsSecondLook, firstUnconfirmed: Math.min(...unconfirmed) };
  });
}

it("folding the changes gives the entries, and two honest reads the service's own candles", () => {
  fc.assert(
    fc.property(someRules, trouble, (rules, list) => {
      const looks = play(rules, [...list, HONEST, HONEST]);
      const candles = new Map<number, Candle>();
      for (const { before, turn } of looks) {
        fold(candles, turn.changes);
        const unsettled = [...candles.values()].filter(({ timestamp }) => timestamp >= turn.book.finalUntil);
        unsettled.sort((a, b) => a.timestamp - b.timestamp);
        const entries = turn.book.entries.map(({ candle }) => candle);
        // A row that left the window unread stays with those who have seen it.
        expect(unsettled).toEqual(entries);
        expect(turn.book.finalUntil).toBeGreaterThanOrEqual(before.finalUntil);
      }
      const { truth, before, now, turn } = looks.at(-2)!;
      const since = ([timestamp]: [number, Candle]) => timestamp >= before.finalUntil;
      const sorted = (map: ReadonlyMap<number, Candle>) => [...map].filter(since).sort(([a], [b]) => a - b);
      expect(sorted(fold(candles, []))).toEqual(sorted(truth));
      const last = looks.at(-1)!;
      expect(last.turn.needsSecondLook).toBe(false);
      expect(last.turn.book.finalUntil).toBe(Math.max(turn.book.finalUntil, windowStart(rules, now)));
      const settled = rules.intervals.start(now - rules.settle);
      expect(last.turn.book.coveredUntil).toBeGreaterThanOrEqual(settled);
    }),
    { numRuns: 500 },
  );
});

it("leads every candle through lives: new at 0, one more each time, without echo, ascending", () => {
  holdsFor((_, looks) => {
    const lives = new Map<number, CandleChange>();
    for (const { turn } of looks) {
      let last = Number.NEGATIVE_INFINITY;
      for (const change of turn.changes) {
        const { timestamp } = change.candle;
        expect(timestamp).toBeGreaterThan(last);
        last = timestamp;
        const before = lives.get(timestamp);
        if (change.type === "new") {
          expect(before).toBeUndefined();
          expect(change.revision).toBe(0);
        } else {
          expect(change.revision).toBe(before!.revision + 1);
        }
        if (change.type === "updated") {
          expect(change.previous).toBe(before!.candle);
          expect(change.status !== before!.status || !isSame(change.candle, before!.candle)).toBe(true);
        }
        if (change.type === "removed") {
          expect([change.status, change.candle]).toEqual([before!.status, before!.candle]);
          lives.delete(timestamp);
        } else {
          lives.set(timestamp, change);
        }
      }
    }
  });
});

it("closes nothing before its end and settle, nothing twice, and is silent of what is final", () => {
  holdsFor((rules, looks) => {
    const stages = new Map<number, string>();
    for (const { before, now, turn } of looks) {
      for (const { type, candle, status } of turn.changes) {
        const { timestamp } = candle;
        expect(timestamp).toBeGreaterThanOrEqual(before.finalUntil);
        expect(stages.get(timestamp)).not.toBe("final");
        if (status !== "open")
          expect(now).toBeGreaterThanOrEqual(rules.intervals.end(timestamp) + rules.settle);
        if (status === "final") {
          expect(timestamp).toBeLessThan(windowStart(rules, now));
          expect(timestamp).toBeLessThan(turn.book.finalUntil);
        }
        if (stages.get(timestamp) === "closed") expect(status).not.toBe("open");
        if (type === "removed") stages.delete(timestamp);
        else stages.set(timestamp, status);
      }
    }
  });
});

it("removes what is absent twice in a row, nothing else, and doubts what is absent once", () => {
  holdsFor((_, looks) => {
    const expected = absences(looks);
    looks.forEach(({ turn }, at) => {
      const removed = turn.changes.filter(({ type }) => type === "removed");
      expect(removed.map(({ candle }) => candle.timestamp)).toEqual(expected[at]!.confirmed);
      expect(turn.needsSecondLook).toBe(expected[at]!.needsSecondLook);
    });
  });
});

it("goes no further than an absence that is not confirmed", () => {
  holdsFor((_, looks) => {
    const expected = absences(looks);
    const stages = new Map<number, string>();
    looks.forEach(({ before, turn }, at) => {
      const { firstUnconfirmed } = expected[at]!;
      for (const { candle, status } of turn.changes) {
        const advances = status !== "open" && stages.get(candle.timestamp) !== status;
        if (advances) expect(candle.timestamp).toBeLessThan(firstUnconfirmed);
        stages.set(candle.timestamp, status);
      }
      expect(turn.book.finalUntil).toBeLessThanOrEqual(Math.max(before.finalUntil, firstUnconfirmed));
      const { coveredFrom, coveredUntil } = turn.book;
      if (coveredUntil > before.coveredUntil && coveredFrom < coveredUntil) {
        expect(coveredUntil).toBeLessThanOrEqual(firstUnconfirmed);
      }
    });
  });
});

it("covers only what was read after its end and settle, and takes back only what became unreadable", () => {
  holdsFor(({ intervals, settle }, looks) => {
    const known = new Set<number>();
    for (const { before, now, read, turn } of looks) {
      const { coveredFrom, coveredUntil } = turn.book;
      for (let at = read.from; at < read.to && intervals.end(at) + settle <= now; at = intervals.end(at)) {
        if (!read.hasUnidentifiedRow && !read.unreadable.has(at)) known.add(at);
      }
      const held = new Set(before.entries.map(({ candle }) => candle.timestamp));
      for (const broken of read.unreadable)
        if (!read.lost?.has(broken) || !held.has(broken)) known.delete(broken);
      for (let at = coveredFrom; at < coveredUntil; at = intervals.end(at)) expect(known).toContain(at);
      const isTakenBack = [...read.unreadable].some((broken) => broken < before.coveredUntil);
      if (!isTakenBack) expect(coveredUntil).toBeGreaterThanOrEqual(before.coveredUntil);
      const isJoined = read.from <= before.coveredUntil || read.hasUnidentifiedRow;
      if (read.unreadable.size === 0 && isJoined) expect(coveredFrom).toBe(before.coveredFrom);
    }
  });
});

it("holds what is not final, one entry an interval", () => {
  holdsFor(({ intervals }, looks) => {
    let last = Number.NEGATIVE_INFINITY;
    for (const { read, turn } of looks) {
      last = Math.max(last, read.to);
      const { entries, finalUntil } = turn.book;
      const times = entries.map(({ candle }) => candle.timestamp);
      expect(times).toEqual([...new Set(times)].sort((a, b) => a - b));
      expect(times.every((timestamp) => timestamp >= finalUntil)).toBe(true);
      expect(times.length).toBeLessThanOrEqual(intervals.count(finalUntil, last));
      expect(entries.every(({ status }) => status !== "final")).toBe(true);
    }
  });
});

it("says nothing when it sees the same again", () => {
  fc.assert(
    fc.property(someRules, trouble, (rules, list) => {
      const looks = play(rules, [...list, HONEST, HONEST, HONEST]);
      expect(looks.at(-1)!.turn.changes).toEqual([]);
      expect(looks.at(-1)!.turn.book).toEqual(looks.at(-2)!.turn.book);
    }),
  );
});

it("takes nothing from an answer that was asked for at once, but what it shows", () => {
  holdsFor((_, looks) => {
    for (const { read, before, turn } of looks) {
      if (!read.isRepeat) continue;
      expect(turn.changes.filter(({ type }) => type === "removed")).toEqual([]);
      const shown = new Set(read.candles.map(({ timestamp }) => timestamp));
      const kept = new Map(turn.book.entries.map((entry) => [entry.candle.timestamp, entry]));
      for (const entry of before.entries) {
        const { timestamp } = entry.candle;
        if (shown.has(timestamp) || read.unreadable.has(timestamp)) continue;
        expect(kept.get(timestamp)).toMatchObject({ candle: entry.candle, status: entry.status });
        // What was missing stays in doubt.
        if (entry.isMissing) expect(kept.get(timestamp)!.isMissing).toBe(true);
      }
    }
  });
});

it("makes nothing final by an answer that nothing proves whole", () => {
  holdsFor((_, looks) => {
    for (const { read, before, turn } of looks) {
      if (!read.isUnproven) continue;
      expect(turn.book.finalUntil).toBe(before.finalUntil);
      expect(turn.changes.filter(({ status, type }) => status === "final" && type !== "removed")).toEqual([]);
    }
  });
});

it("covers nothing and makes nothing final beyond what an answer proves", () => {
  holdsFor((_, looks) => {
    for (const { read, before, turn } of looks) {
      const proven = read.provenUntil ?? read.to;
      expect(turn.book.coveredUntil).toBeLessThanOrEqual(Math.max(before.coveredUntil, proven));
      expect(turn.book.finalUntil).toBeLessThanOrEqual(Math.max(before.finalUntil, proven));
    }
  });
});

it("makes final what has closed and cannot be read as it leaves the window, and not what was open", () => {
  // After every scene a minute passes, and old rows break.
  const breaking = scenes("unreadable", "unplaced", "repeat").map((list) =>
    list.flatMap((scene) => [scene, { ...HONEST, wait: 61_000, unreadable: [1, 2, 3, 4] }]),
  );
  let told = 0;
  holdsFor((_, looks) => {
    for (const { read, before, turn } of looks) {
      for (const { candle, status, revision } of before.entries) {
        const { timestamp } = candle;
        if (!read.unreadable.has(timestamp) || timestamp >= turn.book.finalUntil) continue;
        const own = turn.changes.filter((change) => change.candle.timestamp === timestamp);
        const final = { type: "updated", candle, previous: candle, status: "final", revision: revision + 1 };
        expect(own).toEqual(status === "closed" ? [final] : []);
        const { coveredFrom, coveredUntil } = turn.book;
        expect(coveredFrom > timestamp || coveredUntil <= timestamp).toBe(true);
        told += own.length;
      }
    }
  }, breaking);
  expect(told).toBeGreaterThan(100);
});
