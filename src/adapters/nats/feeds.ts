import { Subscription } from "rxjs";
import type { CandleEvent } from "../../candles/event.js";
import type { Sniper } from "../../contract/model.js";
import type { SniperEvent } from "../../snipers/diff.js";
import { dueOf } from "../wire/due.js";
import { addressOf, foldWallet } from "../wire/wallets.js";
import {
  candleBody,
  readCandleMessage,
  readStatusMessage,
  readWalletMessage,
  statusBody,
  walletBody,
} from "./message.js";
import { FeedPublisher, type PublisherMeans, type RecordReader } from "./publisher.js";
import { type FeedSubjects, STATUS, walletToken } from "./subjects.js";

/** The publishers of many feeds. */
export class Publishers {
  readonly #means: PublisherMeans;
  readonly #refresh: { readonly every: number; readonly epoch: number };
  readonly #publishers = new Map<string, FeedPublisher>();
  readonly #refreshing = new Subscription();

  /**
   * `refresh`: how often all messages that may still change are stored again, in ms (0 for never), and under which
   * lease.
   */
  constructor(means: PublisherMeans, refresh: { readonly every: number; readonly epoch: number }) {
    this.#means = means;
    this.#refresh = refresh;
  }

  /** The publisher of a feed. */
  of(feed: FeedSubjects, read: RecordReader): FeedPublisher {
    let publisher = this.#publishers.get(feed.key);
    if (publisher === undefined) {
      publisher = new FeedPublisher(this.#means, feed, read);
      this.#publishers.set(feed.key, publisher);
      this.#refreshing.add(publisher.refreshEvery(this.#refresh.every, this.#refresh.epoch));
    }
    return publisher;
  }

  /** Calls back once, when everything is stored. */
  whenIdle(callback: () => void): void {
    const busy = new Set(this.#publishers.values());
    if (busy.size === 0) callback();
    for (const publisher of busy) {
      publisher.whenIdle(() => {
        if (busy.delete(publisher) && busy.size === 0) callback();
      });
    }
  }

  stop(): void {
    this.#refreshing.unsubscribe();
    for (const publisher of this.#publishers.values()) publisher.stop();
  }
}

/** Stores the present state of an event's candle. */
export function offerCandle(publisher: FeedPublisher, event: CandleEvent, epoch: number): void {
  const { type, candle, status, observedAt } = event;
  const isRemoval = type === "removed";
  const body = candleBody({ candle, status, isRemoved: isRemoval });
  const isLast = status === "final" && !isRemoval;
  const isBeginning = type === "new" && event.live && status === "open";
  const timing = { due: dueOf(event, observedAt), isLate: !event.live };
  const proposal = { body, isRemoval, epoch, observedAt, isBeginning, ...timing };
  publisher.offer(String(candle.timestamp), proposal, isLast);
}

/** Stores the state of an event's wallet after the event. `known` holds the wallets of the pair, and is updated. */
export function offerSniper(
  publisher: FeedPublisher,
  known: Map<string, Sniper>,
  event: SniperEvent,
  epoch: number,
): void {
  const address = addressOf(event);
  const before = known.get(address);
  const wallet = foldWallet(before, event);
  if (wallet === undefined) known.delete(address);
  else known.set(address, wallet);
  const told = wallet ?? before;
  if (told === undefined) return;
  const isRemoval = wallet === undefined;
  const body = walletBody({ wallet: told, isRemoved: isRemoval });
  publisher.offer(walletToken(address), { body, isRemoval, epoch, observedAt: event.observedAt }, false);
}

export const readCandleRecord: RecordReader = (last, text) => {
  if (last === STATUS) return readStatusRecord(last, text);
  const { isRemoved, epoch, observedAt, revision, due, isLate, ...candle } = readCandleMessage(text);
  const body = candleBody({ ...candle, isRemoved });
  return { body, isRemoval: isRemoved, epoch, observedAt, revision, due, isLate };
};

export const readWalletRecord: RecordReader = (last, text) => {
  if (last === STATUS) return readStatusRecord(last, text);
  const { isRemoved, epoch, observedAt, revision, wallet } = readWalletMessage(text);
  return { body: walletBody({ wallet, isRemoved }), isRemoval: isRemoved, epoch, observedAt, revision };
};

export const readStatusRecord: RecordReader = (_last, text) => {
  const { epoch, observedAt, revision, ...status } = readStatusMessage(text);
  return { body: statusBody(status), isRemoval: false, epoch, observedAt, revision };
};
