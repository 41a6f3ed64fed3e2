import {
  SNIPER_TOTALS,
  type Sniper,
  type SniperReport,
  type SniperTransaction,
} from "../../contract/model.js";
import { bookOfAbsent, readReport } from "../../snipers/diff.js";
import { applySniperEvent, emptyReport, type SniperEvent } from "../../snipers/event.js";

/** The address of an event's wallet. */
export function addressOf(event: SniperEvent): string {
  switch (event.type) {
    case "wallet-added":
    case "wallet-updated":
      return event.wallet.walletAddress;
    case "wallet-removed":
      return event.previous.walletAddress;
    default:
      return event.walletAddress;
  }
}

/** The wallet after an event; `undefined` if it is gone. */
export function foldWallet(wallet: Sniper | undefined, event: SniperEvent): Sniper | undefined {
  const report: SniperReport = { ...emptyReport, result: wallet === undefined ? [] : [wallet] };
  return applySniperEvent(report, event).result[0];
}

/** Whether an event changes the present state of the wallet, and does not only repeat it. */
export function isNews(wallet: Sniper | undefined, event: SniperEvent): boolean {
  if (wallet === undefined || event.type === "wallet-added") {
    return wallet === undefined && event.type === "wallet-added";
  }
  switch (event.type) {
    case "sniped":
      return !holds(wallet.snipedTransactions, event.transaction);
    case "sold":
      return !holds(wallet.sellTransactions, event.transaction);
    case "transaction-removed": {
      const { snipedTransactions, sellTransactions } = wallet;
      return holds(event.side === "snipe" ? snipedTransactions : sellTransactions, event.transaction);
    }
    case "wallet-updated":
      return SNIPER_TOTALS.some((total) => wallet[total] !== event.wallet[total]);
    case "wallet-removed":
      return true;
  }
}

function holds(transactions: readonly SniperTransaction[], { transactionHash }: SniperTransaction): boolean {
  return transactions.some((transaction) => transaction.transactionHash === transactionHash);
}

/** The events that lead from some wallets of a pair to others, in the order of a report's events. */
export function walletChanges(
  known: Iterable<Sniper>,
  now: readonly Sniper[],
  { pairAddress, observedAt, initial }: Pick<SniperEvent, "pairAddress" | "observedAt" | "initial">,
): { events: readonly SniperEvent[]; wallets: readonly Sniper[] } {
  const book = bookOfAbsent(pairAddress, known, initial ? undefined : observedAt);
  const read = {
    report: { ...emptyReport, result: now },
    unreadable: new Set<string>(),
    hasUnidentifiedRow: false,
  };
  const turn = readReport(book, { ...read, observedAt });
  return { events: turn.events, wallets: [...turn.book.wallets.values()].map(({ wallet }) => wallet) };
}
