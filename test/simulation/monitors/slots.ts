import { intervalsOf } from "../calendar.js";
import { slotsAbout } from "../check.js";
import { MOST_LOOKS_A_SLOT } from "../economy/allowed.js";
import { hasFalseDate } from "../exchanges.js";
import { lacksOlder } from "../reads.js";
import type { Monitor } from "./monitor.js";

/** What a lie, or a clock that was set, has left behind can look like machines, one of which is so many ms behind. */
const SKEW = 6_000;
/** A look and those that it may need take less than this, in ms. */
const JUST_BEFORE = 5_000;

/** Promises 9 and 11 where all is well: a poll at each slot, and none between. */
export const watchSlots: Monitor = (log, context) => {
  const { plan } = log;
  const { latency, limiter, machines } = plan.world;
  const usual = context.clockTolerance + 1_050 + 2 * Math.min(150, latency.base + latency.spread);
  if (plan.world.client.quota !== undefined) return;
  const lies = log.told.filter(hasFalseDate).map(({ told }) => told!.order);
  for (const feed of plan.feeds) {
    // While the time is being learned, what no Date proves is asked for as a second turns.
    const isOdd = [feed.settle, feed.every].some((ms) => ms !== "close" && ms % 1_000 !== 0);
    const slack = usual + (machines !== undefined ? 1_000 : isOdd ? 500 : 0);
    // A client that begins anew learns the time first.
    const begins = log.earlier.length === 0 ? 0 : Math.min(...log.stays.map(({ joined }) => joined));
    const calmFrom =
      Math.max(plan.world.start + plan.healthyFrom, context.foundAt(feed), begins) + context.graceOf(feed);
    const looks = context.looksAt(feed).filter((look) => !look.isHistory);
    const polls = looks.filter((look) => look.sent > calmFrom);
    // Slots closer than what is not known of the clock cannot be told apart.
    if (feed.period < 4 * slack || polls.length < 3 || limiter !== undefined) continue;
    const counts = new Map<number, number>();
    /** Whether each of the last looks may need another one: the second may be about what the first has shown. */
    let doubts: readonly boolean[] = [];
    // What the first of them may be about came just before.
    for (const look of looks.filter(({ sent }) => sent > calmFrom - JUST_BEFORE)) {
      const reached = look.answeredAt + look.old;
      const slots = slotsAbout(feed, reached);
      const slot = slots.reduce((best, one) =>
        Math.abs(one - reached) < Math.abs(best - reached) ? one : best,
      );
      const away = reached - slot;
      const isThrottled = context.isThrottled(look.sent) || context.isThrottled(look.sent - slack);
      const { order } = look;
      const isMisled = lies.some((told) => told < order) || context.clockWasSet(plan.world.start, look.sent);
      const joins = log.stays.some(({ joined }) => Math.abs(joined - look.sent) < 1_500);
      const isCalm = look.sent > calmFrom;
      // What the first candle after a silence shows to be missing is read first.
      const isCatchUp = look.asked.to <= intervalsOf(feed.series.timeframe, feed.weekStart).start(reached);
      if (
        isCalm &&
        !isCatchUp &&
        Math.abs(away) > slack + (isMisled ? SKEW : 0) &&
        !doubts.includes(true) &&
        !joins &&
        !isThrottled
      ) {
        context.breach(
          11,
          `polls ${feed.series.timeframe} ${away} ms from the slot at ${new Date(slot).toISOString()}`,
          look.sent,
        );
        return;
      }
      if (isCalm && look.rows.size > 0) counts.set(slot, (counts.get(slot) ?? 0) + 1);
      const before = looks.slice(Math.max(0, looks.indexOf(look) - 4), looks.indexOf(look));
      // An empty answer may need a second one, and so does one that lacks what was there.
      const isDoubtful =
        isCatchUp ||
        look.rows.size === 0 ||
        before.some(({ rows }) => lacksOlder(look, rows.keys(), look.answeredAt));
      doubts = [...doubts.slice(-4), isDoubtful];
    }
    // Machines whose clocks differ are told apart by one slot's answers at times.
    const most = machines === undefined ? 4 : MOST_LOOKS_A_SLOT;
    const extra = [...counts.values()].filter((count) => count > most).length;
    if (extra > 0)
      context.breach(9, `polls one slot of ${feed.series.timeframe} again and again`, polls.at(-1)!.sent);
  }
};
