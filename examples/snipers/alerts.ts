import { holdingOf, type Sniper, type SniperLook, type SniperTransaction } from "pairstream";

/** Something that somebody is told of, once. */
export interface Alert {
  /** Its name for good: the kind, then pair, wallet, side and hash. Safe in a header. */
  readonly id: string;
  readonly kind: "new-wallet" | "sale" | "sold-out";
  readonly pairAddress: string;
  readonly walletAddress: string;
  readonly side: "snipe" | "sell";
  /** The first snipe of a new wallet, the sale, or the last sale of a wallet that has sold out; absent if there is none. */
  readonly transaction?: SniperTransaction;
  /**
   * US dollars, or `null` if they are not known. A new wallet: what it sniped for. A sale: what all `trades` sales of the wallet
   * in one look brought. A wallet that has sold out: what it made.
   */
  readonly usd: number | null;
  /** How many trades `usd` is for; `null` if that is not known. */
  readonly trades: number | null;
  /** By the service's clock, ms since the epoch. */
  readonly observedAt: number;
}

/**
 * What a look at a pair is worth telling: each new wallet, each sale of at least `alertUsd`, each wallet that has sold out. Where it
 * is not known what a sale brought, it is told. Nothing of a first look is news.
 */
export function alertsOf(look: SniperLook, alertUsd: number): readonly Alert[] {
  if (look.initial) return [];
  const { pairAddress, events, trades, observedAt } = look;
  const alert = (
    kind: Alert["kind"],
    walletAddress: string,
    side: Alert["side"],
    transaction: SniperTransaction | undefined,
    figures: Pick<Alert, "usd" | "trades">,
  ): Alert => {
    const parts = [pairAddress, walletAddress, side, transaction?.transactionHash ?? ""];
    const id = [kind, ...parts.map(inHeader)].join(":");
    const common = { id, kind, pairAddress, walletAddress, side };
    return { ...common, ...(transaction && { transaction }), ...figures, observedAt };
  };

  const newWallets = events.flatMap((event) => {
    if (event.type !== "wallet-added") return [];
    const { walletAddress, snipedTransactions, totalSnipedUsd } = event.wallet;
    const figures = { usd: totalSnipedUsd, trades: snipedTransactions.length };
    return alert("new-wallet", walletAddress, "snipe", snipedTransactions[0], figures);
  });
  // Where a fork took a sale back in the same look, what is left says nothing of the sales that were made.
  const unclear = new Set(
    trades.flatMap(({ kind, side, walletAddress }) =>
      kind === "taken-back" && side === "sell" ? walletAddress : [],
    ),
  );
  const sales = trades.flatMap(({ kind, side, walletAddress, transaction, lookUsd, lookTrades }) => {
    if (kind !== "made" || side !== "sell") return [];
    const isKnown = lookUsd !== null && !unclear.has(walletAddress);
    if (isKnown && lookUsd < alertUsd) return [];
    const figures = isKnown ? { usd: lookUsd, trades: lookTrades } : { usd: null, trades: null };
    return alert("sale", walletAddress, "sell", transaction, figures);
  });
  const soldOut = events.flatMap((event) => {
    const previous = event.type === "wallet-updated" ? event.previous : undefined;
    if (event.type !== "wallet-added" && previous === undefined) return [];
    const { wallet } = event as { wallet: Sniper };
    if (!holdingOf(wallet).isSoldOut || (previous && holdingOf(previous).isSoldOut)) return [];
    const { walletAddress, sellTransactions, realizedProfitUsd } = wallet;
    const figures = { usd: realizedProfitUsd, trades: sellTransactions.length };
    return alert("sold-out", walletAddress, "sell", sellTransactions.at(-1), figures);
  });
  return [...newWallets, ...sales, ...soldOut];
}

/** Characters that a header takes, and no colon, which stands between the parts. */
function inHeader(part: string): string {
  // Through bytes, as half a character cannot be encoded.
  return encodeURIComponent(Buffer.from(part).toString());
}
