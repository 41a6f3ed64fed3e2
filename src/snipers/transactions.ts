import type { SniperTransaction } from "../contract/model.js";

/**
 * One transaction per hash. If two entries differ, the one at the later place wins, in whatever order they were served.
 */
export function byHash(transactions: readonly SniperTransaction[]): Map<string, SniperTransaction> {
  const byHash = new Map<string, SniperTransaction>();
  for (const transaction of transactions) {
    const other = byHash.get(transaction.transactionHash);
    if (other !== undefined && comparePlace(other, transaction) >= 0) continue;
    const frozen = Object.isFrozen(transaction) ? transaction : Object.freeze({ ...transaction });
    byHash.set(transaction.transactionHash, frozen);
  }
  return byHash;
}

/** By time, then by hash; frozen. */
export function inOrder(transactions: Iterable<SniperTransaction>): readonly SniperTransaction[] {
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

/** Whether two entries of one hash are at the same place of the chain. */
export function isSamePlace(a: SniperTransaction, b: SniperTransaction): boolean {
  return (
    isSameTotal(a.transactionTimestamp, b.transactionTimestamp) &&
    isSameTotal(a.blocksAfterCreation, b.blocksAfterCreation)
  );
}

/** Transactions, each in the block that was known of it where it leaves that out, and its time is the same. */
export function inKnownBlocks(
  transactions: readonly SniperTransaction[],
  known: readonly SniperTransaction[] = [],
): readonly SniperTransaction[] {
  if (transactions.every(({ blocksAfterCreation }) => blocksAfterCreation !== null)) return transactions;
  const before = byHash(known);
  return transactions.map((one) => {
    const old = before.get(one.transactionHash);
    const isThere = old?.transactionTimestamp === one.transactionTimestamp;
    return one.blocksAfterCreation === null && isThere ? old : one;
  });
}

/** Like `===`, under which -0 equals 0, but NaN equals itself. */
export function isSameTotal(a: number | null, b: number | null): boolean {
  return a === b || Object.is(a, b);
}

/** For `sort`: by code units. */
export function ascending(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
