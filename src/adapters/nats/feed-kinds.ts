import { map, type Observable, type SchedulerLike, tap } from "rxjs";
import { checkWatch, type WatchOptions } from "../../candles/options.js";
import { watchCandles } from "../../candles/watch.js";
import { type Client, coreOf } from "../../client/core.js";
import { serviceTime } from "../../client/service-clock.js";
import type { Series, Sniper } from "../../contract/model.js";
import { type FeedStatus, watchFeedStatus } from "../../feed-status.js";
import { checkSniperWatch, type SniperWatch, watchSnipers } from "../../snipers/watch.js";
import { addressOf } from "../wire/wallets.js";
import { offerCandle, offerSniper, readCandleRecord, readWalletRecord } from "./feeds.js";
import { candleBody, readCandleMessage, readWalletMessage, walletBody } from "./message.js";
import type { FeedPublisher, RecordReader } from "./publisher.js";
import { keptStatus } from "./statuses.js";
import { walletToken } from "./subjects.js";

/** What `watchCandles` or `watchSnipers` is to be asked for. */
export type CollectedWatch = (Series & WatchOptions) | SniperWatch;

/** With what the service is asked. */
export interface AskingMeans {
  /** Asks within the collector's share of the rate limit. */
  readonly client: Client;
  readonly scheduler: SchedulerLike;
  /** How long the stream keeps a message, in ms; 0 for ever. */
  readonly retention: number;
}

/** What a feed of candles, or of snipers, has of its own. */
export interface FeedKind {
  readonly read: RecordReader;
  /** What is stored where that is gone which a message speaks of; `undefined` where nothing can follow it. */
  removalOf(text: string): string | undefined;
  /** The instant at which a reading that is not late has to have come to. */
  dueUntil(): number;
  /** What a status may claim of what is kept. */
  kept(status: FeedStatus): FeedStatus;
  /** Goes on after what is stored: offers what comes, and tells on which subjects. */
  follow(start: FeedStart): {
    readonly offered: Observable<string>;
    readonly statuses: Observable<FeedStatus>;
  };
}

interface FeedStart {
  readonly publisher: FeedPublisher;
  readonly epoch: number;
  /** The subjects on which more may follow. */
  readonly open: readonly string[];
  /** How the feed stood. */
  readonly before: FeedStatus | undefined;
}

export function kindOf(watch: CollectedWatch, means: AskingMeans): FeedKind {
  return "timeframe" in watch ? candleKind(watch, means) : sniperKind(watch, means);
}

function candleKind(watch: Series & WatchOptions, { client, retention, scheduler }: AskingMeans): FeedKind {
  const { rules } = checkWatch(watch);
  const { intervals } = rules;
  const core = coreOf(client);
  const now = () => serviceTime(core.serviceClock(), scheduler.now());
  return {
    read: readCandleRecord,
    removalOf: (text) => {
      const { candle, status, isRemoved } = readCandleMessage(text);
      return isRemoved || status === "final" ? undefined : candleBody({ candle, status, isRemoved: true });
    },
    dueUntil: () => intervals.start(now() - rules.settle),
    kept: (status) => keptStatus(status, intervals, retention),
    follow: ({ publisher, epoch, open, before }) => {
      // All before the first candle that can still change is final, and so is all that is covered where none can.
      const first = open.length > 0 ? Math.min(...open.map(Number)) : before?.coveredUntil;
      const options = first === undefined ? watch : { ...watch, since: first };
      return {
        offered: watchCandles(client, options).pipe(
          tap((event) => offerCandle(publisher, event, epoch)),
          map(({ candle }) => String(candle.timestamp)),
        ),
        statuses: watchFeedStatus(client, options),
      };
    },
  };
}

function sniperKind(watch: SniperWatch, { client, scheduler }: AskingMeans): FeedKind {
  const { every } = checkSniperWatch(watch);
  const core = coreOf(client);
  return {
    read: readWalletRecord,
    removalOf: (text) => {
      const { wallet, isRemoved } = readWalletMessage(text);
      return isRemoved ? undefined : walletBody({ wallet, isRemoved: true });
    },
    dueUntil: () => serviceTime(core.serviceClock(), scheduler.now()) - every,
    kept: (status) => status,
    follow: ({ publisher, epoch }) => {
      const wallets = new Map<string, Sniper>();
      return {
        offered: watchSnipers(client, watch).pipe(
          tap((event) => offerSniper(publisher, wallets, event, epoch)),
          map((event) => walletToken(addressOf(event))),
        ),
        statuses: watchFeedStatus(client, watch),
      };
    },
  };
}
