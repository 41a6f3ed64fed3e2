import type { Sniper } from "../contract/model.js";
import { addressOf } from "./event.js";
import { lookAfter, lookAt, type SniperLook, type SniperQueried, type ToldLook } from "./look.js";
import { ascending } from "./transactions.js";
import type { ReportHead } from "./view.js";

/** Wallets of a pair as they are now, and what else is known of it. */
export interface SniperNews {
  /** By address; `null`: it is gone. */
  readonly wallets: Iterable<readonly [address: string, wallet: Sniper | null]>;
  readonly head: ReportHead;
  readonly observedAt: number;
}

/** How many wallets that are gone are remembered. */
const MOST_GONE = 1_000;

/**
 * What was told of the snipers of a pair, held against what is known now, as `CandleFold` has it. It tells the
 * difference as a look.
 */
export class SniperFold {
  readonly #query: SniperQueried;
  #told: ToldLook | undefined;
  #version = 0;
  /** The version with which each wallet changed last, those that are gone included, in that order. */
  readonly #changed = new Map<string, number>();
  /** Of what went with a later version, all is held. */
  #goneSince = 0;

  /** `query`: the snipers of which looks are told. */
  constructor(query: SniperQueried) {
    this.#query = query;
  }

  /** How many looks have changed something. */
  get version(): number {
    return this.#version;
  }

  /** The next look of a stream, which may have begun anew. */
  take(look: SniperLook): SniperLook | undefined {
    return this.#tell(lookAfter(this.#told, look));
  }

  /** All wallets, or those that have changed (`isAll`). */
  amend({ wallets: changes, head, observedAt }: SniperNews, isAll: boolean): SniperLook | undefined {
    const known = new Map<string, Sniper | null>(isAll ? [] : this.#told?.wallets);
    for (const [address, wallet] of changes) known.set(address, wallet);
    const there = [...known].filter((entry): entry is [string, Sniper] => entry[1] !== null);
    const wallets = new Map(there.sort(([a], [b]) => ascending(a, b)));
    return this.#tell(lookAt(this.#told, { wallets, head, observedAt }, this.#query));
  }

  /** What has changed since a version, each wallet once; `undefined` where that is not known, or nothing was told yet. */
  since(version: number): SniperNews | undefined {
    if (version > this.#version || version < this.#goneSince) return undefined;
    const changed = [...this.#changed].filter(([, at]) => at > version);
    return this.#news(changed.map(([address]) => [address, this.#told?.wallets.get(address) ?? null]));
  }

  /** All that is known; `undefined` before the first look. */
  snapshot(): SniperNews | undefined {
    return this.#news(this.#told?.wallets ?? []);
  }

  #news(wallets: SniperNews["wallets"]): SniperNews | undefined {
    if (this.#told === undefined) return undefined;
    const { report, observedAt } = this.#told.look;
    const { blockNumber, blockTimestamp, transactionHash } = report;
    return { wallets, head: { blockNumber, blockTimestamp, transactionHash }, observedAt };
  }

  #tell(now: ToldLook): SniperLook | undefined {
    if (now === this.#told) return undefined;
    this.#told = now;
    this.#version += 1;
    for (const address of new Set(now.look.events.map(addressOf))) {
      this.#changed.delete(address);
      this.#changed.set(address, this.#version);
    }
    for (const [address, at] of this.#changed) {
      if (this.#changed.size <= now.wallets.size + MOST_GONE) break;
      if (now.wallets.has(address)) continue;
      this.#changed.delete(address);
      this.#goneSince = at;
    }
    return now.look;
  }
}
