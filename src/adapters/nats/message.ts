import * as z from "zod/mini";
import type { CandleStatus } from "../../candles/event.js";
import type { Candle, Sniper } from "../../contract/model.js";
import { name } from "../../contract/schemas.js";
import { ContractError } from "../../errors.js";
import type { FeedStatus } from "../../feed-status.js";
import { candle, reportHead, wallet } from "../wire/model.js";
import { checkWire, readWire } from "../wire/read.js";
import { fromWireStatus, toWireStatus, wireStatus } from "../wire/status.js";

/** The version of messages and leases. It grows with every change that an older reader would misread. */
export const VERSION = 3;

const count = z.int().check(z.nonnegative());
const stamp = {
  version: z.literal(VERSION),
  epoch: count,
  number: count,
  observedAt: z.number(),
  revision: count,
};
const versioned = z.looseObject({ version: z.int() });
const flag = z.optional(z.literal(true));

const candleMessage = z.object({
  ...stamp,
  candle,
  status: z.enum(["open", "closed", "final"]),
  removed: flag,
  due: z.number(),
  late: flag,
});
const walletMessage = z.object({ ...stamp, walletAddress: name, wallet: z.nullable(wallet) });
/** What the collector has fixed for all who read. */
const rules = z.object({
  every: z.union([z.number(), z.literal("close")]),
  settle: z.optional(z.number()),
  revisionWindow: z.optional(z.number()),
  weekStart: z.optional(z.enum(["monday", "thursday"])),
});
const statusMessage = z.object({
  ...stamp,
  publisher: z.string(),
  told: flag,
  from: z.optional(z.number()),
  openFrom: z.optional(z.number()),
  rules,
  look: z.optional(z.object({ head: reportHead, observedAt: z.number() })),
  status: wireStatus,
});
/** The answer of a collector that is asked whether it works on a feed: up to which message all is stored. */
const pulseMessage = z.object({ epoch: count, number: count });

/**
 * What a message says about itself. `epoch`: the run of the feed, higher for each later one. `number`: its place among the messages
 * of that run, without a gap from 1 on.
 */
export interface Stamped {
  readonly epoch: number;
  readonly number: number;
  /** When it was true by the service's clock, in ms since the epoch. */
  readonly observedAt: number;
  /** How many changes came before it in this life of what it is about. */
  readonly revision: number;
}

/** The present candle, or the last known one if it `isRemoved`. */
export interface CandleRecord extends Stamped {
  readonly candle: Candle;
  readonly status: CandleStatus;
  readonly isRemoved: boolean;
  /** When it was due, by the service's clock. */
  readonly due: number;
  /** Whether it was not live when its collector got it. */
  readonly isLate: boolean;
}

/** A wallet as it is now; `null`: it is gone. */
export interface WalletRecord extends Stamped {
  readonly walletAddress: string;
  readonly wallet: Sniper | null;
}

export type FeedRules = z.output<typeof rules>;

/** How a feed stands, after all messages of its run before this one. */
export interface StatusRecord extends Stamped {
  readonly status: FeedStatus;
  /** The name under which the collector can be asked whether it is alive. */
  readonly publisher: string;
  /** Whether this run has told all that there is, of candles those from `from` on: what it has not told is gone. */
  readonly isTold: boolean;
  readonly from: number | undefined;
  /** The first stored candle that can still change; absent if there is none. */
  readonly openFrom: number | undefined;
  readonly rules: FeedRules;
  /** The last look at snipers: with it all wallets of that look are told. */
  readonly look: NonNullable<z.output<typeof statusMessage>["look"]> | undefined;
}

/** What a message says, without its stamp. Equal bodies have equal contents. */
export function candleBody({
  candle: whole,
  status,
  isRemoved,
}: Pick<CandleRecord, "candle" | "status" | "isRemoved">): string {
  const { timestamp, open, high, low, close, volume, swaps } = whole;
  return JSON.stringify({
    candle: { timestamp, open, high, low, close, volume, swaps },
    status,
    ...(isRemoved ? { removed: true } : {}),
  });
}

export function statusBody({ status, isTold, ...more }: Omit<StatusRecord, keyof Stamped>): string {
  return JSON.stringify({ ...more, ...(isTold ? { told: true } : {}), status: toWireStatus(status) });
}

/** The text of a message: its stamp, then the content of its body. `more`: fields that two equal messages may differ in. */
export function writeMessage(stamped: Stamped, body: string, more: object = {}): string {
  const { epoch, number, observedAt, revision } = stamped;
  const head = JSON.stringify({ version: VERSION, epoch, number, observedAt, revision, ...more });
  return `${head.slice(0, -1)},${body.slice(1)}`;
}

/** Reads a message about a candle. Throws a `ContractError` if it is not a message of this version. */
export function readCandleMessage(text: string): CandleRecord {
  const { removed, late, version: _, ...rest } = readMessage(candleMessage, text);
  return { ...rest, isRemoved: removed === true, isLate: late === true };
}

/** Reads a message about a wallet; throws like `readCandleMessage`. */
export function readWalletMessage(text: string): WalletRecord {
  return readMessage(walletMessage, text);
}

/** Reads a message about the status of a feed; throws like `readCandleMessage`. */
export function readStatusMessage(text: string): StatusRecord {
  const { status, told, from, openFrom, look, ...rest } = readMessage(statusMessage, text);
  return { ...rest, isTold: told === true, from, openFrom, look, status: fromWireStatus(status) };
}

export function readPulse(text: string): z.output<typeof pulseMessage> {
  return readWire(pulseMessage, text);
}

/** A message of a version that this one cannot read. */
export class OtherVersion extends ContractError {
  constructor(version: number) {
    super(["version"], `version ${version} of the messages, where this package reads version ${VERSION}`);
  }
}

function readMessage<T extends z.ZodMiniType>(schema: T, text: string): z.output<T> {
  const message = readWire(versioned, text);
  if (message.version !== VERSION) throw new OtherVersion(message.version);
  return checkWire(schema, message);
}
