import { map, type Observable, type SchedulerLike } from "rxjs";
import { dueOf } from "../../candles/lateness.js";
import { checkWatch, type WatchOptions } from "../../candles/options.js";
import { watchCandles } from "../../candles/watch.js";
import { type Client, coreOf } from "../../client/core.js";
import { serviceTime } from "../../client/service-clock.js";
import type { Series } from "../../contract/model.js";
import { type FeedStatus, watchFeedStatus } from "../../feed-status.js";
import { addressOf } from "../../snipers/event.js";
import { watchSniperReport } from "../../snipers/report.js";
import { checkSniperWatch, type SniperWatch } from "../../snipers/watch.js";
import { walletText } from "../wire/model.js";
import {
  candleBody,
  type FeedRules,
  readCandleMessage,
  readStatusMessage,
  readWalletMessage,
  type StatusRecord,
} from "./message.js";
import { coveredFromStatus, keptStatus } from "./statuses.js";
import { isCandleToken, STATUS, walletToken } from "./subjects.js";
import type { Known, Offer, ReadStored } from "./writer.js";

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
  /** Whether nothing that is known can follow a stored message. */
  isOver(known: Pick<Known, "body" | "isRemoval">): boolean;
  readonly read: ReadStored;
  /** The message that says that what a stored one is about is gone. */
  removalOf(last: string, known: Known): Pick<Offer, "body" | "more">;
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
  return "timeframe" in watch ? candleKind(watch, means) : sniperKind(watch, means);
}

function candleKind(watch: Series & WatchOptions, { client, retention, scheduler }: AskingMeans): FeedKind {
  const { rules, every, weekStart } = checkWatch(watch);
  const { intervals, settle, revisionWindow } = rules;
  const core = coreOf(client);
  const now = () => serviceTime(core.serviceClock(), scheduler.now());
  return {
    rules: { every, settle, revisionWindow, weekStart },
    isKnown: isCandleToken,
    timestampOf: Number,
    isOver: ({ body, isRemoval }) => isRemoval || JSON.parse(body).status === "final",
    read: (last, text) => {
      if (last === STATUS) return readKnownStatus(text);
      const record = readCandleMessage(text);
      const { epoch, revision, observedAt, due, isLate, isRemoved } = record;
      const more = timing(due, isLate);
      return { epoch, revision, observedAt, body: candleBody(record), isRemoval: isRemoved, more };
    },
    removalOf: (_last, { body, more }) => {
      const { candle, status } = JSON.parse(body);
      return { body: candleBody({ candle, status, isRemoved: true }), more };
    },
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
          const isRemoval = type === "removed";
          const offer = {
            body: candleBody({ candle, status, isRemoved: isRemoval }),
            observedAt,
            isRemoval,
            isLast: status === "final" && !isRemoval,
            more: timing(dueOf(event, observedAt), !live),
          };
          return { offers: [[String(candle.timestamp), offer]] };
        }),
      );
      const statuses = watchFeedStatus(client, options).pipe(
        map((status) => coveredFromStatus(status, from)),
      );
      return { offers, statuses, from: () => from };
    },
  };
}

const timing = (due: number, isLate: boolean) => ({ due, ...(isLate ? { late: true } : {}) });

function sniperKind(watch: SniperWatch, { client, scheduler }: AskingMeans): FeedKind {
  const { every } = checkSniperWatch(watch);
  const core = coreOf(client);
  return {
    rules: { every },
    isKnown: () => true,
    timestampOf: () => Infinity,
    isOver: ({ isRemoval }) => isRemoval,
    read: (last, text) => {
      if (last === STATUS) return readKnownStatus(text);
      const record = readWalletMessage(text);
      const { epoch, revision, observedAt, wallet } = record;
      return {
        epoch,
        revision,
        observedAt,
        body: walletText(record.walletAddress, record.wallet),
        isRemoval: wallet === null,
      };
    },
    removalOf: (_last, { body }) => {
      const { walletAddress } = JSON.parse(body);
      return { body: walletText(walletAddress, null) };
    },
    changeableFrom: () => -Infinity,
    dueUntil: () => serviceTime(core.serviceClock(), scheduler.now()) - every,
    kept: (status) => status,
    follow: () => {
      const offers = watchSniperReport(client, watch).pipe(
        map(({ report, events, initial, observedAt }): Told => {
          const { result, ...head } = report;
          const wallets = new Map(result.map((wallet) => [wallet.walletAddress, wallet]));
          const changed = initial ? wallets.keys() : new Set(events.map(addressOf));
          const told = Array.from(changed, (walletAddress) => {
            const wallet = wallets.get(walletAddress) ?? null;
            const body = walletText(walletAddress, wallet);
            const offer = { body, observedAt, isRemoval: wallet === null, isLast: false };
            return [walletToken(walletAddress), offer] as const;
          });
          return { offers: told, look: { head, observedAt } };
        }),
      );
      return { offers, statuses: watchFeedStatus(client, watch), from: () => -Infinity };
    },
  };
}

function readKnownStatus(text: string): Omit<Known, "sequence"> {
  const { epoch, revision, observedAt } = readStatusMessage(text);
  return { epoch, revision, observedAt, body: "", isRemoval: false };
}
