import { type Intervals, intervalsOf } from "../calendar.js";
import type { FeedPlan } from "../plan.js";
import {
  type Asked,
  askedBy,
  asksFor,
  covers,
  isProbe,
  isUnreadable,
  type Look,
  lacksOlder,
} from "../reads.js";
import type { RunLog } from "../run-log.js";
import { APART, isAnotherAnswer, NEWEST_END } from "./evidence.js";
import { describe } from "./lives.js";
import type { Context, Monitor } from "./monitor.js";

/** How far a client may be wrong about the service's clock while it is being learned, ms. */
const CLOCK_ERROR = 1_200;
/** Within this time, in ms, what is in doubt is asked for again. */
const SECOND_LOOK = 1_050 + CLOCK_ERROR;

/** An answer of a doubtful time, and those after it for so long, ms, may be left out by whoever asks for the time first. */
const DOUBTED_FOR = 5_000;

/** Promise 7: a candle goes only after two answers that could have shown it and did not, made apart, none between them did. */
export const watchDeletion: Monitor = (log, context) => {
  for (const stay of log.stays) {
    if (stay.plan.kind !== "candles") continue;
    const { feed } = stay.plan;
    const intervals = intervalsOf(feed.series.timeframe, feed.weekStart);
    // Whether there is anything in a range says nothing of a candle.
    const polls = context.looksAt(feed).filter((look) => !look.isHistory && !isProbe(look));
    for (const { at, order, value: event } of stay.events) {
      const { timestamp, swaps } = event.candle;
      const isReal = event.type === "removed" && swaps > 0;
      const isEmptied = event.type === "updated" && swaps === 0 && event.previous.swaps > 0;
      if (!isReal && !isEmptied) continue;
      const breach = (what: string) => context.breach(7, `stay ${stay.id}, ${describe(event)}: ${what}`, at);
      const all = polls.filter((look) => look.order <= order && hasAskedFor(look, timestamp, intervals));
      if (all.length > 0 && isUnreadable(all.at(-1)!, timestamp))
        breach("goes although a row could not be read");
      const about = all.filter((look) => !isUnreadable(look, timestamp));
      const last = about.at(-1);
      const { absences, shown } = sinceShown(about, timestamp);
      if (last?.rows.has(timestamp)) breach("goes although it is there");
      else if (absences.length < 2) breach("goes on its first absence");
      else if (!absences.some((look) => isAnotherAnswer(look, last!, look.received - look.sent)))
        breach("goes on answers that were made at once");
      else if (shown !== undefined && isNewestEnd(timestamp, shown, last!)) {
        const least = Math.max(NEWEST_END, intervals.end(timestamp) - timestamp - APART);
        const { received, sent } = absences.at(-1)!;
        const missed = last!.madeAt - shown.madeAt;
        if (!isAnotherAnswer(shown, last!, received - sent, least))
          breach(`goes at the newest end, not shown for ${missed} ms`);
      }
      const unasked = polls.at(-1)!;
      if (last !== undefined && unasked.order <= order && !covers(unasked, timestamp))
        breach("goes although nobody asked for it");
    }
  }
  for (const feed of log.plan.feeds) {
    watchSecondLooks(pollsOf(feed, context), feed, log, context);
  }
};

/** The looks of a poll itself: whether a search is shown anything says nothing of a candle. */
function pollsOf(feed: FeedPlan, context: Context): readonly Look[] {
  return context.looksAt(feed).filter((look) => !look.isHistory && !isProbe(look));
}

/** Whether a look was asked for an interval: whether what lies in the margin at its end is there nobody wants to know. */
function hasAskedFor(look: Look, timestamp: number, intervals: Intervals): boolean {
  return covers(look, timestamp) && timestamp < intervals.shift(look.asked.to, -1);
}

/** The looks that lack a candle, in a row, up to the last one, and the one before them that showed it. */
function sinceShown(about: readonly Look[], timestamp: number) {
  const absences: Look[] = [];
  for (const look of [...about].reverse()) {
    if (!look.rows.has(timestamp)) absences.push(look);
    else if (!isPassedOver(look, about)) return { absences, shown: look };
  }
  return { absences, shown: undefined };
}

/** Whether a look may count for nothing: its time is in doubt, or that of one just before it. */
function isPassedOver(look: Look, looks: readonly Look[]): boolean {
  return looks.some(
    ({ isTimeDoubtful, received, order }) =>
      isTimeDoubtful && order <= look.order && look.received - received <= DOUBTED_FOR,
  );
}

/** Whether an answer lacks the newest of what another one showed, and nothing else; without a row it lacks more than that. */
function isNewestEnd(timestamp: number, shown: Look, last: Look): boolean {
  // A row that cannot be read follows as well.
  const newest = Math.max(Number.NEGATIVE_INFINITY, ...last.rows.keys(), ...last.broken);
  const isWhole =
    newest > Number.NEGATIVE_INFINITY ||
    ![...shown.rows.keys()].some((other) => other < timestamp && covers(last, other));
  return isWhole && timestamp > newest && !lacksOlder(last, shown.rows.keys(), newest);
}

/** What is missing for the first time is asked for again a second later, or with the next slot. */
const watchSecondLooks = (polls: readonly Look[], feed: FeedPlan, log: RunLog, context: Context) => {
  // Where a quota is spent, nothing can be asked again.
  if (log.plan.world.client.quota !== undefined) return;
  const intervals = intervalsOf(feed.series.timeframe, feed.weekStart);
  const { machines } = log.plan.world;
  // Of two machines the one that is behind is waited for, and until a second turns.
  const secondLook = SECOND_LOOK + (machines === undefined ? 0 : machines.ahead + 1_000);
  for (let at = 1; at < polls.length; at += 1) {
    const before = polls[at - 1]!;
    const look = polls[at]!;
    const next = polls[at + 1];
    if (look.hasUnidentifiedRow || before.hasUnidentifiedRow) continue;
    // What only this copy of the answer before has lost on its way is left to the next slot.
    if (look.old > 0 && look.answeredAt === before.answeredAt) continue;
    // A candle of an interval that still runs, or has just ended: whatever the window, it is watched.
    const lost = [...before.rows.keys()].some(
      (timestamp) =>
        timestamp >= context.changeableFrom(feed, look.answeredAt) &&
        asksFor(before, timestamp, intervals) &&
        hasAskedFor(look, timestamp, intervals) &&
        !look.rows.has(timestamp) &&
        !look.broken.has(timestamp) &&
        wasLastSeen(polls, at, timestamp),
    );
    // A look asks three times at most, whatever else goes missing.
    const isThird =
      at > 1 && wasAskedAtOnce(look, before, log) && wasAskedAtOnce(before, polls[at - 2]!, log);
    // Without a candle from before the window, which it asked for, it is no answer at all.
    const window = context.changeableFrom(feed, look.answeredAt);
    const isUnfinished = polls.slice(0, at).some(({ rows }) => lacksOlder(look, rows.keys(), window));
    const wasThere = context.isWatched(feed, before.sent, look.received + secondLook);
    if (
      !lost ||
      isThird ||
      isUnfinished ||
      wasGivenUp(before, look, log) ||
      !wasThere ||
      context.isThrottled(look.received) ||
      context.isThrottled(look.received + secondLook) ||
      (next !== undefined && next.sent - look.received <= secondLook)
    )
      continue;
    const asked = log.exchanges.some(
      ({ sent, priority, url }) =>
        sent >= look.received &&
        sent - look.received <= secondLook &&
        priority !== "history" &&
        url.includes(feed.series.pairAddress) &&
        url.includes(`timeframe=${feed.series.timeframe}&`),
    );
    if (!asked)
      context.breach(
        7,
        `a candle of ${feed.series.timeframe} is missing and is not asked for again`,
        look.received,
      );
  }
};

/** Whether a look began soon after another one, even if its first attempts failed, maybe with an earlier end. */
function wasAskedAtOnce({ asked }: Look, before: Look, { exchanges }: RunLog): boolean {
  const isOfIt = ({ series, from }: Asked) => series === asked.series && from === asked.from;
  const begun = exchanges.find(({ url, sent }) => sent >= before.received && isOfIt(askedBy(url)));
  return begun !== undefined && begun.sent - before.received <= SECOND_LOOK;
}

/** Whether a look was not taken in after all: what was asked about one of its candles alone had no answer. */
function wasGivenUp(look: Look, next: Look, { exchanges }: RunLog): boolean {
  return exchanges.some(
    ({ url, sent, priority, told }) =>
      sent >= look.received &&
      sent < next.sent &&
      priority !== "history" &&
      url !== next.url &&
      told?.isGood === false &&
      askedBy(url).series === look.asked.series,
  );
}

function wasLastSeen(polls: readonly Look[], at: number, timestamp: number): boolean {
  return at > 0 && polls[at - 1]!.rows.has(timestamp);
}
