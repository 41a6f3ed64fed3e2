import type { Candle } from "../../../src/index.js";
import { intervalsOf } from "../calendar.js";
import type { Look } from "../reads.js";
import type { RunLog, StayLog } from "../run-log.js";
import { candlesAt, isTrue } from "../truth.js";
import { isClean, wasAnswered } from "./evidence.js";
import { isFlat } from "./filling.js";
import type { Context, Monitor } from "./monitor.js";

/** A candle is closed so long after its end, ms. */
const SETTLES = 1_000;
/** The service's clock is not known more exactly before its first answer, ms. */
const UNKNOWN = 1_500;
/** In good health a call has its answer within so long, whatever it asks for, ms. */
const PATIENCE = 60_000;

/** Promises 5, 6 and 8: a fetch gives all closed candles that it asked for, and nothing else; it ends. */
export const watchFetches: Monitor = (log, context) => {
  for (const stay of log.stays) {
    if (stay.plan.kind !== "fetch") continue;
    checkOrder(stay, context);
    checkEnd(log, stay, context);
    compare(log, stay, context);
  }
};

function checkOrder({ id, candles }: StayLog, context: Context) {
  let before = Number.NEGATIVE_INFINITY;
  for (const { at, value } of candles) {
    if (value.timestamp <= before)
      context.breach(5, `fetch ${id} gives ${value.timestamp} after ${before}`, at);
    if (!Object.isFrozen(value)) context.breach(15, `fetch ${id} gives a candle that is not frozen`, at);
    before = value.timestamp;
  }
}

/** Promise 8, of calls: in good health each ends, and not with an error. */
export function checkEnd(log: RunLog, { id, plan, joined, left, ended }: StayLog, context: Context) {
  const { world, healthyFrom } = log.plan;
  if (joined < world.start + healthyFrom) return;
  // A service that allows less than the client was told of, or a quota, is no good health.
  const isLimited = world.limiter !== undefined || world.client.quota !== undefined;
  if (isLimited) return;
  const last = ended?.at ?? left ?? joined;
  if (last - joined > PATIENCE)
    context.breach(8, `${plan.kind} ${id} takes ${last - joined} ms in good health`, last);
  if (ended?.isError)
    context.breach(8, `${plan.kind} ${id} fails in good health: ${String(ended.value)}`, ended.at);
}

function compare(log: RunLog, stay: StayLog, context: Context) {
  if (stay.plan.kind !== "fetch") return;
  const { id, plan, joined, ended, candles } = stay;
  const { options } = plan;
  const intervals = intervalsOf(options.timeframe, options.weekStart);
  const ceiling = (instant: number) =>
    intervals.start(instant) === instant ? instant : intervals.end(instant);
  const end = ended ?? candles.at(-1);
  // Where no Date has come yet, nobody knows what has ended.
  if (end === undefined || !context.knowsTime(end.order)) return;
  const isWhole = ended?.isError === false;
  // A replica may know less than the service does.
  const lag = log.plan.world.replicas?.lag ?? 0;
  const slack = context.clockTolerance + UNKNOWN;
  const reaches = (instant: number) => intervals.start(instant - SETTLES);
  const from = ceiling(options.from);
  const asked = ceiling(options.to ?? Number.MAX_SAFE_INTEGER);
  /** All of it has closed before the call, and none of it after that. */
  const until = Math.min(asked, reaches(context.serviceClock(joined) - lag - slack));
  const atMost = Math.min(asked, reaches(context.serviceClock(end.at) + slack));
  const given = new Map(candles.map(({ value }) => [value.timestamp, value]));
  const last = candles.at(-1)?.value.timestamp ?? from - 1;
  const breach = (promise: number, what: string) => context.breach(promise, `fetch ${id} ${what}`, end.at);

  const answers = context.answersOf(options);
  const looks =
    log.store === undefined
      ? answers.filter((look) => look.isHistory && look.order > stay.joinedOrder && look.order <= end.order)
      : answers.filter((look) => look.order <= end.order);
  const range = { from, to: Math.max(until, atMost, last + 1) };
  const truths = [context.serviceClock(joined) - lag, context.serviceClock(end.at)].map((at) =>
    candlesAt(log, options, { ...range, at }),
  );
  const isGood = (look: Look) => isClean(look);
  const bornAt = intervals.start(log.plan.world.createdAt);
  const finality = {
    intervals,
    leaves: () => Number.NEGATIVE_INFINITY,
    tolerance: 0,
    hasDate: log.plan.world.hasDate,
    bornAt,
    isGood,
  };
  const silent = new Set(looks.filter((look) => isSilent(log, stay, look, bornAt)));
  // Without a report nothing tells the silence before a pair from one after it, where no candle is found at all.
  if (!isReported(log, stay) && given.size === 0 && silent.size > 0) return;
  const own = looks.filter((look) => !silent.has(look));
  for (const timestamp of new Set([...truths[0]!.keys(), ...given.keys()])) {
    const candle = given.get(timestamp);
    const has = candle === undefined || isFlat(candle) ? undefined : candle;
    if (timestamp < from || timestamp >= atMost) {
      if (candle === undefined) continue;
      breach(5, `gives ${new Date(timestamp).toISOString()}, which it was not asked for or has not closed`);
      return;
    }
    if (candle === undefined && timestamp >= (isWhole ? until : last)) continue;
    const isRight = (truth: ReadonlyMap<number, Candle>) => {
      const wanted = truth.get(timestamp);
      return has === wanted || (has !== undefined && wanted !== undefined && isTrue(has, wanted));
    };
    if (truths.some(isRight) || wasAnswered(own, timestamp, has, finality)) continue;
    breach(5, `${has === undefined ? "lacks" : "has another"} ${new Date(timestamp).toISOString()}`);
    return;
  }
  if (!options.fillGaps) {
    if (candles.some(({ value }) => isFlat(value))) breach(6, "is filled, and nobody asked for that");
    return;
  }
  checkFlats(stay, isWhole ? until : Number.NEGATIVE_INFINITY, intervals.end, breach);
}

/** From the first candle on there is one for each interval, those without swaps at the close before. */
function checkFlats(
  { candles }: StayLog,
  until: number,
  next: (timestamp: number) => number,
  breach: (promise: number, what: string) => void,
) {
  let before: Candle | undefined;
  for (const { value } of candles) {
    const { timestamp, open, high, low, close } = value;
    if (before !== undefined && next(before.timestamp) !== timestamp)
      return breach(6, `is not filled before ${new Date(timestamp).toISOString()}`);
    if (isFlat(value) && [open, high, low, close].some((price) => price !== before?.close))
      return breach(6, `is filled with ${close} after ${before?.close}`);
    before = value;
  }
  if (before !== undefined && next(before.timestamp) < until)
    breach(6, `is not filled after ${new Date(before.timestamp).toISOString()}`);
}

/** Whether an answer holds nothing because it was asked from before the pair's creation on, and not as a fault has struck it. */
function isSilent(log: RunLog, { plan }: StayLog, look: Look, bornAt: number): boolean {
  const { rows, asked, asOf } = look;
  if (plan.kind !== "fetch" || rows.size > 0 || !log.plan.world.quirks.emptyBeforeCreation) return false;
  if (asked.from >= bornAt && !isClean(look)) return false;
  return candlesAt(log, plan.options, { from: asked.from, to: asked.to, at: asOf }).size > 0;
}

/** Whether the client was told when the pair was created, so that it need not believe in a silence before that. */
function isReported(log: RunLog, { plan, ended }: StayLog): boolean {
  const { pairAddress } = plan.options as { pairAddress: string };
  return log.told.some(
    ({ url, told, faults }) =>
      url.includes(`/${pairAddress}/snipers`) &&
      told!.isGood &&
      faults.length === 0 &&
      told!.order < (ended?.order ?? 0),
  );
}
