import { showFields } from "../contract/input.js";
import type { Sniper, SniperReport, SniperTotal, SniperTransaction } from "../contract/model.js";
import { InvalidInputError } from "../errors.js";
import { inOrder } from "./transactions.js";

/** Whether a wallet bought early, or sold. */
export type Side = "snipe" | "sell";

/** Where a wallet has the transactions of each side. */
export const LIST = { snipe: "snipedTransactions", sell: "sellTransactions" } as const;

/** One change among the snipers of a pair. */
export type SniperEvent = {
  /** The watched pair. */
  readonly pairAddress: string;
  /** Whether the event comes from the first report, so it is not news. */
  readonly initial: boolean;
  /** When this was true by the service's clock, ms since the epoch. */
  readonly observedAt: number;
} & (
  | {
      readonly type: "wallet-added";
      /** The wallet with its transactions. They get no events of their own. */
      readonly wallet: Sniper;
    }
  | {
      readonly type: "sniped" | "sold";
      /** The wallet of the transaction. */
      readonly walletAddress: string;
      /** The new transaction. */
      readonly transaction: SniperTransaction;
    }
  | {
      readonly type: "transaction-removed";
      /** The wallet of the transaction. */
      readonly walletAddress: string;
      /** Whether it was an early buy or a sale. */
      readonly side: "snipe" | "sell";
      /** The transaction as last known. */
      readonly transaction: SniperTransaction;
    }
  | {
      /** A total changed. It comes after the events of the wallet's transactions. */
      readonly type: "wallet-updated";
      /** The whole wallet as it is now. */
      readonly wallet: Sniper;
      /** The wallet before this report, so without the transactions that came with it. */
      readonly previous: Sniper;
      /** The totals that differ between `previous` and `wallet`, in the contract's order. */
      readonly changed: readonly SniperTotal[];
    }
  | {
      readonly type: "wallet-removed";
      /** The wallet as last known. */
      readonly previous: Sniper;
    }
);

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

/**
 * A report without wallets: the start of the fold, and a `known` of which all that follows is news.
 *
 * ```ts
 * import { type Client, emptyReport, watchSnipers } from "pairstream";
 *
 * const news = (client: Client, pairAddress: string) =>
 *   watchSnipers(client, { pairAddress, known: { pairAddress, report: emptyReport } });
 * ```
 */
export const emptyReport: SniperReport = Object.freeze({
  blockNumber: null,
  blockTimestamp: null,
  transactionHash: null,
  result: Object.freeze([]),
});

/**
 * Folds one event into a report and returns a new report.
 *
 * Folded from `emptyReport`, the events of a pair give its snipers by address, ascending. No event carries the report's
 * own block, time and hash, so these stay as they are. Throws an `InvalidInputError` for what is no report, or no such event.
 *
 * ```ts
 * import { applySniperEvent, emptyReport, type SniperEvent } from "pairstream";
 * import { type Observable, scan } from "rxjs";
 *
 * const reports = (events: Observable<SniperEvent>) => events.pipe(scan(applySniperEvent, emptyReport));
 * ```
 */
export function applySniperEvent(report: SniperReport, event: SniperEvent): SniperReport {
  if (!Array.isArray(report?.result)) {
    const allowed = "a report of snipers, such as emptyReport";
    throw new InvalidInputError("report", allowed, `is ${showFields(report)}`);
  }
  if (!(event as Partial<Record<string, unknown>>)?.[ABOUT[event?.type]]) {
    throw new InvalidInputError("event", "an event of watchSnipers", `is ${showFields(event)}`);
  }
  return Object.freeze({ ...report, result: Object.freeze(foldWallets(report.result, event)) });
}

/** What an event of each type is about. */
const ABOUT = {
  "wallet-added": "wallet",
  "wallet-updated": "wallet",
  "wallet-removed": "previous",
  sniped: "transaction",
  sold: "transaction",
  "transaction-removed": "transaction",
} as const satisfies Record<SniperEvent["type"], string>;

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
