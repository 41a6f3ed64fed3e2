import { ContractError, PairstreamError } from "../../errors.js";
import { APART } from "../../poll/apart.js";
import type { CandleRules } from "../rules.js";
import { EARLIEST } from "./beginning.js";
import { ANCHORS, type CandleBook, withoutAnchors } from "./book.js";
import { type Judgement, judge, lacksAllAnchors } from "./judge.js";
import type { Page } from "./page.js";
import { FULL_PAGE, type ReadOptions, type SeriesPages } from "./pages.js";

/** How often a read asks for something again before it fails. */
export const ASKS = 2;
/** How often the pause doubles before something is asked again of which the last answer was too old. */
const MOST_DOUBLINGS = 6;

/**
 * Judges an answer. Where two answers have lacked all anchors, these are asked for alone. They are given up if that answer
 * lacks them, too. If that question fails, a poll tells what the answer in hand holds, and keeps its anchors. What if the service
 * shows nothing at all? A poll with all its anchors waits until it shows something, as so many final candles do not go at once. A
 * read has to end: it asks for the page before the anchors as well, and gives them up if something shows there.
 */
export async function judged(
  pages: SeriesPages,
  rules: CandleRules,
  book: CandleBook,
  page: Page,
  options: ReadOptions,
): Promise<Judgement> {
  const judgement = judge(rules, book, page);
  if (page.isInDoubt || !lacksAllAnchors(rules, judgement.book, page)) return judgement;
  const { anchors } = judgement.book;
  const to = rules.intervals.end(anchors.at(-1)!);
  const isPoll = options.priority !== "history";
  if (isPoll && page.isEmpty && anchors.length === ANCHORS) return judgement;
  const isBlank = page.isEmpty && !isPoll;
  const { start: beginning = EARLIEST } = pages.beginning;
  const earlier = isBlank ? Math.max(beginning, rules.intervals.shift(to, -FULL_PAGE)) : to;
  const question = { from: Math.min(anchors[0]!, earlier), to, anchors };
  const alone = await pages.read(question, options).catch((error) => {
    if (!isPoll || !(error instanceof PairstreamError)) throw error;
  });
  if (!alone || (isBlank && alone.isEmpty)) return judgement;
  if (alone.lacking.length < anchors.length) {
    // Those that it shows are there: whether they are lacking is asked anew.
    const lacking = new Map(alone.lacking.map((anchor) => [anchor, alone.at]));
    return { ...judgement, book: { ...judgement.book, lacking } };
  }
  // What the answer in hand lacks may be gone, or cut: only a fresh one can tell.
  return { ...judgement, book: withoutAnchors(judgement.book), doubt: "time", gone: anchors };
}

/** What a read of final candles makes of rows and of known candles that are lost. */
export interface Losses {
  /** Whether rows that keep breaking the contract are left out in the end; default: they fail the read. */
  readonly skipsRows?: boolean | undefined;
  /** Told of known candles that are gone. */
  readonly onGone?: (anchors: readonly number[]) => void;
}

/** Tells what is lost with an answer of a read. */
export function tellLosses(
  pages: SeriesPages,
  page: Page,
  { dropped, gone }: Judgement,
  { skipsRows, onGone }: Losses,
  options: ReadOptions,
): void {
  if (gone !== undefined) onGone?.(gone);
  if (dropped.length > 0 && !skipsRows) throw notWhole(page);
  pages.drop(dropped, page, options);
}

/** The error of a read of which even the last answer was not whole. */
export function notWhole({ refusal }: Page): ContractError {
  if (refusal instanceof ContractError) return refusal;
  return new ContractError(["result"], "lacks candles that were there: it is not whole");
}

/** The pause before something is asked again whose last answers, so many in a row, were too old, in ms. */
export function pauseAfterStale(stale: number): number {
  return APART * 2 ** Math.min(stale - 1, MOST_DOUBLINGS);
}
