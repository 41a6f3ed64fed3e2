import { asyncScheduler } from "rxjs";
import { type CandleWatch, checkWatch, type WatchOptions } from "./candles/options.js";
import { FULL_PAGE } from "./candles/read/range-reader.js";
import { windowStart } from "./candles/rules.js";
import type { CallKind } from "./client/limits/quota.js";
import { DEFAULT_COSTS } from "./client/limits/spending.js";
import { toInstant } from "./contract/input.js";
import type { DateLike, Series } from "./contract/model.js";
import { checkNames } from "./contract/names.js";
import { InvalidInputError } from "./errors.js";
import { isCandleWatch } from "./feed-status.js";
import { checkSniperWatch, type SniperWatch } from "./snipers/watch.js";

/** Requests, and what the service charges for them. */
export interface Cost {
  /** How many; of a day, the mean, so not always whole. */
  readonly requests: number;
  /** Units of the plan: 150 for a request for candles, 50 for one for snipers. */
  readonly units: number;
}

/** What subscriptions cost: a day, while they run, in `requests` and `units`. */
export interface CostEstimate extends Cost {
  /** Once, when they begin: the first poll of each, and the histories that `since` asks for. */
  readonly initial: Cost;
}

/** When subscriptions begin. */
export interface CostOptions {
  /** How far back a `since` reaches depends on it; default now, by RxJS's `asyncScheduler`. */
  at?: DateLike;
}

const DAY = 86_400_000;
/** After 400 years the calendar begins anew: how many of its months have so many days. */
const MONTHS_OF_CALENDAR = { 28: 303, 29: 97, 30: 1_600, 31: 2_800 };
const DAYS_OF_CALENDAR = 146_097;

/**
 * What a set of subscriptions to `watchCandles` and `watchSnipers`, all on one client, costs a day in requests and units,
 * and once at its beginning: to be known before a key is spent.
 *
 * It counts as the client polls: one poll for all subscriptions of one series that are due at the same instants and have
 * the same `settle` and `revisionWindow`, and `weekStart` where there are weeks, or of one pair with the same
 * `blocksAfterCreation` and `every`, so that `since` and `fillGaps` cost nothing but the history. A poll is one request:
 * one after the end of each interval, and one at every multiple of `every` within it; where both fall on the same
 * instant, they are one. A figure is the mean of all days, so
 * not always whole: that of `1w` over a week, that of `1M` over the calendar. `watchFeedStatus` costs nothing beside a
 * watch with its options, and what such a watch does without one.
 *
 * A history is counted in pages for a series with a candle in every interval since then. A sparse one takes fewer from
 * an instant on; for a number of candles, which lie further back then, somewhat more.
 *
 * Not counted: retries, and what is caught up after an outage; the second look that proves an absence, or settles a
 * `Date` that contradicts others; the second look at closings, about ten at most, while the service's clock is being
 * learned; the search for the beginning of a series where an answer holds no candle; `fetchCandles` and direct calls. On
 * the other hand polls that fall due while one of the same stream is under way are left out, a `quota` leaves out more,
 * and while a pair is not known few are sent (see `whenMissing`).
 *
 * Throws an `InvalidInputError` for what `watchCandles` and `watchSnipers` would refuse, and where `subscriptions` is no
 * list of such options.
 *
 * ```ts
 * import { estimateCost } from "pairstream";
 *
 * const pairAddress = "83v8iPyZihDEjDdY8RdZddyZNyUtXngz69Lgo9Kt5d6d";
 * const minutes = { network: "mainnet", pairAddress, timeframe: "1min", currency: "usd" } as const;
 * const { requests, units, initial } = estimateCost([
 *   { ...minutes, every: "close", since: { candles: 500 } },
 *   { pairAddress, every: 300_000 },
 * ]);
 * console.log(requests, units, initial); // 1728 230400 { requests: 3, units: 350 }
 * ```
 */
export function estimateCost(
  subscriptions: Iterable<(Series & WatchOptions) | SniperWatch>,
  options: CostOptions = {},
): CostEstimate {
  if (typeof subscriptions !== "object" || typeof subscriptions?.[Symbol.iterator] !== "function") {
    const allowed = "a list of options of watchCandles and watchSnipers";
    throw new InvalidInputError("subscriptions", allowed, "cannot be iterated");
  }
  checkNames(options, ["at"]);
  const at = options.at === undefined ? asyncScheduler.now() : toInstant("at", options.at);
  const polls = new Map<string, Poll>();
  let historyPages = 0;
  for (const subscription of subscriptions) {
    if (isCandleWatch(subscription)) {
      const watch = checkWatch(subscription);
      polls.set(watch.pollKey, { kind: "ohlcv", daily: dailyPolls(watch) });
      historyPages += pagesOf(watch, at);
    } else {
      const { pollKey, every } = checkSniperWatch(subscription);
      polls.set(pollKey, { kind: "snipers", daily: DAY / every });
    }
  }
  const daily = { ohlcv: 0, snipers: 0 };
  const initial = { ohlcv: historyPages, snipers: 0 };
  for (const { kind, daily: count } of polls.values()) {
    daily[kind] += count;
    initial[kind] += 1;
  }
  return Object.freeze({ ...costOf(daily), initial: Object.freeze(costOf(initial)) });
}

/** One poll, whoever shares it: what it asks for, and how often a day. */
interface Poll {
  readonly kind: CallKind;
  readonly daily: number;
}

function dailyPolls({ series, rules, every }: CandleWatch): number {
  const pollsIn = (length: number) => pollsOfInterval(length, every, rules.settle);
  const { shortest } = rules.intervals;
  if (series.timeframe !== "1M") return (pollsIn(shortest) * DAY) / shortest;
  const inCalendar = Object.entries(MONTHS_OF_CALENDAR).reduce(
    (sum, [days, months]) => sum + months * pollsIn(Number(days) * DAY),
    0,
  );
  return inCalendar / DAYS_OF_CALENDAR;
}

/** The polls while an interval runs: at each multiple of `every`, and where an earlier one has settled. */
function pollsOfInterval(length: number, every: number | "close", settle: number): number {
  if (every === "close") return 1;
  const refreshes = Math.ceil(length / every) - 1;
  // At the very start of an interval nothing but the closing is polled for.
  const closing = settle % length;
  const isShared = closing > 0 && closing % every === 0;
  return isShared ? refreshes : refreshes + 1;
}

/** The pages of what a subscriber reads for itself: all until the candles that the poll reads. */
function pagesOf({ since, rules }: CandleWatch, at: number): number {
  if (since === undefined) return 0;
  const { intervals } = rules;
  const until = windowStart(rules, at);
  const candles =
    typeof since === "number"
      ? intervals.count(since, until)
      : Math.max(0, since.candles - intervals.count(until, intervals.start(at)));
  return Math.ceil(candles / FULL_PAGE);
}

function costOf({ ohlcv, snipers }: Record<CallKind, number>): Cost {
  return { requests: ohlcv + snipers, units: ohlcv * DEFAULT_COSTS.ohlcv + snipers * DEFAULT_COSTS.snipers };
}
