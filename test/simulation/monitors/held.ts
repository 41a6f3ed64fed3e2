import { intervalsOf } from "../calendar.js";
import type { FeedPlan } from "../plan.js";
import { askedBy, covers, isProbe, type Look, seriesNameOf } from "../reads.js";
import type { RunLog, StayLog } from "../run-log.js";
import { candlesAt } from "../truth.js";
import type { Context } from "./monitor.js";

/** A `Date` names a whole second, ms. */
const WHOLE_SECOND = 1_000;

/** After how many exchanges the poll began that a stay shares: when the first came of those who were there without a break. */
export function sessionOf(log: RunLog, stay: StayLog): number {
  if (!("feed" in stay.plan)) return stay.joinedOrder;
  const { feed } = stay.plan;
  const others = log.stays.filter(({ plan }) => "feed" in plan && plan.feed === feed);
  let first = stay;
  for (let isFound = true; isFound; ) {
    const earlier = others.find(
      ({ joined, left, ended }) => joined < first.joined && (left ?? ended?.at ?? joined) > first.joined,
    );
    isFound = earlier !== undefined;
    first = earlier ?? first;
  }
  return first.joinedOrder;
}

/** Whether a history begins behind an answer: behind one that shows nothing only if what is asked about that succeeds as well. */
function isTakenIn(log: RunLog, { plan, events }: StayLog, look: Look, next: Look | undefined): boolean {
  // The question for the candle before it shows rows, too, and may be the last that succeeds.
  if (!covers(look, look.answeredAt)) return false;
  if (look.rows.size > 0) return true;
  const series = seriesNameOf((plan as { feed: FeedPlan }).feed.series);
  const isBehind = (at: number) => at >= look.received && at < (next?.received ?? Number.POSITIVE_INFINITY);
  return (
    events.some(({ at }) => isBehind(at)) ||
    log.exchanges.some(
      ({ url, priority, sent }) => priority === "history" && isBehind(sent) && askedBy(url).series === series,
    )
  );
}

/** From where on a subscriber must know everything; `given`: the candles that it was given, with which the service may differ by now. */
export function beginningOf(
  log: RunLog,
  stay: StayLog,
  look: Look,
  context: Context,
  given: readonly number[],
): number {
  if (stay.plan.kind !== "candles") return 0;
  const { feed, options } = stay.plan;
  const intervals = intervalsOf(feed.series.timeframe, feed.weekStart);
  const { since } = options;
  if (typeof since === "number") return intervals.start(since);
  // Which interval ran at the subscription is not certain close to its end.
  const joined = context.serviceClock(stay.joined);
  // A lie that is off by less than a second passes.
  const tolerance = context.clockTolerance + (context.isTrusted(stay.joinedOrder) ? 0 : WHOLE_SECOND);
  const running = intervals.start(joined + tolerance);
  const looks = context
    .looksAt(feed)
    .filter((look) => look.order > stay.joinedOrder && !look.isHistory && !isProbe(look));
  if (since !== undefined) {
    const { candles } = since as { candles: number };
    // Where an outage has kept the first answer away they are those before that.
    const first = looks.find((look, at) => isTakenIn(log, stay, look, looks[at + 1])) ?? looks[0];
    const until = Math.max(running, intervals.start(first?.answeredAt ?? joined));
    const newestAt = (at: number) => {
      const all = candlesAt(log, feed.series, { from: 0, to: until, at });
      const own = given.filter((timestamp) => timestamp < until);
      return [...new Set([...all.keys(), ...own])].sort((a, b) => a - b).at(-candles) ?? 0;
    };
    return Math.max(newestAt(joined), newestAt(look.answeredAt));
  }
  const isCertain = intervals.start(joined - tolerance) === running;
  // Nothing is known of the time before the first answer, and nothing older than the window at that answer.
  const first = looks.find((look) => covers(look, look.answeredAt));
  const window = first === undefined ? 0 : context.changeableFrom(feed, first.answeredAt);
  return Math.max(window, isCertain ? running : intervals.end(joined + tolerance));
}
