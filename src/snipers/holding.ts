import { showFields } from "../contract/input.js";
import type { Sniper } from "../contract/model.js";
import { InvalidInputError } from "../errors.js";

/** What a wallet still holds. */
export interface SniperHolding {
  /** Tokens, from 0; `null` if the service does not say. */
  readonly tokens: number | null;
  /** Their value in US dollars; `null` if the service does not say. */
  readonly usd: number | null;
  /** Whether nothing is left but dust: less than a millionth of the tokens sniped. `false` where `tokens` is `null`. */
  readonly isSoldOut: boolean;
}

/** Less than this share of the tokens sniped is dust: what fees and rounding leave. */
const DUST = 1e-6;

/**
 * What a wallet still holds, whatever the signs of its totals.
 *
 * Some services send `totalTokensSold` below 0, and subtract that from what was bought. Then `currentBalance` is too large by
 * twice the tokens sold, and its value by the same factor. This takes it for what it means. Throws an `InvalidInputError` for
 * what is no wallet.
 *
 * ```ts
 * import { holdingOf, type Sniper } from "pairstream";
 *
 * const line = (wallet: Sniper) => {
 *   const { tokens, usd, isSoldOut } = holdingOf(wallet);
 *   return isSoldOut ? "sold out" : `holds ${tokens ?? "?"} tokens, ${usd ?? "?"} USD`;
 * };
 * ```
 */
export function holdingOf(wallet: Sniper): SniperHolding {
  const balance = wallet?.currentBalance;
  if (balance !== null && typeof balance !== "number")
    throw new InvalidInputError("wallet", "a wallet of a SniperReport", `is ${showFields(wallet)}`);
  const { currentBalanceUsdValue: value } = wallet;
  const sniped = wallet.totalTokensSniped ?? 0;
  const sold = wallet.totalTokensSold ?? 0;
  if (balance === null) return Object.freeze({ tokens: null, usd: null, isSoldOut: false });
  // Only what was bought and sold added up comes so high; rounding may take a little of it.
  const isDoubled = sold < 0 && balance >= (sniped - sold) * (1 - DUST);
  const tokens = Math.max(0, isDoubled ? balance + 2 * sold : balance);
  const isSoldOut = tokens === 0 || tokens < sniped * DUST;
  const usd = tokens === balance || value === null ? value : tokens === 0 ? 0 : value * (tokens / balance);
  return Object.freeze({ tokens, usd, isSoldOut });
}
