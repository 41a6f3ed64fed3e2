import type { PairstreamError, Timeframe } from "../../../src/index.js";
import { intervalsOf } from "../calendar.js";
import { isCutShort, readOf } from "../economy/answers.js";
import { presencesOf } from "../economy/spans.js";
import type { Exchange } from "../exchanges.js";
import { askedBy } from "../reads.js";
import type { RunLog, StayLog } from "../run-log.js";
import { affordsPolls } from "./health.js";
import type { Context, Monitor } from "./monitor.js";
import { spendings, UNITS } from "./spendings.js";

/** What makes up an answer that there is no such pair: so many 404, the first of them so long ago, ms. */
export const ENOUGH = { answers: 3, time: 60_000 };
/** Who waits asks again after so long at first, and at most, ms. */
const PAUSE = { first: 60_000, last: 3_600_000 };
/** Who may fail asks for the first time after so long at most, and then again, ms. */
const HASTE = { first: 10_000, between: 30_000 };
/** What is learned of the service's clock moves no wait; timers may be a little late, ms. */
const SLACK = 100;

/** Promise 8, of a pair that is not known: each subscriber fails or waits as it has asked, and one poll is enough for all. */
export const watchMissing: Monitor = (log, context) => {
  for (const [key, stays] of pollsOf(log)) {
    for (const { from, until } of presencesOf(stays)) {
      const own = stays.filter(({ joined }) => joined >= from && joined <= until);
      const answers = answersTo(log, key).filter(({ sent }) => sent >= from && sent <= until);
      for (const stay of own) checkEnd(log, stay, answers, context, isShared(key));
      if (!isShared(key)) checkPace(log, own, answers, until, context);
    }
  }
};

function checkEnd(
  log: RunLog,
  stay: StayLog,
  answers: readonly Exchange[],
  context: Context,
  isMixed: boolean,
) {
  const { ended, joinedOrder, plan, id } = stay;
  const end = ended?.order ?? stay.leftOrder ?? Number.POSITIVE_INFINITY;
  const own = answers.filter(({ told }) => told!.order >= joinedOrder && told!.order < end);
  const lost = own.filter((answer) => isMissing(log, answer));
  const first = lost[0]?.received ?? Number.POSITIVE_INFINITY;
  const breach = (what: string, at: number) => context.breach(8, `${plan.kind} ${id} ${what}`, at);
  const wasSet = (at: number) => context.clockWasSet(Math.min(first, at), at);
  const { status, name } = (ended?.isError ? ended.value : {}) as { status?: number; name?: string };
  if (ended !== undefined && (status === 404 || name === "ContractError")) {
    if (waits(stay)) breach("does not wait", ended.at);
    const isEnough = lost.length >= ENOUGH.answers && ended.at - first >= ENOUGH.time - 1;
    if (!isEnough && !wasSet(ended.at)) breach(`gives up after ${lost.length} answers`, ended.at);
    if (stay.events.length > 0 || stay.statuses.some(({ value }) => value.state !== "starting"))
      breach(`ends with ${status ?? name} although it had begun`, ended.at);
    return;
  }
  // Others ask for the same report.
  if (waits(stay) || isMixed) return;
  const enough = lost.slice(ENOUGH.answers - 1).find(({ received }) => received! - first >= ENOUGH.time + 1);
  if (enough === undefined || wasSet(enough.received!)) return;
  const wasFound = answers.some(
    (answer) => answer.told!.isGood && !isBroken(answer) && answer.told!.order < enough.told!.order,
  );
  if (!wasFound) breach("does not give up", enough.received!);
}

/** One who may fail is answered twice a minute at least; among those who wait alone, twice as late each time. */
function checkPace(
  log: RunLog,
  stays: readonly StayLog[],
  answers: readonly Exchange[],
  until: number,
  context: Context,
) {
  if (!affordsPolls(log)) return;
  const { exchanges, plan } = log;
  const { quota } = plan.world.client;
  const spent = new Map<Exchange, number>();
  if (quota !== undefined)
    for (const { exchange, spent: units } of spendings(log, quota.per, context)) spent.set(exchange, units);
  const firstLost = answers.find(isLost)?.received;
  for (const [at, answer] of answers.entries()) {
    if (answer.told!.isGood) return;
    if (!isLost(answer)) continue;
    const { received = 0, url } = answer;
    const next =
      answers[at + 1]?.sent ??
      // Whoever comes when all have left asks at once.
      exchanges.find(({ sent, url: other }) => sent > received && sent <= until && isAlike(other, url))?.sent;
    const asked = next ?? until;
    const there = stays.filter(
      ({ joined, left, ended }) => joined < asked && (left ?? ended?.at ?? asked) > received,
    );
    const isOdd =
      context.sleptWithin(received, asked) ||
      context.clockWasSet(received, asked) ||
      // Then its status says that no units are left.
      (quota !== undefined && spent.get(answer)! + UNITS.ohlcv > quota.units) ||
      context.isThrottled(received) ||
      context.isThrottled(asked);
    if (isOdd || !context.isTrusted(answer.told!.order) || there.length === 0) continue;
    const wanted = there
      .filter(({ left, ended }) => (left ?? ended?.at ?? asked) >= asked)
      .map((stay) => latestFor(stay, received, received - firstLost!));
    const paused = asked - received;
    if (asked > Math.min(...wanted) + SLACK)
      context.breach(8, `asks for a pair that is not known ${paused} ms later`, asked);
    if (there.every(waits) && next !== undefined && paused < PAUSE.first - SLACK)
      context.breach(9, `asks for a pair that all wait for ${paused} ms later`, asked);
  }
}

/** When a subscriber is to have another answer after one at `received`; `missedFor`: since when there were none but such, ms. */
function latestFor(stay: StayLog, received: number, missedFor: number): number {
  const { joined } = stay;
  const first = Math.max(joined, received + PAUSE.first);
  if (joined > received) return waits(stay) ? first : Math.min(first, joined + HASTE.first);
  if (!waits(stay)) return received + HASTE.between;
  return received + pauseAfter(missedFor);
}

/** The longest pause after an answer that shows no such pair, for one who waits; `missedFor`: since the first of them, ms. */
export function pauseAfter(missedFor: number): number {
  return Math.min(PAUSE.last, missedFor + PAUSE.first);
}

/** Until when who waits may wait after the last answer that shows no such pair, whatever others are told meanwhile. */
export function mayWaitUntil(log: RunLog, stay: StayLog): number {
  const lost = answersTo(log, pollKeyOf(stay)!).filter(
    (answer) => answer.told!.order >= stay.joinedOrder && isMissing(log, answer),
  );
  const [first, last] = [lost[0]?.received, lost.at(-1)?.received];
  return last === undefined ? Number.NEGATIVE_INFINITY : last + pauseAfter(last - first!);
}

/** When a feed was there for the first time after its pair had not been known, the last time; the run's clock. */
export function foundAt(log: RunLog, key: string): number {
  let found = Number.NEGATIVE_INFINITY;
  // What cannot be read, before anything can, shows no such pair either.
  let [wasLost, hasPage, hasCandle] = [false, false, false];
  for (const answer of answersTo(log, key)) {
    const isOdd = isBroken(answer) ? !hasCandle : !hasPage && isUnreadable(log, answer);
    if (isLost(answer) || isOdd) wasLost = true;
    else if (wasLost && answer.told!.isGood) {
      found = answer.received!;
      wasLost = false;
    }
    hasPage ||= answer.told!.isGood;
    hasCandle ||= (readOf(answer)?.rows.size ?? 0) > 0;
  }
  return wasLost ? Number.POSITIVE_INFINITY : found;
}

/** Whether a subscriber waits for a pair that is not known. */
export function waits({ plan }: StayLog): boolean {
  return (plan.options as { whenMissing?: string }).whenMissing === "wait";
}

/** Whether an answer shows no such pair, before any other has shown it. */
export function isMissing(log: RunLog, answer: Exchange): boolean {
  return isLost(answer) || isUnreadable(log, answer);
}

function isLost({ status }: Exchange): boolean {
  return status === 404;
}

/** Whether a page has rows, and none that can be read; what lies in the interval before its range is not asked for. */
function isBroken(answer: Exchange): boolean {
  const read = readOf(answer);
  if (read?.asked.kind !== "ohlcv" || read.rows.size > 0) return false;
  const { from, series } = read.asked;
  const begin = intervalsOf(series.split(" ")[1] as Timeframe).end(from);
  return read.hasUnidentifiedRow || [...read.broken].some((start) => start >= begin);
}

/**
 * Whether nothing of an answer could be read, when it was asked for the last time: that shows no such pair either. What leads
 * on from a page without rows is a page of that pair.
 */
function isUnreadable({ plan }: RunLog, answer: Exchange): boolean {
  const { retry } = plan.world.client;
  const attempts = retry === false ? 1 : (retry?.attempts ?? 3);
  const { name } = (answer.told!.error ?? {}) as Partial<PairstreamError>;
  const isRefused = name === "ContractError" && !isCutShort(answer);
  return isBroken(answer) || (isRefused && (answer.attempt ?? 1) >= attempts);
}

/** What a stream asks for again and again. */
export function pollKeyOf({ plan }: StayLog): string | undefined {
  if (plan.kind === "snipers" || plan.kind === "sniper-status") {
    const { pairAddress, blocksAfterCreation } = plan.options;
    return `${pairAddress} ${blocksAfterCreation ?? null}`;
  }
  if (plan.kind !== "candles" && plan.kind !== "status") return undefined;
  const { pairAddress, timeframe, currency } = plan.options;
  return `${pairAddress} ${timeframe} ${currency}`;
}

function pollsOf(log: RunLog): ReadonlyMap<string, readonly StayLog[]> {
  const polls = new Map<string, StayLog[]>();
  for (const stay of log.stays) {
    const key = pollKeyOf(stay);
    if (key !== undefined) polls.set(key, [...(polls.get(key) ?? []), stay]);
  }
  return polls;
}

/** Whether those who look for the beginning of a series ask for the same: for the report as it comes. */
function isShared(key: string): boolean {
  return key.endsWith(" null");
}

/** Answers to a poll that the client has told of, histories aside. */
function answersTo({ told }: RunLog, key: string): Exchange[] {
  return told.filter(({ url, priority }) => {
    const { kind, series } = askedBy(url);
    return series === key && (kind === "snipers" || priority !== "history");
  });
}

function isAlike(a: string, b: string): boolean {
  return askedBy(a).series === askedBy(b).series;
}
