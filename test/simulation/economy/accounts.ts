import type { Series } from "../../../src/index.js";
import { type Span, spansWithin, withoutSpan } from "../coverage.js";
import type { StoreCall } from "../disk.js";
import type { Exchange } from "../exchanges.js";
import type { WatcherPlan } from "../plan.js";
import { askedBy, seriesNameOf } from "../reads.js";
import type { RunLog, StayLog } from "../run-log.js";
import { serviceClockOf } from "../service-time.js";
import { Account } from "./allowed.js";
import { grouped, requestsOf } from "./asked.js";
import { coveredAt } from "./covered.js";
import { allowCalls, allowPolls } from "./polls.js";
import { allowReports } from "./reports.js";
import { allowWalks, beginningOf, type Walk } from "./walks.js";

/** A candle that a store has and the service has no more is missed twice, asked for alone, and read behind anew. */
const CONTRADICTED = 4;

const known = new WeakMap<RunLog, Promise<readonly Account[]>>();

/**
 * What the requests of a run were for, and how many a careful client needs:
 * - a poll, one a slot, one on joining and one where the clock jumps; a direct call, one a page,
 * - a history, the pages of each part that no store has, one more where their number is not known, one that confirms a silence
 *   at its beginning, and one at its end where rows ascend,
 * - a report a series for where its candles begin, and a search that is logarithmic where none tells it,
 * - what failed, once more after its wait; what lacks a candle, is out of date or broken, all its pages once more, twice a slot
 *   at most,
 * - a closing that no `Date` proves, once more, for ten closings until the clock is known.
 */
export function accountsOf(log: RunLog): Promise<readonly Account[]> {
  let accounts = known.get(log);
  if (accounts === undefined) {
    accounts = settle(log);
    known.set(log, accounts);
  }
  return accounts;
}

async function settle(log: RunLog): Promise<readonly Account[]> {
  const accounts: Account[] = [];
  const requests = requestsOf(log);
  const open = (key: string): [readonly Exchange[], Account] => {
    const exchanges = requests.get(key) ?? [];
    requests.delete(key);
    const account = new Account(key, exchanges.length, exchanges.at(-1)?.sent ?? log.plan.world.start);
    accounts.push(account);
    return [exchanges, account];
  };
  const read = grouped(log.stays, ({ plan }) =>
    "timeframe" in plan.options ? seriesNameOf(plan.options as Series) : undefined,
  );
  const seriesOf = new Map<string, number>();
  for (const [name, stays] of read) {
    const [exchanges, account] = open(`ohlcv ${name}`);
    const isCall = ({ url }: Exchange) => stays.some(({ plan }) => isOf(plan, url));
    const calls = exchanges.filter(isCall);
    const polls = exchanges.filter((exchange) => !isCall(exchange));
    for (const feed of log.plan.feeds.filter(({ series }) => seriesNameOf(series) === name)) {
      const own = stays.filter(({ plan }) => "feed" in plan && plan.feed === feed);
      await allowPolls(log, feed, own, polls, account);
    }
    await allowCalls(log, stays, calls, account);
    const walks: Walk[] = [];
    for (const stay of stays) {
      const walk = walkOf(log, stay);
      if (walk !== undefined) walks.push({ ...walk, ...(await missingIn(log, walk, stay)) });
    }
    const [walked, history] = open(`ohlcv ${name} history`);
    history.allow("again", CONTRADICTED * forgottenOf(log, name));
    await allowWalks(log, walks, walked, history, polls);
    const pair = name.split(" ")[0]!;
    seriesOf.set(pair, (seriesOf.get(pair) ?? 0) + 1);
  }
  const reports = grouped(log.stays, ({ plan }) => reportOf(plan.options));
  for (const pair of seriesOf.keys()) if (!reports.has(`${pair} null`)) reports.set(`${pair} null`, []);
  for (const [name, stays] of reports) {
    const series = name.endsWith(" null") ? (seriesOf.get(name.split(" ")[0]!) ?? 0) : 0;
    allowReports(log, stays, series, ...open(`snipers ${name}`));
  }
  for (const key of [...requests.keys()]) open(key);
  return accounts;
}

/** Whether a request is a direct call's: one for its very range. */
function isOf(plan: WatcherPlan, url: string): boolean {
  if (plan.kind !== "page" && plan.kind !== "pages") return false;
  const { fromDate, toDate } = plan.options;
  const { from, to } = askedBy(url);
  return fromDate - from >= 0 && fromDate - from < 1_000 && to - toDate >= 0 && to - toDate < 1_000;
}

/** The sniper report that somebody asks for; candles have a timeframe. */
function reportOf(options: object): string | undefined {
  const { pairAddress, blocksAfterCreation = null } = options as Record<string, unknown>;
  return "timeframe" in options ? undefined : `${pairAddress} ${blocksAfterCreation}`;
}

/** How many candles of a series a store has let go of. */
function forgottenOf({ store }: RunLog, name: string): number {
  const forgotten = store?.calls.filter(({ operation, series }) => operation === "forget" && series === name);
  return new Set(forgotten?.map(({ from }) => from)).size;
}

/** What somebody wants to have read besides the polls. */
function walkOf({ plan: { world } }: RunLog, { plan, joined }: StayLog): Walk | undefined {
  const now = serviceClockOf(world).at(joined);
  if (plan.kind === "fetch") {
    const { from, to = now, weekStart } = plan.options;
    return { series: plan.options, weekStart, from, to, candles: Number.POSITIVE_INFINITY };
  }
  if (plan.kind !== "candles" && plan.kind !== "status") return undefined;
  const { since, weekStart } = plan.options;
  if (since === undefined) return undefined;
  const candles = typeof since === "object" && "candles" in since ? since.candles : Number.POSITIVE_INFINITY;
  const from = typeof since === "number" ? since : undefined;
  return { series: plan.options, weekStart, from, to: now, candles };
}

/** The parts of a walk's range that a store does not have when it begins: all of them where that has failed, or let go of some, since. */
async function missingIn(log: RunLog, walk: Walk, { joined, left, ended }: StayLog): Promise<Partial<Walk>> {
  const { store } = log;
  if (store === undefined) return {};
  const name = seriesNameOf(walk.series);
  const calls = store.calls.filter(({ series }) => series === name);
  const covered = coveredAt(store.before.get(name)?.covered ?? [], calls, joined);
  const range = { from: await beginningOf(log, walk), to: walk.to };
  const until = left ?? ended?.at ?? Number.POSITIVE_INFINITY;
  const isInTrouble = calls.some(
    (call) =>
      call.at >= joined &&
      call.at <= until &&
      (call.operation === "forget" || (call.operation === "read" && !isAnswered(log, call))),
  );
  const missing = covered.reduce((left: readonly Span[], span) => withoutSpan(left, span), [range]);
  // Any read of it may fail, and what it has is then a part as well.
  return { missing: isInTrouble ? [...missing, ...spansWithin(covered, range)] : missing };
}

/** Whether a store has answered in time. */
function isAnswered({ plan }: RunLog, { at, ended }: StoreCall): boolean {
  return ended?.isGood === true && ended.at - at < (plan.world.client.timeout ?? 10_000);
}
