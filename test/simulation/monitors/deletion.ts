import { intervalsOf } from "../calendar.js";
import { slotsAbout } from "../check.js";
import type { FeedPlan } from "../plan.js";
import { askedBy, asksFor, covers, isUnreadable, type Look, lacksOlder } from "../reads.js";
import type { RunLog } from "../run-log.js";
import { describe } from "./lives.js";
import type { Context, Monitor } from "./monitor.js";

/** How far a client may be wrong about the service's clock while it is being learned, ms. */
const CLOCK_ERROR = 1_200;
/** A slot that is due within less, in ms, of another poll is asked for at once. */
const SOON = 500;
/** Within this time, in ms, what is in doubt is asked for again. */
const SECOND_LOOK = 1_050 + CLOCK_ERROR;

/** Promise 7: a candle goes only after two good looks that could have shown it and did not, none between them did. */
export const watchDeletion: Monitor = (log, context) => {
  for (const stay of log.stays) {
    if (stay.plan.kind !== "candles") continue;
    const { feed } = stay.plan;
    const polls = context.looksAt(feed).filter((look) => !look.isHistory);
    for (const { at, order, value: event } of stay.events) {
      const { timestamp, swaps } = event.candle;
      const isRemoval =
        event.type === "removed" || (event.type === "updated" && swaps === 0 && event.previous.swaps > 0);
      if (!isRemoval || swaps !== 0) {
        if (event.type !== "removed" || swaps === 0) continue;
      }
      const breach = (what: string) => context.breach(7, `stay ${stay.id}, ${describe(event)}: ${what}`, at);
      const all = polls.filter((look) => look.order <= order && covers(look, timestamp));
      if (all.length > 0 && isUnreadable(all.at(-1)!, timestamp))
        breach("goes although a row could not be read");
      const about = all.filter((look) => !isUnreadable(look, timestamp));
      const [before, last] = about.slice(-2) as [Look?, Look?];
      if (before === undefined || last === undefined) breach("goes without two looks");
      else if (before.rows.has(timestamp) && !wasAskedAgain(about, timestamp))
        breach("goes on its first absence");
      else if (!absencesBefore(about, timestamp).some((look) => isAnotherAnswer(look, last, feed, context)))
        breach("goes on an answer that a cache may have given twice");
      else if (last.rows.has(timestamp)) breach("goes although it is there");
      const unasked = polls.at(-1)!;
      if (last !== undefined && unasked.order <= order && !covers(unasked, timestamp))
        breach("goes although nobody asked for it");
    }
  }
  for (const feed of log.plan.feeds) {
    const polls = context.looksAt(feed).filter((look) => !look.isHistory);
    watchSecondLooks(polls, feed, log, context);
  }
};

/** Answers that only settle what time it is are not looked at: between two that lack a candle one may show it. */
function wasAskedAgain(about: readonly Look[], timestamp: number): boolean {
  const recent = about.slice(-5, -1).filter((look) => about.at(-1)!.sent - look.sent < 5_000);
  return (
    recent.some((look) => !look.rows.has(timestamp)) && about.some(({ isTimeDoubtful }) => isTimeDoubtful)
  );
}

/** The looks before the last one that lack a candle, in a row; the one before it in any case. */
function absencesBefore(about: readonly Look[], timestamp: number): readonly Look[] {
  const shown = about.slice(0, -2).findLastIndex((look) => look.rows.has(timestamp));
  return about.slice(shown + 1, -1);
}

/** A second later, or with a later slot, is another answer; the client's word of the time may be off by a little. */
export function isAnotherAnswer(before: Look, last: Look, feed: FeedPlan, context: Context): boolean {
  if (last.sent - before.sent >= 950 || context.clockWasSet(before.sent, last.sent)) return true;
  const sent = context.serviceClock(before.sent);
  const until = context.serviceClock(last.sent) + CLOCK_ERROR;
  const slots = [...slotsAbout(feed, until), ...slotsAbout(feed, until - feed.settle)];
  const own = slots.reduce((best, slot) => (Math.abs(slot - sent) < Math.abs(best - sent) ? slot : best));
  // The first look of all comes with a subscription, and has no slot.
  const isFirst = !context.isWatched(feed, before.sent - CLOCK_ERROR, before.sent);
  // A poll that came late has the next slot just behind it.
  const isNext = (slot: number) => slot > sent && last.sent - before.sent >= SOON;
  return slots.some(
    (slot) => (isFirst || slot !== own || isNext(slot)) && slot > sent - CLOCK_ERROR && slot <= until,
  );
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
    // A candle of an interval that still runs, or has just ended: whatever the window, it is watched.
    const lost = [...before.rows.keys()].some(
      (timestamp) =>
        timestamp >= context.changeableFrom(feed, look.answeredAt) &&
        asksFor(before, timestamp, intervals) &&
        covers(look, timestamp) &&
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

/** Whether a look began soon after another one, even if its first attempts failed. */
function wasAskedAtOnce(look: Look, before: Look, { exchanges }: RunLog): boolean {
  const begun = exchanges.find(({ url, sent }) => url === look.url && sent >= before.received);
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
