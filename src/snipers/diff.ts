import { SNIPER_TOTALS, type Sniper, type SniperReport, type SniperTransaction } from "../contract/model.js";
import { APART, isApart, LONGEST_LAG, mayShowSoon } from "../poll/apart.js";
import { LIST, type Side, type SniperEvent } from "./event.js";
import { ascending, byHash, inOrder, isSamePlace, isSameTotal } from "./transactions.js";

/** The snipers of a pair after all reports so far; immutable. */
export interface SniperBook {
  readonly pairAddress: string;
  /** The instant of the last report; `undefined` before the first. */
  readonly observedAt: number | undefined;
  /** The wallets by address, ascending. */
  readonly wallets: ReadonlyMap<string, KnownWallet>;
}

interface KnownWallet {
  /** The wallet with its transactions sorted, each once. Transactions that the last report lacked are still in it. */
  readonly wallet: Sniper;
  /** When the service made the first report that lacks the wallet; absent where the last one lists it. */
  readonly missedAt?: number | undefined;
  /** The hashes that the last report lacked, by side, and when the first such report was made; all of them if it lacked the wallet. */
  readonly missing: { readonly [side in Side]: ReadonlyMap<string, number> };
  /** The wallet before its row lacked a transaction: since then its totals and its transactions may not agree. */
  readonly whole?: Sniper | undefined;
  /** Whether the last report neither shows the wallet nor proves that it is absent. */
  readonly isUnread?: boolean;
}

/** One report, and which of its rows could not be read. */
export interface SniperRead {
  readonly report: SniperReport;
  /** Wallets with an unreadable row. They count neither as absent nor as changed. */
  readonly unreadable: ReadonlySet<string>;
  /**
   * Whether an unreadable row had no readable wallet address either, or there was no list at all. Then no wallet counts as
   * absent, because the row may be any wallet's.
   */
  readonly hasUnidentifiedRow: boolean;
  /** Whether nobody knows when the service made it. Then it proves no absence. */
  readonly isInDoubt?: boolean;
  /** When the service made it, at least, ms since the epoch. */
  readonly observedAt: number;
}

type SniperChange = SniperEvent extends infer Event
  ? Event extends SniperEvent
    ? Omit<Event, "pairAddress" | "initial" | "observedAt">
    : never
  : never;

const SIDES = ["snipe", "sell"] as const;
const ANNOUNCED = { snipe: "sniped", sell: "sold" } as const;
const NO_HASHES: ReadonlyMap<string, number> = new Map();
const NONE_MISSING = { snipe: NO_HASHES, sell: NO_HASHES };

/** The book of a pair before its first report. */
export function emptySniperBook(pairAddress: string): SniperBook {
  return { pairAddress, observedAt: undefined, wallets: new Map() };
}

/** Wallets as a book in which all counts as absent already: what the next report lacks is gone at once. */
export function bookOfAbsent(
  pairAddress: string,
  wallets: Iterable<Sniper>,
  observedAt: number | undefined,
): SniperBook {
  const missedAt = -Infinity;
  const missing = (list: readonly SniperTransaction[]) =>
    new Map(list.map(({ transactionHash }) => [transactionHash, missedAt]));
  const known = Array.from(wallets, (wallet): [string, KnownWallet] => {
    const { walletAddress, snipedTransactions, sellTransactions } = wallet;
    const sides = { snipe: missing(snipedTransactions), sell: missing(sellTransactions) };
    return [walletAddress, { wallet, missedAt, missing: sides }];
  });
  return { pairAddress, observedAt, wallets: new Map(known) };
}

/** So many wallets do not go at once, as so many final candles do not. */
const MANY = 4;

/**
 * Whether a report is none, or another pair's, as it shows none of the wallets that are known: too many are or, where it has no
 * list at all, any is.
 */
export function lacksAll({ wallets }: SniperBook, shown: Iterable<string>, hasList = true): boolean {
  for (const address of shown) if (wallets.has(address)) return false;
  return wallets.size >= (hasList ? MANY : 1);
}

/**
 * Applies a report to the book. Returns the new book, the changes, and `doubt`: whether something is absent, and another
 * report may tell more.
 *
 * A wallet or transaction is removed only after two reports in a row lack it, made apart: by a second, or by as much as a machine
 * may lag where the later one shows no transaction that is newer. An unreadable row proves no absence: not
 * of its wallet, and not of any wallet if its address is unreadable too. The count then starts again. The transactions
 * of an absent wallet count as absent too: if the wallet comes back without one of them, that one was absent twice.
 */
export function readReport(
  book: SniperBook,
  read: SniperRead,
): { book: SniperBook; events: readonly SniperEvent[]; doubt: boolean } {
  const { pairAddress } = book;
  const { unreadable, hasUnidentifiedRow, isInDoubt = false, observedAt } = read;
  const listed = new Map(read.report.result.map((sniper) => [sniper.walletAddress, sniper]));
  for (const address of unreadable) listed.delete(address);
  const newest = newestOf(listed.values());
  const common = { pairAddress, initial: book.observedAt === undefined, observedAt };
  const events: SniperEvent[] = [];
  const wallets = new Map<string, KnownWallet>();
  let doubt = false;
  for (const address of [...new Set([...book.wallets.keys(), ...listed.keys()])].sort(ascending)) {
    const known = book.wallets.get(address);
    const sniper = listed.get(address);
    const isProof = !hasUnidentifiedRow && !isInDoubt && !unreadable.has(address);
    const evidence = { isProof, isVague: hasUnidentifiedRow, at: observedAt, newest };
    const next = known === undefined ? addWallet(sniper) : compareWallet(known, sniper, evidence);
    if (next.known !== undefined) wallets.set(address, next.known);
    doubt ||= next.doubt;
    for (const change of next.changes) events.push(Object.freeze({ ...change, ...common }));
  }
  return { book: { pairAddress, observedAt, wallets }, events: Object.freeze(events), doubt };
}

/** The present state for a late subscriber: one `wallet-added` event per wallet, none before the first report. */
export function snapshot(book: SniperBook): readonly SniperEvent[] {
  const { pairAddress } = book;
  // Whoever has wallets has had a report.
  const observedAt = book.observedAt!;
  return Object.freeze(
    [...book.wallets.values()].map(({ wallet }) =>
      Object.freeze({ type: "wallet-added" as const, wallet, pairAddress, initial: true, observedAt }),
    ),
  );
}

interface WalletStep {
  /** The wallet's new entry; `undefined` if the wallet left the book. */
  readonly known: KnownWallet | undefined;
  readonly changes: readonly SniperChange[];
  readonly doubt: boolean;
}

function addWallet(sniper: Sniper | undefined): WalletStep {
  if (sniper === undefined) return { known: undefined, changes: [], doubt: false };
  const wallet: Sniper = Object.freeze({
    ...sniper,
    snipedTransactions: inOrder(byHash(sniper.snipedTransactions).values()),
    sellTransactions: inOrder(byHash(sniper.sellTransactions).values()),
  });
  return {
    known: { wallet, missing: NONE_MISSING },
    changes: [{ type: "wallet-added", wallet }],
    doubt: false,
  };
}

/** Whether a report proves that something is absent, and when the service made it. */
interface Evidence {
  readonly isProof: boolean;
  /** Whether nobody may ever know more: a row without an address can be in each report. */
  readonly isVague: boolean;
  readonly at: number;
  /** When the newest transaction was made that it shows. */
  readonly newest: number;
}

/** Whether what was made at an instant, and reports have lacked since `missedAt`, is gone. */
function isGone(made: number, missedAt: number | undefined, { isProof, at, newest }: Evidence): boolean {
  return isProof && missedAt !== undefined && isApart(at, missedAt, made < newest ? APART : LONGEST_LAG);
}

/** When the newest transaction of some wallets was made. */
function newestOf(snipers: Iterable<Sniper>): number {
  let newest = -Infinity;
  for (const { snipedTransactions, sellTransactions } of snipers) {
    for (const list of [snipedTransactions, sellTransactions])
      for (const { transactionTimestamp } of list) newest = Math.max(newest, transactionTimestamp);
  }
  return newest;
}

function compareWallet(known: KnownWallet, sniper: Sniper | undefined, evidence: Evidence): WalletStep {
  const { wallet, whole } = known;
  if (sniper === undefined && !evidence.isProof) {
    return { known: { wallet, missing: NONE_MISSING, whole, isUnread: true }, changes: [], doubt: false };
  }
  // A wallet is listed from its first sale on, and all that is known of it with that.
  const listedFrom = wallet.sellTransactions[0]?.transactionTimestamp ?? Infinity;
  if (sniper === undefined && isGone(listedFrom, known.missedAt, evidence)) {
    return { known: undefined, changes: [{ type: "wallet-removed", previous: wallet }], doubt: false };
  }
  const since = sniper === undefined ? listedFrom : -Infinity;
  const compare = (side: Side) =>
    compareSide(wallet[LIST[side]], sniper?.[LIST[side]] ?? [], known.missing[side], since, evidence);
  const sides = { snipe: compare("snipe"), sell: compare("sell") };
  const changes = transactionChanges(wallet.walletAddress, sides);
  const changed =
    sniper === undefined ? [] : SNIPER_TOTALS.filter((total) => !isSameTotal(wallet[total], sniper[total]));
  // If no total counts as changed, the old ones stay: the book always equals the fold of its events.
  const totals = changed.length === 0 ? wallet : sniper!;
  const next =
    changes.length === 0 && changed.length === 0
      ? wallet
      : Object.freeze({
          ...totals,
          snipedTransactions: sides.snipe.present,
          sellTransactions: sides.sell.present,
        });
  if (changed.length > 0) {
    changes.push({ type: "wallet-updated", wallet: next, previous: wallet, changed: Object.freeze(changed) });
  }
  const missing = { snipe: sides.snipe.missing, sell: sides.sell.missing };
  const missedAt = sniper === undefined ? (known.missedAt ?? evidence.at) : undefined;
  const misses = [missedAt ?? -Infinity, ...missing.snipe.values(), ...missing.sell.values()];
  const doubt = misses.some((since) => mayShowSoon(since, evidence.at));
  const isPartial = sides.snipe.isPartial || sides.sell.isPartial;
  const isUnsure = sniper === undefined ? whole !== undefined : isPartial && !evidence.isVague;
  const wholeNow = isUnsure ? (whole ?? wallet) : undefined;
  return { known: { wallet: next, missedAt, missing, whole: wholeNow }, changes, doubt };
}

/** The result for the transactions of one side of one wallet. All lists are sorted. */
interface SideStep {
  readonly gone: readonly SniperTransaction[];
  readonly come: readonly SniperTransaction[];
  /** The transactions that the book holds from now on. */
  readonly present: readonly SniperTransaction[];
  /** The hashes that are absent, and since when. */
  readonly missing: ReadonlyMap<string, number>;
  /** Whether the report lacked one of them. */
  readonly isPartial: boolean;
}

/** The events for a wallet's transactions: first the removed ones, then the new ones. */
function transactionChanges(
  walletAddress: string,
  sides: { readonly [side in Side]: SideStep },
): SniperChange[] {
  const changes: SniperChange[] = [];
  for (const side of SIDES) {
    for (const transaction of sides[side].gone) {
      changes.push({ type: "transaction-removed", walletAddress, side, transaction });
    }
  }
  for (const side of SIDES) {
    for (const transaction of sides[side].come) {
      changes.push({ type: ANNOUNCED[side], walletAddress, transaction });
    }
  }
  return changes;
}

/** `since`: what is older was lacked as if it had been made then. */
function compareSide(
  held: readonly SniperTransaction[],
  listed: readonly SniperTransaction[],
  missedBefore: ReadonlyMap<string, number>,
  since: number,
  evidence: Evidence,
): SideStep {
  const next = byHash(listed);
  const { size } = next;
  const gone: SniperTransaction[] = [];
  const come: SniperTransaction[] = [];
  const missing = new Map<string, number>();
  for (const old of held) {
    const hash = old.transactionHash;
    const now = next.get(hash);
    if (now === undefined) {
      if (isGone(Math.max(old.transactionTimestamp, since), missedBefore.get(hash), evidence)) {
        gone.push(old);
        continue;
      }
      if (evidence.isProof) missing.set(hash, missedBefore.get(hash) ?? evidence.at);
      next.set(hash, old);
    } else if (isSamePlace(old, now)) {
      next.set(hash, old);
    } else {
      gone.push(old);
      come.push(now);
    }
  }
  const isPartial = next.size > size;
  const known = new Set(held.map((transaction) => transaction.transactionHash));
  for (const [hash, now] of next) if (!known.has(hash)) come.push(now);
  return { gone, come: inOrder(come), present: inOrder(next.values()), missing, isPartial };
}
