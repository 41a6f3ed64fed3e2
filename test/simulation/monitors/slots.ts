import { intervalsOf } from "../calendar.js";
import { driftsIn, slotsWithin, spansOf } from "../economy/spans.js";
import type { FeedPlan } from "../plan.js";
import { covers, isProbe, type Look, lacksOlder } from "../reads.js";
import type { RunLog } from "../run-log.js";
import { serviceClockOf } from "../service-time.js";
import { affordsPolls, recoveryOf, roundTrip } from "./health.js";
import type { Context, Monitor } from "./monitor.js";

/** So many second requests a stream may take while it learns the time, or hears of another machine. */
const LEARNING = 10;
/** So many requests an hour look for the beginning of a pair whose answers hold no candle. */
const SEARCH = 25;
/** What of a stretch lies at its edges. */
const SPARE = 3;
/** Until it is learned, a `Date` tells the time to a second, ms. */
const UNTOLD = 1_050;
/** What no `Date` proves is asked for so much later, ms, while the time is learned and at times after that. */
const UNPROVEN = 1_500;
/** Behind machines whose clocks are less than a second apart a poll comes so late, ms, as promise 11 says. */
const NEAR_MACHINES = { apart: 1_000, late: 2_000 };
/** Two polls that are due so shortly after one another, ms, may be one, as promise 11 says. */
const TOGETHER = 100;
/** Machines whose clocks differ by no more than this are waited for, ms. */
const MACHINES = 5_000;
/** Copies that hide their age are taken for answers of a machine that is behind by no more, ms. */
const COPIES = 2_500;
/** What a look shows to be in doubt is looked at again within so long, ms, and once more. */
const LOOKS_AGAIN_WITHIN = 5_000;
/** Whoever comes first, or again, looks at once. */
const FIRST_LOOKS = 10_000;

/** Promises 9 and 11 where all is well: one poll a slot, none between, and none left out. */
export const watchSlots: Monitor = (log, context) => {
  if (!affordsPolls(log)) return;
  for (const feed of log.plan.feeds) {
    const stays = log.stays.filter(({ plan }) => "feed" in plan && plan.feed === feed);
    for (const { from, until } of spansOf(log, stays)) {
      const clock = serviceClockOf(log.plan.world);
      const [joined, left] = [clock.until(from), clock.until(until)];
      const wellFrom = Math.max(log.plan.world.start + log.plan.healthyFrom, context.foundAt(feed), joined);
      const calmFrom = wellFrom + Math.max(recoveryOf(log, feed.period), FIRST_LOOKS);
      if (calmFrom < left) watchCalm(log, feed, { from: calmFrom, until: left }, context);
    }
  }
};

function watchCalm(
  log: RunLog,
  feed: FeedPlan,
  { from, until }: { from: number; until: number },
  context: Context,
) {
  const looks = context.looksAt(feed).filter((look) => !look.isHistory);
  const slots = slotsWithin(feed, { from: context.serviceClock(from), until: context.serviceClock(until) });
  const calm = looks.filter(({ sent }) => sent > from && sent <= until);
  const { timeframe } = feed.series;
  const breach = (promise: number, what: string, at: number) =>
    context.breach(promise, `${timeframe} every ${feed.every}: ${what}`, at);
  const isHeldBack = (at: number) => context.isThrottled(at) || context.isThrottled(at - UNTOLD);
  const isDoubted = calm.map((look) => isInDoubt(look, looks, feed));
  const doubts = isDoubted.filter(Boolean).length;
  const early = calm.filter((look) => isEarly(look, slots)).length;
  const search = searchOf(calm, !looks.some(({ rows, sent }) => rows.size > 0 && sent <= from));
  const mayBeEarly = LEARNING + Math.floor(driftsIn(log, { from, until }));
  const learning = log.plan.world.machines === undefined ? Math.min(early, mayBeEarly) : mayBeEarly;
  const most = slots.length + doubts + learning + search + copiedClosings(calm, feed) + SPARE;
  if (calm.length > most)
    breach(
      9,
      `polls ${calm.length} times for ${slots.length} slots, ${doubts} in doubt, ${early} too early`,
      until,
    );

  // Who asks again as a cache has given an old answer may be doing so as the next slot comes.
  const copies = calm.filter(({ old }) => old > 0).length;
  const { machines } = log.plan.world;
  // Of machines whose clocks are less than a second apart a poll may be a second late.
  const late = machines !== undefined && machines.ahead < NEAR_MACHINES.apart ? UNTOLD : 0;
  const least = leastOf(slots, 2 * roundTrip(log) + late) - copies;
  if (calm.length < least - SPARE && !calm.some(({ sent }) => isHeldBack(sent)))
    breach(11, `polls ${calm.length} times for ${least} slots`, until);

  const isOdd =
    [feed.settle, feed.every].some((ms) => ms !== "close" && ms % 1_000 !== 0) ||
    log.plan.world.cache !== undefined;
  const slack = slackOf(machines?.ahead ?? 0, context.clockTolerance, isOdd) + roundTrip(log);
  let again = 0;
  for (const [at, look] of calm.entries()) {
    const reached = look.answeredAt + look.old;
    const away = Math.min(
      ...slotsWithin(feed, { from: reached - slack - MACHINES, until: reached + slack }).map((slot) =>
        Math.abs(slot - reached),
      ),
    );
    const { order, sent } = look;
    const behind = context.mayBeMachine(order) ? MACHINES : context.mayBeOfCopies(order) ? COPIES : 0;
    const doubted = calm.slice(0, at).filter((_, place) => isDoubted[place]);
    if (away <= slack + behind || isHeldBack(sent) || followsPoll(look, doubted)) continue;
    again += 1;
    if (again > SPARE) {
      breach(11, `polls at no slot: ${new Date(reached).toISOString()}`, look.sent);
      return;
    }
  }
}

/** Whether a look belongs to the slot of one before it: it looks for the beginning of the pair, or again at what was in doubt. */
export function followsPoll(
  look: Pick<Look, "sent" | "url">,
  doubted: readonly Pick<Look, "received">[],
): boolean {
  return isProbe(look) || doubted.some(({ received }) => look.sent - received <= LOOKS_AGAIN_WITHIN);
}

/** How many of the looks may be for the beginning of a pair: of one that shows nothing any more, those that ask for its first rows. */
export function searchOf(calm: readonly Pick<Look, "rows" | "url">[], hasShownNothing: boolean): number {
  if (hasShownNothing) return SEARCH;
  const isEmptied = calm.some((look) => look.rows.size === 0 && !isProbe(look));
  return isEmptied ? Math.min(calm.filter(isProbe).length, SEARCH) : 0;
}

/** The closings that looks came after, as copies of answers from before them: each of them is asked for once more. */
export function copiedClosings(
  calm: readonly Pick<Look, "answeredAt" | "old">[],
  { series, weekStart, settle }: Pick<FeedPlan, "series" | "weekStart" | "settle">,
): number {
  const { start } = intervalsOf(series.timeframe, weekStart);
  const closings = calm.flatMap(({ answeredAt, old }) => {
    const closing = start(answeredAt + old - settle);
    return answeredAt - settle < closing ? [closing] : [];
  });
  return new Set(closings).size;
}

/** Whether a look came before the slot that it was for, so that it proves nothing of that: the time is still being learned. */
function isEarly({ answeredAt, old }: Look, slots: readonly number[]): boolean {
  const reached = answeredAt + old;
  return slots.some((slot) => answeredAt < slot && slot - reached <= UNTOLD && reached - slot <= UNTOLD);
}

/** How late a poll may be made, beside its way, where machines are so far apart and the clock is known so well, ms. */
export function slackOf(apart: number, tolerance: number, isOdd: boolean): number {
  const untold = tolerance + (isOdd ? UNPROVEN : UNTOLD);
  const isNear = apart > 0 && apart < NEAR_MACHINES.apart;
  return isNear ? Math.max(NEAR_MACHINES.late, untold) : untold;
}

/** How many polls slots take at least: one that is due with the one before, or while that may still be under way, can be left out. */
export function leastOf(slots: readonly number[], longest: number): number {
  let count = 0;
  let last = Number.NEGATIVE_INFINITY;
  for (const slot of slots) {
    if (slot - last < Math.max(longest, TOGETHER)) continue;
    count += 1;
    last = slot;
  }
  return count;
}

/** Whether a look says something that a second one has to confirm: the first silence, a broken row, or that something is gone. */
function isInDoubt(look: Look, looks: readonly Look[], feed: FeedPlan): boolean {
  if (look.broken.size > 0 || look.hasUnidentifiedRow) return true;
  const before = looks[looks.indexOf(look) - 1];
  if (look.rows.size === 0) return before === undefined || before.rows.size > 0;
  const intervals = intervalsOf(feed.series.timeframe, feed.weekStart);
  const running = intervals.start(look.answeredAt + look.old);
  // What the first candle after a silence shows to be missing is read first.
  return (
    !covers(look, running) || (before !== undefined && lacksOlder(look, before.rows.keys(), look.answeredAt))
  );
}
