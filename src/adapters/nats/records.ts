/** Which of two looks at the same thing is the newer one: that of the later lease, then the later one. */
interface Stamp {
  /** Of the lease under which it was published; 0 without one. */
  readonly epoch: number;
  /** The service's clock: when it was true, in ms since the epoch. */
  readonly observedAt: number;
}

/** What a publisher wants to be stored on a subject. */
export interface Proposal extends Stamp {
  /** What it says, as text; equal texts say the same. */
  readonly body: string;
  /** Whether it says that what was there is gone. */
  readonly isRemoval: boolean;
  /** Whether it has just begun to be, so that most likely nothing is stored yet; default false. */
  readonly isBeginning?: boolean;
  /** Of a candle: when it was due, by the service's clock, and whether it was not live by then. */
  readonly due?: number | undefined;
  readonly isLate?: boolean | undefined;
}

/** What is stored on a subject, as far as a publisher knows. */
export interface StoredRecord extends Proposal {
  /** Of the message in its stream. */
  readonly sequence: number;
  /** 0 for the first message of a life, more with each one after it. */
  readonly revision: number;
  /** Whether this publisher has stored it, and not found it there. */
  readonly isOwn: boolean;
}

/**
 * What to do about a proposal where that is stored: nothing, as it is there (`done`) or what is there is newer (`keep`), or
 * `store` it.
 *
 * What a publisher has to say under a lease is newer than what it has said under it before. What another lease has stored
 * is stored again even where nothing has changed: a message of its holder that is still on the way expects the old one to
 * be there, and fails.
 */
export function decide(stored: StoredRecord | undefined, proposal: Proposal): "done" | "keep" | "store" {
  if (stored === undefined) return "store";
  const isSame = stored.body === proposal.body;
  if (stored.isOwn && stored.epoch === proposal.epoch) return isSame ? "done" : "store";
  const order = stored.epoch - proposal.epoch || stored.observedAt - proposal.observedAt;
  if (order > 0) return "keep";
  return isSame && order === 0 ? "done" : "store";
}

/** The revision under which a proposal is stored over what is there. */
export function nextRevision(stored: StoredRecord | undefined, proposal: Proposal): number {
  if (stored === undefined) return 0;
  if (stored.isRemoval && !proposal.isRemoval) return 0;
  return stored.body === proposal.body ? stored.revision : stored.revision + 1;
}

/** A message, with what tells it from others on its subject. */
export interface PlacedMessage extends Stamp {
  readonly revision: number;
  /** When it was stored, by the server's clock, in ms since the epoch. */
  readonly time: number;
}

/**
 * Whether a message was stored on its subject after another one.
 *
 * Sequences do not tell: servers of version 2.9 that were killed have been seen to number the same messages differently.
 */
export function isNewer(message: PlacedMessage, known: PlacedMessage): boolean {
  if (message.epoch !== known.epoch) return message.epoch > known.epoch;
  // Either clock may have been set back between the two: the server's with its leader, the service's with a correction.
  if (message.time > known.time || message.observedAt > known.observedAt) return true;
  const isSameInstant = message.time === known.time && message.observedAt === known.observedAt;
  return isSameInstant && message.revision > known.revision;
}

/** The beginning of a lease, as the feed's messages show it. */
export interface Takeover {
  readonly epoch: number;
  /** When its first message was stored, by the server's clock. */
  readonly at: number;
}

/** So many of the last takeovers are remembered. */
export const TAKEOVERS_KEPT = 8;
/** In ms; servers' clocks differ, and what was on its way at a handing over is not old. */
const STALE_AFTER = 1_000;

/**
 * Whether a message counts as never sent: one of an older lease that was stored after a newer one had begun, as that of a
 * collector which slept, or was cut off, with the message on its way.
 */
export function isStale(message: { epoch: number; time: number }, takeovers: readonly Takeover[]): boolean {
  return takeovers.some(({ epoch, at }) => message.epoch < epoch && message.time > at + STALE_AFTER);
}

/** The takeovers that a status message tells of; the first message of a lease begins it. */
export function takeoversOf({
  epoch,
  time,
  takeovers,
}: {
  epoch: number;
  time: number;
  takeovers: readonly Takeover[];
}): readonly Takeover[] {
  const isBeginning = !takeovers.some((takeover) => takeover.epoch === epoch);
  return isBeginning ? [...takeovers, { epoch, at: time }] : takeovers;
}
