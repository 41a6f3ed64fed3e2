import type { SniperQuery } from "../../contract/model.js";
import { SniperFold } from "../../snipers/fold.js";
import type { SniperLook } from "../../snipers/look.js";
import type { FeedSignal } from "./feed-reader.js";
import { isBehind } from "./gaps.js";
import type { StatusRecord, WalletRecord } from "./message.js";

/** What one subscriber knows of the published snipers of a pair: look by look, as their collector has told them. */
export class SniperTable {
  readonly #fold: SniperFold;
  /** The newest message about each wallet. */
  readonly #wallets = new Map<string, WalletRecord>();
  /** The wallets of a look that has not come to its end. */
  readonly #changed = new Set<string>();
  #status: StatusRecord | undefined;

  constructor(query: SniperQuery) {
    this.#fold = new SniperFold(query);
  }

  take(signal: FeedSignal<WalletRecord>): readonly SniperLook[] {
    switch (signal.type) {
      case "message": {
        const { record } = signal;
        const { walletAddress } = record;
        const known = this.#wallets.get(walletAddress);
        if (known !== undefined && !isBehind(known, record)) return [];
        this.#wallets.set(walletAddress, record);
        this.#changed.add(walletAddress);
        return [];
      }
      case "status":
        if (this.#status === undefined || isBehind(this.#status, signal.record)) this.#status = signal.record;
        return signal.isWhole ? this.#look() : [];
      case "read":
        return this.#look();
      default:
        return [];
    }
  }

  #look(): readonly SniperLook[] {
    if (this.#status?.look === undefined) return [];
    const { epoch, isTold, look } = this.#status;
    for (const [address, { epoch: of, wallet }] of this.#wallets) {
      // What a later run has not told again is gone.
      const isOutdated = isTold && of < epoch;
      if (isOutdated) this.#changed.add(address);
      if (isOutdated || wallet === null) this.#wallets.delete(address);
    }
    const wallets = Array.from(this.#changed, (address) => {
      return [address, this.#wallets.get(address)?.wallet ?? null] as const;
    });
    this.#changed.clear();
    const told = this.#fold.amend({ wallets, ...look }, false);
    return told === undefined ? [] : [told];
  }
}
