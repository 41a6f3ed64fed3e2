import type { SniperQuery } from "../../contract/model.js";
import { SniperFold } from "../../snipers/fold.js";
import type { SniperLook } from "../../snipers/look.js";
import type { FeedSignal } from "./feed-reader.js";
import { newer } from "./gaps.js";
import type { StatusRecord, WalletRecord } from "./message.js";

/** What one subscriber knows of the published snipers of a pair: look by look, as their collector has told them. */
export class SniperTable {
  readonly #fold: SniperFold;
  /** The newest message about each wallet. */
  readonly #wallets = new Map<string, WalletRecord>();
  #status: StatusRecord | undefined;

  constructor(query: SniperQuery) {
    this.#fold = new SniperFold(query);
  }

  take(signal: FeedSignal<WalletRecord>): readonly SniperLook[] {
    switch (signal.type) {
      case "message": {
        const { record } = signal;
        const { walletAddress } = record;
        this.#wallets.set(walletAddress, newer(this.#wallets.get(walletAddress), record));
        return [];
      }
      case "status":
        this.#status = newer(this.#status, signal.record);
        return signal.isWhole ? this.#look() : [];
      case "read":
        return this.#look();
      default:
        return [];
    }
  }

  #look(): readonly SniperLook[] {
    if (this.#status?.look === undefined) return [];
    const { epoch, told, look } = this.#status;
    for (const [address, { epoch: of, wallet }] of this.#wallets) {
      // What a later run has not told again is gone.
      if (wallet === null || (told && of < epoch)) this.#wallets.delete(address);
    }
    const wallets = Array.from(this.#wallets, ([address, { wallet }]) => [address, wallet] as const);
    const changed = this.#fold.amend({ wallets, ...look }, true);
    return changed === undefined ? [] : [changed];
  }
}
