import { intervalsOf } from "../../src/timeframe.js";
import { watchConnections } from "./monitors/connections.js";
import { watchConvergence } from "./monitors/convergence.js";
import { watchDeletion } from "./monitors/deletion.js";
import { watchEconomy } from "./monitors/economy.js";
import { watchErrors } from "./monitors/errors.js";
import { watchJumps } from "./monitors/jumps.js";
import { watchLateness } from "./monitors/lateness.js";
import { watchLives } from "./monitors/lives.js";
import { foundAt, watchMissing } from "./monitors/missing.js";
import type { Context, Monitor } from "./monitors/monitor.js";
import { watchRequests } from "./monitors/requests.js";
import { watchSecrets } from "./monitors/secrets.js";
import { watchSlots } from "./monitors/slots.js";
import { watchSnipers } from "./monitors/snipers.js";
import { watchStatuses } from "./monitors/status.js";
import type { FeedPlan } from "./plan.js";
import { looksOf } from "./reads.js";
import type { Breach, RunLog } from "./run-log.js";

/** How long a hint of the service is obeyed, ms. */
const LONGEST_HINT = 3_600_000;

const MONITORS: Readonly<Record<string, Monitor>> = {
  lives: watchLives,
  lateness: watchLateness,
  convergence: watchConvergence,
  deletion: watchDeletion,
  statuses: watchStatuses,
  errors: watchErrors,
  missing: watchMissing,
  requests: watchRequests,
  connections: watchConnections,
  slots: watchSlots,
  jumps: watchJumps,
  snipers: watchSnipers,
  secrets: watchSecrets,
  economy: watchEconomy,
};

/** The promises that a run has broken. */
export async function check(log: RunLog): Promise<Breach[]> {
  const breaches: Breach[] = [];
  for (const [monitor, watch] of Object.entries(MONITORS)) {
    const context = contextOf(log, (promise, what, at) => {
      breaches.push({ promise, monitor, what, at: at - log.plan.world.start });
    });
    await watch(log, context);
  }
  return breaches;
}

/**
 * Two machines whose clocks are so many ms apart are told from each other by so many answers, of which so many of each
 * have no clock in common, by so many ms.
 */
const TOLD_APART = { ahead: 1_300, answers: 100, ofEach: 3, by: 250 };

/** After so many exchanges two machines have been told apart: before that all answers may come from one clock. */
function toldApartAfter({ told }: RunLog): number {
  let answers = 0;
  let lows: number[] = [];
  let highs: number[] = [];
  for (const [order, { sent, received, headers, old }] of told.entries()) {
    if (headers.date === undefined || old > 0 || received === undefined) continue;
    answers += 1;
    lows = [...lows, headers.date - received].sort((a, b) => b - a).slice(0, TOLD_APART.ofEach);
    highs = [...highs, headers.date + 1_000 - sent].sort((a, b) => a - b).slice(0, TOLD_APART.ofEach);
    if (answers >= TOLD_APART.answers && lows.at(-1)! - highs.at(-1)! > TOLD_APART.by) return order + 1;
  }
  return Number.POSITIVE_INFINITY;
}

function contextOf(log: RunLog, breach: Context["breach"]): Context {
  const { plan } = log;
  const { start, offset, hasDate, machines } = plan.world;
  const toldApartAt = toldApartAfter(log);
  const looks = looksOf(log);
  const feeds = new Map(plan.feeds.map((feed) => [seriesOf(feed), feed]));
  const lie = log.told.findIndex(
    ({ faults }) => faults.includes("wrongDate") || faults.includes("jumpingDate"),
  );
  const firstDate = log.told.findIndex(({ headers }) => headers.date !== undefined);
  const isUndated = hasDate && firstDate !== 0;
  const sleeps = plan.faults.filter(({ kind }) => kind === "asleep");
  const steps = plan.faults.flatMap((fault) => (fault.kind === "clock set" ? [fault] : []));
  const pauses = log.activities.flatMap(({ at, value }) =>
    value.type === "throttled"
      ? [{ from: at, until: at + Math.min((value.until ?? value.at) - value.at, LONGEST_HINT) }]
      : [],
  );
  const longestSleep = Math.max(
    0,
    ...plan.faults.map((fault) =>
      fault.kind === "asleep" && fault.keepsTimers ? fault.until - fault.from : 0,
    ),
  );
  return {
    breach,
    looksAt: (feed) => looks.get(seriesOf(feed)) ?? [],
    feedOf: (series) => feeds.get(series),
    foundAt: (feed) => foundAt(log, seriesOf(feed)),
    serviceClock: (at) => at + offset,
    isTrusted: (order) => (lie < 0 || order <= lie) && !isUndated,
    knowsTime: (order) =>
      !steps.some((step) => {
        const dated = log.told
          .slice(0, order)
          .filter(
            ({ received, headers }) =>
              received !== undefined && received > start + step.from && headers.date !== undefined,
          );
        return dated.length < 4 && log.exchanges.some(({ sent }) => sent > start + step.from);
      }),
    // A clock that was set by less than what is not known of it cannot be noticed.
    clockTolerance: (steps.length > 0 ? 1_300 : 0) + 1 + (machines?.ahead ?? 0),
    toleranceAt: (order) => {
      const isSplit = (machines?.ahead ?? 0) >= TOLD_APART.ahead;
      if (isSplit && steps.length === 0 && order >= toldApartAt) return 100;
      return (steps.length > 0 ? 1_300 : 0) + 1 + (machines?.ahead ?? 0);
    },
    graceOf: ({ period }) => 200_000 + period + longestSleep,
    sniperGrace: (every) => 200_000 + every + longestSleep,
    newestDue: (feed, serviceNow) => {
      const intervals = intervalsOf(feed.series.timeframe, feed.weekStart);
      const { settle } = feed;
      // The last instant at which an interval was over and settled, and the one before.
      const close = intervals.start(serviceNow - settle) + settle;
      if (feed.every === "close") return { at: intervals.shift(close - settle, -1) + settle };
      const slots = slotsAbout(feed, serviceNow).filter((slot) => slot <= serviceNow);
      return slots.length < 2 ? undefined : { at: slots.at(-2)! };
    },
    changeableFrom: (feed, serviceNow) => {
      const intervals = intervalsOf(feed.series.timeframe, feed.weekStart);
      return intervals.shift(intervals.start(serviceNow), -feed.revisionWindow);
    },
    bornAt: (feed) => intervalsOf(feed.series.timeframe, feed.weekStart).start(plan.world.createdAt),
    isWatched: (feed, from, until) =>
      log.stays.some(
        ({ plan: watcher, joined, left, ended }) =>
          "feed" in watcher &&
          watcher.feed === feed &&
          joined <= from &&
          (left ?? ended?.at ?? joined) >= until,
      ),
    isThrottled: (at) => pauses.some(({ from, until }) => at >= from - 1 && at <= until),
    sleptWithin: (from, until) =>
      sleeps.some((sleep) => start + sleep.from <= until && start + sleep.until + longestSleep >= from),
    clockWasSet: (from, until) =>
      steps.some((step) => start + step.from >= from && start + step.from <= until),
  };
}

function seriesOf({ series }: FeedPlan): string {
  return `${series.pairAddress} ${series.timeframe} ${series.currency}`;
}

/** The instants about another one at which a poll is due, ascending. */
export function slotsAbout(feed: FeedPlan, instant: number): number[] {
  const intervals = intervalsOf(feed.series.timeframe, feed.weekStart);
  const running = intervals.start(instant);
  const slots = new Set<number>();
  for (const begins of [
    intervals.shift(running, -2),
    intervals.shift(running, -1),
    running,
    intervals.end(running),
  ]) {
    slots.add(begins + feed.settle);
    if (feed.every === "close") continue;
    const ends = intervals.end(begins);
    const around = Math.floor((instant - begins) / feed.every);
    for (let number = Math.max(1, around - 4); number <= around + 4; number += 1) {
      const slot = begins + number * feed.every;
      if (slot < ends) slots.add(slot);
    }
  }
  return [...slots].sort((a, b) => a - b);
}
