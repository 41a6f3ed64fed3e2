import { map, type Observable, type SchedulerLike, tap } from "rxjs";
import type { CandleEvent } from "../../candles/event.js";
import { dueOf } from "../../candles/lateness.js";
import { checkWatch, type WatchOptions } from "../../candles/options.js";
import { watchCandles } from "../../candles/watch.js";
import { type Client, coreOf } from "../../client/core.js";
import { serviceTime } from "../../client/service-clock.js";
import type { Series, Sniper } from "../../contract/model.js";
import { type FeedStatus, watchFeedStatus } from "../../feed-status.js";
import { addressOf, type SniperEvent } from "../../snipers/event.js";
import { checkSniperWatch, type SniperWatch, watchSnipers } from "../../snipers/watch.js";
import { foldWallet } from "../wire/wallets.js";
import { candleBody, readCandleMessage, readWalletMessage, walletBody } from "./message.js";
import type { Publisher } from "./publisher.js";
import { coveredFromStatus, keptStatus } from "./statuses.js";
import { type FeedSubjects, isCandleToken, walletToken } from "./subjects.js";

/** The options for `watchCandles` or `watchSnipers`. */
export type CollectedWatch = (Series & WatchOptions) | SniperWatch;

/** The means to ask the service. */
export interface AskingMeans {
  /** A client that keeps within the collector's share of the rate limit. */
  readonly client: Client;
  readonly scheduler: SchedulerLike;
  /** How long the stream keeps a message, in ms; 0 means forever. */
  readonly retention: number;
}

/** The parts in which feeds of candles and feeds of snipers differ. */
export interface FeedKind {
  /**
   * The message to store if the candle or wallet of a message is gone; `undefined` if nothing can follow that message, or
   * if it is about neither. `last`: the last part of its subject.
   */
  removalOf(last: string, text: string): string | undefined;
  /** The instant that a reading must have reached, if it is not late. */
  dueUntil(): number;
  /** The status, limited to what is still kept now. */
  kept(status: FeedStatus): FeedStatus;
  /** Goes on after the stored messages: offers what comes, and tells the last parts of the subjects. */
  follow(start: FeedStart): {
    readonly offered: Observable<string>;
    readonly statuses: Observable<FeedStatus>;
  };
}

interface FeedStart {
  readonly feed: FeedSubjects;
  readonly publisher: Publisher;
  readonly epoch: number;
  /** The last parts of the subjects on which further messages may follow. */
  readonly open: readonly string[];
  /** The last status of the feed. */
  readonly before: FeedStatus | undefined;
}

export function feedKindOf(watch: CollectedWatch, means: AskingMeans): FeedKind {
  return "timeframe" in watch ? candleKind(watch, means) : sniperKind(watch, means);
}

function candleKind(watch: Series & WatchOptions, { client, retention, scheduler }: AskingMeans): FeedKind {
  const { rules } = checkWatch(watch);
  const { intervals } = rules;
  const core = coreOf(client);
  const now = () => serviceTime(core.serviceClock(), scheduler.now());
  return {
    removalOf: (last, text) => {
      if (!isCandleToken(last)) return undefined;
      const { candle, status, isRemoved } = readCandleMessage(text);
      return isRemoved || status === "final" ? undefined : candleBody({ candle, status, isRemoved: true });
    },
    dueUntil: () => intervals.start(now() - rules.settle),
    kept: (status) => keptStatus(status, intervals, { retention, now: now() }),
    follow: ({ feed, publisher, epoch, open, before }) => {
      // The intervals that may still change: those of stored candles, and those without a candle that were in the
      // revision window when the covered range was told.
      const changeable = open.map(Number);
      if (before?.coveredUntil !== undefined) {
        changeable.push(intervals.shift(before.coveredUntil, -rules.revisionWindow));
      }
      const options = changeable.length === 0 ? watch : { ...watch, since: Math.min(...changeable) };
      const { since } = checkWatch(options);
      // The poll knows intervals before those that are offered, because it reads the whole revision window.
      let offeredFrom = typeof since === "number" ? since : Infinity;
      return {
        offered: watchCandles(client, options).pipe(
          tap((event) => {
            offeredFrom = Math.min(offeredFrom, event.candle.timestamp);
            offerCandle(publisher, feed, event, epoch);
          }),
          map(({ candle }) => String(candle.timestamp)),
        ),
        statuses: watchFeedStatus(client, options).pipe(
          map((status) => coveredFromStatus(status, offeredFrom)),
        ),
      };
    },
  };
}

function sniperKind(watch: SniperWatch, { client, scheduler }: AskingMeans): FeedKind {
  const { every } = checkSniperWatch(watch);
  const core = coreOf(client);
  return {
    removalOf: (_last, text) => {
      const message = readWalletMessage(text);
      if (message === undefined || message.isRemoved) return undefined;
      return walletBody({ wallet: message.wallet, isRemoved: true });
    },
    dueUntil: () => serviceTime(core.serviceClock(), scheduler.now()) - every,
    kept: (status) => status,
    follow: ({ feed, publisher, epoch }) => {
      const wallets = new Map<string, Sniper>();
      return {
        offered: watchSnipers(client, watch).pipe(
          tap((event) => offerSniper(publisher, feed, wallets, event, epoch)),
          map((event) => walletToken(addressOf(event))),
        ),
        statuses: watchFeedStatus(client, watch),
      };
    },
  };
}

/** Stores the present state of an event's candle. */
export function offerCandle(
  publisher: Publisher,
  { key }: FeedSubjects,
  event: CandleEvent,
  epoch: number,
): void {
  const { type, candle, status, observedAt } = event;
  const isRemoval = type === "removed";
  const body = candleBody({ candle, status, isRemoved: isRemoval });
  const isLast = status === "final" && !isRemoval;
  const isBeginning = type === "new" && event.live && status === "open";
  const timing = { due: dueOf(event, observedAt), isLate: !event.live };
  const proposal = { body, isRemoval, epoch, observedAt, isBeginning, ...timing };
  publisher.offer(`${key}.${candle.timestamp}`, proposal, isLast);
}

/** Stores the state of an event's wallet after the event. `known` holds the wallets of the pair, and is updated. */
export function offerSniper(
  publisher: Publisher,
  { key }: FeedSubjects,
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
  const proposal = { body, isRemoval, epoch, observedAt: event.observedAt };
  publisher.offer(`${key}.${walletToken(address)}`, proposal, false);
}
