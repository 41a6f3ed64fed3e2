import type { Candle } from "../../contract/model.js";
import { type Span, spansUntil } from "../../spans.js";
import { type CandleStatus, isSame, laterOf } from "../event.js";
import { type CandleRules, settledUntil, windowStart } from "../rules.js";
import type { BrokenRow } from "./evidence.js";
import type { Page } from "./page.js";

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
  /** Ascending: the candles that may still change, and the final ones of a longer interval that is not final. */
  readonly entries: readonly CandleEntry[];
  /** The newest final candles, ascending. Every whole answer shows them. */
  readonly anchors: readonly number[];
  /** The anchors that the last answer lacks, each with when the service made the first answer that lacks it. */
  readonly lacking: ReadonlyMap<number, number>;
  /** The silence that an answer has begun with: it lasts from `finalUntil` to `until`. That answer was made at `at`. */
  readonly silence?: { readonly until: number; readonly at: number } | undefined;
  /** The rows that cannot be read, by interval; those without an interval under `undefined`. */
  readonly broken: ReadonlyMap<number | undefined, BrokenRow>;
  /** Every interval before it is final. */
  readonly finalUntil: number;
  /** Ascending: an answer that was made once they had settled has told of all intervals in it. The last span may be empty. */
  readonly covered: readonly Span[];
  /** The service's clock, as of the newest answer, and its epoch. */
  readonly observedAt: number;
  readonly epoch: number | undefined;
}

/** So many anchors are kept. Where rows get lost at random, one anchor is mostly there all the same; all of them rarely are. */
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
    covered: spansUntil([], from),
    observedAt: -Infinity,
    epoch: undefined,
  };
}

/** Whether a change tells that its candle is final. */
export function isFinal({ type, status }: CandleChange): boolean {
  return type !== "removed" && status === "final";
}

/** The book without its anchors, which are gone. What is final stays final. What is covered begins anew behind it. */
export function withoutAnchors(book: CandleBook): CandleBook {
  const { to } = book.covered.at(-1)!;
  const covered = [{ from: Math.min(book.finalUntil, to), to }];
  return { ...book, anchors: [], lacking: NONE_LACKING, covered };
}

/** Whether all intervals are told of that had settled by an instant. A silence counts before it is confirmed, too. */
export function isCurrent(rules: CandleRules, { covered, silence }: CandleBook, at: number): boolean {
  return Math.max(covered.at(-1)!.to, silence?.until ?? -Infinity) >= settledUntil(rules, at);
}

/** The book by another clock. If the old one ran ahead, some intervals that it called final are not over. */
export function byAnotherClock(rules: CandleRules, book: CandleBook, { at, epoch }: Page): CandleBook {
  const { anchors } = book;
  const { from: coveredFrom, to } = book.covered.at(-1)!;
  const { intervals, frames = intervals } = rules;
  const window = windowStart(rules, at);
  // By a clock that ran ahead intervals became final too early: only the last anchor is certain.
  const certainUntil = anchors.length === 0 ? Math.min(coveredFrom, window) : intervals.end(anchors.at(-1)!);
  const hasRunAhead = book.finalUntil > intervals.start(at);
  const finalAtMost = hasRunAhead ? certainUntil : Math.max(window, certainUntil);
  const coveredAtMost = Math.min(settledUntil(rules, at), hasRunAhead ? certainUntil : Infinity);
  const finalUntil = Math.min(book.finalUntil, frames.start(finalAtMost));
  // What is covered begins with what is not final, or there would be a hole before it.
  const coveredUntil = finalUntil < coveredFrom ? finalUntil : Math.min(to, coveredAtMost);
  return {
    ...book,
    entries: book.entries.flatMap(({ candle, status, revision }) =>
      status === "final" ? [] : [{ candle, status, revision }],
    ),
    lacking: NONE_LACKING,
    silence: undefined,
    finalUntil,
    covered: spansUntil(book.covered, coveredUntil),
    observedAt: -Infinity,
    epoch,
  };
}

/** The change when an answer shows a candle, if there is any. A status never goes back. */
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
