import {
  SNIPER_TOTALS,
  type Sniper,
  type SniperReport,
  type SniperTotal,
  type SniperTransaction,
} from "../contract/model.js";

/** One change among the snipers of a pair. */
export type SniperEvent = {
  /** The pair that was watched. */
  readonly pairAddress: string;
  /** Whether it comes from the first report, and so tells what was there already. */
  readonly initial: boolean;
  /** When this was true by the service's clock, in ms since the epoch. */
  readonly observedAt: number;
} & (
  | {
      readonly type: "wallet-added";
      /** With its transactions: none of them is announced again. */
      readonly wallet: Sniper;
    }
  | {
      readonly type: "sniped" | "sold";
      /** Whose it is. */
      readonly walletAddress: string;
      /** The one that is new. */
      readonly transaction: SniperTransaction;
    }
  | {
      readonly type: "transaction-removed";
      /** Whose it was. */
      readonly walletAddress: string;
      /** Whether it was an early buy or a sale. */
      readonly side: "snipe" | "sell";
      /** As last known. */
      readonly transaction: SniperTransaction;
    }
  | {
      /** A total changed; comes after the events of the wallet's transactions. */
      readonly type: "wallet-updated";
      /** The whole wallet as it now stands. */
      readonly wallet: Sniper;
      /** As it stood before this report, so without the transactions that came with it. */
      readonly previous: Sniper;
      /** The totals that differ between `previous` and `wallet`, in the order of the contract. */
      readonly changed: readonly SniperTotal[];
    }
  | {
      readonly type: "wallet-removed";
      /** As last known. */
      readonly previous: Sniper;
    }
);

/** A report of nothing, for the fold to begin with. */
export const emptyReport: SniperReport = Object.freeze({
  blockNumber: null,
  blockTimestamp: null,
  transactionHash: null,
  result: Object.freeze([]),
});

/** The snipers of a pair as the reports so far tell them; immutable. */
export interface SniperBook {
  readonly pairAddress: string;
  /** The instant of the last report; `undefined` before the first. */
  readonly observedAt: number | undefined;
  /** By address, ascending. */
  readonly wallets: ReadonlyMap<string, KnownWallet>;
}

interface KnownWallet {
  /** Its transactions sorted, each once, those that are missing from the last report included. */
  readonly wallet: Sniper;
  /** Whether the last report lacked it. */
  readonly isMissing: boolean;
  /** The hashes that the last report lacked; all of them where it lacked the wallet. */
  readonly missing: { readonly [side in Side]: ReadonlySet<string> };
}

/** One report together with what could not be read of it. */
export interface SniperRead {
  readonly report: SniperReport;
  /** Wallets whose row broke the schema: neither absent nor changed. */
  readonly unreadable: ReadonlySet<string>;
  /** Whether a row that broke the schema did not even tell its wallet: then nothing counts as absent. */
  readonly hasUnidentifiedRow: boolean;
  /** Whether it was asked for right after another one: where both lack something, a cache may have answered alike. */
  readonly isRepeat?: boolean;
  /** ms since the epoch. */
  readonly observedAt: number;
}

type Side = "snipe" | "sell";
type SniperChange = SniperEvent extends infer Event
  ? Event extends SniperEvent
    ? Omit<Event, "pairAddress" | "initial" | "observedAt">
    : never
  : never;

const SIDES = ["snipe", "sell"] as const;
const LIST = { snipe: "snipedTransactions", sell: "sellTransactions" } as const;
const ANNOUNCED = { snipe: "sniped", sell: "sold" } as const;
const NONE: ReadonlySet<string> = new Set();
const NONE_MISSING = { snipe: NONE, sell: NONE };

/** The book of a pair before its first report. */
export function emptySniperBook(pairAddress: string): SniperBook {
  return { pairAddress, observedAt: undefined, wallets: new Map() };
}

/**
 * Takes a report into the book: the new book, what has changed, and whether something was absent for the first time
 * (`doubt`), so that the service should be asked again soon.
 *
 * What was there is removed only when two reports in a row lack it. A report that could not tell (its row unreadable,
 * or a row of it unplaced) is none that lacks it, and the count begins anew. A wallet that is absent takes its
 * transactions with it: where it comes back without one of them, that one has been absent twice.
 */
export function readReport(
  book: SniperBook,
  read: SniperRead,
): { book: SniperBook; events: readonly SniperEvent[]; doubt: boolean } {
  const { pairAddress } = book;
  const { unreadable, hasUnidentifiedRow, isRepeat = false, observedAt } = read;
  const listed = new Map(read.report.result.map((sniper) => [sniper.walletAddress, sniper]));
  const common = { pairAddress, initial: book.observedAt === undefined, observedAt };
  const events: SniperEvent[] = [];
  const wallets = new Map<string, KnownWallet>();
  let doubt = false;
  for (const address of [...new Set([...book.wallets.keys(), ...listed.keys()])].sort(ascending)) {
    const known = book.wallets.get(address);
    const sniper = unreadable.has(address) ? undefined : listed.get(address);
    const tells = { absence: !hasUnidentifiedRow && !unreadable.has(address), removal: !isRepeat };
    const next = known === undefined ? addWallet(sniper) : compareWallet(known, sniper, tells);
    if (next.known !== undefined) wallets.set(address, next.known);
    doubt ||= next.doubt;
    for (const change of next.changes) events.push(Object.freeze({ ...change, ...common }));
  }
  return { book: { pairAddress, observedAt, wallets }, events: Object.freeze(events), doubt };
}

/** The present state as a late subscriber is told it: a `wallet-added` for each wallet, none before the first report. */
export function snapshot(book: SniperBook): readonly SniperEvent[] {
  const { pairAddress, observedAt } = book;
  if (observedAt === undefined) return Object.freeze([]);
  return Object.freeze(
    [...book.wallets.values()].map(({ wallet }) =>
      Object.freeze({ type: "wallet-added" as const, wallet, pairAddress, initial: true, observedAt }),
    ),
  );
}

interface WalletStep {
  /** `undefined` where the wallet is not in the book any more. */
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
    known: { wallet, isMissing: false, missing: NONE_MISSING },
    changes: [{ type: "wallet-added", wallet }],
    doubt: false,
  };
}

/** What a report can tell: that something is absent, and that what was absent before is gone. */
interface Tells {
  readonly absence: boolean;
  readonly removal: boolean;
}

function compareWallet(known: KnownWallet, sniper: Sniper | undefined, tells: Tells): WalletStep {
  const { wallet } = known;
  if (sniper === undefined && !tells.absence) {
    return { known: { wallet, isMissing: false, missing: NONE_MISSING }, changes: [], doubt: false };
  }
  if (sniper === undefined && known.isMissing && tells.removal) {
    return { known: undefined, changes: [{ type: "wallet-removed", previous: wallet }], doubt: false };
  }
  const compare = (side: Side) =>
    compareSide(wallet[LIST[side]], sniper?.[LIST[side]] ?? [], {
      tellsAbsence: tells.absence,
      isMissing: (hash) => tells.removal && known.missing[side].has(hash),
    });
  const sides = { snipe: compare("snipe"), sell: compare("sell") };
  const changes = transactionChanges(wallet.walletAddress, sides);
  const changed =
    sniper === undefined ? [] : SNIPER_TOTALS.filter((total) => !isSame(wallet[total], sniper[total]));
  // Where no total counts as changed the old ones stay, so that the book holds what its events have told.
  const totals = sniper === undefined || changed.length === 0 ? wallet : sniper;
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
  const isMissing = sniper === undefined;
  const doubt = isMissing || missing.snipe.size > 0 || missing.sell.size > 0;
  return { known: { wallet: next, isMissing, missing }, changes, doubt };
}

/** What became of the transactions of one side of one wallet; every list in order. */
interface SideStep {
  readonly gone: readonly SniperTransaction[];
  readonly come: readonly SniperTransaction[];
  /** All that the book holds from now on. */
  readonly present: readonly SniperTransaction[];
  /** The hashes of those that were absent for the first time. */
  readonly missing: ReadonlySet<string>;
}

/** What the transactions of a wallet have to tell: all that is gone, then all that has come. */
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

function compareSide(
  held: readonly SniperTransaction[],
  listed: readonly SniperTransaction[],
  { tellsAbsence, isMissing }: { tellsAbsence: boolean; isMissing: (hash: string) => boolean },
): SideStep {
  const next = byHash(listed);
  const gone: SniperTransaction[] = [];
  const come: SniperTransaction[] = [];
  const missing = new Set<string>();
  for (const old of held) {
    const hash = old.transactionHash;
    const now = next.get(hash);
    if (now === undefined) {
      if (tellsAbsence && isMissing(hash)) {
        gone.push(old);
        continue;
      }
      if (tellsAbsence) missing.add(hash);
      next.set(hash, old);
    } else if (isSamePlace(old, now)) {
      next.set(hash, old);
    } else {
      gone.push(old);
      come.push(now);
    }
  }
  const known = new Set(held.map((transaction) => transaction.transactionHash));
  for (const [hash, now] of next) if (!known.has(hash)) come.push(now);
  return { gone, come: inOrder(come), present: inOrder(next.values()), missing };
}

/** Each hash once; of two listings that differ the later place counts, whatever the order served. */
function byHash(transactions: readonly SniperTransaction[]): Map<string, SniperTransaction> {
  const byHash = new Map<string, SniperTransaction>();
  for (const transaction of transactions) {
    const other = byHash.get(transaction.transactionHash);
    if (other !== undefined && comparePlace(other, transaction) >= 0) continue;
    const frozen = Object.isFrozen(transaction) ? transaction : Object.freeze({ ...transaction });
    byHash.set(transaction.transactionHash, frozen);
  }
  return byHash;
}

function inOrder(transactions: Iterable<SniperTransaction>): readonly SniperTransaction[] {
  return Object.freeze([...transactions].sort(compareTransactions));
}

function compareTransactions(a: SniperTransaction, b: SniperTransaction): number {
  return a.transactionTimestamp - b.transactionTimestamp || ascending(a.transactionHash, b.transactionHash);
}

function comparePlace(a: SniperTransaction, b: SniperTransaction): number {
  return (
    a.transactionTimestamp - b.transactionTimestamp ||
    (a.blocksAfterCreation ?? -1) - (b.blocksAfterCreation ?? -1)
  );
}

function isSamePlace(a: SniperTransaction, b: SniperTransaction): boolean {
  return (
    isSame(a.transactionTimestamp, b.transactionTimestamp) &&
    isSame(a.blocksAfterCreation, b.blocksAfterCreation)
  );
}

/** `===`, which holds -0 and 0 for the same, and NaN the same as itself. */
function isSame(a: number | null, b: number | null): boolean {
  return a === b || Object.is(a, b);
}

function ascending(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * Folds one event into a report; the report given stays as it is.
 *
 * Folded from `emptyReport`, the events of a pair give its snipers by address, ascending. The report's own block, time
 * and hash are in no event and stay.
 *
 * ```ts
 * import { applySniperEvent, emptyReport, type SniperEvent } from "pairstream";
 * import { type Observable, scan } from "rxjs";
 *
 * const reports = (events: Observable<SniperEvent>) => events.pipe(scan(applySniperEvent, emptyReport));
 * ```
 */
export function applySniperEvent(report: SniperReport, event: SniperEvent): SniperReport {
  return Object.freeze({ ...report, result: Object.freeze(foldWallets(report.result, event)) });
}

function foldWallets(wallets: readonly Sniper[], event: SniperEvent): Sniper[] {
  switch (event.type) {
    case "wallet-added":
    case "wallet-updated":
      return placeWallet(wallets, event.wallet);
    case "wallet-removed":
      return wallets.filter((wallet) => wallet.walletAddress !== event.previous.walletAddress);
    case "sniped":
    case "sold":
    case "transaction-removed":
      return wallets.map((wallet) =>
        wallet.walletAddress === event.walletAddress ? foldTransaction(wallet, event) : wallet,
      );
  }
}

function foldTransaction(
  wallet: Sniper,
  event: Extract<SniperEvent, { type: "sniped" | "sold" | "transaction-removed" }>,
): Sniper {
  const isRemoval = event.type === "transaction-removed";
  const list = LIST[isRemoval ? event.side : event.type === "sniped" ? "snipe" : "sell"];
  const hash = event.transaction.transactionHash;
  const others = wallet[list].filter((transaction) => transaction.transactionHash !== hash);
  const next = isRemoval ? others : [...others, event.transaction];
  return Object.freeze({ ...wallet, [list]: inOrder(next) });
}

function placeWallet(wallets: readonly Sniper[], wallet: Sniper): Sniper[] {
  const others = wallets.filter((other) => other.walletAddress !== wallet.walletAddress);
  const after = others.findIndex((other) => other.walletAddress > wallet.walletAddress);
  others.splice(after < 0 ? others.length : after, 0, wallet);
  return others;
}
