import type { Sniper, SniperReport } from "../contract/model.js";
import { bookOfAbsent, readReport, type SniperBook } from "./diff.js";
import type { SniperEvent } from "./event.js";
import { type SniperTrade, tradesOf } from "./trades.js";
import type { ReportHead, SniperView } from "./view.js";

/** The snipers of a pair after one look at them, and what that look changed. */
export interface SniperLook {
  /** The watched pair. */
  readonly pairAddress: string;
  /** How many blocks after the creation count, as it was asked for; absent where the service decides. */
  readonly blocksAfterCreation?: number;
  /** The snipers by address, ascending, with the block, time and hash of the pair's creation. */
  readonly report: SniperReport;
  /** What changed since the look before. Folded into that one's report they give this one's wallets. */
  readonly events: readonly SniperEvent[];
  /** The same as trades: each snipe and each sale once, those of new wallets included. */
  readonly trades: readonly SniperTrade[];
  /** Whether it is a first look, of which nothing is news. */
  readonly initial: boolean;
  /** When this was true by the service's clock, ms since the epoch. */
  readonly observedAt: number;
}

/** A look, and the wallets that it tells of by address. */
export interface ToldLook {
  readonly look: SniperLook;
  readonly wallets: ReadonlyMap<string, Sniper>;
}

/** The part of a look that says what it is of. */
export type SniperQueried = Pick<SniperLook, "pairAddress" | "blocksAfterCreation">;

/** The wallets of a pair by address, ascending, and what else is known of it at an instant. */
export interface SniperNow {
  readonly wallets: ReadonlyMap<string, Sniper>;
  readonly head: ReportHead;
  readonly observedAt: number;
}

/**
 * The look that follows from what a subscriber knows; `before` as itself if it would tell nothing new. A first one goes on from
 * `known`, if there is such a thing.
 *
 * A wallet of which the last report lacked something stays whole as it was until a second one has come: its totals lack
 * that, too, and would not agree with its transactions.
 */
export function nextLook(
  before: ToldLook | undefined,
  { book, head }: SniperView,
  query: SniperQueried,
  known: SniperBook | undefined,
): ToldLook {
  const told = before?.wallets ?? walletsOf(known);
  const wallets = new Map<string, Sniper>();
  for (const [address, { wallet, whole }] of book.wallets) wallets.set(address, whole ?? wallet);
  return lookAt(before, { wallets, head, observedAt: book.observedAt! }, query, told);
}

/**
 * The look at what is so now; `before` as itself if it would tell nothing new. `told`: the wallets that a subscriber knows;
 * `undefined` if it knows nothing, so that all is told as no news.
 */
export function lookAt(
  before: ToldLook | undefined,
  { wallets, head, observedAt }: SniperNow,
  query: SniperQueried,
  told: ReadonlyMap<string, Sniper> | undefined = before?.wallets,
): ToldLook {
  const initial = told === undefined;
  const known = told ?? new Map<string, Sniper>();
  const events = changesFrom(known, wallets, query.pairAddress, initial ? undefined : observedAt, observedAt);
  if (before !== undefined && events.length === 0 && isSameHead(before.look.report, head)) return before;
  const report = Object.freeze({ ...head, result: Object.freeze([...wallets.values()]) });
  const trades = tradesOf(events, known, wallets);
  return { look: Object.freeze({ ...query, report, events, trades, initial, observedAt }), wallets };
}

/**
 * A look of a stream that may have begun anew, as it follows from what was told before; `before` as itself if it would tell
 * nothing new.
 */
export function lookAfter(before: ToldLook | undefined, look: SniperLook): ToldLook {
  const { report, events, trades, initial, observedAt, ...query } = look;
  const { result, ...head } = report;
  const wallets = new Map(result.map((wallet) => [wallet.walletAddress, wallet]));
  const isAnew = before !== undefined && initial;
  return isAnew ? lookAt(before, { wallets, head, observedAt }, query) : { look, wallets };
}

function walletsOf(known: SniperBook | undefined): ReadonlyMap<string, Sniper> | undefined {
  return known && new Map(Array.from(known.wallets, ([address, { wallet }]) => [address, wallet]));
}

/** The events that lead from some wallets to others. What is the same object has not changed. */
function changesFrom(
  told: ReadonlyMap<string, Sniper>,
  wallets: ReadonlyMap<string, Sniper>,
  pairAddress: string,
  toldAt: number | undefined,
  observedAt: number,
): readonly SniperEvent[] {
  const isOther = (others: ReadonlyMap<string, Sniper>) => (wallet: Sniper) =>
    others.get(wallet.walletAddress) !== wallet;
  const gone = [...told.values()].filter(isOther(wallets));
  const result = [...wallets.values()].filter(isOther(told));
  const report = { blockNumber: null, blockTimestamp: null, transactionHash: null, result };
  const read = { report, unreadable: new Set<string>(), hasUnidentifiedRow: false, observedAt };
  return readReport(bookOfAbsent(pairAddress, gone, toldAt), read).events;
}

function isSameHead(a: ReportHead, b: ReportHead): boolean {
  return (
    a.blockNumber === b.blockNumber &&
    a.blockTimestamp === b.blockTimestamp &&
    a.transactionHash === b.transactionHash
  );
}
