import { type Intervals, intervalsOf } from "../calendar.js";
import { type Exchange, hasFalseDate } from "../exchanges.js";
import type { FeedPlan } from "../plan.js";
import { isProbe, type Read, seriesNameOf } from "../reads.js";
import type { RunLog, StayLog } from "../run-log.js";
import { serviceClockOf } from "../service-time.js";
import { candlesAt } from "../truth.js";
import type { Account } from "./allowed.js";
import {
  followsAtOnce,
  holdsOnlyBroken,
  isCutShort,
  isDoubtful,
  isOutdated,
  leadsNowhere,
  leavesClosingOpen,
  MOST_AGAIN,
  missesPresent,
  readOf,
  Shown,
  timesUnknown,
} from "./answers.js";
import { coveredAt } from "./covered.js";
import { allowRetries, hasWaited } from "./failures.js";
import { Search } from "./search.js";
import { awakeSlots, driftsIn, isWithin, type Span, slotsWithin, spansOf } from "./spans.js";
import { EARLIEST, pageSizeOf } from "./walks.js";

/** Closings that may be asked for once more until the service's clock is known. */
export const LEARNING = 10;
/** So many intervals that a store lacks come with the first answer at most. */
const HALF_A_PAGE = 500;
/** Beside its candles a poll may ask for a few known ones, which a whole answer holds. */
const ANCHORS = 6;

/**
 * A poll is one request a slot, and one where the clock has jumped, and more only for what an answer shows: pages of what was missed; once more where it lacks a
 * candle, ends with a cursor that leads nowhere, is empty after one that was not, or comes from before a closing; and for a closing that no `Date` proves. No slot
 * asks more than twice again. Retries come on top, where they have waited.
 */
export async function allowPolls(
  log: RunLog,
  feed: FeedPlan,
  stays: readonly StayLog[],
  exchanges: readonly Exchange[],
  account: Account,
): Promise<void> {
  const intervals = intervalsOf(feed.series.timeframe, feed.weekStart);
  const { ahead = 0 } = log.plan.world.machines ?? {};
  const shown = new Shown();
  let closings = LEARNING * timesToLearn(log);
  for (const span of spansOf(log, stays)) {
    const due = slotsWithin(feed, span);
    const slots = awakeSlots(log, due);
    account.allow("slot", slots);
    closings += Math.floor(driftsIn(log, span));
    // Whoever learns that the service's clock has jumped asks what is due by then.
    const begun = 1 + jumpsIn(log, span);
    account.allow("join", begun);
    const search = new Search(log, shown);
    let again = 0;
    let polls = slots + begun;
    let wasEmpty = false;
    let coveredUntil: number | undefined;
    let looked = 0;
    const own = exchanges.filter(({ sent }) => isWithin(log, sent, span));
    // What comes without pages before it, where no attempt is left, is a poll that has failed.
    const isAskedAtOnce = (exchange: Exchange, at: number) => {
      const next = own[at + 1];
      return (
        isCutShort(exchange) && followsAtOnce(next, exchange) && next?.attempt !== (exchange.attempt ?? 1) + 1
      );
    };
    const others = own.filter((exchange, at) => !isAskedAtOnce(exchange, at));
    allowRetries(log, others, account, undefined, stays, own);
    for (const [at, exchange] of own.entries()) {
      if (isAskedAtOnce(exchange, at)) again += 1;
      const read = readOf(exchange);
      if (read === undefined) continue;
      // The first look of a slot is paid for, whatever it shows.
      const passed = due.filter((slot) => slot <= exchange.answeredAt!).length;
      search.note(read, read.rows.size > 0 || passed !== looked);
      const before = own[at - 1];
      // Where nothing has shown yet, an answer of which nothing can be read is none.
      const hasFailed = before && (hasFalseDate(before) || (!shown.hasAny && holdsOnlyBroken(before)));
      if (passed === looked && hasFailed && hasWaited(log, before, exchange)) {
        account.allow("retry");
        polls += 1;
      }
      looked = passed;
      if (shown.lacks(read, own[at + 1]) || isDoubtful(read) || isOutdated(read, intervals, feed.settle))
        again += 1;
      if (leadsNowhere(read)) account.allow("page");
      if (isProbe(exchange) || read.asked.cursor !== undefined) continue;
      const isEmpty = coveredUntil === undefined ? !holdsAny(read, intervals) : read.rows.size === 0;
      if (isEmpty && !wasEmpty) again += 1;
      // Whoever joins in a silence knows no candle by which an answer could be held to be whole.
      if (isEmpty && coveredUntil === undefined) account.allow("probe");
      wasEmpty = isEmpty;
      again += timesUnknown(log, exchange);
      if (missesPresent(read, intervals)) again += 1;
      else if (
        closings > 0 &&
        (leavesClosingOpen(exchange, intervals, feed.settle, ahead) ||
          // Until two machines are told apart the Date of one contradicts that of the other.
          exchange.ahead !== (own[at - 1] ?? exchange).ahead)
      ) {
        closings -= 1;
        again += 1;
      }
      const known = coveredUntil ?? storedUntil(log, feed, intervals, exchange);
      account.allow("page", (await pagesOf(log, feed, intervals, known, exchange)) - 1);
      coveredUntil = exchange.answeredAt!;
    }
    account.allow("again", Math.min(again, MOST_AGAIN * polls));
    account.allow("search", search.whileWatched(intervals, span, EARLIEST));
  }
}

/** Whether an answer has a candle of the range itself: one interval on each side is a margin. */
function holdsAny({ asked, rows, broken }: Read, { shift, start }: Intervals): boolean {
  const from = shift(start(asked.from), 1);
  return [...rows.keys(), ...broken].some((timestamp) => timestamp > from);
}

/** How often the client has said in a span that the service's clock has jumped. */
function jumpsIn(log: RunLog, span: Span): number {
  return log.activities.filter(
    ({ at, value }) => value.type === "clock" && value.jumped && isWithin(log, at, span),
  ).length;
}

/** How often the service's clock has to be learned: once, and again where it was set, lied about, or another one came beside it. */
export function timesToLearn({ plan }: RunLog): number {
  const kinds = ["clock set", "wrongDate", "jumpingDate"];
  const changes = plan.faults.filter(({ kind }) => kinds.includes(kind)).length;
  return 1 + changes + (plan.world.machines === undefined ? 0 : 1);
}

/** Where a store ends, as a poll begins: it reads on from there, unless more than half a page lies between. */
function storedUntil(
  { store }: RunLog,
  feed: FeedPlan,
  intervals: Intervals,
  { sent, answeredAt }: Exchange,
): number | undefined {
  const name = seriesNameOf(feed.series);
  const calls = store?.calls.filter(({ series }) => series === name) ?? [];
  const until = coveredAt(store?.before.get(name)?.covered ?? [], calls, sent).at(-1)?.to;
  return until !== undefined && intervals.count(until, answeredAt!) <= HALF_A_PAGE ? until : undefined;
}

/** The pages of what a poll has to read: what may change, and what came since the last answer. */
async function pagesOf(
  log: RunLog,
  { series, revisionWindow }: FeedPlan,
  intervals: Intervals,
  coveredUntil: number | undefined,
  { answeredAt }: Exchange,
): Promise<number> {
  const at = answeredAt!;
  const covered = intervals.start(Math.min(coveredUntil ?? at, at));
  const from = intervals.shift(covered, -revisionWindow - 1);
  const pageSize = pageSizeOf(log);
  if (intervals.count(from, at) + ANCHORS <= pageSize) return 1;
  const { size } = candlesAt(log, series, { from, to: at, at });
  return Math.ceil((size + ANCHORS) / pageSize);
}

/** A direct call asks once a page. */
export async function allowCalls(
  log: RunLog,
  stays: readonly StayLog[],
  exchanges: readonly Exchange[],
  account: Account,
): Promise<void> {
  for (const { plan, joined } of stays) {
    if (plan.kind !== "page" && plan.kind !== "pages") continue;
    const { fromDate, toDate, ...series } = plan.options;
    const at = serviceClockOf(log.plan.world).at(joined);
    const { size } = candlesAt(log, series, { from: fromDate, to: toDate, at });
    // A page holds a hundred rows where nobody says how many.
    const pages = Math.ceil(size / (log.plan.world.quirks.pageSize ?? 100));
    account.allow("page", plan.kind === "page" ? 1 : Math.max(1, pages));
  }
  for (const exchange of exchanges) {
    const read = readOf(exchange);
    if (read !== undefined && leadsNowhere(read)) account.allow("page");
  }
  allowRetries(log, exchanges, account, (next, failed) => next.url === failed.url);
}
