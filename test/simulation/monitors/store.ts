import { type Intervals, intervalsOf } from "../calendar.js";
import { type Span, spansWithin, withSpan } from "../coverage.js";
import type { Held, StoreCall, StoreLog } from "../disk.js";
import { coveredAt } from "../economy/covered.js";
import { isWithin, spansOf } from "../economy/spans.js";
import type { Exchange } from "../exchanges.js";
import { askedBy, covers, isAboutOne, isProbe, type Look } from "../reads.js";
import type { RunLog, StayLog } from "../run-log.js";
import { isAnotherAnswer } from "./evidence.js";
import type { Context, Monitor } from "./monitor.js";
import { flawOf, Shelf } from "./stored-candles.js";

/** What nobody watches is read by these rules. */
const CALL_RULES = { settle: 1_000, revisionWindow: 2 };
const LEAST_WINDOW = 2;
/** ms for which writes are joined, and more than what they take where nothing is wrong. */
const JOINED = 2_000;
/** No answer is longer on its way, ms. */
const LONGEST_TRIP = 60_000;
/** The longest pause before what has failed is written again, ms. */
const LONGEST_PAUSE = 60_000;
/** So many dated answers tell what time it is. */
const LEARNING = 6;
/** A store that took too long is not read for so long, ms. */
const NOT_READ = 60_000;
/** How much later a client may take it to be by a `Date`, which tells whole seconds, and half of a trip, ms. */
const DATE_ERROR = 1_000;
/** As a process begins and ends all that is held is read, ms. */
const ALL: Span = { from: Number.MIN_SAFE_INTEGER, to: Number.MAX_SAFE_INTEGER };
const NOTHING_HELD = { candles: [], covered: [] };
/** A doubt is settled within so many looks. */
const SETTLING_LOOKS = 4;

/** How candles of a series become final for good. */
interface Rules {
  readonly intervals: Intervals;
  readonly settle: number;
  readonly revisionWindow: number;
}

/** Promise 17: what is final is written once it is, as it is, and not asked for again; a store's trouble goes no further. */
export const watchStore: Monitor = (log, context) => {
  const { store } = log;
  if (store === undefined) return;
  for (const call of store.calls) {
    if (call.operation === "write") checkAge(call, rulesOf(log, call, context), log.plan.world, context);
  }
  checkCandles(log, store, context);
  checkKept(log, store, context);
  watchRequests(log, store.before, context);
  watchTrouble(log, context);
  watchWriting(log, context);
  watchRepeats(log, context);
};

function rulesOf(log: RunLog, { key, series }: Pick<StoreCall, "key" | "series">, context: Context): Rules {
  const { settle, revisionWindow } = context.feedOf(series) ?? CALL_RULES;
  const weekStart = key.timeframe === "1w" ? log.plan.world.weekStart : "monday";
  return {
    intervals: intervalsOf(key.timeframe, weekStart),
    settle,
    revisionWindow: Math.max(LEAST_WINDOW, revisionWindow),
  };
}

/** Until where all is final at an instant. */
function finalUntil({ intervals, settle, revisionWindow }: Rules, instant: number): number {
  const window = intervals.shift(intervals.start(instant), -revisionWindow);
  return Math.min(window, intervals.start(instant - settle));
}

/** What is written was read, and is written, when it could not change any more. */
function checkAge(
  { key, to, at, order }: StoreCall,
  rules: Rules,
  { createdAt }: RunLog["plan"]["world"],
  context: Context,
) {
  if (!context.isTrusted(order) || !context.knowsTime(order)) return;
  const tolerance = context.toleranceAt(order);
  const breach = (what: string) => context.breach(17, `${nameOf(key, to)} ${what}`, at);
  if (finalUntil(rules, context.serviceClock(at) + tolerance) < to) breach("is written too young");
  const last = rules.intervals.shift(to, -1);
  // What was before the first swap is known by that.
  if (last < rules.intervals.start(createdAt)) return;
  const wasRead = context
    .answersOf(key)
    .some(
      (look) =>
        look.order <= order &&
        covers(look, last) &&
        finalUntil(rules, look.answeredAt + look.old + tolerance) >= to,
    );
  if (!wasRead) breach("is written, and was not read when it was final");
}

/** What is written is as the service had it once it was final. */
function checkCandles(log: RunLog, store: StoreLog, context: Context) {
  for (const call of store.calls) {
    if (call.operation !== "write") continue;
    const rules = rulesOf(log, call, context);
    const isFinal = ({ answeredAt, old, order }: Look, timestamp: number) =>
      finalUntil(rules, answeredAt + Math.min(old, DATE_ERROR) + context.toleranceAt(order)) > timestamp;
    const flaw = flawOf(log, call, isFinal, context);
    if (flaw !== undefined) context.breach(17, `${call.key.timeframe} at ${flaw}`, call.at);
  }
}

function endOfLife({ plan, isLast, stays }: RunLog): number {
  const ends = stays.map(({ left, ended, joined }) => left ?? ended?.at ?? joined);
  return isLast ? plan.world.start + plan.length : Math.max(plan.world.start, ...ends);
}

/** A store gives what was written to it, the middle of a span as well as its edges, also to the next process. */
function checkKept(log: RunLog, { calls, before, after }: StoreLog, context: Context) {
  const shelves = new Map<string, Shelf>();
  const shelfOf = (series: string) => {
    const shelf = shelves.get(series) ?? new Shelf(before.get(series) ?? NOTHING_HELD);
    shelves.set(series, shelf);
    return shelf;
  };
  const done = calls.filter(({ turn }) => turn !== undefined).sort((a, b) => a.turn! - b.turn!);
  for (const call of done) {
    const shelf = shelfOf(call.series);
    if (call.operation !== "read") shelf.take(call);
    else if (call.given !== undefined) {
      const difference = shelf.differs(call.given, call, call.last);
      if (difference !== undefined) context.breach(17, `a read ${difference}`, call.at);
    }
  }
  // Of what a power cut has taken nothing is known.
  if (endingOf(log) === "power cut") return;
  for (const [series, held] of after) {
    const difference = shelfOf(series).differs(held, ALL);
    if (difference !== undefined) context.breach(17, `what is left ${difference}`, endOfLife(log));
  }
}

/** How the process of a life has ended; `undefined` for the last one. */
function endingOf({ plan, earlier, isLast }: RunLog) {
  if (isLast) return undefined;
  return plan.faults.filter((fault) => fault.kind === "restart")[earlier.length]?.how;
}

/** What was covered when whoever may ask for it began is not asked for. */
function watchRequests(log: RunLog, before: ReadonlyMap<string, Held>, context: Context) {
  const dated = log.told.filter(({ headers }) => headers.date !== undefined);
  const learnedAt = log.plan.world.hasDate ? dated[LEARNING]?.received : 0;
  for (const exchange of log.exchanges) {
    if (isProbe(exchange)) continue;
    const { url, sent, priority } = exchange;
    const asked = askedBy(url);
    // While the time is being learned a poll may ask for what is past by then, and so to the end of its look.
    if (priority !== "history" && lookBegan(log, exchange) <= (learnedAt ?? Number.POSITIVE_INFINITY))
      continue;
    if (asked.kind !== "ohlcv" || isDirect(log, asked.series, sent)) continue;
    const calls = (log.store?.calls ?? []).filter(({ series, at }) => series === asked.series && at <= sent);
    const key = calls[0]?.key;
    if (key === undefined) continue;
    const { intervals } = rulesOf(log, { key, series: asked.series }, context);
    // What is in doubt is asked about alone, with a margin on both sides.
    if (isAboutOne(asked, intervals) || intervals.count(asked.from, asked.to) <= 3) continue;
    const known = intervals.shift(asked.to, -2);
    // Where answers take no time, later ones come at the same instant.
    const turn = exchange.told?.order ?? Number.POSITIVE_INFINITY;
    const looks = context
      .answersOf(key)
      .filter(({ order, received }) => order > 0 && order <= turn && received <= sent);
    if (areLacking(looks, known, priority === "history")) continue;
    const began = log.stays.filter(
      ({ plan, joined, left, ended }) =>
        "timeframe" in plan.options &&
        seriesOf(plan.options) === asked.series &&
        joined <= sent &&
        (left ?? ended?.at ?? sent) >= sent,
    );
    const since = Math.min(...began.map(({ joined }) => joined));
    const failed = calls.some(
      ({ operation, at, ended }) =>
        operation === "read" && (ended?.isGood !== true || ended.at - at >= timeoutOf(log)) && at >= since,
    );
    if (failed || isUnread(log, sent) || began.length === 0) continue;
    const covered = coveredAt(before.get(asked.series)?.covered ?? [], calls, since);
    const inner = withoutMargins(asked, intervals, intervals.start(log.plan.world.createdAt));
    const [held] = spansWithin(covered, inner);
    if (held === undefined || held.from > inner.from || held.to < inner.to) continue;
    context.breach(
      17,
      `asks again (${priority}) for ${new Date(inner.from).toISOString()} to ${new Date(inner.to).toISOString()} of ${asked.series}: ${url}`,
      sent,
    );
    return;
  }
}

/** Whether two answers that were made apart lack a candle, and none since shows it; of histories or of polls. */
export function areLacking(looks: readonly Look[], timestamp: number, isHistory: boolean): boolean {
  const about = looks.filter((look) => look.isHistory === isHistory && covers(look, timestamp));
  const since = about.slice(about.findLastIndex(({ rows }) => rows.has(timestamp)) + 1);
  return since.some((look) => isAnotherAnswer(since[0]!, look));
}

/** What is wanted of a range: all but an interval on each side, or on one where it begins with the pair's first interval. */
export function withoutMargins({ from, to }: Span, { end, shift }: Intervals, bornAt: number): Span {
  return { from: from === bornAt ? from : end(from), to: shift(to, -1) };
}

/** When the look began that a request belongs to: each of its requests follows at once from the answer before, or repeats it. */
export function lookBegan({ exchanges }: Pick<RunLog, "exchanges">, { url, sent, id }: Exchange): number {
  const { series } = askedBy(url);
  let first = { url, sent };
  for (let at = exchanges.findIndex((other) => other.id === id) - 1; at >= 0; at -= 1) {
    const before = exchanges[at]!;
    if (first.sent - before.sent > LONGEST_TRIP) break;
    const isFollowed = before.received === first.sent && askedBy(before.url).series === series;
    if (isFollowed || before.url === first.url) first = before;
  }
  return first.sent;
}

/** Whether somebody calls for pages, which no store has. */
function isDirect({ stays }: RunLog, series: string, sent: number): boolean {
  return stays.some(
    ({ plan, joined, left, ended }) =>
      (plan.kind === "page" || plan.kind === "pages") &&
      seriesOf(plan.options) === series &&
      joined <= sent &&
      (left ?? ended?.at ?? sent) >= sent,
  );
}

function timeoutOf({ plan }: RunLog): number {
  return plan.world.client.timeout ?? 10_000;
}

/** Whether the store has taken too long less than a minute ago. */
function isUnread(log: RunLog, instant: number): boolean {
  const timeout = timeoutOf(log);
  return log.store!.calls.some(({ at, ended }) => {
    const since = instant - at - timeout;
    return since >= 0 && since <= NOT_READ && (ended?.at ?? Number.POSITIVE_INFINITY) >= at + timeout;
  });
}

/** Each failure is told, and nothing else; none ends a stream. */
export function watchTrouble(log: RunLog, context: Context) {
  const told = log.activities.flatMap(({ at, value }) => (value.type === "store" ? [{ at, value }] : []));
  const isThere = (at: number) => log.stays.some((stay) => stay.joined <= at && endOf(stay) > at);
  // Of what takes longer than the client waits it tells once it has waited.
  const failedAt = ({ at, ended }: StoreCall) =>
    ended?.isGood === false && ended.at - at <= timeoutOf(log) + 1 ? ended.at : undefined;
  for (const call of log.store!.calls) {
    const { operation, series } = call;
    const due = failedAt(call);
    if (due === undefined || !isThere(due)) continue;
    const isTold = told.some(
      ({ at: when, value }) =>
        when === due && value.operation === operation && seriesOf(value.key) === series,
    );
    if (!isTold) context.breach(17, `does not tell that the store fails to ${operation}`, due);
  }
  for (const { at, value } of told) {
    const { message } = value.error;
    const isCalled = log.store!.calls.some(
      (call) =>
        call.operation === value.operation &&
        call.series === seriesOf(value.key) &&
        (failedAt(call) === undefined ? call.at < at : failedAt(call) === at),
    );
    const isPassedOver = value.operation === "read" && message.includes("not read") && isUnread(log, at);
    if (!(isCalled || isPassedOver) || message.includes("contradicts"))
      context.breach(17, `tells of the store: ${message}`, at);
  }
  for (const { id, ended, plan } of log.stays) {
    if (ended?.isError && String(ended.value).includes("store"))
      context.breach(17, `${plan.kind} ${id} ends with ${String(ended.value)}`, ended.at);
  }
}

function endOf({ left, ended }: StayLog): number {
  return left ?? ended?.at ?? Number.POSITIVE_INFINITY;
}

/** In good health what becomes final is written. */
export function watchWriting(log: RunLog, context: Context) {
  const { plan, store } = log;
  for (const feed of plan.feeds) {
    const series = seriesOf(feed.series);
    const stays = log.stays.filter(({ plan: watcher }) => "feed" in watcher && watcher.feed === feed);
    const left = Math.max(...stays.map(({ left = 0 }) => left));
    const joined = Math.min(...stays.filter(({ left: own }) => own === left).map((stay) => stay.joined));
    const calmFrom = Math.max(plan.world.start + plan.healthyFrom, joined) + context.graceOf(feed);
    if (!(left > calmFrom) || !context.isTrusted(log.told.length)) continue;
    const looks = context
      .looksAt(feed)
      .filter((look) => !look.isHistory && look.sent > calmFrom && look.received < left - JOINED);
    const calm = looks.at(-SETTLING_LOOKS);
    const isSilent = looks.slice(-SETTLING_LOOKS).some(({ rows }) => rows.size === 0);
    const isDoubtful = (look: Look) => look.hasUnidentifiedRow || look.broken.size > 0;
    if (calm === undefined || isSilent || looks.some(isDoubtful)) continue;
    const calls = store!.calls.filter((call) => call.series === series);
    if (calls.length === 0) {
      context.breach(17, `${series} is never written`, left);
      continue;
    }
    const rules = rulesOf(log, { key: calls[0]!.key, series }, context);
    const due = finalUntil(rules, calm.answeredAt - context.clockTolerance);
    // What was final when the poll showed its first candle is left to those who ask for it: no silence is written without one.
    const first = context
      .looksAt(feed)
      .find(({ isHistory, rows }) => !isHistory && [...rows.keys()].some((timestamp) => timestamp < due));
    if (first === undefined || due <= finalUntil(rules, first.answeredAt + context.clockTolerance)) continue;
    // What two answers have lacked was written as well, and taken out again.
    const written = calls.filter(({ operation }) => operation !== "forget");
    const covered = coveredAt(store!.before.get(series)?.covered ?? [], written, left);
    const reached = covered.at(-1)?.to;
    if (reached === undefined || reached < due)
      context.breach(
        17,
        `${nameOf(calls[0]!.key, due)} is not covered, only ${reached && new Date(reached).toISOString()}`,
        left,
      );
  }
}

/** What a store has not taken is written again, while anybody is there. */
function watchRepeats(log: RunLog, context: Context) {
  const { plan, store } = log;
  const users = log.stays.filter(({ plan: { kind } }) => ["candles", "status", "fetch"].includes(kind));
  const spans = spansOf(log, users);
  const timeout = timeoutOf(log);
  for (const write of store!.calls) {
    const { operation, series, from, to, at, ended } = write;
    if (operation !== "write" || (ended?.isGood === true && ended.at - at < timeout)) continue;
    const failedAt = Math.min(ended?.at ?? Number.POSITIVE_INFINITY, at + timeout);
    const due = failedAt + LONGEST_PAUSE + 2 * timeout;
    const isThere = spans.some((span) => isWithin(log, at, span) && isWithin(log, due, span));
    // By a clock that is set, and in a sleep, timers come late.
    const isLate = plan.faults.some(
      (fault) =>
        (fault.kind === "asleep" || fault.kind === "clock set") &&
        fault.from <= due - plan.world.start &&
        fault.until >= at - plan.world.start,
    );
    if (!isThere || isLate) continue;
    const later = store!.calls.filter((call) => call.series === series && call.at >= at && call.at <= due);
    if (later.some((call) => call.operation === "forget" && call.to > from)) continue;
    const repeats = later.filter((call) => call !== write && call.operation === "write");
    const again = repeats.reduce<readonly Span[]>((sum, call) => withSpan(sum, call), []);
    if (again.some((span) => span.from <= from && span.to >= to)) continue;
    context.breach(17, `${nameOf(write.key, from)} is not written again, as the store has not taken it`, due);
    return;
  }
}

function seriesOf({
  pairAddress,
  timeframe,
  currency,
}: {
  pairAddress: string;
  timeframe: string;
  currency: string;
}) {
  return `${pairAddress} ${timeframe} ${currency}`;
}

function nameOf({ timeframe }: Held["key"], instant: number): string {
  return `${timeframe} at ${new Date(instant).toISOString()}`;
}
