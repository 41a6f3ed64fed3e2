import { asyncScheduler } from "rxjs";
import { type CandleWatch, checkWatch, type WatchOptions } from "./candles/options.js";
import { FULL_PAGE } from "./candles/read/pages.js";
import { windowStart } from "./candles/rules.js";
import type { CallKind } from "./client/limits/quota.js";
import { DEFAULT_COSTS } from "./client/limits/spending.js";
import { show, toInstant } from "./contract/input.js";
import type { DateLike, Series } from "./contract/model.js";
import { checkNames } from "./contract/names.js";
import { InvalidInputError } from "./errors.js";
import { isCandleWatch } from "./feed-status.js";
import { checkSniperWatch, type SniperWatch } from "./snipers/watch.js";

/** A number of requests, and the units that the service charges for them. */
export interface Cost {
  /** The number of requests. Per day it is a mean, so it may be a fraction. */
  readonly requests: number;
  /** Units of the plan: 150 per request for candles, 50 per request for snipers. */
  readonly units: number;
}

/** The cost of subscriptions: `requests` and `units` per day while they run. */
export interface CostEstimate extends Cost {
  /** The cost at the start: the first poll of each, and the histories of `since`, each with what confirms its beginning. */
  readonly initial: Cost;
}

/** When subscriptions begin. */
export interface CostOptions {
  /** The instant of subscribing: the length of a history depends on it; default now, by RxJS's `asyncScheduler`. */
  at?: DateLike;
}

const DAY = 86_400_000;
/** A second answer confirms the silence before the first candle of a history. */
const CONFIRMATION = 1;
/** The calendar repeats every 400 years, in ms since the epoch. */
const CALENDAR = { from: 0, to: 146_097 * DAY };

/**
 * Estimates the cost of subscriptions to `watchCandles` and `watchSnipers` on one client: requests and units per day,
 * and once at the start.
 *
 * It counts as the client polls. Subscriptions share one poll if they have the same series, `settle` and
 * `revisionWindow` (and `weekStart` for `1w`) and are due at the same instants; sniper subscriptions if they have the
 * same pair, `blocksAfterCreation` and `every`. So `since` and `fillGaps` cost nothing but the history. A poll is one
 * request. If its answer leaves a doubt, two more follow at most for each kind of doubt. There is one poll after the end of
 * each interval, and one at every multiple of `every` within it; two polls at the same instant are one. Figures are means
 * over all days, so they may be fractions: for `1w` over a week, for `1M` over the calendar. `watchFeedStatus` costs nothing
 * next to a watch with the same options; alone it costs as much as that watch.
 *
 * A history is counted in full pages, as if each of its intervals had a candle, and with the request that confirms where it
 * begins, in case that the pair is younger; on mainnet also with the sniper report that tells when the pair was created, once
 * a pair. So a start costs what is told or one confirmation less, if the pair trades in each interval; and less, the younger
 * it is. A sparse series needs fewer pages from a given instant. For a given number of candles it needs a few more, because
 * these reach further back.
 *
 * Not counted: retries; catching up after an outage; up to two more requests of a slot for each kind of doubt;
 * about ten more of a stream while the client learns the service's clock; the search for a pair that is silent when the
 * stream starts, and for the beginning of one of which no sniper report tells it, as on devnet; `fetchCandles`; direct
 * calls. A `store` makes histories cheaper. The real cost can also be lower: a poll is skipped while another one of the
 * same stream is under way, a `quota` skips more, and an unknown pair is polled rarely (see `whenMissing`).
 *
 * Throws an `InvalidInputError` for options that `watchCandles` or `watchSnipers` would refuse, and if `subscriptions`
 * is not a list of such options.
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
 * console.log(requests, units, initial); // 1728 230400 { requests: 5, units: 550 }
 * ```
 */
export function estimateCost(
  subscriptions: Iterable<(Series & WatchOptions) | SniperWatch>,
  options: CostOptions = {},
): CostEstimate {
  if (typeof subscriptions !== "object" || typeof subscriptions?.[Symbol.iterator] !== "function") {
    const allowed = "a list of options for watchCandles and watchSnipers";
    throw new InvalidInputError("subscriptions", allowed, `is ${show(subscriptions)}, and not a list`);
  }
  checkNames(options, ["at"]);
  const at = options.at === undefined ? asyncScheduler.now() : toInstant("at", options.at);
  const polls = new Map<string, PollCost>();
  let historyRequests = 0;
  /** The pairs whose creation a history may have to know. */
  const reported = new Set<string>();
  for (const subscription of subscriptions) {
    if (isCandleWatch(subscription)) {
      const watch = checkWatch(subscription);
      polls.set(watch.pollKey, { kind: "ohlcv", daily: dailyPolls(watch) });
      const pages = historyPagesOf(watch, at);
      // So many candles may reach back further than the pair does, even within the window of the poll.
      if (pages === 0 && typeof watch.since !== "object") continue;
      historyRequests += pages + CONFIRMATION;
      if (watch.series.network === "mainnet") reported.add(watch.series.pairAddress);
    } else {
      const { pollKey, every } = checkSniperWatch(subscription);
      polls.set(pollKey, { kind: "snipers", daily: DAY / every });
    }
  }
  const daily = { ohlcv: 0, snipers: 0 };
  const initial = { ohlcv: historyRequests, snipers: reported.size };
  for (const { kind, daily: count } of polls.values()) {
    daily[kind] += count;
    initial[kind] += 1;
  }
  return Object.freeze({ ...costOf(daily), initial: Object.freeze(costOf(initial)) });
}

/** One shared poll: its kind of request and how often a day it runs. */
interface PollCost {
  readonly kind: CallKind;
  readonly daily: number;
}

function dailyPolls({ rules, every }: CandleWatch): number {
  const pollsIn = (length: number) => pollsOfInterval(length, every, rules.settle);
  const { shortest, longest } = rules.intervals;
  if (shortest === longest) return (pollsIn(shortest) * DAY) / shortest;
  const { start, end } = rules.intervals;
  let polls = 0;
  for (let at = start(CALENDAR.from); at < CALENDAR.to; at = end(at)) polls += pollsIn(end(at) - at);
  return polls / ((CALENDAR.to - CALENDAR.from) / DAY);
}

/** The polls per interval: one at each multiple of `every`, and one at which the previous interval has settled. */
function pollsOfInterval(length: number, every: number | "close", settle: number): number {
  if (every === "close") return 1;
  const refreshes = Math.ceil(length / every) - 1;
  // At the very start of an interval only the closing poll runs.
  const closing = settle % length;
  const isShared = closing > 0 && closing % every === 0;
  return isShared ? refreshes : refreshes + 1;
}

/** The pages of a subscriber's own history: all up to the candles that the poll reads. */
function historyPagesOf({ since, rules, served }: CandleWatch, at: number): number {
  if (since === undefined) return 0;
  const { intervals } = rules;
  const until = windowStart(rules, at);
  const inPoll = intervals.count(until, intervals.start(at));
  const from = typeof since === "number" ? since : intervals.shift(until, inPoll - since.candles);
  return Math.ceil(served.rules.intervals.count(from, until) / FULL_PAGE);
}

function costOf({ ohlcv, snipers }: Record<CallKind, number>): Cost {
  return { requests: ohlcv + snipers, units: ohlcv * DEFAULT_COSTS.ohlcv + snipers * DEFAULT_COSTS.snipers };
}
