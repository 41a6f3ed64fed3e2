import type { Series, WeekStart } from "../../../src/index.js";
import { type Intervals, intervalsOf } from "../calendar.js";
import type { Span } from "../coverage.js";
import type { Exchange } from "../exchanges.js";
import type { Asked } from "../reads.js";
import type { RunLog } from "../run-log.js";
import { candlesAt } from "../truth.js";
import type { Account } from "./allowed.js";
import { isProbe, pagesAfter, readOf, Shown } from "./answers.js";
import { allowFailures, beginsAlike } from "./failures.js";

/** The first slice, in intervals, how much longer than the one before each may be, and the candles that it is to hold. */
const SLICE = { first: 995, growth: 8, candles: 900 };
/** No chain with token pairs is older. */
const EARLIEST = Date.UTC(2009, 0, 1);
/** Halves that a search asks for, and with them the longer and longer ranges that come before. */
const STEPS_A_HALF = 1.5;

/** A range that somebody wants to have read. */
export interface Walk {
  readonly series: Series;
  readonly weekStart: WeekStart | undefined;
  /** ms; no instant where so many candles are wanted. */
  readonly from: number | undefined;
  readonly to: number;
  readonly candles: number;
  /** What of it no store has, in so many pieces, each of them read on its own; default: all of it, in one. */
  readonly missing?: readonly Span[];
  readonly pieces?: number;
}

/** The search for the beginning of a series in a range. */
export function allowSearch(
  account: Account,
  intervals: Intervals,
  { from, to }: { from: number; to: number },
  times = 1,
): void {
  const halves = Math.log2(2 + intervals.count(Math.max(from, EARLIEST), to));
  account.allow("step", times * Math.ceil(STEPS_A_HALF * halves));
  account.allow("found", times);
}

/** What it takes to read ranges of one series, and what their answers excuse; gives how often a beginning may be looked for. */
export async function allowWalks(
  log: RunLog,
  walks: readonly Walk[],
  exchanges: readonly Exchange[],
  account: Account,
): Promise<number> {
  const longest = walks.reduce<Walk | undefined>(
    (a, b) => (a && startOf(a) <= startOf(b) ? a : b),
    undefined,
  );
  if (longest === undefined) return 0;
  const intervals = intervalsOf(longest.series.timeframe, longest.weekStart);
  const range = { from: startOf(longest), to: Math.max(...walks.map(({ to }) => to)) };
  // From the shortest slice to the longest, and from there on back where candles lie close to each other.
  const lengths = intervals.count(range.from, range.to) / SLICE.first;
  const growth = Math.ceil(Math.log(Math.max(1, lengths)) / Math.log(SLICE.growth));
  account.allow("guessedEnd", walks.length);
  for (const walk of walks) {
    const { pieces = 1 } = walk;
    account.allow("history", pieces);
    account.allow("page", pieces * growth + Math.floor((2 * (await sizeOf(log, walk))) / SLICE.candles));
  }

  if (exchanges.some(({ told }) => told?.order === 0)) account.allow("firstWalk");

  const shown = new Shown(log, longest.series, longest.weekStart);
  let unproven = 0;
  let restarts = 0;
  for (const exchange of exchanges) {
    const read = readOf(exchange);
    if (read === undefined || isProbe(exchange)) continue;
    account.allow("page", await pagesAfter(log, longest.series, read));
    if (shown.lacks(read)) restarts += 1;
    else if (exchange.faults.length > 0) account.allow("restart");
    if (read.served === 0 && isHidden(log, exchange)) unproven += 1;
    if (read.served === 0 && beginsBefore(log, read.asked)) account.allow("opening");
  }
  restarts += allowFailures(log, exchanges, account, beginsAlike);
  account.allow("restart", restarts);
  account.allow("page", restarts * growth);
  const searches = Math.min(unproven, walks.length);
  allowSearch(account, intervals, range, searches);
  return walks.length + restarts;
}

function startOf({ from = EARLIEST }: Walk): number {
  return Math.max(EARLIEST, from);
}

/** How many candles a walk has to read. */
async function sizeOf(log: RunLog, walk: Walk): Promise<number> {
  const { to, candles, missing = [{ from: startOf(walk), to }] } = walk;
  let size = 0;
  for (const span of missing) size += (await candlesOf(log, walk, span)).length;
  return Math.min(size, candles);
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

/** Whether a range begins before the pair's creation, and ends after it. */
function beginsBefore({ plan: { world } }: RunLog, { from, to }: Asked): boolean {
  return world.network === "mainnet" && from < world.createdAt && to > world.createdAt;
}

/** Whether no report tells where the series begins, so that an empty answer proves nothing. */
function isHidden({ plan, told }: RunLog, { answeredAt, sent }: Exchange): boolean {
  const { network, createdAt } = plan.world;
  const isBorn = network === "mainnet" && answeredAt! > createdAt + 1_000;
  const reports = told.filter(({ url }) => url.includes("/snipers"));
  // The first one after an empty answer is asked for because of that.
  const next = reports.find((report) => report.sent > sent);
  const known = reports.filter((report) => report.sent <= sent || report === next);
  return !isBorn || known.some((report) => !report.told!.isGood);
}
