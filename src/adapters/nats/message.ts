import * as z from "zod/mini";
import type { CandleStatus } from "../../candles/event.js";
import { type Candle, SNIPER_TOTALS, type Sniper } from "../../contract/model.js";
import { listOf } from "../../contract/schemas.js";
import type { AnyPairstreamError, PairstreamError } from "../../errors.js";
import type { FeedStatus } from "../../feed-status.js";
import { fromWireError, toWireError, wireError } from "../wire/error.js";
import { candle, wallet } from "../wire/model.js";
import { checkWire, readWire } from "../wire/read.js";
import type { StoredRecord, Takeover } from "./records.js";

/** The version of messages and leases. It grows with every change that an older reader would misread. */
export const VERSION = 2;

const count = z.int().check(z.nonnegative());
const stamp = { version: z.literal(VERSION), epoch: count, observedAt: z.number(), revision: count };
const removed = z.optional(z.literal(true));

const candleMessage = z.object({
  ...stamp,
  candle,
  status: z.enum(["open", "closed", "final"]),
  removed,
  due: z.optional(z.number()),
  late: removed,
});
const walletMessage = z.object({ ...stamp, wallet, removed });
/** A message of a feed of snipers, about a wallet or not. */
const sniperMessage = z.looseObject({ version: stamp.version });
const statusMessage = z.object({
  ...stamp,
  publisher: z.string(),
  takeovers: listOf(z.object({ epoch: count, at: z.number() })),
  from: z.optional(count),
  status: z.object({
    state: z.enum(["starting", "live", "stalled"]),
    coveredFrom: z.optional(z.number()),
    coveredUntil: z.optional(z.number()),
    failures: count,
    lastError: z.optional(wireError),
  }),
});
/** A message of any kind. What a later version says beside that is left out: equal contents give equal texts. */
const anyMessage = z.object({
  ...stamp,
  candle: z.optional(candle),
  wallet: z.optional(wallet),
  publisher: z.optional(statusMessage.shape.publisher),
  takeovers: z.optional(statusMessage.shape.takeovers),
  from: statusMessage.shape.from,
  status: z.optional(z.union([candleMessage.shape.status, statusMessage.shape.status])),
  removed,
  due: z.optional(z.number()),
  late: removed,
});

/** What a message says about itself: its lease, when it was true, and how many changes came before it. */
interface Stamped {
  readonly epoch: number;
  readonly observedAt: number;
  readonly revision: number;
}

/** The present candle, or the last known one if it `isRemoved`. */
export interface CandleRecord extends Stamped {
  readonly candle: Candle;
  readonly status: CandleStatus;
  readonly isRemoved: boolean;
  /** When it was due, by the service's clock; absent if its publisher does not know. */
  readonly due?: number | undefined;
  /** Whether it was not live when its publisher got it. */
  readonly isLate?: boolean | undefined;
}

/** The present wallet, or the last known one if it `isRemoved`. */
export interface WalletRecord extends Stamped {
  readonly wallet: Sniper;
  readonly isRemoved: boolean;
}

/** The status of a feed, and its publisher. */
export interface StatusRecord extends Stamped {
  readonly status: FeedStatus;
  /** The name under which the publisher can be asked whether it is alive. */
  readonly publisher: string;
  /** The beginnings of the last leases. */
  readonly takeovers: readonly Takeover[];
  /** The sequence of the first message about a candle, or a wallet, that can still change. */
  readonly from: number | undefined;
}

/** What a message says, without its stamp, as the text that `StoredRecord.body` holds. */
export function candleBody({
  candle,
  status,
  isRemoved,
}: Pick<CandleRecord, "candle" | "status" | "isRemoved">): string {
  const { timestamp, open, high, low, close, volume, swaps } = candle;
  return JSON.stringify({
    candle: { timestamp, open, high, low, close, volume, swaps },
    status,
    ...(isRemoved ? { removed: true } : {}),
  });
}

/** The same for a wallet. Its transactions are sorted by time already, so equal wallets give equal texts. */
export function walletBody({ wallet, isRemoved }: Pick<WalletRecord, "wallet" | "isRemoved">): string {
  const { walletAddress, snipedTransactions, sellTransactions } = wallet;
  const totals = Object.fromEntries(SNIPER_TOTALS.map((name) => [name, wallet[name]]));
  return JSON.stringify({
    wallet: {
      walletAddress,
      snipedTransactions: snipedTransactions.map(transactionFields),
      sellTransactions: sellTransactions.map(transactionFields),
      ...totals,
    },
    ...(isRemoved ? { removed: true } : {}),
  });
}

function transactionFields(transaction: Sniper["sellTransactions"][number]) {
  const { transactionHash, transactionTimestamp, blocksAfterCreation } = transaction;
  return { transactionHash, transactionTimestamp, blocksAfterCreation };
}

export function statusBody({
  status,
  publisher,
  takeovers,
  from,
}: Pick<StatusRecord, "status" | "publisher" | "takeovers" | "from">): string {
  const { state, coveredFrom, coveredUntil, failures, lastError } = status;
  return JSON.stringify({
    publisher,
    takeovers,
    from,
    status: {
      state,
      coveredFrom,
      coveredUntil,
      failures,
      ...(lastError === undefined ? {} : { lastError: toWireError(lastError) }),
    },
  });
}

/** The text of a message: its stamp, then the content of its body. */
export function writeMessage({
  epoch,
  observedAt,
  revision,
  body,
  due,
  isLate,
}: Pick<StoredRecord, "epoch" | "observedAt" | "revision" | "body" | "due" | "isLate">) {
  const late = isLate ? { late: true } : {};
  const stamp = { version: VERSION, epoch, observedAt, revision, due, ...late };
  return `${JSON.stringify(stamp).slice(0, -1)},${body.slice(1)}`;
}

/** Reads a message as far as its publisher needs it; throws like `readCandleMessage`. */
export function readRecord(text: string): Omit<StoredRecord, "sequence" | "isOwn"> {
  const message = readWire(anyMessage, text);
  const { version: _, epoch, observedAt, revision, removed, due, late, ...content } = message;
  const body = JSON.stringify(removed ? { ...content, removed } : content);
  return { epoch, observedAt, revision, body, isRemoval: removed === true, due, isLate: late === true };
}

/** Reads a message about a candle. Throws a `ContractError` if it is not a message of this version. */
export function readCandleMessage(text: string): CandleRecord {
  const { candle, status, removed, due, late, ...rest } = readWire(candleMessage, text);
  const timing = due === undefined ? {} : { due, isLate: late === true };
  return { ...stampOf(rest), candle, status, isRemoved: removed === true, ...timing };
}

/**
 * Reads a message about a wallet; throws like `readCandleMessage`. `undefined` for a message without a wallet: later
 * versions may keep more beside the wallets, and an address may be any text, so a subject does not tell them apart.
 */
export function readWalletMessage(text: string): WalletRecord | undefined {
  const message = readWire(sniperMessage, text);
  if (message.wallet === undefined) return undefined;
  const { wallet, removed, ...rest } = checkWire(walletMessage, message);
  return { ...stampOf(rest), wallet, isRemoved: removed === true };
}

/** Reads a message about the status of a feed; throws like `readCandleMessage`. */
export function readStatusMessage(text: string): StatusRecord {
  const { status, publisher, takeovers, from, ...rest } = readWire(statusMessage, text);
  const { state, coveredFrom, coveredUntil, failures, lastError } = status;
  return {
    ...stampOf(rest),
    publisher,
    takeovers,
    from,
    status: makeStatus({
      state,
      coveredFrom,
      coveredUntil,
      failures,
      lastError: lastError === undefined ? undefined : fromWireError(lastError),
    }),
  };
}

/** A frozen status without its absent fields. */
export function makeStatus({
  state,
  coveredFrom,
  coveredUntil,
  failures,
  lastError,
}: {
  state: FeedStatus["state"];
  coveredFrom?: number | undefined;
  coveredUntil?: number | undefined;
  failures: number;
  lastError?: PairstreamError | undefined;
}): FeedStatus {
  return Object.freeze({
    state,
    ...(coveredFrom === undefined ? {} : { coveredFrom }),
    ...(coveredUntil === undefined ? {} : { coveredUntil }),
    failures,
    ...(lastError === undefined ? {} : { lastError: lastError as AnyPairstreamError }),
  });
}

function stampOf({ epoch, observedAt, revision }: Stamped): Stamped {
  return { epoch, observedAt, revision };
}
