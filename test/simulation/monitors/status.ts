import type { FeedStatus, QuotaExceededError } from "../../../src/index.js";
import { intervalsOf } from "../calendar.js";
import { slotsAbout } from "../check.js";
import { type Span, spansWithin, withoutSpan } from "../coverage.js";
import type { Exchange } from "../exchanges.js";
import type { FeedPlan } from "../plan.js";
import { askedBy, asksFor, covers, isUnreadable, type Look } from "../reads.js";
import type { RunLog, Seen, StayLog } from "../run-log.js";
import { candlesAt } from "../truth.js";
import {
  APART,
  BESIDE,
  hiddenAgeOf,
  isAnotherAnswer,
  lackAt,
  lacksNewestEnd,
  NEWEST_END,
} from "./evidence.js";
import { affordsPolls, recoveryOf, roundTrip } from "./health.js";
import { foundAt, pauseAfter, pollKeyOf, waits } from "./missing.js";
import type { Context, Monitor } from "./monitor.js";
import { checkAge, isOfOldReports } from "./sniper-status.js";

/** Promise 6: a status is true at every instant. */
export const watchStatuses: Monitor = async (log, context) => {
  for (const stay of log.stays) {
    if (stay.plan.kind !== "status" && stay.plan.kind !== "sniper-status") continue;
    checkForm(stay, context);
    checkRecovery(log, stay, context);
    if (stay.plan.kind === "status") {
      checkLiveness(log, stay, stay.plan.feed, context);
      checkCoverage(stay, stay.plan.feed, log, context);
    }
    if (stay.plan.kind === "sniper-status" && affordsPolls(log))
      checkAge(log, stay, stay.plan, liveTimes(stay), context);
  }
};

function checkForm(stay: StayLog, context: Context) {
  let before: Seen<FeedStatus> | undefined;
  for (const seen of stay.statuses) {
    const { state, failures, lastError, coveredFrom, coveredUntil } = seen.value;
    const breach = (what: string) =>
      context.breach(6, `status ${stay.id}, ${JSON.stringify(seen.value)}: ${what}`, seen.at);
    if (before === undefined && seen.at !== stay.joined) breach("comes late");
    if (state === "live" && (failures !== 0 || lastError !== undefined)) breach("is live with failures");
    if (failures > 0 && lastError === undefined) breach("has failures without an error");
    if (before?.value.state !== undefined && before.value.state !== "starting" && state === "starting")
      breach("starts again");
    if (coveredFrom !== undefined && coveredUntil !== undefined && coveredFrom > coveredUntil)
      breach("covers less than nothing");
    if (before !== undefined && isSame(before.value, seen.value)) breach("is no change");
    before = seen;
  }
  if (stay.statuses.length === 0 && stay.ended === undefined)
    context.breach(6, `status ${stay.id} never says anything`, stay.joined);
}

function isSame(a: FeedStatus, b: FeedStatus): boolean {
  const keys = ["state", "coveredFrom", "coveredUntil", "failures", "lastError"] as const;
  return keys.every((key) => a[key] === b[key]);
}

/** In good health, live as soon as the back-off has passed, and from then on. */
function checkRecovery(log: RunLog, stay: StayLog, context: Context) {
  const { plan } = stay;
  if (stay.left === undefined || (plan.kind !== "status" && plan.kind !== "sniper-status")) return;
  if (!affordsPolls(log)) return;
  const found = !waits(stay)
    ? Number.NEGATIVE_INFINITY
    : plan.kind === "status"
      ? foundAt(log, pollKeyOf(stay)!)
      : waitsUntil(stay);
  const period = plan.kind === "status" ? plan.feed.period : Number(plan.options.every ?? 60_000);
  const wellFrom = Math.max(log.plan.world.start + log.plan.healthyFrom, stay.joined, found);
  const calmFrom = wellFrom + recoveryOf(log, period);
  const isBorn = context.serviceClock(wellFrom) > log.plan.world.createdAt + 1_000;
  if (plan.kind === "sniper-status" && !isBorn) return;
  let flaps = 0;
  for (const { from, until: end, value } of unwellTimes(stay)) {
    // What a quota leaves to its next period is late until then, and says so.
    const spent = stay.statuses.find(
      ({ at, value: { lastError } }) => at >= from && at <= end && lastError?.name === "QuotaExceededError",
    );
    const { resetsAt = 0 } = (spent?.value.lastError ?? {}) as Partial<QuotaExceededError>;
    const isSpent = context.serviceClock(end) <= resetsAt + 2 * (UNTOLD + roundTrip(log));
    const until = isSpent ? spent!.at : end;
    if (until <= Math.max(from, calmFrom)) continue;
    const at = Math.max(from, calmFrom);
    if (isHeldBack(log, context, from, until)) continue;
    if (plan.kind === "sniper-status" && isOfOldReports(log, plan, { at, until }, context)) continue;
    if (from >= calmFrom && until - from <= 2 * roundTrip(log)) {
      flaps += 1;
      if (flaps <= MOST_FLAPS) continue;
    }
    if (plan.kind === "status") {
      if (value.state === "starting" && isReading(log, plan.feed, at, until)) continue;
      // A cache that repeats the last answer of a history is asked again after a pause as long as its copy is old, at most.
      const past = context
        .looksAt(plan.feed)
        .findLast(({ isHistory, received }) => isHistory && received <= at);
      if (value.state === "starting" && past && until - past.received <= past.old + READING) continue;
      if (isShort(log, from, until, plan.feed, context)) continue;
      // What a row that breaks holds is not known, until the next poll.
      const last = context
        .looksAt(plan.feed)
        .findLast(({ isHistory, received }) => !isHistory && received <= at);
      if (last !== undefined && (last.broken.size > 0 || last.hasUnidentifiedRow)) continue;
      // What the newest end lacks is in doubt for so long: from there on nothing is covered, and that is true.
      const { end, start } = intervalsOf(plan.feed.series.timeframe, plan.feed.weekStart);
      const now = start(context.serviceClock(at));
      const doubt = Math.max(NEWEST_END, end(now) - now) + period + roundTrip(log);
      if (lacksNewestEnd(context.looksAt(plan.feed), at, doubt) && until - at <= doubt) continue;
      // What an answer lacks of the known is in doubt until another one, made a second later, lacks it as well.
      const finalUntil = ({ answeredAt }: Look) => context.changeableFrom(plan.feed, answeredAt);
      const lack = lackAt(context.looksAt(plan.feed), at, finalUntil);
      if (until - lack.since <= lack.rounds * (APART + period + roundTrip(log))) continue;
      // Of a pair that is well known nothing goes as long as nothing at all shows. What shows something again is followed by a question
      // for the known candles alone, and by two for what is lacking.
      const isShownLate = until - lack.shownAt <= APART + 3 * roundTrip(log);
      if (lack.finals >= WELL_KNOWN && isShownLate) continue;
      // A machine that lags shows for so long what is gone, and lacks for as long what has come.
      const lag = log.plan.world.replicas?.lag ?? 0;
      const lags = ({ asOf, answeredAt, isHistory, received }: Look) =>
        asOf < answeredAt && !isHistory && received > at - period - lag && received <= until;
      if (context.looksAt(plan.feed).some(lags) && until - at <= APART + 2 * (lag + period + roundTrip(log)))
        continue;
      // While a cache gives what it has, the feed is late, and that is true.
      const kept = log.plan.world.cache?.keeps ?? 0;
      const isCopy = ({ old, isHistory, received }: Look) =>
        old > 0 && !isHistory && received > at - period && received <= until;
      if (context.looksAt(plan.feed).some(isCopy) && until - at <= kept + period + roundTrip(log)) continue;
    }
    context.breach(
      6,
      `status ${stay.id} of ${plan.kind === "status" ? plan.feed.series.timeframe : "snipers"} is ${value.state} in good health for ${until - at} ms: ${JSON.stringify(value)}`,
      at,
    );
    return;
  }
}

/**
 * Until when a status may wait for a report, as long as it says that there is none: the report may have come to others, who
 * ask when the pair was created, and who wait for none.
 */
function waitsUntil({ statuses }: StayLog): number {
  const missed = statuses.filter(
    ({ value: { state, lastError } }) => state === "starting" && lastError !== undefined,
  );
  const [first, last] = [missed[0], missed.at(-1)];
  return last === undefined ? Number.NEGATIVE_INFINITY : last.at + pauseAfter(last.at - first!.at);
}

/** A pair with so many final candles is not believed to have none any more. */
const WELL_KNOWN = 4;
/** What a user does not mind in a stretch of good health: a status that flaps for two round trips, so often. */
const MOST_FLAPS = 1;

/** The stretches in which a status is not live, each with the first of what it says then. */
function unwellTimes({ statuses, left, joined }: StayLog) {
  const times: { from: number; until: number; value: FeedStatus }[] = [];
  let from: Seen<FeedStatus> | undefined;
  for (const seen of statuses) {
    if (seen.value.state !== "live") from ??= seen;
    else if (from !== undefined) {
      times.push({ from: from.at, until: seen.at, value: from.value });
      from = undefined;
    }
  }
  if (from !== undefined) times.push({ from: from.at, until: left ?? joined, value: from.value });
  return times;
}

/** Whether a stop of the service, or the limit of the client, has let nothing through for a part of a stretch. */
function isHeldBack(log: RunLog, context: Context, from: number, until: number): boolean {
  return (
    context.isThrottled(from) ||
    context.isThrottled(until) ||
    log.told.some(({ status, received }) => status === 429 && received! >= from && received! <= until)
  );
}

/** A history is being read while its requests follow each other so closely, ms. */
const READING = 2_000;
/** After one that failed its next request comes within so long, ms. */
const LONGEST_WAIT = 60_000;

function isReading({ exchanges }: RunLog, { series }: FeedPlan, at: number, until: number): boolean {
  const own = exchanges.filter(
    ({ url, priority, sent }) =>
      priority === "history" &&
      sent <= at + READING &&
      askedBy(url).series === `${series.pairAddress} ${series.timeframe} ${series.currency}`,
  );
  const endOf = ({ endedAt = Number.POSITIVE_INFINITY }) => endedAt;
  // Of several who read a history one may be answered while another one waits, as what it had asked for has failed.
  const failed = own.filter(({ faults, told }) => faults.length > 0 || told?.isGood === false).map(endOf);
  return Math.max(...own.map(endOf)) >= at - READING || until - Math.max(...failed) <= LONGEST_WAIT + READING;
}

/** So much of the service's clock no `Date` tells, ms. */
const UNTOLD = 1_000;

/**
 * Whether a status flaps for less than two round trips, where two polls are due so close to each other that the first may be
 * answered only after the second is due: until that it is true that it is late.
 */
function isShort(log: RunLog, from: number, until: number, feed: FeedPlan, context: Context): boolean {
  const longest = 2 * roundTrip(log) + 1;
  const now = context.serviceClock(from);
  const slots = slotsAbout(feed, now).filter((slot) => Math.abs(slot - now) <= 2 * UNTOLD + longest);
  const areClose = slots.some(
    (slot, at) => slot - (slots[at - 1] ?? Number.NEGATIVE_INFINITY) < UNTOLD + longest,
  );
  return areClose && until - from < longest;
}

/** A poll that is due is asked for, and answered, so much later than it is known to be due, ms. */
const ON_TIME = 1_200;
/** It is late no sooner than so long after it was due, ms. */
const PATIENCE = 2_000;

/** Not live when the newest due poll has gone unanswered past its slot, nor after one that failed for good. */
function checkLiveness(log: RunLog, stay: StayLog, feed: FeedPlan, context: Context) {
  checkFailures(log, stay, feed, context);
  if (!affordsPolls(log)) return;
  const good = context.looksAt(feed).filter((look) => !look.isHistory);
  for (const { from, until } of liveTimes(stay)) {
    // It is stalest just before each good answer, and at the end.
    for (const moment of [
      ...good.map(({ received }) => received).filter((received) => received > from && received < until),
      until,
    ]) {
      const last = good.findLast((look) => look.received <= moment - 0.5);
      if (
        last === undefined ||
        context.sleptWithin(last.received, moment) ||
        context.clockWasSet(last.received, moment)
      )
        continue;
      const tolerance = context.toleranceAt(last.order) + ON_TIME;
      const beside = context.mayBeMachine(last.order) ? BESIDE : 0;
      const untold = context.untoldAt(last.order) + beside;
      const due = context.newestDue(feed, context.serviceClock(moment) - tolerance - beside, untold);
      if (due === undefined || context.serviceClock(last.received) + tolerance >= due.at) continue;
      if (!context.knowsTime(last.order)) continue;
      // A slot that a look has run past is skipped.
      if (due.at <= context.serviceClock(from)) continue;
      const known = context.serviceClock(moment) - context.toleranceAt(last.order);
      if (known - untold <= due.at + PATIENCE) continue;
      if (!context.isTrusted(good.find((look) => look.received >= moment)?.order ?? last.order + 1)) continue;
      if (putsOffPolls(log, last.received, moment)) continue;
      context.breach(
        6,
        `status ${stay.id} of ${feed.series.timeframe} is live, but the poll due at ${new Date(due.at).toISOString()} has no answer (last ${new Date(last.answeredAt).toISOString()})`,
        moment,
      );
      return;
    }
  }
}

/** Whether the client has told within a stretch that a quota puts off what is no closing. */
function putsOffPolls({ activities }: RunLog, from: number, until: number): boolean {
  const told = activities.flatMap(({ at, value }) =>
    value.type === "quota" ? [{ at, refresh: value.refresh }] : [],
  );
  return told.some(
    ({ at, refresh }, index) => refresh > 1 && at <= until && (told[index + 1]?.at ?? until) >= from,
  );
}

/** A slot asks again after a second, ms. */
const SAME_SLOT = 1_100;

/** A poll whose last attempt has failed ends a status that is live, until the next one is answered. */
function checkFailures({ told, plan }: RunLog, stay: StayLog, feed: FeedPlan, context: Context) {
  const { retry } = plan.world.client;
  const attempts = retry === false ? 1 : (retry?.attempts ?? 3);
  const series = `${feed.series.pairAddress} ${feed.series.timeframe} ${feed.series.currency}`;
  const polls = told.filter(({ url, priority }) => priority !== "history" && askedBy(url).series === series);
  const live = liveTimes(stay);
  for (const [at, poll] of polls.entries()) {
    const { attempt = 1, told: end, received, url } = poll;
    if (end!.isGood || attempt < attempts || received === undefined || received < stay.joined) continue;
    const next = polls[at + 1];
    // What is asked for again within a second belongs to the same slot, and so would what nobody has stayed for.
    if ((next?.sent ?? stay.left ?? received) - received <= SAME_SLOT) continue;
    // What the client's rate limit holds back is the same slot's still, and no poll has failed.
    if (context.isThrottled(received + SAME_SLOT)) continue;
    // Where a quota has no unit left for that, the status says so instead.
    if (isSpentWithin(stay, received, received + SAME_SLOT)) continue;
    const first = polls.findLast(({ url }, before) => before < at && askedBy(url).cursor === undefined);
    if (first !== undefined && isToldBefore(first, poll, stay, context.answersOf(feed.series))) continue;
    const until = next?.received ?? stay.left ?? received;
    const stays = live.find((time) => time.from <= received && time.until > received && received < until);
    if (stays === undefined) continue;
    context.breach(
      6,
      `status ${stay.id} of ${feed.series.timeframe} stays live after a poll that failed: ${url.slice(-120)}`,
      received,
    );
    return;
  }
}

/** Whether a status comes to say within a stretch that a quota is spent. */
function isSpentWithin({ statuses }: StayLog, from: number, until: number): boolean {
  return statuses.some(
    ({ at, value }) => at >= from && at <= until && value.lastError?.name === "QuotaExceededError",
  );
}

/** The stretches in which a status is live. */
/** Whether the pages before one that has failed, from the `first` on, have told of all that was not covered. */
function isToldBefore(first: Exchange, failed: Exchange, { statuses }: StayLog, answers: readonly Look[]) {
  if (askedBy(failed.url).cursor === undefined) return false;
  const covered = statuses.findLast(({ at }) => at <= failed.received!)?.value.coveredUntil;
  const told = answers.findLast(({ order }) => order <= failed.told!.order);
  const isOfThese = told !== undefined && told.url === first.url && told.received >= first.received!;
  return covered !== undefined && isOfThese && told.asked.from <= covered;
}

function liveTimes({ statuses, left, ended, joined }: StayLog) {
  const times: { from: number; until: number }[] = [];
  for (const [at, { at: from, value }] of statuses.entries()) {
    if (value.state !== "live") continue;
    const last = times.at(-1);
    const until = statuses[at + 1]?.at ?? left ?? ended?.at ?? joined;
    if (last?.until === from && statuses[at - 1]?.value.state === "live") last.until = until;
    else times.push({ from, until });
  }
  return times;
}

/**
 * What is newly covered was read after its end, but for rows that could not be read, and every candle that it held was
 * shown, save where nobody could know of it. Nothing is newly covered while a candle before it is missing for the first time.
 */
function checkCoverage(stay: StayLog, feed: FeedPlan, log: RunLog, context: Context) {
  const intervals = intervalsOf(feed.series.timeframe, feed.weekStart);
  const looks = context.looksAt(feed);
  const answers = context.answersOf(feed.series);
  const bornAt = context.bornAt(feed);
  let until: number | undefined;
  for (const { at, order, value } of stay.statuses) {
    const { coveredFrom, coveredUntil } = value;
    if (coveredFrom === undefined || coveredUntil === undefined || coveredFrom === coveredUntil) continue;
    const breach = (what: string) =>
      context.breach(6, `status ${stay.id} of ${feed.series.timeframe} covers ${what}`, at);
    const isTrusted = context.isTrusted(order);
    const settled = intervals.start(context.serviceClock(at) + context.clockTolerance - feed.settle);
    if (isTrusted && coveredUntil > settled)
      breach(`until ${new Date(coveredUntil).toISOString()}, which has not settled`);
    const added = { from: Math.max(coveredFrom, until ?? coveredFrom), to: coveredUntil };
    if (added.from >= added.to) continue;
    if (until !== undefined) {
      const missing = missingFirst(looks, { from: coveredFrom, to: coveredUntil }, order, feed, context);
      if (missing !== undefined)
        breach(`more although ${new Date(missing).toISOString()} is missing for the first time`);
    }
    until = Math.max(until ?? coveredUntil, coveredUntil);
    const reads = answers.flatMap((look) => {
      const seemsMadeAt = look.answeredAt + hiddenAgeOf(look, log);
      const settledAt = intervals.start(seemsMadeAt + context.toleranceAt(look.order) - feed.settle);
      const to = isTrusted ? settledAt : look.asked.to;
      const [span] = spansWithin([look.asked], { from: added.from, to: Math.min(to, added.to) });
      return look.order <= order && span !== undefined ? [{ look, span }] : [];
    });
    let unread: readonly Span[] = [{ from: Math.max(added.from, bornAt), to: added.to }];
    for (const { look, span } of reads) {
      // A week may begin on two days, and a look names both.
      const isOwn = (timestamp: number) =>
        intervals.start(timestamp) === timestamp && covers(look, timestamp);
      const broken = [...look.broken].filter(isOwn);
      const whole = broken.reduce<readonly Span[]>(
        (spans, timestamp) => withoutSpan(spans, { from: timestamp, to: intervals.end(timestamp) }),
        [span],
      );
      unread = whole.reduce(withoutSpan, unread);
    }
    const [first] = unread.filter(({ from, to }) => from < to);
    if (first !== undefined)
      breach(`${new Date(first.from).toISOString()}, which was not read after its end`);
    const lost = lostIn(reads, log, feed);
    if (lost !== undefined)
      breach(`${new Date(lost).toISOString()}, whose candle it could know to be lacking`);
  }
}

/** The first candle that the service had, and that answers lack in such a way that it shows. */
export function lostIn(
  reads: readonly { readonly look: Look; readonly span: Span }[],
  log: RunLog,
  feed: FeedPlan,
): number | undefined {
  const isShown = (timestamp: number) =>
    reads.some(
      ({ look }) => look.rows.has(timestamp) || (covers(look, timestamp) && isUnreadable(look, timestamp)),
    );
  const { quirks, network, createdAt } = log.plan.world;
  // Where an empty answer hides what comes after a creation that no report tells, nobody could know.
  const hides = (look: Look) =>
    quirks.emptyBeforeCreation && network === "devnet" && look.asked.from < createdAt;
  for (const { look, span } of reads) {
    if (hides(look)) continue;
    for (const timestamp of candlesAt(log, feed.series, { ...span, at: look.asOf }).keys()) {
      if (isShown(timestamp)) continue;
      const about = reads.filter((read) => timestamp >= read.span.from && timestamp < read.span.to);
      // Beside other rows it cannot be told from a silence; where there are none, two answers that were made apart say so.
      if (about.some((read) => read.look.rows.size > 0)) continue;
      if (about.some((one) => about.some((other) => isAnotherAnswer(one.look, other.look)))) continue;
      return timestamp;
    }
  }
  return undefined;
}

/** The first candle of the window that the last look lacks, and the one before it had. */
export function missingFirst(
  looks: readonly Look[],
  { from, to }: Span,
  order: number,
  feed: FeedPlan,
  context: Context,
): number | undefined {
  const intervals = intervalsOf(feed.series.timeframe, feed.weekStart);
  const polls = looks.filter((look) => !look.isHistory && look.order <= order);
  // Before the pair's first interval there is none to begin a request with.
  const bornAt = context.bornAt(feed);
  const recent = new Set(polls.slice(-6).flatMap(({ rows }) => [...rows.keys()]));
  for (const timestamp of [...recent].sort((a, b) => a - b)) {
    if (timestamp < from || timestamp >= to) continue;
    const isAsked = (look: Look) =>
      asksFor(look, timestamp, intervals) || (timestamp === bornAt && covers(look, timestamp));
    const [before, last] = polls.filter(isAsked).slice(-2);
    if (before === undefined || last === undefined) continue;
    // What has left the window is in the margin of a request, and is not looked at.
    if (timestamp < context.changeableFrom(feed, last.answeredAt)) continue;
    // A poll that begins anew knows nothing of what was there before.
    if (!context.isWatched(feed, before.sent, last.received)) continue;
    if (before.rows.has(timestamp) && !last.rows.has(timestamp) && !isUnreadable(last, timestamp))
      return timestamp;
  }
  return undefined;
}
