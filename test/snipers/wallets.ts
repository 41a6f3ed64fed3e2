import { SNIPER_TOTALS, type Sniper, type SniperTotal } from "../../src/contract/model.js";
import type { SniperEvent } from "../../src/snipers/event.js";

/** A wallet without transactions whose totals are all zero, but for the parts that are given. */
export function walletOf(walletAddress: string, parts: Partial<Sniper> = {}): Sniper {
  const totals = Object.fromEntries(SNIPER_TOTALS.map((name) => [name, 0])) as Record<SniperTotal, number>;
  return { walletAddress, snipedTransactions: [], sellTransactions: [], ...totals, ...parts };
}

/** The address of the wallet that an event is about. */
export function walletAddressOf(event: SniperEvent): string {
  if ("walletAddress" in event) return event.walletAddress;
  return "wallet" in event ? event.wallet.walletAddress : event.previous.walletAddress;
}
