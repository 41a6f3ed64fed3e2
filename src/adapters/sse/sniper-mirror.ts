import type { Sniper } from "../../contract/model.js";
import { SniperFold } from "../../snipers/fold.js";
import type { SniperLook, SniperQueried } from "../../snipers/look.js";
import type { Part } from "./mirror.js";
import type { ChannelMessage } from "./wire.js";

/** The snipers of a pair as the subscriber of a receiver knows them, across connections. */
export class SniperMirror implements Part<SniperLook> {
  readonly #fold: SniperFold;
  /** The wallets of a look that has not come to its end. */
  #wallets: [string, Sniper | null][] = [];
  /** Whether these are all wallets. */
  #isAll = false;

  constructor(query: SniperQueried) {
    this.#fold = new SniperFold(query);
  }

  connect(): void {
    this.#wallets = [];
    this.#isAll = false;
  }

  take(message: ChannelMessage): readonly SniperLook[] {
    switch (message.name) {
      case "snapshot":
        this.#isAll = true;
        return [];
      case "wallet":
        this.#wallets.push([message.data.walletAddress, message.data.wallet]);
        return [];
      case "look": {
        const look = this.#fold.amend({ ...message.data, wallets: this.#wallets }, this.#isAll);
        this.connect();
        return look === undefined ? [] : [look];
      }
      default:
        return [];
    }
  }
}
