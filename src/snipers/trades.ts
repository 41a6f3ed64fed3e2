import type { Sniper, SniperTransaction } from "../contract/model.js";
import type { Side, SniperEvent } from "./event.js";

/** A snipe or a sale that a look shows first, or that a fork took back. */
export interface SniperTrade {
  /** Whether the trade was made, or is taken back. */
  readonly kind: "made" | "taken-back";
  /** The watched pair. */
  readonly pairAddress: string;
  /** The wallet that traded. */
  readonly walletAddress: string;
  /** Whether it is an early buy or a sale. */
  readonly side: "snipe" | "sell";
  /** The transaction; one taken back, as last known. */
  readonly transaction: SniperTransaction;
  /**
   * By how many US dollars the wallet's total of that side rose in this look; `null` if the service does not say. It covers
   * all `lookTrades` trades together, and is below 0 if trades were taken back.
   */
  readonly lookUsd: number | null;
  /** How many trades of that wallet and side the look tells, from 1; those taken back count, too. */
  readonly lookTrades: number;
  /** Whether the wallet itself is new in this look. */
  readonly isNewWallet: boolean;
  /** Whether the look is a first one, so that the trade is not news. */
  readonly initial: boolean;
  /** When this was true by the service's clock, ms since the epoch. */
  readonly observedAt: number;
}

type Wallets = ReadonlyMap<string, Sniper>;

const TOTAL = { snipe: "totalSnipedUsd", sell: "totalSoldUsd" } as const;

/** The trades of one look, in the order of its events. `before` and `now`: the wallets by address. */
export function tradesOf(
  events: readonly SniperEvent[],
  before: Wallets,
  now: Wallets,
): readonly SniperTrade[] {
  const changes = events.flatMap(changesIn);
  const keyOf = ({ walletAddress, side }: Change) => `${side} ${walletAddress}`;
  // A transaction that goes and comes in one look is told with another time or block, and is no other trade.
  const hashOf = (change: Change) => `${keyOf(change)} ${change.transaction.transactionHash}`;
  const hashes = (wanted: Change["kind"]) =>
    new Set(changes.filter(({ kind }) => kind === wanted).map(hashOf));
  const [made, taken] = [hashes("made"), hashes("taken-back")];
  const found = changes.filter((change) => !made.has(hashOf(change)) || !taken.has(hashOf(change)));
  const counts = new Map<string, number>();
  for (const change of found) counts.set(keyOf(change), (counts.get(keyOf(change)) ?? 0) + 1);
  const trades = found.map((change) => {
    const { walletAddress, side } = change;
    const lookUsd = difference(usdOf(before.get(walletAddress), side), usdOf(now.get(walletAddress), side));
    return Object.freeze({ ...change, lookUsd, lookTrades: counts.get(keyOf(change))! });
  });
  return Object.freeze(trades);
}

type Change = Omit<SniperTrade, "lookUsd" | "lookTrades">;

function changesIn(event: SniperEvent): Change[] {
  const { pairAddress, initial, observedAt } = event;
  const change = (
    kind: Change["kind"],
    walletAddress: string,
    side: Side,
    transaction: SniperTransaction,
    isNewWallet = false,
  ): Change => ({ kind, pairAddress, walletAddress, side, transaction, isNewWallet, initial, observedAt });
  const all = (kind: Change["kind"], { walletAddress, snipedTransactions, sellTransactions }: Sniper) => [
    ...snipedTransactions.map((one) => change(kind, walletAddress, "snipe", one, kind === "made")),
    ...sellTransactions.map((one) => change(kind, walletAddress, "sell", one, kind === "made")),
  ];
  switch (event.type) {
    case "wallet-added":
      return all("made", event.wallet);
    case "wallet-removed":
      return all("taken-back", event.previous);
    case "wallet-updated":
      return [];
    case "transaction-removed":
      return [change("taken-back", event.walletAddress, event.side, event.transaction)];
    default: {
      const side = event.type === "sniped" ? "snipe" : "sell";
      return [change("made", event.walletAddress, side, event.transaction)];
    }
  }
}

/** A wallet that is not there has traded for nothing. */
function usdOf(wallet: Sniper | undefined, side: Side): number | null {
  return wallet === undefined ? 0 : wallet[TOTAL[side]];
}

function difference(before: number | null, now: number | null): number | null {
  return before === null || now === null ? null : now - before;
}
