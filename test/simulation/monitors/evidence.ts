import type { Candle } from "../../../src/index.js";
import type { Intervals } from "../calendar.js";
import type { StoreCall } from "../disk.js";
import { asksFor, covers, isProbe, isSameCandle, isUnreadable, type Look, lacksOlder } from "../reads.js";
import type { RunLog } from "../run-log.js";

/** Two answers are two only if the service made them so far apart, ms. */
export const APART = 1_000;
/** What a lie said, or the clock before it was set, counts as that of a machine that is behind by so much at most, ms. */
export const BESIDE = 3_500;
/** So many final candles, the newest that polls have shown, every answer about their intervals has to show. */
const ANCHORS = 4;
/** What lies at the newest end goes only once no answer has shown it for so long, ms, and for an interval. */
export const NEWEST_END = 5_000;
/** An answer that a cache has given is as good as a new one while it is no older, ms. */
const FRESH = 1_000;
/** What strikes an answer and leaves all that it says as it is. */
const HARMLESS: readonly string[] = ["duplicated", "shuffled", "delay", "bad rows", "broken"];

/** Whether an answer is what the service has to say, all of it, and of now. */
export function isClean(look: Look): boolean {
  const isReadable = look.broken.size === 0 && !look.hasUnidentifiedRow;
  const isStruck = look.faults.some((kind) => !HARMLESS.includes(kind));
  return isReadable && !isStruck && !look.isTimeDoubtful && look.old < FRESH;
}

/** How old a copy is by more than a cache tells, within the second of its `Date`, ms. */
export function hiddenAgeOf({ old, answeredAt }: Look, { plan: { world } }: RunLog): number {
  return world.cache?.tellsAge === false ? Math.min(old, 999 - (answeredAt % 1_000)) : 0;
}

/** A look that a subscriber may be held to. */
export interface Proof {
  readonly look: Look;
  /** A clean one before it, made at least a second earlier; where there is none, it is the first that the poll has made. */
  readonly before: Look | undefined;
}

/**
 * Of the looks of a poll, in order, those that are clean and come after clean ones; `isGood`: whether one is clean. One that is
 * clean and says nothing, as its range began too early for the service, is passed over.
 */
export function proofsAmong(polls: readonly Look[], isGood: (look: Look) => boolean = isClean): Proof[] {
  const isPassed = (before: Look, look: Look) =>
    isGood(before) ? look.answeredAt - before.answeredAt < APART : isClean(before);
  const proofs: Proof[] = [];
  let newest = Number.NEGATIVE_INFINITY;
  for (const [at, look] of polls.entries()) {
    const isNewest = look.answeredAt >= newest;
    newest = Math.max(newest, look.answeredAt);
    if (!isNewest || !isGood(look)) continue;
    let before = at - 1;
    while (before >= 0 && isPassed(polls[before]!, look)) before -= 1;
    if (before >= 0 && !isGood(polls[before]!)) continue;
    proofs.push({ look, before: polls[before] });
  }
  return proofs;
}

/** Instants of answers are told by `Date`s and round trips: what was not shown for so much less may count, ms. */
export const ROUNDED = 10;
/** A copy is no other answer, however long its way was, ms. */
const MOST_UNTOLD = (APART - ROUNDED) / 2;

/** Whether the service made an answer `apart` after another one, or before it; `untold`: of the time of the first, ms. */
export function isAnotherAnswer(
  before: Pick<Look, "madeAt">,
  last: Pick<Look, "madeAt">,
  untold = 0,
  apart = APART,
): boolean {
  return Math.abs(last.madeAt - before.madeAt) >= apart - ROUNDED - Math.min(untold, MOST_UNTOLD);
}

/**
 * Whether a search for a pair's beginning has passed over an interval, which is believed: two answers, one of them the search's,
 * have shown nothing from there on, none has shown anything, and one of the search has from later on.
 */
export function isPassedOver(answers: readonly Look[], timestamp: number): boolean {
  const isSilent = ({ rows, broken, hasUnidentifiedRow }: Look) =>
    rows.size + broken.size === 0 && !hasUnidentifiedRow;
  const about = answers.filter((look) => covers(look, timestamp));
  const isFound = answers.some((look) => isProbe(look) && look.asked.from > timestamp && look.rows.size > 0);
  return isFound && about.length > 1 && about.some(isProbe) && about.every(isSilent);
}

/** What of an interval can have been known for good. */
export interface Finality {
  readonly intervals: Intervals;
  /** From when on an answer is the last one about an interval, by the service's clock. */
  readonly leaves: (timestamp: number) => number;
  /** By how much a client may be wrong about that, ms. */
  readonly tolerance: number;
  /** Whether answers have a `Date`. */
  readonly hasDate: boolean;
  /** The pair's first interval: a range may begin with that one, without an interval before it. */
  readonly bornAt: number;
  /** Whether an answer says what the service has. */
  readonly isGood: (look: Look) => boolean;
  /** What a store was asked for of the series. */
  readonly calls?: readonly StoreCall[];
}

/** A history asks for what its store has failed to give at most so long after that, ms. */
const ASKED_INSTEAD = 2_000;

/** Whether a history asks for what its store has just failed to give: it does not know what others were shown. */
export function asksInstead({ sent, isHistory }: Look, calls: readonly StoreCall[]): boolean {
  const hasFailed = ({ operation, at, ended }: StoreCall) =>
    operation === "read" && ended?.isGood === false && at <= sent && at > sent - ASKED_INSTEAD;
  return isHistory && calls.some(hasFailed);
}

/** Whether what is held for good of an interval, a candle or none, is what the service has answered for good. */
export function wasAnswered(
  looks: readonly Look[],
  timestamp: number,
  has: Candle | undefined,
  { intervals, leaves, tolerance, hasDate, bornAt, isGood, calls = [] }: Finality,
): boolean {
  const about = looks.filter((look) => covers(look, timestamp));
  const isForGood = (look: Look) =>
    look.isHistory ||
    look.isTimeDoubtful ||
    look === about.at(-1) ||
    look.answeredAt + tolerance >= leaves(timestamp);
  if (has !== undefined) {
    // Of a row that is broken the last that was known stays.
    const isBroken = about.some((look) => isForGood(look) && isUnreadable(look, timestamp));
    return about.some(
      (look) =>
        (isBroken || isForGood(look)) && look.rows.get(timestamp)?.some((row) => isSameCandle(row, has)),
    );
  }
  // Before the first interval there is no margin to ask with: there a row that is broken tells, and an answer that may be cut.
  const isCut = (look: Look) => !isGood(look) && look.rows.size > 0;
  const tellsOfFirst = (look: Look) => timestamp === bornAt && (look.broken.has(timestamp) || isCut(look));
  const absent = about.filter(
    (look) => (asksFor(look, timestamp, intervals) || tellsOfFirst(look)) && !look.rows.has(timestamp),
  );
  // Without a `Date` one that took long may have been made when it was asked for: its copy seems to be another one.
  const seemsApart = (before: Look, look: Look) => {
    const isCopy = look.answeredAt === before.answeredAt && look.old > before.old;
    if (!hasDate && isCopy && before.received - before.sent >= APART) return true;
    return look.answeredAt - before.answeredAt >= APART;
  };
  /**
   * Whether a look is asked by one who has seen it: a history knows what histories have shown, and the newest finals of polls.
   * Nobody knows what a process before has seen. A probe tells only that there is something.
   */
  const wasShown = (look: Look) => {
    // What lies in the margin of a history it does not take.
    const isLost = asksInstead(look, calls);
    const before = looks.filter((other) => {
      if (isProbe(other)) return false;
      const isTaken = other.isHistory ? !isLost && asksFor(other, timestamp, intervals) : !look.isHistory;
      return other.order > 0 && other.order < look.order && other.rows.has(timestamp) && isTaken;
    });
    return (
      before.length > 0 ||
      (look.isHistory && isAnchor(looks, timestamp, look.order, { leaves, tolerance, isGood }))
    );
  };
  let doubtful: Look | undefined;
  for (const look of about) {
    if (!absent.includes(look)) continue;
    if (isUnreadable(look, timestamp)) return true;
    if (isGood(look)) {
      if (isForGood(look)) return true;
      continue;
    }
    // What a fault has taken out of the middle of an answer cannot be told from a silence by one who has never seen it.
    const isInMiddle = [...look.rows.keys()].some((other) => other < timestamp);
    if (isInMiddle && !wasShown(look)) return true;
    if (doubtful !== undefined && seemsApart(doubtful, look)) return true;
    doubtful ??= look;
  }
  return false;
}

/** Whether the last look lacks the newest candles that a look has shown since `long` ms before. */
export function lacksNewestEnd(looks: readonly Look[], at: number, long: number): boolean {
  const late = looks.filter(
    ({ isHistory, received }) => !isHistory && received <= at && received > at - long,
  );
  const newest = Math.max(...(late.at(-1)?.rows.keys() ?? []));
  return late.some(({ rows }) => [...rows.keys()].some((other) => other > newest));
}

/** What is missing at an instant of what polls have shown. */
export interface Lack {
  /** When the first answer came that lacks it. */
  readonly since: number;
  /** After how many answers it is gone: what is final goes first, and then what is not. */
  readonly rounds: number;
  /** How many candles were final by then, where it lacks all of them that it was asked for; else 0. */
  readonly finals: number;
  /** When the first answer came from then on that shows anything. */
  readonly shownAt: number;
}

/** What the last answer by an instant lacks, and the one before it has shown. */
export function lackAt(looks: readonly Look[], at: number, finalUntil: (look: Look) => number): Lack {
  const all = looks.filter(({ isHistory }) => !isHistory);
  const polls = all.filter(({ received }) => received <= at);
  const last = polls.at(-1);
  const shown = polls.findLastIndex(({ rows }) => lacksOlder(last!, rows.keys(), last!.answeredAt));
  if (shown < 0)
    return { since: Number.NEGATIVE_INFINITY, rounds: 1, finals: 0, shownAt: Number.NEGATIVE_INFINITY };
  const [before, first] = [polls[shown]!, polls[shown + 1]!];
  const isFinal = (timestamp: number) => timestamp < finalUntil(before);
  const finals = [...before.rows.keys()].filter(
    (timestamp) => isFinal(timestamp) && covers(first, timestamp),
  );
  const lacked = finals.filter((timestamp) => lacksOlder(first, [timestamp], first.answeredAt));
  const lacksEach = finals.length > 0 && lacked.length === finals.length;
  const others = [...before.rows.keys()].filter((timestamp) => !isFinal(timestamp));
  const known = new Set(polls.slice(0, shown + 1).flatMap(({ rows }) => [...rows.keys()].filter(isFinal)));
  const next = all.find(({ rows, received }) => received >= first.received && rows.size > 0);
  return {
    since: first.received,
    rounds: lacked.length > 0 && (lacksEach || lacksOlder(first, others, first.answeredAt)) ? 2 : 1,
    finals: lacksEach ? known.size : 0,
    shownAt: next?.received ?? Number.POSITIVE_INFINITY,
  };
}

/**
 * Whether good polls of the same process, before an answer, have shown a candle for good, and fewer newer ones than an answer has
 * to show.
 */
function isAnchor(
  looks: readonly Look[],
  timestamp: number,
  order: number,
  { leaves, tolerance, isGood }: Pick<Finality, "leaves" | "tolerance" | "isGood">,
): boolean {
  const finals = new Set<number>();
  for (const look of looks) {
    if (look.isHistory || look.order <= 0 || look.order >= order || !isGood(look)) continue;
    for (const shown of look.rows.keys())
      if (shown >= timestamp && look.answeredAt + tolerance >= leaves(shown)) finals.add(shown);
  }
  return finals.has(timestamp) && finals.size <= ANCHORS;
}
