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
 * What another lease has stored is stored again even where nothing has changed: a message of its holder that is still on
 * the way expects the old one to be there, and fails. What another publisher has found later than that is newer than it.
 */
export function decide(stored: StoredRecord | undefined, proposal: Proposal): "done" | "keep" | "store" {
  if (stored === undefined) return "store";
  const order = stored.epoch - proposal.epoch || stored.observedAt - proposal.observedAt;
  if (order > 0) return "keep";
  const isOwn = stored.isOwn && stored.epoch === proposal.epoch;
  return stored.body === proposal.body && (isOwn || order === 0) ? "done" : "store";
}

/** The revision under which a proposal is stored over what is there. */
export function nextRevision(stored: StoredRecord | undefined, proposal: Proposal): number {
  if (stored === undefined) return 0;
  if (stored.isRemoval && !proposal.isRemoval) return 0;
  return stored.body === proposal.body ? stored.revision : stored.revision + 1;
}

/** The beginning of a lease, as the feed's messages show it. */
export interface Takeover {
  readonly epoch: number;
  /** The first message of that epoch; absent in that message itself. */
  readonly sequence: number;
}

/** So many of the last takeovers are remembered. */
export const TAKEOVERS_KEPT = 8;

/**
 * Whether a message counts as never sent: one of an older lease that was stored after a newer one had begun, as that of a
 * collector which slept, or was cut off, with the message on its way.
 */
export function isStale(
  message: { epoch: number; sequence: number },
  takeovers: readonly Takeover[],
): boolean {
  return takeovers.some(({ epoch, sequence }) => message.epoch < epoch && message.sequence > sequence);
}
