import * as z from "zod/mini";
import { name } from "../../contract/schemas.js";
import { ContractError } from "../../errors.js";
import { candle, reportHead, wallet } from "../wire/model.js";
import { checkWire, readWire } from "../wire/read.js";
import { fromWireStatus, toWireStatus, wireStatus } from "../wire/status.js";

/** The version of messages and leases. It grows with every change that an older reader would misread. */
export const VERSION = 3;

const count = z.int().check(z.nonnegative());
/** What a message says about itself. */
const stamp = {
  /** The run of the feed, higher for each later one. */
  epoch: count,
  /** Its place among the messages of that run, without a gap from 1 on. */
  number: count,
  /** When it was true by the service's clock, in ms since the epoch. */
  observedAt: z.number(),
  /** How many changes came before it in this life of what it is about. */
  revision: count,
};
const versioned = z.looseObject({ version: z.int() });
const flag = z.optional(z.literal(true));

/** The present candle, or the last known one if it was `removed`. */
const candleMessage = z.object({
  ...stamp,
  candle,
  status: z.enum(["open", "closed", "final"]),
  removed: flag,
  /** When it was due, by the service's clock. */
  due: z.number(),
  /** Whether it was not live when its collector got it. */
  late: flag,
});
/** A wallet as it is now; `null`: it is gone. */
const walletMessage = z.object({ ...stamp, walletAddress: name, wallet: z.nullable(wallet) });
/** What the collector has fixed for all who read. */
const rules = z.object({
  every: z.union([z.number(), z.literal("close")]),
  settle: z.optional(z.number()),
  revisionWindow: z.optional(z.number()),
  weekStart: z.optional(z.enum(["monday", "thursday"])),
});
/** How a feed stands, after all messages of its run before this one. */
const statusMessage = z.object({
  ...stamp,
  /** The name under which the collector can be asked whether it is alive. */
  publisher: z.string(),
  /** Whether this run has told all that there is, of candles those from `from` on: what it has not told is gone. */
  told: flag,
  from: z.optional(z.number()),
  /** The first stored candle that can still change; absent if there is none. */
  openFrom: z.optional(z.number()),
  rules,
  /** The last look at snipers: with it all wallets of that look are told. */
  look: z.optional(z.object({ head: reportHead, observedAt: z.number() })),
  status: z.pipe(wireStatus, z.transform(fromWireStatus)),
});
/** The answer of a collector that is asked whether it works on a feed: up to which message all is stored. */
const pulseMessage = z.object({ epoch: count, number: count });

export type CandleRecord = z.output<typeof candleMessage>;
export type WalletRecord = z.output<typeof walletMessage>;
export type FeedRules = z.output<typeof rules>;
export type StatusRecord = z.output<typeof statusMessage>;
/** What all messages say about themselves. */
export type Stamped = Pick<WalletRecord, keyof typeof stamp>;

/** What a message says, without its stamp. Equal bodies have equal contents. */
export function candleBody(of: Pick<CandleRecord, "candle" | "status" | "removed">): string {
  const { timestamp, open, high, low, close, volume, swaps } = of.candle;
  const { status, removed } = of;
  return JSON.stringify({
    candle: { timestamp, open, high, low, close, volume, swaps },
    status,
    removed,
  });
}

export function statusBody({ status, ...more }: Omit<StatusRecord, keyof Stamped>): string {
  return JSON.stringify({ ...more, status: toWireStatus(status) });
}

/** The text of a message: its stamp, then the content of its body. `more`: fields that two equal messages may differ in. */
export function writeMessage(stamped: Stamped, body: string, more: object = {}): string {
  const { epoch, number, observedAt, revision } = stamped;
  const head = JSON.stringify({ version: VERSION, epoch, number, observedAt, revision, ...more });
  return `${head.slice(0, -1)},${body.slice(1)}`;
}

/** Reads a message about a candle. Throws a `ContractError` if it is not a message of this version. */
export const readCandleMessage = (text: string): CandleRecord => readMessage(candleMessage, text);

/** Reads a message about a wallet; throws like `readCandleMessage`. */
export const readWalletMessage = (text: string): WalletRecord => readMessage(walletMessage, text);

/** Reads a message about the status of a feed; throws like `readCandleMessage`. */
export const readStatusMessage = (text: string): StatusRecord => readMessage(statusMessage, text);

export function readPulse(text: string): z.output<typeof pulseMessage> {
  return readWire(pulseMessage, text);
}

/** A message of a version that this one cannot read. */
export class OtherVersion extends ContractError {
  constructor(version: number) {
    super(["version"], `version ${version} of the messages, this package reads ${VERSION}`);
  }
}

function readMessage<T extends z.ZodMiniType>(schema: T, text: string): z.output<T> {
  const message = readWire(versioned, text);
  if (message.version !== VERSION) throw new OtherVersion(message.version);
  return checkWire(schema, message);
}
