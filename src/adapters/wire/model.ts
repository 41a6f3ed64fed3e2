import * as z from "zod/mini";
import { SNIPER_TOTALS, type Sniper, type SniperTotal } from "../../contract/model.js";
import { frozen, listOf, name } from "../../contract/schemas.js";

/** A `Candle` between two processes. A candle made by an operator may exceed the contract's bounds. */
export const candle = frozen(
  z.object({
    timestamp: z.number(),
    open: z.number(),
    high: z.number(),
    low: z.number(),
    close: z.number(),
    volume: z.number(),
    swaps: z.number(),
  }),
);

/** A `SniperTransaction` between two processes. */
export const transaction = frozen(
  z.object({
    transactionHash: name,
    transactionTimestamp: z.number(),
    blocksAfterCreation: z.nullable(z.number()),
  }),
);
const transactions = listOf(transaction);
const total = z.nullable(z.number());
const totals = Object.fromEntries(SNIPER_TOTALS.map((one) => [one, total])) as Record<
  SniperTotal,
  typeof total
>;

/** What a report says of the pair itself, between two processes. */
export const reportHead = frozen(
  z.object({ blockNumber: total, blockTimestamp: total, transactionHash: z.nullable(z.string()) }),
);

/** A `Sniper` between two processes. */
export const wallet = frozen(
  z.object({
    walletAddress: name,
    snipedTransactions: transactions,
    sellTransactions: transactions,
    ...totals,
  }),
);

/** The names of all fields that are sent about a wallet, at any depth, in their order. */
const WALLET_FIELDS = [
  "walletAddress",
  "wallet",
  "snipedTransactions",
  "sellTransactions",
  "transactionHash",
  "transactionTimestamp",
  "blocksAfterCreation",
  ...SNIPER_TOTALS,
];

/** A wallet as text, without any other fields of its objects; `null` for one that is gone. */
export function walletText(walletAddress: string, sniper: Sniper | null): string {
  return JSON.stringify({ walletAddress, wallet: sniper }, WALLET_FIELDS);
}
