import type { FeedStatus } from "../../../src/index.js";
import { intervalsOf } from "../calendar.js";
import { slotsAbout } from "../check.js";
import { isProbe, readOf } from "../economy/answers.js";
import { hasFalseDate } from "../exchanges.js";
import type { FeedPlan } from "../plan.js";
import { asksFor, covers, isAboutOne, isUnreadable, type Look } from "../reads.js";
import type { RunLog, Seen, StayLog } from "../run-log.js";
import { candlesAt } from "../truth.js";
import { isAnotherAnswer } from "./deletion.js";
import { foundAt, pollKeyOf, waits } from "./missing.js";
import type { Context, Monitor } from "./monitor.js";

/** A doubt is settled within this time, in ms, the longest wait after a failure counted in. */
const JUST_BEFORE = 62_000;

/** Promise 6: a status is true at every instant. */
export const watchStatuses: Monitor = async (log, context) => {
  for (const stay of log.stays) {
    if (stay.plan.kind !== "status" && stay.plan.kind !== "sniper-status") continue;
    checkForm(stay, context);
    await checkRecovery(log, stay, context);
    if (stay.plan.kind === "status") {
      checkLiveness(log, stay, stay.plan.feed, context);
      checkCoverage(stay, stay.plan.feed, log, context);
    }
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

/** In good health, live within a slot, and from then on. */
async function checkRecovery(log: RunLog, stay: StayLog, context: Context) {
  const { plan } = stay;
  // What a quota has stretched is not due.
  if (log.plan.world.client.quota !== undefined) return;
  if (stay.left === undefined || (plan.kind !== "status" && plan.kind !== "sniper-status")) return;
  const grace =
    plan.kind === "status"
      ? context.graceOf(plan.feed)
      : context.sniperGrace(Number(plan.options.every ?? 60_000));
  const found = waits(stay) ? foundAt(log, pollKeyOf(stay)!) : Number.NEGATIVE_INFINITY;
  const calmFrom = Math.max(log.plan.world.start + log.plan.healthyFrom, stay.joined, found) + grace;
  if (stay.left <= calmFrom) return;
  const isBorn = context.serviceClock(calmFrom - grace) > log.plan.world.createdAt + 1_000;
  if (plan.kind === "sniper-status" && !isBorn) return;
  // Answers that take longer than a slot make a feed late, and that is true.
  if (plan.kind === "status" && plan.feed.period <= 1_000) return;
  // A service that allows less than the client was told of is no good health.
  if (
    log.told.some(
      ({ status, faults, sent }) => status === 429 && faults.length === 0 && sent > calmFrom - grace,
    )
  )
    return;
  let state: FeedStatus | undefined;
  let wasShort = false;
  for (const seen of stay.statuses) {
    wasShort = plan.kind === "status" && isShort(seen, stay, plan.feed, log, context);
    const isWell = wasShort || (plan.kind === "status" && (await isForked(seen, plan.feed, log, context)));
    if (seen.at > calmFrom && state?.state === "live" && seen.value.state !== "live" && !isWell) {
      context.breach(
        6,
        `status ${stay.id} is ${seen.value.state} in good health: ${JSON.stringify(seen.value)}`,
        seen.at,
      );
      return;
    }
    state = seen.value;
  }
  if (state?.state !== "live" && !wasShort && !context.isThrottled(stay.left))
    context.breach(6, `status ${stay.id} ends ${state?.state}: ${JSON.stringify(state)}`, stay.left);
}

/** Whether a poll has failed as a final candle that should be in its answer is gone, which nobody could know. */
async function isForked({ at, value }: Seen<FeedStatus>, feed: FeedPlan, log: RunLog, context: Context) {
  const [lacks] = /\d{4}-\d\d-\d\dT[\d:.]+Z(?=, which was there)/.exec(value.lastError?.message ?? "") ?? [];
  if (lacks === undefined) return false;
  const from = Date.parse(lacks);
  const answers = context
    .looksAt(feed)
    .filter(({ received }) => received <= at && received > at - JUST_BEFORE);
  for (const { asOf } of answers) {
    // It may be back when it is asked for alone.
    if (candlesAt(log, feed.series, { from, to: from + 1, at: asOf }).size === 0) return true;
  }
  return false;
}

/**
 * Whether two polls are due so close to each other that the first is answered, and well, only after the second. Whoever
 * leaves before that has not seen whether it is.
 */
function isShort(
  seen: Seen<FeedStatus>,
  stay: StayLog,
  feed: FeedPlan,
  log: RunLog,
  context: Context,
): boolean {
  const { at, value } = seen;
  const { latency, machines, cache } = log.plan.world;
  const { base, spread } = latency;
  // Of several machines, or what lies look like, the one that is behind is waited for, and until a second turns.
  const hasLied = log.told.some(hasFalseDate);
  const areMachines = machines !== undefined || hasLied;
  const turn = areMachines ? 2_000 : 0;
  // What a cache gives again proves nothing new: the next slot does.
  const wait = turn + (cache === undefined ? 0 : cache.keeps + feed.period);
  // A look may take three pages, or be repeated twice.
  const longestTrip = 3 * 2 * (base + spread) + context.clockTolerance + wait;
  const now = context.serviceClock(at);
  const slots = slotsAbout(feed, now).filter((slot) => slot <= now + 1_000);
  const [before = 0, due = 0] = slots.slice(-2);
  const next = stay.statuses
    .slice(stay.statuses.indexOf(seen) + 1)
    .find(({ value: { state } }) => state !== value.state);
  return (
    value.failures === 0 &&
    (areMachines || cache !== undefined || due - before < longestTrip) &&
    (next === undefined || next.value.state === "live") &&
    (next?.at ?? stay.left ?? Number.POSITIVE_INFINITY) - at < longestTrip
  );
}

/** Not live when the newest due poll has gone unanswered past its slot, nor after one that failed for good. */
function checkLiveness(log: RunLog, stay: StayLog, feed: FeedPlan, context: Context) {
  if (log.plan.world.client.quota !== undefined) return;
  const good = context.looksAt(feed).filter((look) => !look.isHistory);
  const ends = stay.left ?? stay.ended?.at ?? stay.joined;
  const changes = stay.statuses.map(({ at, value }) => ({ at, state: value.state }));
  const looksFrom = (at: number) => good.filter((look) => look.received <= at).at(-1);
  for (let at = 0; at < changes.length; at += 1) {
    if (changes[at]!.state !== "live") continue;
    const from = changes[at]!.at;
    const until = changes[at + 1]?.at ?? ends;
    // It is stalest just before each good answer, and at the end.
    for (const moment of [
      ...good.map(({ received }) => received).filter((received) => received > from && received < until),
      until,
    ]) {
      const last = looksFrom(moment - 0.5);
      if (
        last === undefined ||
        context.sleptWithin(last.received, moment) ||
        context.clockWasSet(last.received, moment)
      )
        continue;
      const due = context.newestDue(feed, context.serviceClock(moment) - context.clockTolerance - 1_200);
      if (due === undefined || context.serviceClock(last.received) + context.clockTolerance + 1_200 >= due.at)
        continue;
      if (!context.knowsTime(last.order)) continue;
      // A slot that a look has run past is skipped.
      if (due.at <= context.serviceClock(from)) continue;
      if (!context.isTrusted(good.find((look) => look.received >= moment)?.order ?? last.order + 1)) continue;
      context.breach(
        6,
        `status ${stay.id} of ${feed.series.timeframe} is live, but the poll due at ${new Date(due.at).toISOString()} has no answer (last ${new Date(last.answeredAt).toISOString()})`,
        moment,
      );
      return;
    }
  }
}

/** What is newly covered was read after its end, and what it held is accounted for. */
function checkCoverage(stay: StayLog, feed: FeedPlan, log: RunLog, context: Context) {
  const intervals = intervalsOf(feed.series.timeframe, feed.weekStart);
  const looks = context.looksAt(feed);
  const answers = context.answersOf(feed.series);
  let until: number | undefined;
  for (const { at, order, value } of stay.statuses) {
    const { coveredFrom, coveredUntil } = value;
    if (coveredFrom === undefined || coveredUntil === undefined || coveredFrom === coveredUntil) continue;
    const breach = (what: string) =>
      context.breach(6, `status ${stay.id} of ${feed.series.timeframe} covers ${what}`, at);
    const settled = intervals.start(context.serviceClock(at) + context.clockTolerance - feed.settle);
    if (context.isTrusted(order) && coveredUntil > settled)
      breach(`until ${new Date(coveredUntil).toISOString()}, which has not settled`);
    const polls = looks.filter((look) => !look.isHistory && look.order <= order);
    // What an answer is doubted for is asked about alone; then that answer counts.
    const [former, latest] = lastTwo(polls.filter(({ asked }) => !isAboutOne(asked, intervals)));
    if (until !== undefined && coveredUntil > until && polls.at(-1)?.order === order) {
      const lacking = latest && witnessLackedBy(latest, former, feed, context);
      if (lacking !== undefined) breach(`more by an answer that lacks ${new Date(lacking).toISOString()}`);
    }
    const window =
      latest === undefined ? Number.POSITIVE_INFINITY : context.changeableFrom(feed, latest.answeredAt);
    if (until !== undefined && coveredUntil > until) {
      for (
        let timestamp = Math.max(window, coveredFrom);
        timestamp < until;
        timestamp = intervals.end(timestamp)
      ) {
        if (isUnconfirmed(looks, timestamp, order, feed, context))
          breach(`more although ${new Date(timestamp).toISOString()} is missing for the first time`);
      }
    }
    let budget = 3_000;
    for (
      let timestamp = Math.max(coveredFrom, until ?? coveredFrom);
      timestamp < coveredUntil && budget > 0;
      timestamp = intervals.end(timestamp)
    ) {
      budget -= 1;
      const needed = intervals.end(timestamp) + feed.settle;
      const reads = answers.filter(
        (look) =>
          look.order <= order &&
          covers(look, timestamp) &&
          (look.answeredAt + context.clockTolerance >= needed || !context.isTrusted(order)) &&
          !look.broken.has(timestamp),
      );
      if (reads.length === 0 && timestamp >= context.bornAt(feed)) {
        breach(`${new Date(timestamp).toISOString()}, which was not read after its end`);
        break;
      }
      const isLone =
        !isProven(reads, feed, context) &&
        !lacksShown(looks, reads[0]) &&
        !isProbed(log, feed, reads[0], timestamp);
      if (isLone && timestamp >= context.bornAt(feed)) {
        breach(`${new Date(timestamp).toISOString()}, of which one empty answer tells`);
        break;
      }
      // What was covered before a doubt arose stays so, and a newcomer is told of it.
      if (until !== undefined && isUnconfirmed(looks, timestamp, order, feed, context)) {
        breach(`${new Date(timestamp).toISOString()}, whose candle is missing for the first time`);
        break;
      }
    }
    until = Math.max(until ?? coveredUntil, coveredUntil);
  }
}

function lastTwo(looks: readonly Look[]): [former: Look | undefined, latest: Look | undefined] {
  return [looks.at(-2), looks.at(-1)];
}

/** The known candle with which a look begins, and which it lacks: it was final, and in the look before. */
function witnessLackedBy(
  look: Look,
  former: Look | undefined,
  feed: FeedPlan,
  context: Context,
): number | undefined {
  const intervals = intervalsOf(feed.series.timeframe, feed.weekStart);
  const witness = intervals.shift(intervals.start(look.asked.from), 1);
  const wasFinal = former !== undefined && witness < context.changeableFrom(feed, former.answeredAt);
  if (!wasFinal || !former.rows.has(witness) || look.rows.has(witness)) return undefined;
  return isUnreadable(look, witness) ? undefined : witness;
}

/** Whether looks at an interval are more than a single one without rows, or one that a cache has given again. */
function isProven(looks: readonly Look[], feed: FeedPlan, context: Context): boolean {
  const [first] = looks;
  if (
    looks.some(
      ({ rows, broken, hasUnidentifiedRow }) => rows.size > 0 || broken.size > 0 || hasUnidentifiedRow,
    )
  )
    return true;
  return (
    first !== undefined &&
    looks.some(
      (look) => look !== first && (look.url !== first.url || isAnotherAnswer(first, look, feed, context)),
    )
  );
}

/** Whether one who looked for the beginning has asked for an interval as well, and had no candle either. */
function isProbed({ told }: RunLog, _feed: FeedPlan, empty: Look | undefined, timestamp: number): boolean {
  return told.some((exchange) => {
    if (exchange.url === empty?.url || !isProbe(exchange)) return false;
    const read = readOf(exchange);
    if (read === undefined || read.asked.series !== empty?.asked.series || read.served > 0) return false;
    return timestamp >= read.asked.from && timestamp < read.asked.to && exchange.priority === "history";
  });
}

/** Whether an empty look lacks a candle that one just before it has shown: what counts then is that absence. */
function lacksShown(looks: readonly Look[], empty: Look | undefined): boolean {
  if (empty === undefined) return false;
  const before = looks.filter(
    ({ isHistory, order, sent }) => !isHistory && order < empty.order && empty.sent - sent <= JUST_BEFORE,
  );
  return before.some(({ rows }) => [...rows.keys()].some((timestamp) => covers(empty, timestamp)));
}

/** Whether the last look lacks what the one before it had. */
function isUnconfirmed(
  looks: readonly Look[],
  timestamp: number,
  order: number,
  feed: FeedPlan,
  context: Context,
): boolean {
  const intervals = intervalsOf(feed.series.timeframe, feed.weekStart);
  const about = looks.filter(
    (look) => !look.isHistory && look.order <= order && asksFor(look, timestamp, intervals),
  );
  const [before, last] = about.slice(-2);
  // What has left the window is in the margin of a request, and is not looked at.
  if (last === undefined || timestamp < context.changeableFrom(feed, last.answeredAt)) return false;
  // A poll that begins anew knows nothing of what was there before.
  if (before !== undefined && !context.isWatched(feed, before.sent, last.received)) return false;
  return (
    before?.rows.has(timestamp) === true &&
    last !== undefined &&
    !last.rows.has(timestamp) &&
    !last.broken.has(timestamp) &&
    !last.hasUnidentifiedRow
  );
}
