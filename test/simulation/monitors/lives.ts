import type { Candle, CandleEvent } from "../../../src/index.js";
import { intervalsOf } from "../calendar.js";
import { isOfPast } from "../past.js";
import type { FeedPlan } from "../plan.js";
import { covers, isSameCandle, type Look } from "../reads.js";
import type { RunLog, Seen, StayLog } from "../run-log.js";
import { hiddenAgeOf } from "./evidence.js";
import { isFlat } from "./filling.js";
import type { Monitor } from "./monitor.js";

interface Life {
  candle: Candle;
  status: CandleEvent["status"];
  revision: number;
  /** When it was told, by the run's clock. */
  at: number;
  /** Whether it is a flat, told before its interval had ended by the true clock. */
  isOfFuture: boolean;
}

const RANK = { open: 0, closed: 1, final: 2 } as const;

/** Promises 2 to 4 and the life of a candle: what one subscriber is told must hang together, and be true. */
export const watchLives: Monitor = (log, context) => {
  for (const stay of log.stays) {
    if (stay.plan.kind !== "candles" || stay.plan.feed === undefined) continue;
    followStay(log, stay, context);
  }
};

function followStay(log: RunLog, stay: StayLog, context: Parameters<Monitor>[1]) {
  if (stay.plan.kind !== "candles") return;
  const { feed, options } = stay.plan;
  const { series, settle, weekStart, revisionWindow } = feed;
  const intervals = intervalsOf(series.timeframe, weekStart);
  const looks = context.looksAt(feed);
  const answers = context.answersOf(series);
  const firstPage = looks.find((look) => look.order > stay.joinedOrder && !look.isHistory);
  const knowsFirst = [stay.joinedOrder, firstPage?.order ?? 0].every(context.knowsTime);
  const lives = new Map<number, Life>();
  const gone = new Set<number>();
  let newest = Number.NEGATIVE_INFINITY;
  let isPastOver = false;
  let batch = { order: -1, timestamp: Number.NEGATIVE_INFINITY };
  let previous: Seen<CandleEvent> | undefined;

  for (const seen of stay.events) {
    const { order, value: event } = seen;
    const { type, candle, status, revision } = event;
    const { timestamp } = candle;
    const breach = (promise: number, what: string) =>
      context.breach(promise, `stay ${stay.id}, ${describe(event)}: ${what}`, seen.at);
    const end = intervals.end(timestamp);
    const serviceNow = context.serviceClock(seen.at);
    // By a clock that was ahead, or has been set back since, flats were told of a time that had not come: they are told again.
    const told = lives.get(timestamp);
    const isToldAgain =
      type === "new" && told !== undefined && (told.isOfFuture || isSetBack(log, told, seen.at, end));
    const life = isToldAgain ? undefined : told;
    const fills = isFlat(candle);
    const early = context.isTrusted(order) ? context.clockTolerance : -context.clockTolerance;
    const isOfFuture = fills && status !== "open" && serviceNow + early < end;

    // The life of a candle, and no echo.
    if (type === "new") {
      if (life !== undefined) breach(2, "is new although it is there");
      else if (gone.has(timestamp) && revision !== 0) breach(2, "begins a new life not at 0");
      if ("previous" in event) breach(2, "is new with a previous version");
    } else if (life === undefined) {
      breach(2, "was never new");
    } else {
      if (revision !== life.revision + 1) breach(2, `follows revision ${life.revision}`);
      if (RANK[status] < RANK[life.status]) breach(2, `takes its status back from ${life.status}`);
      if (life.status === "final") breach(2, "was final");
      const isSame = isSameCandle(candle, life.candle);
      if (type === "removed" && (!isSame || status !== life.status)) breach(2, "goes as something else");
      if (type === "updated" && isSame && status === life.status) breach(2, "is an echo");
      if (event.type === "updated" && !isSameCandle(event.previous, life.candle)) {
        breach(2, "has another previous version");
      }
    }

    // Order within one delivery, and of births.
    if (batch.order === order && previous?.at === seen.at) {
      if (timestamp <= batch.timestamp) breach(3, `comes after ${new Date(batch.timestamp).toISOString()}`);
    }
    batch = { order, timestamp };
    if (type === "new" && !fills) {
      const wasSeen = gone.has(timestamp);
      if (timestamp < newest && !wasSeen && !isLateIn(looks, timestamp, order)) {
        breach(3, `is born after ${new Date(newest).toISOString()}, and was there before`);
      }
      newest = Math.max(newest, timestamp);
    }
    // Until its history is handed over one who has asked for it gets nothing else.
    const isPast = isOfPast(log, stay, seen);
    // Of what a store has given at that very instant it cannot be told who asked: an outage is caught up from it, too.
    const mayBeLive = log.store !== undefined && log.told[order - 1]?.priority !== "history";
    if (isPast && isPastOver && !mayBeLive && type === "new" && status === "final")
      breach(5, "is history, after what is not");
    // What comes after a pause was in an earlier answer, maybe of the past.
    isPastOver ||= !isPast && log.told[order - 1]?.received === seen.at;

    // Honest closing, by the true clock where no answer has lied about it.
    const tolerance = context.toleranceAt(order);
    if (status !== "open" && type !== "removed" && context.isTrusted(order)) {
      if (serviceNow + tolerance < end) breach(4, `is ${status} ${end - serviceNow} ms before its end`);
      const isNewStatus = life === undefined || RANK[life.status] < RANK[status];
      const closing = isNewStatus && !isPast && !fills ? lastLook(looks, order) : undefined;
      if (closing !== undefined && closing.answeredAt + tolerance < end + settle) {
        breach(4, `was read ${end + settle - closing.answeredAt} ms before it had settled`);
      }
      if (closing !== undefined && isNewStatus && status === "final") {
        const leaves = intervals.shift(end, revisionWindow);
        if (closing.answeredAt + tolerance < leaves) breach(1, "is final while still in the window");
      }
    }
    if (event.observedAt > serviceNow + tolerance && context.isTrusted(order) && context.knowsTime(order)) {
      breach(4, `is observed ${event.observedAt - serviceNow} ms in the future`);
    }
    if (options.since === undefined && context.isTrusted(order) && knowsFirst) {
      const ranAt = (instant: number) =>
        intervals.start(context.serviceClock(instant) - context.clockTolerance - 2_000);
      // Where the machine's clock was set before the first page, that of the subscription is not known: all comes that the poll has.
      const wasSet = context.clockWasSet(stay.joined, stay.events[0]!.at);
      const first = wasSet
        ? intervals.shift(ranAt(firstJoined(log, feed)), -revisionWindow)
        : ranAt(stay.joined);
      if (timestamp < first) breach(5, "is older than the interval that ran at the subscription");
    }

    // What is told was answered.
    if (type !== "removed" && !fills) {
      const last = lastLook(looks, order);
      const isFromLook =
        !isPast && last?.order === order && covers(last, timestamp) && last.rows.has(timestamp);
      const sources = isFromLook ? [last] : answers.filter((look) => look.order <= order);
      const isAnswered = sources.some(({ rows }) =>
        rows.get(timestamp)?.some((row) => isSameCandle(row, candle)),
      );
      if (!isAnswered) breach(1, "is no answer of the service");
    }
    if (fills && type === "new" && context.isTrusted(order)) {
      const isCovered = answers.some(
        (look) =>
          look.order <= order &&
          covers(look, timestamp) &&
          !look.rows.has(timestamp) &&
          look.answeredAt + hiddenAgeOf(look, log) + context.clockTolerance >= end + settle,
      );
      if (!isCovered) breach(6, "fills what is not known to be empty");
    }
    if (fills && !options.fillGaps) breach(1, "is flat, and nobody asked for that");

    if (type === "removed") {
      lives.delete(timestamp);
      gone.add(timestamp);
    } else {
      lives.set(timestamp, { candle, status, revision, at: seen.at, isOfFuture });
    }
    previous = seen;
  }
}

/** Whether the client has said, since a flat was told, that the service's clock has jumped to before the end of that. */
function isSetBack({ activities }: RunLog, { candle, at }: Life, until: number, end: number): boolean {
  return activities.some(({ at: seen, value }) => {
    if (!isFlat(candle) || value.type !== "clock" || !value.jumped || seen <= at || seen > until)
      return false;
    return value.at + value.offset - value.uncertainty < end;
  });
}

/** When the first one came of those who share a poll. */
function firstJoined({ stays }: RunLog, feed: FeedPlan): number {
  return Math.min(
    ...stays.flatMap(({ plan, joined }) => ("feed" in plan && plan.feed === feed ? joined : [])),
  );
}

/** The last look of the poll itself before an event. */
function lastLook(looks: readonly Look[], order: number): Look | undefined {
  for (let at = looks.length - 1; at >= 0; at -= 1) {
    const look = looks[at]!;
    if (look.order <= order && !look.isHistory) return look;
  }
  return undefined;
}

/** Whether a candle may be born late: an answer about its interval has lacked it before. */
function isLateIn(looks: readonly Look[], timestamp: number, order: number): boolean {
  return looks.some((look) => look.order < order && covers(look, timestamp) && !look.rows.has(timestamp));
}

export function describe({ type, candle, status, revision }: CandleEvent): string {
  return `${type} ${status} ${new Date(candle.timestamp).toISOString()} #${revision} (close ${candle.close}, ${candle.swaps} swaps)`;
}
