import type { Series, Timeframe, WeekStart } from "../../../src/index.js";
import { type Intervals, intervalsOf } from "../calendar.js";
import type { Span } from "../coverage.js";
import type { Exchange } from "../exchanges.js";
import { askedBy, isProbe, type Read, seriesNameOf } from "../reads.js";
import type { RunLog } from "../run-log.js";
import { candlesAt } from "../truth.js";
import type { Account } from "./allowed.js";
import {
  followsAtOnce,
  isDoubtful,
  leadsNowhere,
  MOST_AGAIN,
  readOf,
  Shown,
  timesUnknown,
} from "./answers.js";
import { requestsOf } from "./asked.js";
import { allowRetries } from "./failures.js";
import { Search } from "./search.js";

/** Rows that a page holds at most, as asked for. */
const PAGE = 1_000;
/** A range that was thought to be sparse is left after so many candles, and then read in so many parts at most. */
const TOO_MANY = 3_000;
const PARTS = 8;
/** Each range of a long silence is so many times longer than the one before. */
const GROWTH = 8;
/** No chain with token pairs is older. */
export const EARLIEST = Date.UTC(2009, 0, 1);
/** A range that somebody wants to have read. */
export interface Walk {
  readonly series: Series<Timeframe>;
  readonly weekStart: WeekStart | undefined;
  /** ms; no instant where so many candles are wanted. */
  readonly from: number | undefined;
  readonly to: number;
  readonly candles: number;
  /** What of it no store has; default: all of it. */
  readonly missing?: readonly Span[];
}

/** The rows of a page: as many as may be asked for, or fewer. That a service gives more, however many are asked for, nobody knows. */
export function pageSizeOf({ plan: { world } }: RunLog): number {
  return Math.min(PAGE, world.quirks.pageSize ?? PAGE);
}

/** What it takes to read ranges of one series: their pages, a confirmation of a silence at their beginning, and what was struck. */
export async function allowWalks(
  log: RunLog,
  walks: readonly Walk[],
  exchanges: readonly Exchange[],
  account: Account,
  polls: readonly Exchange[],
): Promise<void> {
  const pageSize = pageSizeOf(log);
  // A probe asks for a full page, in as many parts as the service makes of it.
  const probe = Math.ceil(PAGE / pageSize);
  const { order = "newest-first" } = log.plan.world.quirks;
  const mayAscend = order !== "newest-first";
  for (const walk of walks) {
    const { from, to } = { from: await beginningOf(log, walk), to: walk.to };
    const { missing = [{ from, to }] } = walk;
    const intervals = intervalsOf(walk.series.timeframe, walk.weekStart);
    for (const span of missing) {
      const [first = span.to, ...others] = await candlesOf(log, walk, span);
      account.allow("page", Math.max(1, Math.ceil((1 + others.length) / pageSize)));
      if (first > intervals.start(span.from)) account.allow("silence");
      // How many candles there are nobody can know before.
      if (intervals.count(span.from, span.to) > pageSize) account.allow("probe", probe);
      if (others.length >= TOO_MANY) account.allow("parts", PARTS);
    }
    // Nor how far back so many of them reach.
    if (Number.isFinite(walk.candles)) account.allow("probe", probe);
  }
  const [first] = walks;
  const own = first && intervalsOf(first.series.timeframe, first.weekStart);
  let silentFor = 0;
  /** Of the range that is under way: its pages so far, and whether one of them leaves it in doubt. */
  let [pages, inDoubt] = [0, false];
  let contradicted = 0;
  const shown = new Shown();
  // A store keeps what was shown before its client was there.
  if (log.store !== undefined && first !== undefined)
    for (const exchange of earlierOf(log, first)) {
      const read = readOf(exchange);
      if (read !== undefined && !isProbe(exchange)) shown.notePolled(read);
    }
  const reads: Read[] = [];
  const search = new Search(log, shown);
  const polled = polls.flatMap((exchange) => readOf(exchange) ?? []);
  for (const [at, exchange] of exchanges.entries()) {
    const read = readOf(exchange);
    if (read === undefined) continue;
    const isBefore = (poll: Read) => poll.exchange.told!.order < exchange.told!.order;
    while (polled[0] !== undefined && isBefore(polled[0])) shown.notePolled(polled.shift()!);
    search.note(read);
    const length = read.asked.to - read.asked.from;
    if (read.served === 0 && length >= GROWTH * silentFor) {
      if (silentFor > 0) account.allow("silence");
      silentFor = length;
    }
    if (own !== undefined && isThinner(read, reads, own)) account.allow("probe");
    reads.push(read);
    if (read.asked.cursor === undefined) [pages, inDoubt] = [0, false];
    pages += 1;
    const next = exchanges[at + 1];
    const isLacking = shown.lacks(read, next, own?.shift(read.asked.to, -1));
    // All of its pages are asked for again.
    if (inDoubt) account.allow("again");
    else if (isLacking || isDoubtful(read) || exchange.old > 0 || isHidden(log, read)) {
      inDoubt = true;
      account.allow("again", pages);
    }
    // Until two machines are told apart the Date of one contradicts that of the other.
    const before = exchanges[at - 1] ?? exchange;
    if (exchange.ahead !== before.ahead && followsAtOnce(next, exchange)) contradicted += 1;
    account.allow("again", timesUnknown(log, exchange));
    if (leadsNowhere(read)) account.allow("page");
    if (mayAscend && own !== undefined && mayBeCutAtItsEnd(read, own)) account.allow("end");
  }
  account.allow("again", Math.min(contradicted, MOST_AGAIN * walks.length));
  // A read that fails halfway begins anew, and takes its last answer once more.
  for (const [at, { told }] of exchanges.entries())
    if (told?.isGood === false && exchanges[at - 1]?.told?.isGood) account.allow("again");
  if (own !== undefined) {
    const range = { from: Math.min(...walks.map(startOf)), to: Math.max(...walks.map(({ to }) => to)) };
    account.allow("search", search.within(own, range, walks.length));
  }
  allowRetries(
    log,
    exchanges,
    account,
    (next, failed) => askedBy(next.url).from === askedBy(failed.url).from,
  );
}

/** All that earlier clients of a run have asked about a series. */
function earlierOf({ earlier }: RunLog, { series }: Walk): readonly Exchange[] {
  const name = `ohlcv ${seriesNameOf(series)}`;
  return earlier.flatMap((log) => {
    const requests = requestsOf(log);
    return [...(requests.get(name) ?? []), ...(requests.get(`${name} history`) ?? [])];
  });
}

/** Whether a range holds less than half as many candles as the one after it promised, by which its length was chosen. */
function isThinner(read: Read, before: readonly Read[], intervals: Intervals): boolean {
  const densityOf = ({ served, asked: { from, to } }: Read) => served / intervals.count(from, to);
  const { from, to } = read.asked;
  const next = before.findLast(({ asked }) => from < asked.from && asked.from < to && to <= asked.to);
  const isWhole = read.asked.cursor === undefined && read.cursor === undefined;
  return next !== undefined && isWhole && read.served > 0 && densityOf(read) < densityOf(next) / 2;
}

/** Whether an answer ends with a silence, and gives the oldest first, be it by chance: one that is cut leaves out the newest. */
function mayBeCutAtItsEnd({ rows, cursor, asked }: Read, { end, shift }: Intervals): boolean {
  const shown = [...rows.keys()];
  const isAscending = shown.length > 1 && shown.every((each, at) => each > (shown[at - 1] ?? -Infinity));
  return isAscending && cursor === undefined && end(shown.at(-1)!) < shift(asked.to, -1);
}

/** Whether a range comes back empty, as it begins before the pair's creation, although it holds candles. */
function isHidden({ plan: { world } }: RunLog, { asked: { from, to }, served }: Read): boolean {
  return (
    world.quirks.emptyBeforeCreation === true &&
    served === 0 &&
    from < world.createdAt &&
    to > world.createdAt
  );
}

function startOf({ from = EARLIEST }: Walk): number {
  return Math.max(EARLIEST, from);
}

/** Where the candles begin that a walk wants. */
export async function beginningOf(log: RunLog, walk: Walk): Promise<number> {
  const from = startOf(walk);
  if (!Number.isFinite(walk.candles)) return from;
  return (await candlesOf(log, walk, { from, to: walk.to })).at(-walk.candles) ?? from;
}

/** The timestamps of the candles in a part of a walk's range, ascending. */
async function candlesOf(log: RunLog, { series, weekStart, to: at }: Walk, { from, to }: Span) {
  const born = intervalsOf(series.timeframe, weekStart).start(log.plan.world.createdAt);
  const candles = candlesAt(log, series, { from: Math.max(from, born), to, at });
  return [...candles.keys()].sort((a, b) => a - b);
}
