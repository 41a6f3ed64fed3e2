import type { Series, SniperQuery } from "../../contract/model.js";
import { ContractError } from "../../errors.js";

/** Where the messages of one published feed go: one subject for each candle or wallet, and one for the status. */
export interface FeedSubjects {
  /** The prefix of the subjects of all its messages, without the dot that follows. */
  readonly key: string;
  /** The JetStream stream that keeps them. */
  readonly stream: string;
}

/** The last part of the subject of a feed's status. */
export const STATUS = "status";

/** The streams of a deployment with this name, and the subjects that each of them keeps. */
export function streamsOf(name: string): {
  readonly candles: StreamSubjects;
  readonly snipers: StreamSubjects;
} {
  return {
    candles: { stream: name, subjects: `${name}.candles.>` },
    snipers: { stream: `${name}-snipers`, subjects: `${name}.snipers.>` },
  };
}

export interface StreamSubjects {
  readonly stream: string;
  readonly subjects: string;
}

/** `NAME.candles.NETWORK.PAIR.TIMEFRAME.CURRENCY`; its candles follow by timestamp. */
export function candleSubjects(name: string, series: Series): FeedSubjects {
  const { network, pairAddress, timeframe, currency } = series;
  const key = `${name}.candles.${network}.${token(pairAddress)}.${timeframe}.${currency}`;
  return { key, stream: streamsOf(name).candles.stream };
}

/** `NAME.snipers.PAIR.BLOCKS`, with `default` where the service chooses the blocks; its wallets follow by address. */
export function sniperSubjects(
  name: string,
  { pairAddress, blocksAfterCreation }: SniperQuery,
): FeedSubjects {
  const key = `${name}.snipers.${token(pairAddress)}.${blocksAfterCreation ?? "default"}`;
  return { key, stream: streamsOf(name).snipers.stream };
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
