import type { SniperReport } from "../contract/model.js";
import { lacksAll, readReport, type SniperBook, type SniperRead, snapshot } from "./diff.js";
import type { SniperEvent } from "./event.js";

/** What a report says of the pair itself. */
export type ReportHead = Omit<SniperReport, "result">;

/** The snipers now, and the changes of the last report. */
export interface SniperState {
  readonly book: SniperBook;
  readonly events: readonly SniperEvent[];
  /** What the last report says of the pair itself. */
  readonly head: ReportHead;
  /** What of the last report could not be read, or counts for nothing. */
  readonly trouble: Omit<SniperRead, "report" | "observedAt">;
}

/** The snipers as one subscriber knows them, and the changes that led there. */
export type SniperView = Pick<SniperState, "book" | "events" | "head">;

/**
 * What a subscriber gets to know by a state of the poll. `before`: what it knew; at first nothing, so that all is news to it.
 * Who goes on from a kept look, `known`, has a book of its own: what is gone since is gone once two reports lack it, as ever.
 */
export function nextView(
  before: SniperView | undefined,
  state: SniperState,
  known: SniperBook | undefined,
): SniperView {
  const { head } = state;
  if (known !== undefined) {
    const book = before?.book ?? known;
    const read = lastRead(state);
    const isBlank = state.book.wallets.size === 0 && lacksAll(book, []);
    return { head, ...readReport(book, isBlank ? { ...read, isInDoubt: true } : read) };
  }
  if (before !== undefined) return state;
  return { head, book: state.book, events: snapshot(state.book) };
}

/** The last report of a poll, as its book tells: without what that lacked. */
function lastRead({ book, head, trouble }: SniperState): SniperRead {
  const unreadable = new Set(trouble.unreadable);
  const result = [...book.wallets.values()].flatMap(({ wallet, missedAt, missing, whole, isUnread }) => {
    if (missedAt !== undefined) return [];
    const { walletAddress, snipedTransactions: snipes, sellTransactions: sales } = wallet;
    const isWhole = missing.snipe.size + missing.sell.size === 0;
    // What its row lacked is no longer known, or there was no row.
    if (isUnread || (isWhole && whole !== undefined)) unreadable.add(walletAddress);
    if (isWhole) return wallet;
    return {
      ...wallet,
      snipedTransactions: snipes.filter(({ transactionHash }) => !missing.snipe.has(transactionHash)),
      sellTransactions: sales.filter(({ transactionHash }) => !missing.sell.has(transactionHash)),
    };
  });
  return { ...trouble, unreadable, report: { ...head, result }, observedAt: book.observedAt! };
}
