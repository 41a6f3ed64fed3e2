import type { SniperEvent } from "../../snipers/diff.js";
import { walletChanges } from "../wire/wallets.js";
import { REREAD } from "./consumer.js";
import type { StatusRecord, WalletRecord } from "./message.js";
import { isNewer, isOutdated, type PlacedMessage, type Takeover, takeoversOf } from "./records.js";

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
  readonly #known = new Map<string, PlacedWallet>();
  #isReading = true;
  #status: PlacedMessage | undefined;
  #takeovers: readonly Takeover[] = [];

  constructor(pairAddress: string) {
    this.#pairAddress = pairAddress;
  }

  /** Takes a message about a wallet. */
  wallet(message: PlacedWallet): readonly SniperEvent[] {
    const { walletAddress } = message.wallet;
    const known = this.#known.get(walletAddress);
    if (known !== undefined && !isNewer(message, known)) return [];
    if (!this.#isReading && isOutdated(message, this.#takeovers)) return [];
    this.#known.set(walletAddress, message);
    if (this.#isReading) return [];
    for (const [address, { isRemoved, time }] of this.#known) {
      if (isRemoved && time < message.time - 2 * REREAD) this.#known.delete(address);
    }
    return this.#changes(known === undefined ? [] : [known], [message], message.observedAt, false);
  }

  /** Takes a message about the status of the pair's snipers. */
  status(message: StatusRecord & { readonly time: number }): readonly SniperEvent[] {
    if (this.#status !== undefined && !isNewer(message, this.#status)) return [];
    this.#status = message;
    this.#takeovers = takeoversOf(message);
    if (this.#isReading) return [];
    const stale = [...this.#known.values()].filter((known) => isOutdated(known, this.#takeovers));
    for (const { wallet } of stale) this.#known.delete(wallet.walletAddress);
    return stale.length === 0 ? [] : this.#changes(stale, [], message.observedAt, false);
  }

  /** Notes that all stored messages have come. */
  caughtUp(): readonly SniperEvent[] {
    if (!this.#isReading) return [];
    this.#isReading = false;
    for (const [address, message] of this.#known) {
      if (isOutdated(message, this.#takeovers)) this.#known.delete(address);
    }
    const present = [...this.#known.values()];
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
