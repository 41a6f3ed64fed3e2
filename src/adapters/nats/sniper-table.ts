import type { SniperEvent } from "../../snipers/event.js";
import { walletChanges } from "../wire/wallets.js";
import { REREAD } from "./consumer.js";
import type { StatusRecord, WalletRecord } from "./message.js";
import { SeenFeed } from "./records.js";

/** A message about a wallet, and when it was stored. */
export interface PlacedWallet extends WalletRecord {
  readonly time: number;
}

/**
 * What one subscriber knows of the published snipers of a pair. The stored wallets come first, then the changes.
 * Messages may come in any order, and more than once.
 */
export class SniperTable {
  readonly #pairAddress: string;
  /** Wallets by address. Removed ones are included as long as a message about them may come again. */
  readonly #seen = new SeenFeed<string, PlacedWallet>();

  constructor(pairAddress: string) {
    this.#pairAddress = pairAddress;
  }

  /** Takes a message about a wallet. */
  wallet(message: PlacedWallet): readonly SniperEvent[] {
    const { newest } = this.#seen;
    const { walletAddress } = message.wallet;
    const known = newest.get(walletAddress);
    if (!this.#seen.counts(message, known)) return [];
    newest.set(walletAddress, message);
    if (this.#seen.isReading) return [];
    for (const [address, { isRemoved, time }] of newest) {
      if (isRemoved && time < message.time - 2 * REREAD) newest.delete(address);
    }
    return this.#changes(known === undefined ? [] : [known], [message], message.observedAt, false);
  }

  /** Takes a message about the status of the pair's snipers. */
  status(message: StatusRecord & { readonly time: number }): readonly SniperEvent[] {
    if (!this.#seen.status(message) || this.#seen.isReading) return [];
    const { newest } = this.#seen;
    const stale = [...newest.values()].filter((known) => this.#seen.isOutdated(known));
    for (const { wallet } of stale) newest.delete(wallet.walletAddress);
    return stale.length === 0 ? [] : this.#changes(stale, [], message.observedAt, false);
  }

  /** Notes that all stored messages have come. */
  caughtUp(): readonly SniperEvent[] {
    if (!this.#seen.caughtUp()) return [];
    const present = [...this.#seen.newest.values()];
    const observedAt = Math.max(0, ...present.map((message) => message.observedAt));
    return this.#changes([], present, observedAt, true);
  }

  #changes(
    known: readonly PlacedWallet[],
    now: readonly PlacedWallet[],
    observedAt: number,
    initial: boolean,
  ): readonly SniperEvent[] {
    const walletsOf = (messages: readonly PlacedWallet[]) =>
      messages.filter(({ isRemoved }) => !isRemoved).map(({ wallet }) => wallet);
    const told = { pairAddress: this.#pairAddress, observedAt, initial };
    return walletChanges(walletsOf(known), walletsOf(now), told).events;
  }
}
