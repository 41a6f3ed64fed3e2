/** Orders two looks at the same thing: the one of the later lease is newer; within a lease, the later one. */
interface Stamp {
  /** The epoch of the lease under which it was published; 0 without a lease. */
  readonly epoch: number;
  /** When it was true by the service's clock, in ms since the epoch. */
  readonly observedAt: number;
}

/** The message that a publisher wants to store on a subject. */
export interface Proposal extends Stamp {
  /** Its content as text. Equal texts mean equal contents. */
  readonly body: string;
  /** Whether it says that the candle or wallet is gone. */
  readonly isRemoval: boolean;
  /** Whether the candle has just begun, so that most likely nothing is stored yet; default false. */
  readonly isBeginning?: boolean;
  /** For a candle: when it was due by the service's clock, and whether it was not live when its publisher got it. */
  readonly due?: number | undefined;
  readonly isLate?: boolean | undefined;
}

/** The stored message on a subject, as far as a publisher knows. */
export interface StoredRecord extends Proposal {
  /** The sequence of the message in its stream; `GONE` if it is there no more. Then its revisions go on. */
  readonly sequence: number;
  /** 0 for the first message of a life; it grows with each change. */
  readonly revision: number;
  /** Whether this publisher stored it itself, and did not find it there. */
  readonly isOwn: boolean;
}

/** The sequence that a publisher expects on a subject without a message. */
export const GONE = 0;

/**
 * What to do with a proposal. `done`: nothing, because it is already stored. `keep`: nothing, because the stored
 * message is newer. `store`: store it.
 *
 * A publisher's proposal is newer than its earlier messages under the same lease. A message of an earlier lease is
 * stored again even if nothing has changed. Then a message that the earlier holder still has on the way fails, because
 * it expects the old one.
 */
export function decide(stored: StoredRecord | undefined, proposal: Proposal): "done" | "keep" | "store" {
  if (stored === undefined || stored.sequence === GONE) return "store";
  const isSame = stored.body === proposal.body;
  if (stored.isOwn && stored.epoch === proposal.epoch) return isSame ? "done" : "store";
  const order = stored.epoch - proposal.epoch || stored.observedAt - proposal.observedAt;
  if (order > 0) return "keep";
  return isSame && order === 0 ? "done" : "store";
}

/** The revision under which a proposal is stored over the stored message. */
export function nextRevision(stored: StoredRecord | undefined, proposal: Proposal): number {
  if (stored === undefined) return 0;
  if (stored.isRemoval && !proposal.isRemoval) return 0;
  return stored.body === proposal.body ? stored.revision : stored.revision + 1;
}

/** A message, with the fields that order it among the messages on its subject. */
export interface PlacedMessage extends Stamp {
  readonly revision: number;
  /** When it was stored, by the server's clock, in ms since the epoch. */
  readonly time: number;
}

/**
 * Whether a message was stored on its subject after another one.
 *
 * Sequences cannot tell: after a crash, servers of version 2.9 may number the same messages differently. Nor can the
 * server's clock alone, as the next leader's may be behind. Publishers see to it that under one lease the instants of
 * observation on a subject do not go back.
 */
export function isNewer(message: PlacedMessage, known: PlacedMessage): boolean {
  const order =
    message.epoch - known.epoch ||
    message.observedAt - known.observedAt ||
    message.time - known.time ||
    message.revision - known.revision;
  return order > 0;
}

/**
 * The instant of observation under which a proposal is stored over the stored message: its own, but under one lease none
 * before that of the stored message, as the service's clock may have been set back.
 */
export function observedOver(stored: StoredRecord | undefined, { epoch, observedAt }: Proposal): number {
  return stored?.epoch === epoch ? Math.max(stored.observedAt, observedAt) : observedAt;
}

/** The beginning of a lease, as seen in the feed's messages. */
export interface Takeover {
  readonly epoch: number;
  /** When its first message was stored, by the server's clock. */
  readonly at: number;
}

/** How many takeovers are remembered, the last ones. */
export const TAKEOVERS_KEPT = 8;
/**
 * How long after a takeover a message of the earlier lease still counts, in ms. The clocks of servers differ, and a
 * message on its way at the takeover is not stale.
 */
const STALE_AFTER = 1_000;

/**
 * Whether a message counts as never sent. That is a message of an older lease that was stored after a newer lease had
 * begun: its collector slept or was cut off while the message was on its way.
 */
export function isOutdated(
  message: { epoch: number; time: number },
  takeovers: readonly Takeover[],
): boolean {
  return takeovers.some(({ epoch, at }) => message.epoch < epoch && message.time > at + STALE_AFTER);
}

/** The takeovers in a status message, its own included. A lease begins with its first message. */
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

/**
 * Whether a status was stored where the one that is known, of a later lease, is gone. The servers refuse a status that
 * expects another one, so it was stored into an empty stream. Epochs are instants of the collectors' clocks: where all
 * leases are lost, too, the next one may have a lower epoch.
 */
function isAfterLoss(status: PlacedMessage, known: PlacedMessage): boolean {
  return status.epoch < known.epoch && status.time > known.time + STALE_AFTER;
}

/** What one subscriber has seen of a feed: its newest messages by candle or wallet, and the leases under which they came. */
export class SeenFeed<K, M extends PlacedMessage> {
  readonly newest = new Map<K, M>();
  #isReading = true;
  #status: PlacedMessage | undefined;
  #takeovers: readonly Takeover[] = [];

  /** Whether the stored messages are still coming, in any order. */
  get isReading(): boolean {
    return this.#isReading;
  }

  /** Whether a message counts as sent, and is newer than the one that was known. */
  counts(message: M, known: M | undefined): boolean {
    if (known !== undefined && !isNewer(message, known)) return false;
    // The status that tells of a later lease may come after the stored message that it concerns.
    return this.#isReading || !this.isOutdated(message);
  }

  isOutdated(message: M): boolean {
    return isOutdated(message, this.#takeovers);
  }

  /** Takes a status. Returns whether it is the newest. */
  status(message: PlacedMessage & { readonly takeovers: readonly Takeover[] }): boolean {
    const known = this.#status;
    const isFirst = known !== undefined && isAfterLoss(message, known);
    if (known !== undefined && !isFirst && !isNewer(message, known)) return false;
    if (isFirst) this.#forgetLeases(message.epoch);
    this.#status = message;
    this.#takeovers = takeoversOf(message);
    return true;
  }

  /** Counts all that was seen as told under leases before one. */
  #forgetLeases(before: number): void {
    for (const [key, message] of this.newest) {
      if (message.epoch >= before) this.newest.set(key, { ...message, epoch: before - 1 });
    }
  }

  /** Notes that all stored messages have come. Returns whether that is new. */
  caughtUp(): boolean {
    if (!this.#isReading) return false;
    this.#isReading = false;
    for (const [key, message] of this.newest) if (this.isOutdated(message)) this.newest.delete(key);
    return true;
  }
}
