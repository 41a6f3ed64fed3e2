import { intervalsOf } from "./calendar.js";
import { KnownTime } from "./known-time.js";
import { watchCalls } from "./monitors/calls.js";
import { watchConnections } from "./monitors/connections.js";
import { watchConvergence } from "./monitors/convergence.js";
import { watchDeletion } from "./monitors/deletion.js";
import { watchEconomy } from "./monitors/economy.js";
import { watchErrors } from "./monitors/errors.js";
import { watchFetches } from "./monitors/fetched.js";
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
import { type Look, looksOf } from "./reads.js";
import type { Breach, RunLog } from "./run-log.js";
import { serviceClockOf } from "./service-time.js";

/** How long a hint of the service is obeyed, ms. */
const LONGEST_HINT = 3_600_000;

/** After failures the next request comes within a minute, as the documents say; what a 429 asks for may come on top, ms. */
const LONGEST_WAIT = 60_000;
const LONGEST_RETRY_AFTER = 8_000;
/** A poll that is due so shortly before a closing, ms, and what is not told of the time, may be one with it, as promise 11 says. */
const TOGETHER = 100;

export const MONITORS: Readonly<Record<string, Monitor>> = {
  lives: watchLives,
  lateness: watchLateness,
  convergence: watchConvergence,
  deletion: watchDeletion,
  statuses: watchStatuses,
  errors: watchErrors,
  fetches: watchFetches,
  calls: watchCalls,
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

/** How many stays with candles there were, and how many of them could be compared with the truth. */
export interface Compared {
  readonly stays: number;
  readonly compared: number;
}

/** The promises that a run has broken, and what of its candles was compared with the truth, by timeframe. */
export interface Findings {
  readonly breaches: readonly Breach[];
  readonly compared: Readonly<Record<string, Compared>>;
}

export async function check(log: RunLog): Promise<Findings> {
  const breaches: Breach[] = [];
  const compared: Record<string, Compared> = {};
  const note = (timeframe: string, wasPossible: boolean) => {
    const before = compared[timeframe] ?? { stays: 0, compared: 0 };
    compared[timeframe] = {
      stays: before.stays + 1,
      compared: before.compared + (wasPossible ? 1 : 0),
    };
  };
  for (const [monitor, watch] of Object.entries(MONITORS)) {
    const breach: Context["breach"] = (promise, what, at) => {
      breaches.push({ promise, monitor, what, at: at - log.plan.world.start });
    };
    await watch(log, contextOf(log, { breach, compared: note }));
  }
  return { breaches, compared };
}

function contextOf(log: RunLog, notes: Pick<Context, "breach" | "compared">): Context {
  const { plan } = log;
  const { start } = plan.world;
  const time = new KnownTime(log);
  const looks = looksOf(log);
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
  const { timeout = 10_000, quota } = plan.world.client;
  const recovery = timeout + LONGEST_WAIT + LONGEST_RETRY_AFTER + (quota?.per ?? 0) + longestSleep;
  return {
    ...notes,
    looksAt: ({ series }) => looks.get(seriesOf(series)) ?? [],
    answersOf: (series) => memories.of(seriesOf(series)).answers,
    memoriesOf: (series) => memories.of(seriesOf(series)).memories,
    feedOf: (series) => feeds.get(series),
    foundAt: (feed) => foundAt(log, seriesOf(feed.series)),
    serviceClock: serviceClockOf(plan.world).at,
    isTrusted: (order) => time.isTrusted(order),
    knowsTime: (order) => time.knowsTime(order),
    mayBeMachine: (order) => time.mayBeMachine(order),
    mayBeOfCopies: (order) => time.mayBeOfCopies(order),
    clockTolerance: time.clockTolerance,
    toleranceAt: (order) => time.toleranceAt(order),
    untoldAt: (order) => time.untoldAt(order),
    graceOf: ({ period }) => recovery + period,
    sniperGrace: (every) => recovery + every,
    newestDue,
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
    isFetched: ({ series }, at) =>
      log.stays.some(
        ({ plan: watcher, joined, left, ended }) =>
          watcher.kind === "fetch" &&
          seriesOf(watcher.options) === seriesOf(series) &&
          joined <= at &&
          (left ?? ended?.at ?? at) >= at,
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

/** The newest poll that was due so long ago that the next one is due, too; `untold` of the time, ms. */
export function newestDue(
  feed: FeedPlan,
  serviceNow: number,
  untold: number,
): { readonly at: number } | undefined {
  const intervals = intervalsOf(feed.series.timeframe, feed.weekStart);
  const { settle } = feed;
  // The last instant at which an interval was over and settled, and the one before.
  const close = intervals.start(serviceNow - settle) + settle;
  if (feed.every === "close") return { at: intervals.shift(close - settle, -1) + settle };
  const isClose = (slot: number) => intervals.start(slot - settle) === slot - settle;
  const isWithClose = (slot: number, next = Number.POSITIVE_INFINITY) =>
    next - slot <= TOGETHER + untold && isClose(next);
  const slots = slotsAbout(feed, serviceNow)
    .filter((slot, at, all) => !isWithClose(slot, all[at + 1]))
    .filter((slot) => slot <= serviceNow);
  return slots.length < 2 ? undefined : { at: slots.at(-2)! };
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
