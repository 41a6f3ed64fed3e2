import { intervalsOf } from "./calendar.js";
import { KnownTime } from "./known-time.js";
import { watchConnections } from "./monitors/connections.js";
import { watchConvergence } from "./monitors/convergence.js";
import { watchDeletion } from "./monitors/deletion.js";
import { watchEconomy } from "./monitors/economy.js";
import { watchErrors } from "./monitors/errors.js";
import { watchJumps } from "./monitors/jumps.js";
import { watchLateness } from "./monitors/lateness.js";
import { watchLives } from "./monitors/lives.js";
import { foundAt, watchMissing } from "./monitors/missing.js";
import type { Context, Monitor, SeriesName } from "./monitors/monitor.js";
import { watchRequests } from "./monitors/requests.js";
import { watchSecrets } from "./monitors/secrets.js";
import { watchSlots } from "./monitors/slots.js";
import { watchSnipers } from "./monitors/snipers.js";
import { watchStatuses } from "./monitors/status.js";
import { watchStore } from "./monitors/store.js";
import type { FeedPlan } from "./plan.js";
import { type Look, looksOf, refusalsOf } from "./reads.js";
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
  store: watchStore,
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

function contextOf(log: RunLog, breach: Context["breach"]): Context {
  const { plan } = log;
  const { start, offset } = plan.world;
  const time = new KnownTime(log);
  const looks = looksOf(log);
  const refusals = refusalsOf(log);
  const memories = new Memories(log);
  const feeds = new Map(plan.feeds.map((feed) => [seriesOf(feed.series), feed]));
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
    looksAt: ({ series }) => looks.get(seriesOf(series)) ?? [],
    refusalsAt: ({ series }) => refusals.get(seriesOf(series)) ?? [],
    answersOf: (series) => memories.of(seriesOf(series)).answers,
    memoriesOf: (series) => memories.of(seriesOf(series)).memories,
    feedOf: (series) => feeds.get(series),
    foundAt: (feed) => foundAt(log, seriesOf(feed.series)),
    serviceClock: (at) => at + offset,
    isTrusted: (order) => time.isTrusted(order),
    knowsTime: (order) => time.knowsTime(order),
    mayBeMachine: (order) => time.mayBeMachine(order),
    clockTolerance: time.clockTolerance,
    toleranceAt: (order) => time.toleranceAt(order),
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

/** The looks of a life, and of those before it, from which a store may have been filled. */
class Memories {
  readonly #lives: readonly { readonly log: RunLog; readonly looks: ReadonlyMap<string, readonly Look[]> }[];
  readonly #known = new Map<string, { answers: readonly Look[]; memories: readonly (readonly Look[])[] }>();

  constructor(log: RunLog) {
    this.#lives = [...log.earlier, log].map((life) => ({ log: life, looks: looksOf(life) }));
  }

  of(series: string) {
    let known = this.#known.get(series);
    if (known !== undefined) return known;
    const memories: Look[][] = [];
    const answers: Look[] = [];
    for (const [at, { log, looks }] of this.#lives.entries()) {
      const isEarlier = at < this.#lives.length - 1;
      const own = looks.get(series) ?? [];
      const joins = log.stays.filter(
        ({ plan }) => "timeframe" in plan.options && seriesOf(plan.options) === series,
      );
      // What was answered in another life was answered before all of this one.
      const shown = isEarlier ? own.map((look) => ({ ...look, order: 0 })) : own;
      answers.push(...shown);
      for (const joined of new Set(joins.map(({ joinedOrder }) => joinedOrder)))
        memories.push(shown.filter((_, index) => own[index]!.order > joined));
    }
    known = { answers, memories };
    this.#known.set(series, known);
    return known;
  }
}

function seriesOf({ pairAddress, timeframe, currency }: SeriesName): string {
  return `${pairAddress} ${timeframe} ${currency}`;
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
