import { checkSeries, checkSniperQuery } from "../../contract/input.js";
import type { Series, SniperQuery } from "../../contract/model.js";
import { ContractError } from "../../errors.js";
import { isCandleWatch } from "../../feed-status.js";

/** A stream, and the subjects that it keeps. */
export interface StreamSubjects {
  readonly stream: string;
  readonly subjects: string;
  /** The subjects on which the servers tell what is stored, if they do. */
  readonly told?: string;
}

/** Where the messages of one published feed go: one subject for each candle or wallet, and one for the status. */
export interface FeedSubjects extends StreamSubjects {
  /** The prefix of the subjects of all its messages, without the dot that follows. */
  readonly key: string;
  /** The same of the subjects on which they are told once they are stored. */
  readonly toldKey: string;
}

/** The last part of the subject of a feed's status. */
export const STATUS = "status";

/** The bucket of the leases of all groups. */
export function leaseBucket(name: string): StreamSubjects & { readonly key: string } {
  const bucket = `${name}-leases`;
  return { stream: `KV_${bucket}`, subjects: `$KV.${bucket}.>`, key: `$KV.${bucket}` };
}

/** `NAME.candles.NETWORK.PAIR.TIMEFRAME.CURRENCY`; its candles follow by timestamp. */
export function candleSubjects(name: string, series: Series): FeedSubjects {
  const { network, pairAddress, timeframe, currency } = series;
  return feedSubjects(name, name, "candles", `${network}.${token(pairAddress)}.${timeframe}.${currency}`);
}

/** `NAME.snipers.PAIR.BLOCKS`, with `default` where the service chooses the blocks; its wallets follow by address. */
export function sniperSubjects(
  name: string,
  { pairAddress, blocksAfterCreation }: SniperQuery,
): FeedSubjects {
  const place = `${token(pairAddress)}.${blocksAfterCreation ?? "default"}`;
  return feedSubjects(name, `${name}-snipers`, "snipers", place);
}

/** Checks a series or a sniper query, and gives the subjects of its feed. */
export function subjectsOf(name: string, feed: Series | SniperQuery): FeedSubjects {
  return isCandleWatch(feed)
    ? candleSubjects(name, checkSeries(feed))
    : sniperSubjects(name, checkSniperQuery(feed));
}

/** A stream keeps all feeds of its kind, each at a place of its own. */
function feedSubjects(name: string, stream: string, kind: string, place: string): FeedSubjects {
  const [kept, told] = [`${name}.${kind}`, `${name}.told.${kind}`];
  return {
    stream,
    subjects: `${kept}.>`,
    told: `${told}.>`,
    key: `${kept}.${place}`,
    toldKey: `${told}.${place}`,
  };
}

/** The subject on which a collector answers whether it works on a feed. No stream keeps its messages. */
export function aliveSubject(name: string, publisher: string): string {
  return `${name}.alive.${token(publisher)}`;
}

/** The subject on which the collector that leads a group answers. No stream keeps its messages. */
export function leadsSubject(name: string, group: string): string {
  return `${name}.leads.${group}`;
}

/** The subject on which the leader of a group is asked to collect more, or less. No stream keeps its messages. */
export function feedsSubject(name: string, group: string): string {
  return `${name}.feeds.${group}`;
}

/** NATS ends a connection on which a subject is longer than a few kilobytes. */
const LONGEST_ADDRESS = 256;

/** The last part of the subject of a wallet. Throws a `ContractError` for an address longer than any chain's. */
export function walletToken(address: string): string {
  if (address.length > LONGEST_ADDRESS) {
    throw new ContractError(["walletAddress"], `longer than ${LONGEST_ADDRESS} characters`);
  }
  return address === STATUS ? `%${hex(address)}${address.slice(1)}` : token(address);
}

/** Whether the last part of a subject of a series names a candle. Later versions may keep more beside the candles. */
export function isCandleToken(last: string): boolean {
  return /^\d+$/.test(last);
}

/** The last part of a subject. */
export function lastOf(subject: string): string {
  return subject.slice(subject.lastIndexOf(".") + 1);
}

/**
 * Encodes a text as one part of a subject. A character other than letters, digits and `_ : -` becomes its UTF-16 code,
 * such as `%002e`.
 */
export function token(text: string): string {
  return text.replace(/[^A-Za-z0-9_:-]/g, (unit) => `%${hex(unit)}`);
}

function hex(text: string): string {
  return text.charCodeAt(0).toString(16).padStart(4, "0");
}
