import type { Candle } from "../../contract/model.js";
import type { Intervals } from "../../timeframe.js";
import { isSame, laterOf } from "../event.js";
import { longerCandle } from "../longer-candle.js";
import { type CandleBook, type CandleChange, type CandleEntry, isFinal } from "./book.js";

/** A book, and what was changed last in it. */
export interface ChangedBook {
  readonly book: CandleBook;
  readonly changes: readonly CandleChange[];
}

/** A book of longer candles, made of another one. */
export interface LongerBook extends ChangedBook {
  /** The final candles of longer ones that are not. */
  readonly finals: readonly Part[];
}

type Part = Pick<CandleEntry, "candle" | "status">;

/**
 * The book of longer candles that follows from a book and its last changes. It holds all in `before`, the longer book of
 * the changes before; before the first ones that is an empty book, which begins with an interval of `frames`.
 *
 * A longer candle is made of all that are in its interval. It is open while one of them is, closed once what is covered, or
 * what has closed, reaches its end, and final once all before its end is.
 */
export function longerBook(
  frames: Intervals,
  intervals: Intervals,
  before: LongerBook,
  { book, changes }: ChangedBook,
): LongerBook {
  const finalUntil = frames.start(book.finalUntil);
  const from = Math.min(before.book.finalUntil, finalUntil);
  const standing = new Map<number, Part>();
  for (const part of [...before.finals, ...changes.filter(isFinal)]) {
    const { timestamp } = part.candle;
    // By a clock that was set back some may be final no longer.
    if (timestamp >= from && timestamp < book.finalUntil) standing.set(timestamp, part);
  }
  const parts = [...standing.values(), ...book.entries].sort(byTime);
  let closedUntil = book.coveredUntil;
  for (const { candle, status } of parts)
    if (status !== "open") closedUntil = Math.max(closedUntil, intervals.end(candle.timestamp));
  const known = new Map(before.book.entries.map((entry) => [entry.candle.timestamp, entry]));
  const entries: CandleEntry[] = [];
  const longer: CandleChange[] = [];
  for (const [timestamp, inside] of byFrame(frames, parts)) {
    const end = frames.end(timestamp);
    const shown = known.get(timestamp);
    known.delete(timestamp);
    const candle = longerCandle(timestamp, undefined, inside);
    const isOpen = end > closedUntil || inside.some((part) => part.status === "open");
    const status = laterOf(shown?.status, end <= book.finalUntil ? "final" : isOpen ? "open" : "closed");
    let entry = shown;
    if (shown === undefined || shown.status !== status || !isSame(shown.candle, candle)) {
      entry = { candle, status, revision: shown === undefined ? 0 : shown.revision + 1 };
      longer.push(
        shown === undefined
          ? { type: "new", ...entry }
          : { type: "updated", previous: shown.candle, ...entry },
      );
    }
    if (status !== "final") entries.push(entry!);
  }
  for (const entry of known.values())
    longer.push({ type: "removed", ...entry, revision: entry.revision + 1 });
  const coveredUntil = frames.start(book.coveredUntil);
  return {
    book: {
      ...book,
      entries,
      finalUntil,
      coveredFrom: Math.min(ceilingOf(frames, book.coveredFrom), coveredUntil),
      coveredUntil,
    },
    changes: longer.sort(byTime),
    finals: parts.filter(({ candle, status }) => status === "final" && candle.timestamp >= finalUntil),
  };
}

interface HasCandle {
  readonly candle: Candle;
}

function byTime(a: HasCandle, b: HasCandle): number {
  return a.candle.timestamp - b.candle.timestamp;
}

/** Ascending candles by the longer interval that they are in. */
export function byFrame<P extends HasCandle>(
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
