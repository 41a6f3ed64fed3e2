import { type Intervals, startFrom } from "../../timeframe.js";
import { byFrame, longerCandle } from "../longer-candle.js";
import { type CandleBook, type CandleChange, type CandleEntry, changeOf } from "./book.js";
import type { Judgement } from "./judge.js";

/**
 * The book of longer candles that follows from a book, and what that changes in the longer book `before`.
 *
 * A longer candle is made of all that are in its interval. It is open while one of them is, closed once what is covered, or
 * what has closed, reaches its end, and final once all before its end is.
 */
export function longerBook(
  frames: Intervals,
  intervals: Intervals,
  before: CandleBook,
  book: CandleBook,
): Pick<Judgement, "book" | "changes"> {
  const { from: coveredFrom, to: coveredUntil } = book.covered.at(-1)!;
  let closedUntil = coveredUntil;
  for (const { candle, status } of book.entries)
    if (status !== "open") closedUntil = Math.max(closedUntil, intervals.end(candle.timestamp));
  const known = new Map(before.entries.map((entry) => [entry.candle.timestamp, entry]));
  const entries: CandleEntry[] = [];
  const longer: CandleChange[] = [];
  for (const [timestamp, inside] of byFrame(frames, book.entries)) {
    const end = frames.end(timestamp);
    const shown = known.get(timestamp);
    known.delete(timestamp);
    const candle = longerCandle(timestamp, undefined, inside);
    const isOpen = end > closedUntil || inside.some((part) => part.status === "open");
    const status = end <= book.finalUntil ? "final" : isOpen ? "open" : "closed";
    const change = changeOf(shown, candle, status);
    if (change !== undefined) longer.push(change);
    const { revision, status: reached } = change ?? shown!;
    if (reached !== "final") entries.push({ candle, status: reached, revision });
  }
  for (const entry of known.values())
    longer.push({ type: "removed", ...entry, revision: entry.revision + 1 });
  const to = frames.start(coveredUntil);
  const finalUntil = frames.start(book.finalUntil);
  return {
    book: {
      ...book,
      entries,
      anchors: book.anchors.filter((anchor) => anchor < finalUntil),
      finalUntil,
      covered: [{ from: Math.min(startFrom(frames, coveredFrom), to), to }],
    },
    changes: longer.sort((a, b) => a.candle.timestamp - b.candle.timestamp),
  };
}
