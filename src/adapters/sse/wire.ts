import * as z from "zod/mini";
import type { Series, Sniper } from "../../contract/model.js";
import { shortened } from "../../contract/quote.js";
import { name as text } from "../../contract/schemas.js";
import { ContractError } from "../../errors.js";
import type { FeedStatus } from "../../feed-status.js";
import { wireError } from "../wire/error.js";
import { candle, reportHead, wallet, walletText } from "../wire/model.js";
import { readWire } from "../wire/read.js";
import { toWireStatus, wireStatus } from "../wire/status.js";

/** Raised with every change that an older receiver would misread. */
export const WIRE_VERSION = 3;

const count = z.int().check(z.nonnegative());

/** The data of every message, by the name of its event. */
const SCHEMAS = {
  /** Opens every response. */
  hello: z.object({
    version: z.literal(WIRE_VERSION),
    /** Time between two heartbeats, in ms. */
    heartbeat: z.number().check(z.positive()),
    /** The service's clock; `null` until the channel knows it. */
    now: z.nullable(z.number()),
  }),
  /** Begins the whole state, which is all messages from here to `ready`. What it does not name of what it covers is gone. */
  snapshot: z.object({
    /** The state covers the candles from here on. */
    from: z.number(),
    /** How many candles the channel keeps. */
    keep: count.check(z.positive()),
    observedAt: z.number(),
    /** As in `hello`, which may have come before the channel knew it. */
    now: z.nullable(z.number()),
    /** The rules of the channel's candles. */
    settle: z.optional(z.number()),
    revisionWindow: z.optional(count),
  }),
  /** A candle as it now is, or its end. */
  candle: z.object({
    candle,
    isRemoved: z.optional(z.boolean()),
    status: z.enum(["open", "closed", "final"]),
    revision: count,
    live: z.boolean(),
    /** When it was due, and when the channel got it, by the service's clock. */
    due: z.number(),
    received: z.number(),
    observedAt: z.number(),
  }),
  /** A wallet as it now is; `null` if it is gone. */
  wallet: z.object({ walletAddress: text, wallet: z.nullable(wallet) }),
  /** Ends the wallets of a look at the snipers of a pair. */
  look: z.object({ head: reportHead, observedAt: z.number() }),
  status: wireStatus,
  /** The same, while the state that the receiver is to get is still being read. */
  waiting: wireStatus,
  /** The receiver now has the channel's state. */
  ready: z.object({}),
  /** The last message of a channel whose source has failed. */
  error: wireError,
  /** The last message of a channel whose sources have completed. */
  complete: z.object({}),
} as const;

type Name = keyof typeof SCHEMAS;
export type DataOf<N extends Name> = z.output<(typeof SCHEMAS)[N]>;
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

/** A candle, without any other fields of its objects. */
export function writeCandle(row: z.input<typeof SCHEMAS.candle>): string {
  const { timestamp, open, high, low, close, volume, swaps } = row.candle;
  const { isRemoved, status, revision, live, due, received, observedAt } = row;
  return writeMessage("candle", {
    candle: { timestamp, open, high, low, close, volume, swaps },
    ...(isRemoved ? { isRemoved } : {}),
    ...{ status, revision, live, due, received, observedAt },
  });
}

/** Identifies a series among all series. */
export function seriesKeyOf({ network, pairAddress, timeframe, currency }: Series): string {
  return `${network} ${pairAddress} ${timeframe} ${currency}`;
}

export function writeWallet(walletAddress: string, wallet: Sniper | null): string {
  return write("wallet", walletText(walletAddress, wallet));
}

export function statusText(status: FeedStatus): string {
  return JSON.stringify(toWireStatus(status));
}

export function writeStatus(name: "status" | "waiting", text: string): string {
  return write(name, text);
}
