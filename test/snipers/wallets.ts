import { SNIPER_TOTALS, type Sniper, type SniperTotal } from "../../src/contract/model.js";
import type { SniperEvent } from "../../src/snipers/event.js";
import { at, World } from "../world.js";

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

/** A pair created at 11:00 whose wallets `a` and `b` snipe and sell, `b` later. */
export function snipedWorld(): World {
  const world = new World({ start: at("12:00:10") });
  const swap = (time: string, walletAddress: string, side: "buy" | "sell", tokenAmount = 1) =>
    world.swap(at(time), 10 * tokenAmount, { walletAddress, side, tokenAmount });
  swap("11:00:00", "a", "buy", 4);
  swap("11:00:00.400", "b", "buy", 2);
  swap("11:30:00", "a", "sell");
  swap("12:01:00", "b", "sell");
  swap("12:02:30", "a", "sell");
  return world;
}

/** A row of a wallet that has sold once, of no pair in particular. */
export const rowOf = (walletAddress: string) => ({
  walletAddress,
  sellTransactions: [
    { transactionHash: walletAddress, transactionTimestamp: "2024-01-05T12:01:00Z", blocksAfterCreation: 1 },
  ],
});
