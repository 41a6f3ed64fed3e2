import { map, type Observable, type SchedulerLike } from "rxjs";
import { dueOf } from "../../candles/lateness.js";
import { checkWatch, type WatchOptions } from "../../candles/options.js";
import { watchCandles } from "../../candles/watch.js";
import { type Client, coreOf } from "../../client/core.js";
import { serviceTime } from "../../client/service-clock.js";
import type { Series, Sniper } from "../../contract/model.js";
import { type FeedStatus, isCandleWatch, watchFeedStatus } from "../../feed-status.js";
import { addressOf } from "../../snipers/event.js";
import { watchSniperReport } from "../../snipers/report.js";
import { checkSniperWatch, type SniperWatch } from "../../snipers/watch.js";
import { walletText } from "../wire/model.js";
import { coveredFromStatus } from "../wire/status.js";
import {
  type CandleRecord,
  candleBody,
  type FeedRules,
  readCandleMessage,
  readStatusMessage,
  readWalletMessage,
  type Stamped,
  type StatusRecord,
} from "./message.js";
import { keptStatus } from "./statuses.js";
import { isCandleToken, walletToken } from "./subjects.js";
import type { Content, Known, Offer } from "./writer.js";

/** The options for `watchCandles` or `watchSnipers`. */
export type CollectedWatch = (Series & WatchOptions) | SniperWatch;

/** The means to ask the service. */
export interface AskingMeans {
  /** A client that asks for nothing while another collector may. */
  readonly client: Client;
  readonly scheduler: SchedulerLike;
  /** How long the stream keeps a message, in ms; 0 means forever. */
  readonly retention: number;
}

/** The parts in which feeds of candles and feeds of snipers differ. */
export interface FeedKind {
  readonly rules: FeedRules;
  /** Whether this version knows what a subject holds, by its last part. */
  isKnown(last: string): boolean;
  /** Where the candle of a subject begins; `Infinity` for a wallet. */
  timestampOf(last: string): number;
  /** What a message about a candle or a wallet says. */
  read(text: string): Omit<Known, "sequence">;
  /** What a message says besides, once what it is about is gone. */
  readonly removal: object;
  /** From which instant on what is stored may still change; -Infinity: all of it. */
  changeableFrom(status: StatusRecord | undefined): number;
  /** The instant that a reading must have reached, if it is not late. */
  dueUntil(): number;
  /** The status, limited to what is still kept now. */
  kept(status: FeedStatus): FeedStatus;
  /** Tells what is so from an instant on; -Infinity: as the watch says. */
  follow(from: number): Following;
}

export interface Following {
  readonly offers: Observable<Told>;
  readonly statuses: Observable<FeedStatus>;
  /** From which instant on all is told; `Infinity` while that is not known. */
  from(): number;
}

/** What has changed at once: messages by the last parts of their subjects, and the look at snipers that they are of. */
export interface Told {
  readonly offers: readonly (readonly [last: string, offer: Offer])[];
  readonly look?: StatusRecord["look"];
}

export function feedKindOf(watch: CollectedWatch, means: AskingMeans): FeedKind {
  return isCandleWatch(watch) ? candleKind(watch, means) : sniperKind(watch, means);
}

function candleKind(watch: Series & WatchOptions, { client, retention, scheduler }: AskingMeans): FeedKind {
  const { rules, every, weekStart } = checkWatch(watch);
  const { intervals, settle, revisionWindow } = rules;
  const now = () => serviceTime(coreOf(client).serviceClock(), scheduler.now());
  return {
    rules: { every, settle, revisionWindow, weekStart },
    isKnown: isCandleToken,
    timestampOf: Number,
    read: (text) => {
      const record = readCandleMessage(text);
      return knownOf(record, contentOf(record));
    },
    removal: { removed: true },
    changeableFrom: (status) => {
      if (status === undefined) return -Infinity;
      const { openFrom = Infinity, status: told } = status;
      const { coveredUntil } = told;
      // Intervals without a candle may still get one while they are in the revision window.
      const window = coveredUntil === undefined ? Infinity : intervals.shift(coveredUntil, -revisionWindow);
      const from = Math.min(openFrom, window);
      return from === Infinity ? -Infinity : from;
    },
    dueUntil: () => intervals.start(now() - settle),
    kept: (status) => keptStatus(status, intervals, { retention, now: now() }),
    follow: (start) => {
      const options = start === -Infinity ? watch : { ...watch, since: start };
      const { since } = checkWatch(options);
      // The poll knows intervals before those that are told, because it reads the whole revision window.
      let from = typeof since === "number" ? since : Infinity;
      const offers = watchCandles(client, options).pipe(
        map((event): Told => {
          const { type, candle, status, observedAt, live } = event;
          from = Math.min(from, candle.timestamp);
          const due = dueOf(event, observedAt);
          const removed = trueIf(type === "removed");
          const content = contentOf({ candle, status, removed, due, late: trueIf(!live) });
          return { offers: [[String(candle.timestamp), { observedAt, ...content }]] };
        }),
      );
      const statuses = watchFeedStatus(client, options).pipe(
        map((status) => coveredFromStatus(status, from)),
      );
      return { offers, statuses, from: () => from };
    },
  };
}

const trueIf = (is: boolean) => (is ? true : undefined);

function contentOf({ due, late, ...told }: Omit<CandleRecord, keyof Stamped>): Omit<Content, "observedAt"> {
  const isRemoval = told.removed === true;
  const isOver = isRemoval || told.status === "final";
  return { body: candleBody(told), isRemoval, isOver, more: { due, late } };
}

function sniperKind(watch: SniperWatch, { client, scheduler }: AskingMeans): FeedKind {
  const { every } = checkSniperWatch(watch);
  return {
    rules: { every },
    isKnown: () => true,
    timestampOf: () => Infinity,
    read: (text) => {
      const record = readWalletMessage(text);
      return knownOf(record, walletContent(record.walletAddress, record.wallet));
    },
    removal: { wallet: null },
    changeableFrom: () => -Infinity,
    dueUntil: () => serviceTime(coreOf(client).serviceClock(), scheduler.now()) - every,
    kept: (status) => status,
    follow: () => {
      const offers = watchSniperReport(client, watch).pipe(
        map(({ report, events, initial, observedAt }): Told => {
          const { result, ...head } = report;
          const wallets = new Map(result.map((wallet) => [wallet.walletAddress, wallet]));
          const changed = initial ? wallets.keys() : new Set(events.map(addressOf));
          const told = Array.from(changed, (walletAddress) => {
            const content = walletContent(walletAddress, wallets.get(walletAddress) ?? null);
            return [walletToken(walletAddress), { observedAt, ...content }] as const;
          });
          return { offers: told, look: { head, observedAt } };
        }),
      );
      return { offers, statuses: watchFeedStatus(client, watch), from: () => -Infinity };
    },
  };
}

function walletContent(walletAddress: string, wallet: Sniper | null): Omit<Content, "observedAt"> {
  const isGone = wallet === null;
  return { body: walletText(walletAddress, wallet), isRemoval: isGone, isOver: isGone };
}

/** What a status says, as far as a writer needs it. */
export function readKnownStatus(text: string): Omit<Known, "sequence"> {
  return knownOf(readStatusMessage(text), { body: "", isRemoval: false, isOver: false });
}

function knownOf({ epoch, revision, observedAt }: Stamped, content: Omit<Content, "observedAt">) {
  return { epoch, revision, observedAt, ...content };
}
