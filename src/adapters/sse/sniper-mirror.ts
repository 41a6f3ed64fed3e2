import type { Sniper } from "../../contract/model.js";
import { ContractError } from "../../errors.js";
import type { SniperEvent } from "../../snipers/event.js";
import { lookAt, type SniperLook, type SniperQueried, type ToldLook } from "../../snipers/look.js";
import { ascending } from "../../snipers/transactions.js";
import type { ReportHead } from "../../snipers/view.js";
import { addressOf, foldWallet, isNews, walletChanges } from "../wire/wallets.js";
import type { DataOf, WalletMessage } from "./wire.js";

/** The snipers of one pair as the subscriber of a receiver knows them; see `CandleMirror`. */
export class SniperMirror {
  readonly #pairAddress: string;
  readonly #wallets = new Map<string, Sniper>();
  /** Wallets from before a fresh start that the channel has not confirmed or replaced yet. */
  readonly #stale = new Set<string>();
  /** Whether a first report is complete. */
  #isKnown = false;
  /** The last look that was told. */
  #told: ToldLook | undefined;

  constructor(pairAddress: string) {
    this.#pairAddress = pairAddress;
  }

  take(event: SniperEvent): readonly SniperEvent[] {
    const address = addressOf(event);
    const before = this.#wallets.get(address);
    const after = foldWallet(before, event);
    if (!isNews(before, event)) return this.#become(address, after, event.observedAt);
    this.#set(address, after);
    return [Object.freeze({ ...event, initial: event.initial && !this.#isKnown })];
  }

  takeWallet({ walletAddress, wallet, observedAt }: WalletMessage): readonly SniperEvent[] {
    return this.#become(walletAddress, wallet ?? undefined, observedAt);
  }

  /** The first report is complete: stale wallets that it did not contain are gone. */
  settle(observedAt: number): readonly SniperEvent[] {
    const events = [...this.#stale].flatMap((address) => this.#become(address, undefined, observedAt));
    this.#isKnown = true;
    return events;
  }

  /** Begins a fresh start. */
  restart(): void {
    for (const address of this.#wallets.keys()) this.#stale.add(address);
  }

  /** The channel's wallets, after a fresh start. */
  adopt(
    messages: readonly WalletMessage[],
    { observedAt, isSettled }: DataOf<"snapshot">["pairs"][number],
  ): readonly SniperEvent[] {
    const events = messages.flatMap((message) => this.takeWallet(message));
    return isSettled ? [...events, ...this.settle(observedAt)] : events;
  }

  /** What has changed since the last look, as one; none if that is nothing. Throws a `ContractError` without a `head`. */
  look(query: SniperQueried, head: ReportHead | undefined, observedAt: number): readonly SniperLook[] {
    if (head === undefined)
      throw new ContractError(["settled", "head"], "missing, so the other side tells no looks");
    const before = this.#told;
    const wallets = new Map([...this.#wallets].sort(([a], [b]) => ascending(a, b)));
    this.#told = lookAt(before, { wallets, head, observedAt }, query);
    return this.#told === before ? [] : [this.#told.look];
  }

  #become(address: string, wallet: Sniper | undefined, observedAt: number): readonly SniperEvent[] {
    const before = this.#wallets.get(address);
    const changes = walletChanges(
      before === undefined ? [] : [before],
      wallet === undefined ? [] : [wallet],
      { pairAddress: this.#pairAddress, observedAt, initial: !this.#isKnown },
    );
    this.#set(address, changes.wallets[0]);
    return changes.events;
  }

  #set(address: string, wallet: Sniper | undefined): void {
    this.#stale.delete(address);
    if (wallet === undefined) this.#wallets.delete(address);
    else this.#wallets.set(address, wallet);
  }
}
