import type { Candle } from "../../contract/model.js";
import type { CandleStatus } from "../event.js";
import type { CandleRead } from "../read/range-reader.js";
import { type CandleRules, settledUntil, windowStart } from "../rules.js";

/** What one read changed about one candle. */
export type CandleChange = {
  readonly candle: Candle;
  readonly status: CandleStatus;
  readonly revision: number;
} & ({ readonly type: "new" | "removed" } | { readonly type: "updated"; readonly previous: Candle });

/** A candle that may still change. */
export interface CandleEntry {
  readonly candle: Candle;
  readonly status: CandleStatus;
  readonly revision: number;
  /** Whether the last look did not show it. A second such look removes it. */
  readonly isMissing: boolean;
}

/** The candles of a series that are not final yet, and how far the series is known. */
export interface CandleBook {
  /** Ascending. */
  readonly entries: readonly CandleEntry[];
  /** Every interval before it is final. */
  readonly finalUntil: number;
  /** Every interval in `[coveredFrom, coveredUntil)` has been seen after it had ended and settled. */
  readonly coveredFrom: number;
  readonly coveredUntil: number;
  /** The service's clock, as of the last read. */
  readonly observedAt: number;
  readonly epoch: number;
}

export interface BookUpdate {
  readonly book: CandleBook;
  /** Ascending by timestamp. */
  readonly changes: readonly CandleChange[];
  /** Whether a candle is missing for the first time, so that the service should be asked again soon. */
  readonly needsSecondLook: boolean;
}

/** A book that knows nothing yet and is to be read from `from`, the start of an interval. */
export function emptyBook(from: number): CandleBook {
  return {
    entries: [],
    finalUntil: from,
    coveredFrom: from,
    coveredUntil: from,
    observedAt: Number.NEGATIVE_INFINITY,
    epoch: 0,
  };
}

/**
 * Applies one read, which begins at the book's `finalUntil` or before.
 *
 * A candle closes once its interval is over and settled. It becomes final once its interval has left the revision window
 * too. The book keeps a missing candle until a second read misses it as well; until then nothing after it closes, becomes
 * final or counts as covered.
 */
export function applyRead(rules: CandleRules, book: CandleBook, answer: CandleRead): BookUpdate {
  const read = heldAgainst(book, answer);
  const isLater = read.epoch !== book.epoch || read.observedAt > book.observedAt;
  const observedAt = isLater ? read.observedAt : book.observedAt;
  // An answer out of a cache may be older than what the book knows: it closes no more than was over when it was given.
  const settled = settledUntil(rules, read.observedAt);
  // Nothing behind a hole becomes final: it would be new again once the hole is read.
  const hasHole = read.from > book.finalUntil || read.isUnproven;
  const changeable = hasHole ? book.finalUntil : windowStart(rules, read.observedAt);
  const comparison = new Comparison(read, settled, changeable);

  let at = 0;
  for (const candle of read.candles) {
    const { timestamp } = candle;
    if (timestamp < book.finalUntil || timestamp < read.from || timestamp >= read.to) continue;
    for (; at < book.entries.length && book.entries[at]!.candle.timestamp < timestamp; at++) {
      comparison.miss(book.entries[at]!);
    }
    const entry = book.entries[at];
    const isKnown = entry?.candle.timestamp === timestamp;
    if (isKnown) at++;
    comparison.show(candle, isKnown ? entry : undefined);
  }
  for (; at < book.entries.length; at++) comparison.miss(book.entries[at]!);

  const { entries, changes, unconfirmedFrom, needsSecondLook } = comparison;
  const known = Math.min(read.to, read.provenUntil ?? read.to, unconfirmedFrom);
  const finalUntil = Math.max(book.finalUntil, Math.min(changeable, known));
  const { coveredFrom, coveredUntil } = coverage(rules, book, read, Math.min(settled, known));
  const { epoch } = read;
  return {
    book: { entries, finalUntil, coveredFrom, coveredUntil, observedAt, epoch },
    changes,
    needsSecondLook,
  };
}

/** An answer whose lost rows leave only those intervals unknown of which the book holds no candle: a held one is missing. */
function heldAgainst({ entries }: CandleBook, read: CandleRead): CandleRead {
  const { lost } = read;
  if (lost === undefined || lost.size === 0) return read;
  const unreadable = new Set(read.unreadable);
  for (const { candle } of entries) if (lost.has(candle.timestamp)) unreadable.delete(candle.timestamp);
  return { ...read, unreadable };
}

const UNCHANGED: readonly CandleChange[] = [];

/** A read held against a book, candle by candle, ascending. */
class Comparison {
  readonly entries: CandleEntry[] = [];
  /** An array takes room for seventeen with its first `push`, and most reads change one candle. */
  private told: CandleChange[] | undefined;
  /** The first interval whose candle is missing without proof that it is gone. */
  unconfirmedFrom = Number.POSITIVE_INFINITY;
  needsSecondLook = false;

  constructor(
    private readonly read: CandleRead,
    /** The intervals before it are over and settled. */
    private readonly settled: number,
    /** The intervals before it may not change any more. */
    private readonly changeable: number,
  ) {}

  get changes(): readonly CandleChange[] {
    return this.told ?? UNCHANGED;
  }

  /** Takes in a candle that was read; `entry` is what the book has of it. */
  show(candle: Candle, entry: CandleEntry | undefined): void {
    const status = laterOf(entry?.status, this.statusNow(candle.timestamp));
    if (entry === undefined) {
      this.tell({ type: "new", candle, status, revision: 0 });
      this.keep({ candle, status, revision: 0, isMissing: false });
    } else if (status === entry.status && isSame(candle, entry.candle)) {
      this.keep(entry.isMissing ? { ...entry, isMissing: false } : entry);
    } else {
      const revision = entry.revision + 1;
      this.tell({ type: "updated", candle, previous: entry.candle, status, revision });
      this.keep({ candle, status, revision, isMissing: false });
    }
  }

  /** Takes in that a candle of the book was not read. */
  miss(entry: CandleEntry): void {
    const { read } = this;
    const { candle, status, revision, isMissing } = entry;
    const { timestamp } = candle;
    if (timestamp < read.from || timestamp >= read.to) {
      if (isMissing) this.unconfirmedFrom = Math.min(this.unconfirmedFrom, timestamp);
      this.keep(entry);
    } else if (read.unreadable.has(timestamp)) {
      // An unreadable row still proves that the candle exists.
      if (this.statusNow(timestamp) !== "final")
        this.keep(isMissing ? { ...entry, isMissing: false } : entry);
      else if (status === "closed") this.finish(entry);
    } else if (isMissing && !read.hasUnidentifiedRow && !read.isRepeat && !read.lost?.has(timestamp)) {
      this.tell({ type: "removed", candle, status, revision: revision + 1 });
    } else {
      this.unconfirmedFrom = Math.min(this.unconfirmedFrom, timestamp);
      if (!read.hasUnidentifiedRow) this.needsSecondLook = true;
      this.keep(read.hasUnidentifiedRow ? entry : { ...entry, isMissing: true });
    }
  }

  /** Makes a closed candle final as it was last read, because its row cannot be read any more. */
  private finish({ candle, revision }: CandleEntry): void {
    this.tell({ type: "updated", candle, previous: candle, status: "final", revision: revision + 1 });
  }

  private tell(change: CandleChange): void {
    if (this.told === undefined) this.told = [change];
    else this.told.push(change);
  }

  private keep(entry: CandleEntry): void {
    if (entry.status !== "final") this.entries.push(entry);
  }

  private statusNow(timestamp: number): CandleStatus {
    if (timestamp >= this.unconfirmedFrom || timestamp >= this.settled) return "open";
    return timestamp < this.changeable ? "final" : "closed";
  }
}

/** What is covered after a read that knows every interval from its start until `knownUntil`, except broken rows. */
function coverage({ intervals }: CandleRules, book: CandleBook, read: CandleRead, knownUntil: number) {
  let { coveredFrom, coveredUntil } = book;
  let until = knownUntil;
  const isReadable = read.unreadable.size === 0;
  while (!isReadable && read.unreadable.has(intervals.shift(until, -1))) until = intervals.shift(until, -1);
  if (until > coveredUntil && !read.hasUnidentifiedRow) {
    if (read.from > coveredUntil) coveredFrom = read.from;
    coveredUntil = until;
  } else if (until < knownUntil) {
    coveredUntil = Math.min(coveredUntil, until);
  }
  if (!isReadable) {
    for (const timestamp of read.unreadable) {
      if (timestamp < coveredUntil) coveredFrom = Math.max(coveredFrom, intervals.end(timestamp));
    }
  }
  coveredFrom = Math.min(coveredFrom, coveredUntil);
  return { coveredFrom, coveredUntil };
}

/** The later of two statuses: a candle never goes back to an earlier one. */
export function laterOf(before: CandleStatus | undefined, now: CandleStatus): CandleStatus {
  if (before === undefined || before === "open") return now;
  return before === "final" || now === "open" ? before : now;
}

/** Whether two candles of one interval have the same values. */
export function isSame(a: Candle, b: Candle): boolean {
  return (
    a.close === b.close &&
    a.volume === b.volume &&
    a.swaps === b.swaps &&
    a.high === b.high &&
    a.low === b.low &&
    a.open === b.open
  );
}
