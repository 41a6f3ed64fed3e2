import * as z from "zod/mini";
import type { CandleEvent } from "../../candles/event.js";
import {
  type AnyTimeframe,
  CURRENCIES,
  NETWORKS,
  type Series,
  SNIPER_TOTALS,
  type Sniper,
} from "../../contract/model.js";
import { shortened } from "../../contract/quote.js";
import { frozen, listOf, name as text } from "../../contract/schemas.js";
import { isTimeframe } from "../../contract/timeframes.js";
import { ContractError } from "../../errors.js";
import type { FeedStatus } from "../../feed-status.js";
import type { SniperEvent } from "../../snipers/event.js";
import { dueOf } from "../wire/due.js";
import { fromWireError, toWireError, wireError } from "../wire/error.js";
import { candle, reportHead, transaction, wallet } from "../wire/model.js";
import { readWire } from "../wire/read.js";

/** Raised with every change that an older receiver would misread. */
export const WIRE_VERSION = 2;

const count = z.int().check(z.nonnegative());

const series = frozen(
  z.object({
    network: z.enum(NETWORKS),
    pairAddress: text,
    timeframe: z.custom<AnyTimeframe>(isTimeframe),
    currency: z.enum(CURRENCIES),
  }),
);

const ofPair = { pairAddress: text, initial: z.boolean(), observedAt: z.number() };
const sniper = z.discriminatedUnion("type", [
  z.object({ ...ofPair, type: z.literal("wallet-added"), wallet }),
  z.object({ ...ofPair, type: z.enum(["sniped", "sold"]), walletAddress: text, transaction }),
  z.object({
    ...ofPair,
    type: z.literal("transaction-removed"),
    walletAddress: text,
    side: z.enum(["snipe", "sell"]),
    transaction,
  }),
  z.object({
    ...ofPair,
    type: z.literal("wallet-updated"),
    wallet,
    previous: wallet,
    changed: listOf(z.enum(SNIPER_TOTALS)),
  }),
  z.object({ ...ofPair, type: z.literal("wallet-removed"), previous: wallet }),
]);

const status = z.object({
  state: z.enum(["starting", "live", "stalled"]),
  coveredFrom: z.optional(z.number()),
  coveredUntil: z.optional(z.number()),
  failures: count,
  lastError: z.optional(wireError),
});

/** The data of every message, by the name of its event. */
const SCHEMAS = {
  /** Opens every response. */
  hello: z.object({
    version: z.literal(WIRE_VERSION),
    /** Identifies this channel among all channels, past ones included. */
    channel: text,
    /** Time between two heartbeats, in ms. */
    heartbeat: z.number().check(z.positive()),
    /** How many candles of a series the channel keeps. */
    keep: count.check(z.positive()),
    hasStatus: z.boolean(),
    /** Whether the channel goes on after the request's `Last-Event-ID`. If not, a `snapshot` follows. */
    isResumed: z.boolean(),
    /** The service's clock; `null` until the channel knows it. */
    now: z.nullable(z.number()),
  }),
  /** A candle as it now is, or its removal. */
  candle: z.object({
    type: z.enum(["new", "updated", "removed"]),
    /** Tells apart the lives of a candle that was removed and came back. */
    life: count,
    candle,
    status: z.enum(["open", "closed", "final"]),
    revision: count,
    live: z.boolean(),
    /** When it was due, and when the channel got it, by the service's clock. */
    due: z.number(),
    received: z.number(),
    observedAt: z.number(),
    series,
  }),
  /** A change of a wallet whose state before is known. */
  sniper,
  /** A wallet as it now is; `null` if it is gone. */
  wallet: z.object({
    pairAddress: text,
    observedAt: z.number(),
    walletAddress: text,
    wallet: z.nullable(wallet),
  }),
  /**
   * The history of a series, or a report about a pair, is complete. With `head`, what a report says of the pair itself, it ends
   * each look; without one it ends the first report alone.
   */
  settled: z.union([
    z.object({ series, observedAt: z.number() }),
    z.object({ pairAddress: text, observedAt: z.number(), head: z.optional(reportHead) }),
  ]),
  status,
  /** Begins the whole state, which is all messages from here to `ready`. */
  snapshot: z.object({
    series: listOf(
      z.object({
        series,
        /** The newest candle that the channel has forgotten. */
        after: z.nullable(z.number()),
        observedAt: z.number(),
        isSettled: z.boolean(),
      }),
    ),
    pairs: listOf(
      z.object({
        pairAddress: text,
        observedAt: z.number(),
        isSettled: z.boolean(),
        head: z.optional(reportHead),
      }),
    ),
  }),
  /** The receiver now has the channel's state. */
  ready: z.object({}),
  /** The last message of a channel whose source has failed. */
  error: wireError,
  /** The last message of a channel whose sources have completed. */
  complete: z.object({}),
} as const;

type Name = keyof typeof SCHEMAS;
export type DataOf<N extends Name> = z.output<(typeof SCHEMAS)[N]>;
export type CandleMessage = DataOf<"candle">;
export type WalletMessage = DataOf<"wallet">;
export type ChannelMessage = { [N in Name]: { readonly name: N; readonly data: DataOf<N> } }[Name];

/** One message in the text format of the protocol, without its `id`. */
export function writeMessage<N extends Name>(name: N, data: z.input<(typeof SCHEMAS)[N]>): string {
  return write(name, JSON.stringify(data));
}

function write(name: Name, json: string): string {
  return `event: ${name}\ndata: ${json}\n\n`;
}

/** Reads a message. Throws a `ContractError` if it is not a message of this version. */
export function readMessage(name: string | undefined, data: string): ChannelMessage {
  if (name === undefined || !Object.hasOwn(SCHEMAS, name)) {
    throw new ContractError(
      [],
      name === undefined
        ? "a message has no name"
        : `a message has the unknown name "${shortened(name, 60)}"`,
    );
  }
  return { name, data: readWire(SCHEMAS[name as Name], data, [name]) } as ChannelMessage;
}

/**
 * The part of a candle event that is sent. It leaves out the candle before, which the receiver knows, and any extra
 * fields.
 */
export function writeCandle(
  event: CandleEvent,
  type: CandleEvent["type"],
  life: number,
  received: number,
): string {
  const { candle, status, revision, live, observedAt } = event;
  const { timestamp, open, high, low, close, volume, swaps } = candle;
  return writeMessage("candle", {
    type,
    life,
    candle: { timestamp, open, high, low, close, volume, swaps },
    status,
    revision,
    live,
    due: dueOf(event, received),
    received,
    observedAt,
    series: seriesOf(event.series),
  });
}

/** A series without any other fields of its object. */
export function seriesOf({ network, pairAddress, timeframe, currency }: Series): Series {
  return { network, pairAddress, timeframe, currency };
}

/** Identifies a series among all series of a channel. */
export function seriesKeyOf({ network, pairAddress, timeframe, currency }: Series): string {
  return `${network} ${pairAddress} ${timeframe} ${currency}`;
}

export function writeSniper(event: SniperEvent): string {
  return write("sniper", JSON.stringify(event, SNIPER_FIELDS));
}

export function writeWallet(message: Omit<WalletMessage, "wallet"> & { wallet: Sniper | null }): string {
  return write("wallet", JSON.stringify(message, SNIPER_FIELDS));
}

/** The names of all fields that are sent about snipers, at any depth. */
const SNIPER_FIELDS = [
  "pairAddress",
  "initial",
  "observedAt",
  "type",
  "walletAddress",
  "wallet",
  "previous",
  "changed",
  "side",
  "transaction",
  "snipedTransactions",
  "sellTransactions",
  "transactionHash",
  "transactionTimestamp",
  "blocksAfterCreation",
  ...SNIPER_TOTALS,
];

export function writeStatus({ state, coveredFrom, coveredUntil, failures, lastError }: FeedStatus): string {
  const trouble = lastError === undefined ? {} : { lastError: toWireError(lastError) };
  return writeMessage("status", { state, coveredFrom, coveredUntil, failures, ...trouble });
}

export function readStatus(data: DataOf<"status">): FeedStatus {
  const { state, coveredFrom, coveredUntil, failures, lastError } = data;
  return Object.freeze({
    state,
    ...(coveredFrom === undefined ? {} : { coveredFrom }),
    ...(coveredUntil === undefined ? {} : { coveredUntil }),
    failures,
    ...(lastError === undefined ? {} : { lastError: fromWireError(lastError) }),
  });
}
