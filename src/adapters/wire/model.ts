import * as z from "zod/mini";
import { SNIPER_TOTALS, type SniperTotal } from "../../contract/model.js";
import { isPrintable } from "../../contract/quote.js";
import { contractError } from "../../contract/schema-error.js";

/** Makes a schema whose result is frozen. */
export const frozen = <T extends z.ZodMiniType>(schema: T) =>
  z.pipe(
    schema,
    z.transform((value: z.output<T>) => Object.freeze(value)),
  );

/**
 * Makes a schema for a frozen list. It stops at the first refused item: the library would collect the issues of all
 * items, and a hundred thousand of them overflow its stack.
 */
export const listOf = <T extends z.ZodMiniType>(schema: T) =>
  z.pipe(
    z.custom<readonly unknown[]>(Array.isArray, "not of type array"),
    z.transform((rows, context) => {
      const list: z.output<T>[] = [];
      for (let index = 0; index < rows.length; index += 1) {
        const read = schema.safeParse(rows[index]);
        if (!read.success) {
          const { path, issue } = contractError(read.error, [index]);
          context.issues.push({ code: "custom", message: issue, path, input: rows });
          return z.NEVER;
        }
        list.push(read.data);
      }
      return Object.freeze(list) as readonly z.output<T>[];
    }),
  );

/** A printable text that is not empty. */
export const text = z.string().check(z.minLength(1), z.refine(isPrintable, "not printable"));

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
    transactionHash: text,
    transactionTimestamp: z.number(),
    blocksAfterCreation: z.nullable(z.number()),
  }),
);
const transactions = listOf(transaction);
const total = z.nullable(z.number());
const totals = Object.fromEntries(SNIPER_TOTALS.map((name) => [name, total])) as Record<
  SniperTotal,
  typeof total
>;

/** A `Sniper` between two processes. */
export const wallet = frozen(
  z.object({
    walletAddress: text,
    snipedTransactions: transactions,
    sellTransactions: transactions,
    ...totals,
  }),
);
