import type { Candle } from "../../contract/model.js";
import { type CandleStatus, isSame, laterOf } from "../event.js";
import { type CandleRules, settledUntil, windowStart } from "../rules.js";
import { type BrokenRow, isApart } from "./evidence.js";
import type { Page } from "./pages.js";

/** What one answer changed about one candle. */
export type CandleChange = {
  readonly candle: Candle;
  readonly status: CandleStatus;
  readonly revision: number;
} & ({ readonly type: "new" | "removed" } | { readonly type: "updated"; readonly previous: Candle });

/** A candle that may still change. */
export interface CandleEntry {
  readonly candle: Candle;
  readonly status: CandleStatus;
  readonly revision: number;
  /** When the service made the first answer that lacks it; absent where the last one has shown it. */
  readonly missedAt?: number | undefined;
}

/** All that is known of a series while it is read, and all that decides about its candles. */
export interface CandleBook {
  /** The candles that may still change, ascending, and the final ones of longer candles that were not final before. */
  readonly entries: readonly CandleEntry[];
  /** The newest final candles, ascending. Every answer has to show them: one that lacks any is not whole. */
  readonly anchors: readonly number[];
  /** Those that the last answer has lacked, each with when the service made the first answer that lacks it. */
  readonly lacking: ReadonlyMap<number, number>;
  /** A silence that one answer has shown: when that was made, and where its first row lies. It shows none before `finalUntil`. */
  readonly silence?: { readonly until: number; readonly at: number } | undefined;
  /** The rows that cannot be read, by interval; `undefined`: one that has none. */
  readonly broken: ReadonlyMap<number | undefined, BrokenRow>;
  /** Every interval before it is final. */
  readonly finalUntil: number;
  /** Every interval in `[coveredFrom, coveredUntil)` has been seen after it had ended and settled. */
  readonly coveredFrom: number;
  readonly coveredUntil: number;
  /** The service's clock, as of the newest answer, and its epoch. */
  readonly observedAt: number;
  readonly epoch: number | undefined;
}

/** So many anchors are kept. One is too weak: a fault that takes rows out at random mostly leaves it in. */
export const ANCHORS = 4;

export const NONE_BROKEN: ReadonlyMap<number | undefined, BrokenRow> = new Map();
export const NONE_LACKING: ReadonlyMap<number, number> = new Map();

/** A book that knows nothing, to be read from `from` on, the start of an interval. */
export function emptyBook(from: number, anchors: readonly number[] = []): CandleBook {
  return {
    entries: [],
    anchors,
    lacking: NONE_LACKING,
    broken: NONE_BROKEN,
    finalUntil: from,
    coveredFrom: from,
    coveredUntil: from,
    observedAt: -Infinity,
    epoch: undefined,
  };
}

/** Whether a change tells that its candle is final. */
export function isFinal({ type, status }: CandleChange): boolean {
  return type !== "removed" && status === "final";
}

/** Whether an answer, and one before it made apart, lack all anchors: either both were cut, or the anchors are gone. */
export function lacksAllTwice({ anchors, lacking }: CandleBook, at: number): boolean {
  const due = dueBy(anchors, at);
  return due.length > 0 && due.every((anchor) => isApart(at, lacking.get(anchor) ?? at));
}

/** The book without its anchors, which are gone. What was told up to here stays as it is; what is covered begins anew. */
export function withoutAnchors(book: CandleBook): CandleBook {
  const { finalUntil, coveredUntil } = book;
  return { ...book, anchors: [], lacking: NONE_LACKING, coveredFrom: Math.min(finalUntil, coveredUntil) };
}

/** Whether the last answer has told of all that had settled by then, a silence that is not confirmed included. */
export function isCurrent(rules: CandleRules, { coveredUntil, observedAt, silence }: CandleBook): boolean {
  return Math.max(coveredUntil, silence?.until ?? coveredUntil) >= settledUntil(rules, observedAt);
}

/** The same book by another clock: what was over by one that ran ahead may be still to come. */
export function byAnotherClock(rules: CandleRules, book: CandleBook, { at, epoch }: Page): CandleBook {
  const { anchors, coveredFrom } = book;
  const { frames = rules.intervals } = rules;
  const seenUntil =
    anchors.length === 0
      ? Math.min(coveredFrom, windowStart(rules, at))
      : rules.intervals.end(anchors.at(-1)!);
  // A clock that ran ahead made intervals final too early: the last anchor is the last that is certain.
  const hasRunAhead = book.finalUntil > rules.intervals.start(at);
  const over = hasRunAhead ? seenUntil : Math.max(windowStart(rules, at), seenUntil);
  const known = Math.min(settledUntil(rules, at), hasRunAhead ? seenUntil : Infinity);
  const coveredUntil = Math.min(book.coveredUntil, Math.max(known, coveredFrom));
  return {
    ...book,
    entries: book.entries.flatMap(({ candle, status, revision }) =>
      status === "final" ? [] : [{ candle, status, revision }],
    ),
    lacking: NONE_LACKING,
    silence: undefined,
    finalUntil: Math.min(book.finalUntil, frames.start(over)),
    coveredFrom: Math.min(coveredFrom, coveredUntil),
    coveredUntil,
    observedAt: -Infinity,
    epoch,
  };
}

/** Those anchors that an answer made then can show: by a clock that was set back some may lie ahead. */
export function dueBy(anchors: readonly number[], at: number): readonly number[] {
  return anchors.length === 0 || anchors.at(-1)! < at ? anchors : anchors.filter((anchor) => anchor < at);
}

/** What a candle changes as it is shown now: a status that has come stays. */
export function changeOf(
  entry: CandleEntry | undefined,
  candle: Candle,
  statusNow: CandleStatus,
): CandleChange | undefined {
  const status = laterOf(entry?.status, statusNow);
  if (entry === undefined) return { type: "new", candle, status, revision: 0 };
  const { candle: previous, revision } = entry;
  if (status === entry.status && isSame(candle, previous)) return undefined;
  return { type: "updated", candle, previous, status, revision: revision + 1 };
}
