import type { CandleEvent } from "../../../src/index.js";
import { type Intervals, intervalsOf } from "../calendar.js";
import { isOfPast } from "../past.js";
import type { FeedPlan } from "../plan.js";
import { covers, isProbe, type Look } from "../reads.js";
import type { RunLog, Seen, StayLog } from "../run-log.js";
import { roundTrip } from "./health.js";
import { describe } from "./lives.js";
import type { Context, Monitor } from "./monitor.js";

/** How far a client may be wrong about the service's clock between answers, ms: a `Date` names a whole second. */
const GUESS = 1_000;
/** A copy that hides its age, and is no older, is taken for the answer of a machine that is behind, ms. */
const HIDDEN = 2_500;
/** Machines whose clocks differ by no more than this are waited for, ms. */
const MACHINES = 5_000;
/** Whoever catches up is told of a newer close within so long, ms. */
const OVERTAKEN_WITHIN = 500;
/** So many intervals later a range ends than what is asked for. */
const ASKED_BEYOND = 1;
/** A `Date` is so far behind at most, ms. */
const DATE_ERROR = 1_000;

/** Promise 16: what comes late says so, by the service's clock, and of one answer's closes only the newest is live. */
export const watchLateness: Monitor = (log, context) => {
  for (const stay of log.stays) follow(log, stay, context);
};

function follow(log: RunLog, stay: StayLog, context: Context) {
  if (stay.plan.kind !== "candles" || stay.plan.feed === undefined) return;
  const { feed } = stay.plan;
  const intervals = intervalsOf(feed.series.timeframe, feed.weekStart);
  const closed = new Set<number>();
  const { cache } = log.plan.world;
  const hidden = cache?.tellsAge === false ? HIDDEN : 0;
  // A cache tells whole seconds, too.
  const aged = cache?.tellsAge ? GUESS : 0;
  /** Of the delivery that goes on: the newest close that it tells of first, and those of them that are live. */
  let delivery = { order: -1, at: Number.NaN, closes: [] as Seen<CandleEvent>[] };
  const breach = ({ at, value }: Seen<CandleEvent>, what: string) =>
    context.breach(16, `stay ${stay.id} of ${feed.series.timeframe}, ${describe(value)}: ${what}`, at);
  const endDelivery = () => {
    let newest = Number.NEGATIVE_INFINITY;
    for (const { value } of delivery.closes) newest = Math.max(newest, value.candle.timestamp);
    for (const seen of delivery.closes) {
      const { live, candle } = seen.value;
      if (live && candle.timestamp < newest) breach(seen, "is live, and not the newest close of its answer");
    }
  };

  for (const seen of stay.events) {
    const { at, order, value: event } = seen;
    const { type, candle, status, lateBy, live, observedAt } = event;
    const { timestamp } = candle;
    const end = intervals.end(timestamp);
    if (delivery.order !== order || delivery.at !== at) {
      endDelivery();
      delivery = { order, at, closes: [] };
    }
    // A flat candle of a time that had not come is new once that comes.
    if (type === "new") closed.delete(timestamp);
    const isFirstClose = type !== "removed" && status !== "open" && !closed.has(timestamp);
    if (type === "removed" || status === "open") closed.delete(timestamp);
    else closed.add(timestamp);
    if (isFirstClose) delivery.closes.push(seen);

    const due =
      status === "open"
        ? end
        : status === "closed" || isFirstClose
          ? end + feed.settle
          : finalPoll(feed, intervals, timestamp);
    // What the poll had when somebody came, and what a history hands over, comes from memory.
    const isJoining = at === stay.joined;
    const isPast = isOfPast(log, stay, seen);
    const late = (received: number) => Math.max(0, received - due);
    const isClose = (wanted: number, tolerance: number) => Math.abs(lateBy - wanted) <= tolerance;
    const isFresh = isClose(late(observedAt), 0.001);
    const now = context.serviceClock(at);
    const slack =
      (context.mayBeMachine(order) ? MACHINES : GUESS + hidden + aged) +
      context.toleranceAt(order) +
      longestWay(log, at);
    if (isJoining || isPast) {
      const isKnown = context.isTrusted(order) && context.knowsTime(order) && order > 0;
      const isHere = isClose(late(now), slack);
      const isOfAnswer = status === "final" || comesWith(seen, log, context);
      if (isKnown && !isHere && !(isFresh && !isJoining && isOfAnswer)) {
        breach(seen, `is late by ${lateBy}, and comes ${late(now)} ms after it was due`);
      }
    } else if (!isFresh) {
      breach(seen, `is late by ${lateBy}, and was read ${late(observedAt)} ms after it was due`);
    } else {
      const look = sourceOf(seen);
      const isKnown = !context.mayBeMachine(order) && context.isTrusted(order) && look !== undefined;
      const wrong = isKnown ? Math.min(...madeBy(look).map((madeAt) => Math.abs(observedAt - madeAt))) : 0;
      const untold = GUESS + (look !== undefined && look.old > 0 ? GUESS : 0) + hidden;
      if (look !== undefined && wrong > untold + context.toleranceAt(order) + look.received - look.sent)
        breach(seen, `is observed ${wrong} ms from when its answer was made`);
    }

    const length = end - timestamp;
    const most = Math.min(Math.max(length / 2, 5_000), Math.max(60_000, length / 100));
    if (live && lateBy > most) breach(seen, `is live, and late by ${lateBy}`);
    if (live && isPast && status === "final" && !isJoining && isFirstClose && isOld(stay, seen, due))
      breach(seen, "is live, and history");
    const mayWait = () => isPast || isOvertaken(seen, stay) || endsEarly(answerOf(order), seen.value);
    if (!live && lateBy <= most && !mayWait()) breach(seen, `is late by ${lateBy} alone, and not live`);
  }
  endDelivery();

  /** The answer that has told of a candle: the last one, or one before that whose silence that has confirmed. */
  function sourceOf({ order, value: { candle } }: Seen<CandleEvent>): Look | undefined {
    const isSource = (look: Look) => !look.isHistory && !isProbe(look) && covers(look, candle.timestamp);
    const last = answerOf(order);
    if (last === undefined || isSource(last)) return last;
    return context.looksAt(feed).findLast((look) => look.order < order && isSource(look));
  }

  /** When the answer was made, and the newest one before it: the time of what is known never goes back. */
  function madeBy({ madeAt, order }: Look): readonly number[] {
    const before = context.looksAt(feed).filter((one) => !one.isHistory && one.order < order);
    return [madeAt, Math.max(madeAt, ...before.map((one) => one.madeAt))];
  }

  function answerOf(order: number): Look | undefined {
    return context.looksAt(feed).find((one) => one.order === order && !one.isHistory);
  }

  /** Whether newer candles had closed when the service made the answer than it was asked for: the next one tells of these. */
  function endsEarly(look: Look | undefined, { status }: CandleEvent): boolean {
    if (look === undefined || status === "open") return false;
    return intervals.shift(look.asked.to, -ASKED_BEYOND) < intervals.start(look.madeAt - feed.settle);
  }

  /** Whether a newer close comes with the same answer, or right after it. */
  function isOvertaken({ at, value }: Seen<CandleEvent>, { events }: StayLog): boolean {
    if (value.status === "open" || value.type === "removed") return false;
    return events.some(
      (other) =>
        other.at >= at &&
        other.at - at <= OVERTAKEN_WITHIN &&
        other.value.status !== "open" &&
        other.value.candle.timestamp > value.candle.timestamp,
    );
  }
}

/** How long the way of an answer is at most, at an instant, ms. */
function longestWay(log: RunLog, at: number): number {
  const { latency, start } = log.plan.world;
  const isWell = at >= start + log.plan.healthyFrom + latency.spike;
  return isWell ? roundTrip(log) / 2 : latency.base + latency.spread + latency.spike;
}

/** Whether an event comes with the answer of a poll that has shown it, though it is the first that its subscriber gets. */
function comesWith({ at, order, value }: Seen<CandleEvent>, { told }: RunLog, context: Context): boolean {
  const answer = told[order - 1];
  if (answer?.received !== at || answer.priority === "history") return false;
  // It was made with the first of its pages.
  const first = told.slice(0, order).findLast(({ url }) => url === answer.url.replace(/&cursor=.*/, ""));
  const { sent, old } = first ?? answer;
  const madeAt = context.serviceClock(sent) - old;
  return value.observedAt >= madeAt - context.toleranceAt(order) - DATE_ERROR;
}

/** Whether a candle was due before its subscriber came. */
function isOld(stay: StayLog, seen: Seen<CandleEvent>, due: number): boolean {
  return due < seen.value.observedAt - (seen.at - stay.joined);
}

/** The first closing poll that finds an interval out of the revision window. */
function finalPoll({ settle, revisionWindow }: FeedPlan, intervals: Intervals, timestamp: number): number {
  for (let end = intervals.end(timestamp); ; end = intervals.end(end)) {
    const poll = end + settle;
    if (intervals.shift(intervals.start(poll), -revisionWindow) > timestamp) return poll;
  }
}
