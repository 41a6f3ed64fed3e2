import type { Candle } from "../../contract/model.js";
import type { Intervals } from "../../timeframe.js";
import { isSame, laterOf } from "../event.js";
import { longerCandle } from "../longer-candle.js";
import type { CandleBook, CandleChange, CandleEntry } from "./book.js";

/** A book, and what was changed last in it. */
export interface ChangedBook {
  readonly book: CandleBook;
  readonly changes: readonly CandleChange[];
}

/** A book of longer candles, made of another one. */
export interface LongerBook extends ChangedBook {
  /** The final candles of longer ones that are not, ascending. */
  readonly finals: readonly Part[];
}

type Part = Pick<CandleEntry, "candle" | "status">;

/**
 * The book of longer candles that follows from a book and its last changes. It holds all in `before`, the longer book of
 * the changes before; the first one begins with an interval of `frames`.
 *
 * A longer candle is made of all that are in its interval. It is open while one of them is, closed once what is covered, or
 * what has closed, reaches its end, and final once all before its end is.
 */
export function longerBook(
  frames: Intervals,
  intervals: Intervals,
  before: LongerBook | undefined,
  { book, changes }: ChangedBook,
): LongerBook {
  const finalUntil = frames.start(book.finalUntil);
  const from = Math.min(before?.book.finalUntil ?? finalUntil, finalUntil);
  const finals = finalsOf(before, changes, from, book.finalUntil);
  const parts: readonly Part[] = [...finals, ...book.entries];
  const newestClosed = parts.findLast(({ status }) => status !== "open")?.candle.timestamp;
  const closedUntil = Math.max(
    book.coveredUntil,
    newestClosed === undefined ? book.coveredUntil : intervals.end(newestClosed),
  );
  const known = new Map(before?.book.entries.map((entry) => [entry.candle.timestamp, entry]));
  const entries: CandleEntry[] = [];
  const longer: CandleChange[] = [];
  for (const [timestamp, inside] of byFrame(frames, parts)) {
    const end = frames.end(timestamp);
    const shown = known.get(timestamp);
    known.delete(timestamp);
    const candle = longerCandle(timestamp, undefined, inside);
    const isOpen = end > closedUntil || inside.some(({ status }) => status === "open");
    const status = laterOf(shown?.status, end <= book.finalUntil ? "final" : isOpen ? "open" : "closed");
    const isUnchanged = shown !== undefined && shown.status === status && isSame(shown.candle, candle);
    const revision = shown === undefined ? 0 : shown.revision + (isUnchanged ? 0 : 1);
    if (status !== "final") entries.push(isUnchanged ? shown : { candle, status, revision });
    if (isUnchanged) continue;
    longer.push(
      shown === undefined
        ? { type: "new", candle, status, revision }
        : { type: "updated", candle, previous: shown.candle, status, revision },
    );
  }
  for (const { candle, status, revision } of known.values())
    longer.push({ type: "removed", candle, status, revision: revision + 1 });
  longer.sort((a, b) => a.candle.timestamp - b.candle.timestamp);
  const coveredUntil = frames.start(book.coveredUntil);
  return {
    book: {
      ...book,
      entries,
      finalUntil,
      coveredFrom: Math.min(ceilingOf(frames, book.coveredFrom), coveredUntil),
      coveredUntil,
    },
    changes: longer,
    finals: finals.filter(({ candle }) => candle.timestamp >= finalUntil),
  };
}

/** The final candles from an instant on, ascending. */
function finalsOf(
  before: LongerBook | undefined,
  changes: readonly CandleChange[],
  from: number,
  finalUntil: number,
): readonly Part[] {
  const finals = new Map<number, Part>();
  const add = (part: Part) => {
    const { timestamp } = part.candle;
    // By a clock that was set back some may be final no longer.
    if (timestamp >= from && timestamp < finalUntil) finals.set(timestamp, part);
  };
  for (const part of before?.finals ?? []) add(part);
  for (const change of changes) if (change.type !== "removed" && change.status === "final") add(change);
  return [...finals.values()].sort((a, b) => a.candle.timestamp - b.candle.timestamp);
}

/** Ascending candles by the longer interval that they are in. */
export function byFrame<P extends { readonly candle: Candle }>(
  frames: Intervals,
  parts: readonly P[],
): ReadonlyMap<number, readonly P[]> {
  const inside = new Map<number, P[]>();
  for (const part of parts) {
    const start = frames.start(part.candle.timestamp);
    const others = inside.get(start);
    if (others === undefined) inside.set(start, [part]);
    else others.push(part);
  }
  return inside;
}

/** The first start of an interval that is not before an instant. */
export function ceilingOf({ start, end }: Intervals, instant: number): number {
  return start(instant) === instant ? instant : end(instant);
}
