import type { SniperEvent } from "../../snipers/diff.js";
import { walletChanges } from "../sse/wallets.js";
import type { StatusRecord, WalletRecord } from "./message.js";
import { isStale, type Takeover } from "./records.js";

/** A message about a wallet, and its place in the stream. */
export interface PlacedWallet extends WalletRecord {
  readonly sequence: number;
}

/** What one subscriber knows of the published snipers of a pair: what is stored comes first, then what changes. */
export class SniperTable {
  readonly #pairAddress: string;
  /** By address, of the messages that count; while a history is read, of all. */
  #known = new Map<string, PlacedWallet>();
  /** What was known before the stream was made anew, while that is read. */
  #before: ReadonlyMap<string, PlacedWallet> | undefined;
  #isReading = true;
  /** The last message of the history. */
  #sequence = 0;
  #takeovers: readonly Takeover[] = [];

  constructor(pairAddress: string) {
    this.#pairAddress = pairAddress;
  }

  /** Takes a message about a wallet. */
  wallet(message: PlacedWallet): readonly SniperEvent[] {
    const { sequence, isRemoved, observedAt } = message;
    const { walletAddress } = message.wallet;
    const known = this.#known.get(walletAddress);
    if (this.#isReading) {
      if (known === undefined || known.sequence < sequence) this.#known.set(walletAddress, message);
      this.#sequence = Math.max(this.#sequence, sequence);
      return [];
    }
    if (sequence <= this.#sequence || isStale(message, this.#takeovers)) return [];
    if (isRemoved) this.#known.delete(walletAddress);
    else this.#known.set(walletAddress, message);
    return this.#changes(known === undefined ? [] : [known], isRemoved ? [] : [message], observedAt, false);
  }

  /** Takes a message about how the snipers of the pair stand. */
  status({
    epoch,
    sequence,
    takeovers,
    observedAt,
  }: StatusRecord & { readonly sequence: number }): readonly SniperEvent[] {
    // The first message of a lease begins it.
    const isBeginning = !takeovers.some((takeover) => takeover.epoch === epoch);
    this.#takeovers = isBeginning ? [...takeovers, { epoch, sequence }] : takeovers;
    if (this.#isReading) {
      this.#sequence = Math.max(this.#sequence, sequence);
      return [];
    }
    const stale = [...this.#known.values()].filter((known) => isStale(known, this.#takeovers));
    for (const { wallet } of stale) this.#known.delete(wallet.walletAddress);
    return stale.length === 0 ? [] : this.#changes(stale, [], observedAt, false);
  }

  /** All that is stored has come. */
  caughtUp(): readonly SniperEvent[] {
    if (!this.#isReading) return [];
    this.#isReading = false;
    const present = [...this.#known.values()].filter(
      (message) => !message.isRemoved && !isStale(message, this.#takeovers),
    );
    this.#known = new Map(present.map((message) => [message.wallet.walletAddress, message]));
    const before = this.#before;
    this.#before = undefined;
    const observedAt = Math.max(0, ...present.map((message) => message.observedAt));
    return this.#changes([...(before?.values() ?? [])], present, observedAt, before === undefined);
  }

  /** The stream was made anew: what is stored comes again, under other sequences. */
  renewed(): void {
    if (!this.#isReading) this.#before ??= this.#known;
    this.#known = new Map();
    this.#isReading = true;
    this.#sequence = 0;
    this.#takeovers = [];
  }

  #changes(
    known: readonly PlacedWallet[],
    now: readonly PlacedWallet[],
    observedAt: number,
    initial: boolean,
  ): readonly SniperEvent[] {
    const walletOf = ({ wallet }: PlacedWallet) => wallet;
    const told = { pairAddress: this.#pairAddress, observedAt, initial };
    return walletChanges(known.map(walletOf), now.map(walletOf), told).events;
  }
}
