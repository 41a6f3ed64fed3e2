import * as z from "zod/mini";
import { SNIPER_TOTALS, type SniperTotal } from "../../contract/model.js";

/** What a schema gives, frozen. */
export const frozen = <T extends z.ZodMiniType>(schema: T) =>
  z.pipe(
    schema,
    z.transform((value: z.output<T>) => Object.freeze(value)),
  );

/** A text that says something. */
export const text = z.string().check(z.minLength(1));

/** A `Candle` as one process tells it to another. */
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

/** A `SniperTransaction` as one process tells it to another. */
export const transaction = frozen(
  z.object({
    transactionHash: text,
    transactionTimestamp: z.number(),
    blocksAfterCreation: z.nullable(z.number()),
  }),
);
const transactions = frozen(z.array(transaction));
const total = z.nullable(z.number());
const totals = Object.fromEntries(SNIPER_TOTALS.map((name) => [name, total])) as Record<
  SniperTotal,
  typeof total
>;

/** A `Sniper` as one process tells it to another. */
export const wallet = frozen(
  z.object({
    walletAddress: text,
    snipedTransactions: transactions,
    sellTransactions: transactions,
    ...totals,
  }),
);
