import type { Series, SniperQuery } from "../../contract/model.js";
import { ContractError } from "../../errors.js";

/** A stream, and the subjects that it keeps. */
export interface StreamSubjects {
  readonly stream: string;
  readonly subjects: string;
}

/** Where the messages of one published feed go: one subject for each candle or wallet, and one for the status. */
export interface FeedSubjects extends StreamSubjects {
  /** The prefix of the subjects of all its messages, without the dot that follows. */
  readonly key: string;
}

/**
 * The subjects of all messages of a feed that this version knows: one part after its key. Later versions may keep more
 * under longer ones.
 */
export function messagesOf(key: string): string {
  return `${key}.*`;
}

/** The last part of the subject of a feed's status. */
export const STATUS = "status";

/** `NAME.candles`, for the candles of all series. */
export function allCandleSubjects(name: string): FeedSubjects {
  const key = `${name}.candles`;
  return { key, stream: name, subjects: `${key}.>` };
}

/** `NAME.snipers`, for the snipers of all pairs. */
export function allSniperSubjects(name: string): FeedSubjects {
  const key = `${name}.snipers`;
  return { key, stream: `${name}-snipers`, subjects: `${key}.>` };
}

/** `NAME.candles.NETWORK.PAIR.TIMEFRAME.CURRENCY`; its candles follow by timestamp. */
export function candleSubjects(name: string, series: Series): FeedSubjects {
  const { network, pairAddress, timeframe, currency } = series;
  const all = allCandleSubjects(name);
  return { ...all, key: `${all.key}.${network}.${token(pairAddress)}.${timeframe}.${currency}` };
}

/** `NAME.snipers.PAIR.BLOCKS`, with `default` where the service chooses the blocks; its wallets follow by address. */
export function sniperSubjects(
  name: string,
  { pairAddress, blocksAfterCreation }: SniperQuery,
): FeedSubjects {
  const all = allSniperSubjects(name);
  return { ...all, key: `${all.key}.${token(pairAddress)}.${blocksAfterCreation ?? "default"}` };
}

/** The subject on which a publisher answers whether it is alive. No stream keeps its messages. */
export function aliveSubject(name: string, publisher: string): string {
  return `${name}.alive.${token(publisher)}`;
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

/** Whether a message on this subject is the status of a feed. */
export function isStatus(subject: string): boolean {
  return splitSubject(subject).last === STATUS;
}

/** Whether the last part of a subject of a series names a candle. Later versions may keep more beside the candles. */
export function isCandleToken(last: string): boolean {
  return /^\d+$/.test(last);
}

/** Splits a subject into its feed and its last part. */
export function splitSubject(subject: string): { readonly key: string; readonly last: string } {
  const dot = subject.lastIndexOf(".");
  return { key: subject.slice(0, dot), last: subject.slice(dot + 1) };
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

/** Spreads feeds over slots, the same way in every process. */
export function slotOf(key: string, slots: number): number {
  // FNV-1a, of 32 bits.
  let hash = 0x811c9dc5;
  for (let at = 0; at < key.length; at++) hash = Math.imul(hash ^ key.charCodeAt(at), 0x01000193);
  return (hash >>> 0) % slots;
}
