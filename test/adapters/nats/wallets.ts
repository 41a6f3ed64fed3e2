import { SNIPER_TOTALS, type Sniper } from "../../../src/contract/model.js";

/** A wallet that has sold so often; its totals are all that number. */
export function walletOf(walletAddress: string, sales = 0): Sniper {
  const sellTransactions = Array.from({ length: sales }, (_, at) => ({
    transactionHash: `${walletAddress}-${at}`,
    transactionTimestamp: at,
    blocksAfterCreation: null,
  }));
  const totals = Object.fromEntries(SNIPER_TOTALS.map((total) => [total, sales])) as Record<
    (typeof SNIPER_TOTALS)[number],
    number
  >;
  return { walletAddress, snipedTransactions: [], sellTransactions, ...totals };
}
