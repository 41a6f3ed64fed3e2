import { CLOSED } from "../connections.js";
import type { FeedPlan, WatcherPlan } from "../plan.js";
import { askedBy, type Look } from "../reads.js";
import type { RunLog, StayLog } from "../run-log.js";
import { waits } from "./missing.js";
import type { Context } from "./monitor.js";
import { spendings, UNITS } from "./spendings.js";

/** An answer may be asked for twice more, a second apart, before what it says is told, ms. */
export const SETTLES = 2_500;
/** Between two requests of a history lies so long after an answer at most, and after a failure, ms. */
const SHORT_PAUSE = 10_000;
const LONGEST_PAUSE = 65_000;

export function endOf({ left, ended }: StayLog): number {
  return left ?? ended?.at ?? Number.POSITIVE_INFINITY;
}

/** Until when a subscriber may wait for what it has asked for of the past. */
export class Past {
  /** When nobody can still be reading it. */
  readonly quiet: number;
  readonly #log: RunLog;
  readonly #stay: StayLog;
  readonly #context: Context;
  readonly #polls: readonly Look[];
  readonly #end: number;

  /** `isTaken`: whether an answer of the polls is taken in. */
  constructor(
    log: RunLog,
    stay: StayLog,
    context: Context,
    polls: readonly Look[],
    isTaken: (look: Look) => boolean,
  ) {
    this.#log = log;
    this.#stay = stay;
    this.#context = context;
    this.#polls = polls;
    this.#end = endOf(stay);
    this.quiet = this.#quietFrom(isTaken);
  }

  get #plan() {
    return this.#stay.plan as Extract<WatcherPlan, { feed: FeedPlan }>;
  }

  /** Whether all that was asked for of the past has been handed over by an instant. */
  isOver(at: number): boolean {
    const isTold = this.#stay.events.some(({ at: told, value }) => told <= at && value.status !== "final");
    return this.#plan.options.since === undefined || isTold || at >= this.quiet;
  }

  /** When that is over for which a poll may wait at an instant: what the store does, and what the rate limit holds back. */
  waitEnds(at: number): number {
    const { timeout = 10_000 } = this.#log.plan.world.client;
    let end = at;
    // A store that does not answer is waited for as long as any answer.
    for (const { at: called, ended } of this.#log.store?.calls ?? [])
      if (called <= end)
        end = Math.max(end, Math.min(ended?.at ?? Number.POSITIVE_INFINITY, called + timeout));
    for (const { at: began, value } of this.#log.activities)
      if (value.type === "throttled" && began <= end + SETTLES)
        end = Math.max(end, began + (value.until ?? value.at) - value.at);
    return end;
  }

  /** An instant, or a later one by which a quota has left something to histories: in a period that polls spend they wait on. */
  #paidFor(at: number): number {
    const { quota } = this.#log.plan.world.client;
    if (quota === undefined) return at;
    const { units, per } = quota;
    const periods = [...spendings(this.#log, per, this.#context)];
    const spent = new Set(
      periods.flatMap(({ spent, period }) => (spent + UNITS.ohlcv > units ? [period] : [])),
    );
    let end = at;
    for (let now = this.#context.serviceClock(end); spent.has(Math.floor(now / per)); ) {
      end += per - (now % per) + LONGEST_PAUSE;
      now = this.#context.serviceClock(end);
    }
    return end;
  }

  /** When nobody can still be reading what this one has asked for of the past, as nothing was asked for in a while. */
  #quietFrom(isTaken: (look: Look) => boolean): number {
    const { cache, client } = this.#log.plan.world;
    const { timeout = 10_000, quota } = client;
    // What a quota leaves to its next period comes after the polls of that.
    const longest = timeout + 2 * (quota?.per ?? 0) + LONGEST_PAUSE;
    // A history begins behind the first answer that is taken in.
    const first = this.#polls.find((look) => look.received >= this.#stay.joined && isTaken(look));
    if (first === undefined) return Number.POSITIVE_INFINITY;
    const { pairAddress, timeframe, currency } = this.#plan.feed.series;
    const series = `${pairAddress} ${timeframe} ${currency}`;
    const asked = this.#log.exchanges.filter(
      ({ url, priority, sent, told, faults }) =>
        // The poll that a history begins behind may fail with the question for a candle from before; none fails with what a
        // closed connection has lost, as that is sent again at once.
        (priority === "history" || (told?.isGood === false && !faults.includes(CLOSED))) &&
        sent >= this.#stay.joined &&
        sent <= this.#end &&
        // Where the pair was created is asked for, too.
        (askedBy(url).series === series || url.includes(`/${pairAddress}/snipers`)),
    );
    let last = first.received;
    // Who reads the same range asks the same.
    const readers = this.#log.stays.filter(
      ({ plan, joined, left, ended }) =>
        plan.kind === "candles" &&
        plan.feed === this.#plan.feed &&
        plan.options.since !== undefined &&
        joined <= this.#end &&
        (left ?? ended?.at ?? this.#end) >= this.#stay.joined,
    ).length;
    /** When questions have failed, or were struck, and how many readers have been answered since: each waits for its own. */
    const failed = new Map<
      string,
      { readonly url: string; readonly at: number; readonly answered: number }
    >();
    const quiet = () => {
      // What a cache gives is asked for again at longer and longer pauses.
      const pause = cache === undefined && quota === undefined ? SHORT_PAUSE : longest;
      const ends = [...failed.values()].map(({ at }) => this.waitEnds(at) + longest);
      const until = this.#paidFor(this.waitEnds(Math.max(this.waitEnds(last) + pause, ...ends)));
      return this.#context.sleptWithin(last, until) ? Number.POSITIVE_INFINITY : until;
    };
    let hasBegun = false;
    for (const { url, sent, received, status, told, faults, priority } of asked) {
      if (sent > quiet()) break;
      const isHistory = priority === "history";
      // The history of another timeframe asks where the pair was created, too; what was read before is a call's.
      hasBegun ||= isHistory && askedBy(url).series === series && sent >= this.#polls[0]!.received;
      if (hasBegun && !isHistory) continue;
      const answered = received ?? sent + timeout;
      last = Math.max(last, answered);
      if (!hasBegun && isHistory) continue;
      const question = hasBegun ? `${askedBy(url).kind} ${askedBy(url).from}` : "poll";
      failed.delete("poll");
      const before = failed.get(question);
      const isStruck = told?.isGood !== true || faults.length > 0;
      // Where a page was struck, those after it do not make the answer whole.
      if (!isStruck && askedBy(url).cursor !== undefined && before?.url !== url) continue;
      // A pair that is not known is waited for ever longer.
      const isWaiting = question === "poll" && status === 404 && waits(this.#stay);
      const next = isWaiting ? this.#polls.find((look) => look.received > answered) : { received: answered };
      const at = next?.received ?? Number.POSITIVE_INFINITY;
      if (isStruck) failed.set(question, { url, at, answered: before?.answered ?? 0 });
      else if (before !== undefined && before.answered + 1 < readers)
        failed.set(question, { ...before, answered: before.answered + 1 });
      else failed.delete(question);
    }
    return quiet();
  }
}
