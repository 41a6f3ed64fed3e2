import type { Candle } from "../../../src/index.js";
import { type Intervals, intervalsOf } from "../calendar.js";
import { covers, isSaidAbsent, isSameCandle, isUnreadable, type Look } from "../reads.js";
import type { RunLog, StayLog } from "../run-log.js";
import { candlesAt, isTrue } from "../truth.js";
import { waits } from "./missing.js";
import type { Context, Monitor } from "./monitor.js";

/** A doubt is settled within so many looks. */
const SETTLING_LOOKS = 4;

/** Promises 1, 5 and 12: once all is well, what a subscriber knows is what the service says, without hole or excess. */
export const watchConvergence: Monitor = async (log, context) => {
  for (const stay of log.stays) if (stay.plan.kind === "candles") await compare(log, stay, context);
};

async function compare(log: RunLog, stay: StayLog, context: Context) {
  const { plan } = stay;
  if (plan.kind !== "candles" || stay.left === undefined) return;
  // A quota that is spent leaves the rest to its next period.
  if (log.plan.world.client.quota !== undefined) return;
  const { feed, options } = plan;
  const found = waits(stay) ? context.foundAt(plan.feed) : Number.NEGATIVE_INFINITY;
  const calmSince = Math.max(log.plan.world.start + log.plan.healthyFrom, stay.joined, found);
  if (stay.left - calmSince < context.graceOf(feed)) return;

  const { settle, revisionWindow, series } = feed;
  const intervals = intervalsOf(series.timeframe, feed.weekStart);
  const order = stay.leftOrder!;
  const looks = context.looksAt(feed).filter((look) => look.order <= order);
  const polls = looks.filter((look) => !look.isHistory);
  const last = polls.at(-1);
  const breach = (promise: number, what: string) =>
    context.breach(promise, `stay ${stay.id} of ${series.timeframe}: ${what}`, stay.left!);
  if (last === undefined) return context.isThrottled(stay.left) ? undefined : breach(8, "was never read");
  const stale = context.serviceClock(stay.left) - last.answeredAt;
  if (stale > 2 * feed.period + context.graceOf(feed) && !context.isThrottled(stay.left))
    breach(6, `was last read ${stale} ms before the end`);

  const known = new Map<number, { candle: Candle; status: string }>();
  for (const { value } of stay.events) {
    const { type, candle, status } = value;
    if (type === "removed") known.delete(candle.timestamp);
    else known.set(candle.timestamp, { candle, status });
  }
  const running = intervals.start(last.answeredAt);
  const from = beginning(stay, known, context);
  const to = intervals.end(running);
  const truth = candlesAt(log, series, { from, to, at: last.asOf });
  // Of two replicas the one that lags may have answered last: which of them is right nobody can know.
  const asOf = polls.reduce((newest, look) => Math.max(newest, look.asOf), last.asOf);
  const newest = asOf === last.asOf ? truth : candlesAt(log, series, { from, to, at: asOf });
  const windowFrom = intervals.shift(running, -revisionWindow);

  // What could not be read any more before it left the window stays as it was; where it was open it does not become final.
  const isSkipped = (timestamp: number) => {
    const own = known.get(timestamp);
    if (own?.status === "final" || own?.status === "closed" || timestamp >= windowFrom) return false;
    const asked = polls.filter((look) => covers(look, timestamp));
    const wasRead = own === undefined && asked.some((look) => look.rows.has(timestamp));
    return !wasRead && asked.some((look) => isUnreadable(look, timestamp));
  };

  const ahead = log.plan.world.machines?.ahead ?? 0;

  // Only what is answered after the interval has left the window, and settled, is an answer for good.
  const leaves = (timestamp: number) =>
    Math.max(intervals.shift(timestamp, revisionWindow + 1), intervals.end(timestamp) + settle);

  const isAs = (has: Candle | undefined, wanted: Candle | undefined) =>
    has === wanted || (has !== undefined && wanted !== undefined && isTrue(has, wanted));

  const timestamps = new Set([...truth.keys(), ...known.keys()]);
  for (const timestamp of timestamps) {
    if (timestamp < from || timestamp > running) continue;
    const own = known.get(timestamp);
    const isFlat = own !== undefined && own.candle.swaps === 0 && own.candle.volume === 0;
    const has = isFlat ? undefined : own?.candle;
    const wanted = truth.get(timestamp);
    if (isAs(has, wanted) || isAs(has, newest.get(timestamp))) continue;
    if (last.broken.has(timestamp) || last.hasUnidentifiedRow || isSkipped(timestamp)) continue;
    // A service that answers empty to a range from before the creation may be asked from its very second on.
    if (log.plan.world.quirks.emptyBeforeCreation && timestamp === context.bornAt(feed)) continue;
    const isUnsettled = timestamp >= windowFrom || last.answeredAt < intervals.end(timestamp) + settle;
    // Missing for the first time: the second look is on its way.
    if (has !== undefined && wanted === undefined && isDoubted(polls, timestamp)) continue;
    const mayBeFinal = own === undefined || own.status === "final";
    // By a wrong date, or a machine that is ahead, it can leave the window earlier.
    const isForGood = (look: Look) =>
      look.isTimeDoubtful || look.answeredAt + 300 + ahead >= leaves(timestamp);
    // An absence is confirmed by the answer for good; those before it may have shown it first.
    const forGood = (answers: readonly Look[]) => {
      const first = answers.findIndex(isForGood);
      const isFirstAbsence = (at: number) => has === undefined && first >= 0 && at >= first - 2;
      return answers.filter((look, at) => isForGood(look) || isFirstAbsence(at));
    };
    // What others knew before is not known to the subscriber's own history, unless that comes from a store.
    const memories =
      log.store === undefined
        ? [looks.filter((look) => look.order > stay.joinedOrder)]
        : context.memoriesOf(series).map((known) => known.filter((look) => look.order <= order));
    const wasSaid = (known: readonly Look[]) =>
      wasAnsweredSo(forGood(known), timestamp, has, truth, intervals);
    if (!isUnsettled && mayBeFinal && memories.some(wasSaid)) continue;
    const text = (candle: Candle | undefined) =>
      candle === undefined ? "nothing" : `close ${candle.close}, ${candle.swaps} swaps`;
    breach(
      isUnsettled ? 1 : 5,
      `has ${text(has)} (${own?.status}) at ${new Date(timestamp).toISOString()}, the service ${text(wanted)}`,
    );
  }

  // What has left the window some looks ago is final, whatever its last rows were: nobody asks for it any more.
  const leftBefore = polls.at(-SETTLING_LOOKS);
  // Where answers hold no candle at all, only the next one proves what came before it.
  const isSilent = polls.slice(-SETTLING_LOOKS).every(({ rows }) => rows.size === 0);
  if (leftBefore !== undefined && !isSilent) {
    const until = context.changeableFrom(feed, leftBefore.answeredAt - settle);
    for (const [timestamp, { status }] of known)
      if (status === "closed" && timestamp < until)
        breach(12, `has not made ${new Date(timestamp).toISOString()} final`);
  }

  // An answer proves no later time than that of the machine that is behind, and no more exactly than it was under way.
  const provenAt = last.answeredAt - context.clockTolerance - (last.received - last.sent);
  // What rows that could not be read leave uncovered is not filled.
  const refusals = context.refusalsAt(feed);
  const isReadable =
    polls.every(({ hasUnidentifiedRow, broken }) => !hasUnidentifiedRow && broken.size === 0) &&
    refusals.every(({ exchange }) => exchange.priority === "history");
  if (options.fillGaps && isReadable)
    checkFilling(
      known,
      { from: earliest(known), until: intervals.start(provenAt - settle) },
      intervals.end,
      (timestamp) =>
        looks.some((look) => covers(look, timestamp) && isUnreadable(look, timestamp)) ||
        refusals.some(({ broken }) => broken.has(timestamp)),
      breach,
    );

  const changeable = [...known].filter(
    ([timestamp, { status }]) => status !== "final" && !isSkipped(timestamp),
  ).length;
  const most = revisionWindow + 2 + intervals.count(intervals.start(last.answeredAt - settle), running);
  if (changeable > most && !isSilent)
    breach(12, `holds ${changeable} candles that may change, ${most} at most`);
}

/** From where on a subscriber must know everything. */
function beginning(stay: StayLog, known: ReadonlyMap<number, unknown>, context: Context): number {
  if (stay.plan.kind !== "candles") return 0;
  const { feed, options } = stay.plan;
  const intervals = intervalsOf(feed.series.timeframe, feed.weekStart);
  const { since } = options;
  if (typeof since === "number") return intervals.start(since);
  if (since !== undefined) return earliest(known);
  // Which interval ran at the subscription is not certain close to its end.
  const joined = context.serviceClock(stay.joined);
  // Nothing is known of the time before the first answer, and nothing older than the window at that answer.
  const first = context
    .looksAt(feed)
    .find((look) => look.order > stay.joinedOrder && !look.isHistory && covers(look, look.answeredAt));
  const window = first === undefined ? 0 : context.changeableFrom(feed, first.answeredAt);
  return Math.max(window, intervals.end(joined + context.clockTolerance));
}

/** There may be more than a call can take as arguments. */
function earliest(known: ReadonlyMap<number, unknown>): number {
  let first = Number.POSITIVE_INFINITY;
  for (const timestamp of known.keys()) first = Math.min(first, timestamp);
  return first;
}

function isDoubted(polls: readonly Look[], timestamp: number): boolean {
  const about = polls.filter((look) => covers(look, timestamp));
  return about.at(-2)?.rows.has(timestamp) === true || about.at(-2)?.hasUnidentifiedRow === true;
}

/** Whether one of the looks said what is known of an interval. */
function wasAnsweredSo(
  looks: readonly Look[],
  timestamp: number,
  has: Candle | undefined,
  truth: ReadonlyMap<number, unknown>,
  intervals: Intervals,
): boolean {
  if (has === undefined) return isSaidAbsent(looks, timestamp, truth, intervals);
  return looks.some(
    (look) =>
      covers(look, timestamp) &&
      (look.broken.has(timestamp) || look.rows.get(timestamp)?.some((row) => isSameCandle(row, has))),
  );
}

/** No hole from the first known candle on, each flat candle at the close before it. */
function checkFilling(
  known: ReadonlyMap<number, { candle: Candle }>,
  { from, until }: { from: number; until: number },
  next: (timestamp: number) => number,
  mayBeUnknown: (timestamp: number) => boolean,
  breach: (promise: number, what: string) => void,
) {
  let close: number | undefined;
  for (let timestamp = from; timestamp < until; timestamp = next(timestamp)) {
    const candle = known.get(timestamp)?.candle;
    if (candle === undefined) {
      if (mayBeUnknown(timestamp)) continue;
      breach(6, `is not filled at ${new Date(timestamp).toISOString()}`);
      return;
    }
    if (candle.swaps === 0 && candle.volume === 0 && candle.close !== close) {
      breach(6, `is filled with ${candle.close} after ${close} at ${new Date(timestamp).toISOString()}`);
      return;
    }
    close = candle.close;
  }
}
