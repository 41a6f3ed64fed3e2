import type { Candle, CandleEvent } from "../../../src/index.js";
import { type Intervals, intervalsOf } from "../calendar.js";
import type { FeedPlan, WatcherPlan } from "../plan.js";
import {
  askedBy,
  asksFor,
  covers,
  isProbe,
  isUnreadable,
  type Look,
  lacksOlder,
  seriesNameOf,
} from "../reads.js";
import type { RunLog, StayLog } from "../run-log.js";
import { candlesAt, isTrue } from "../truth.js";
import { endOf, Past, SETTLES } from "./convergence-past.js";
import {
  APART,
  BESIDE,
  isClean,
  isPassedOver,
  NEWEST_END,
  type Proof,
  proofsAmong,
  wasAnswered,
} from "./evidence.js";
import { checkFilling, isFlat } from "./filling.js";
import { beginningOf, sessionOf } from "./held.js";
import { waits } from "./missing.js";
import type { Context, Monitor } from "./monitor.js";

/** So many requests, one after another, may be needed for that. */
const ASKS = 4;
/** How much later than its slot an answer may come, ms. */
const LATE = 10_000;
/** In good health all of a history is there after so long, ms. */
const HISTORY = 60_000;
/** What so many last answers have shown a poll may wait for. */
const LATELY = 64;
/** So many instants of a stay are looked at, its last one among them. */
const INSTANTS = 12;
/** Before the last one so many intervals are looked at. */
const RECENT = 300;
/** What a search for a pair's beginning finds counts for so long for whoever comes, ms. */
const BELIEVED = 60_000;

/** Promises 1, 5, 6 and 12: after two good answers a subscriber knows what the service has, without hole or excess. */
export const watchConvergence: Monitor = (log, context) => {
  for (const stay of log.stays) {
    if (stay.plan.kind !== "candles") continue;
    const comparison = new Comparison(log, stay, context);
    const wasPossible = compare(comparison);
    if (comparison.isOfCandles()) context.compared(stay.plan.feed.series.timeframe, wasPossible);
  }
};

/** Compares a stay with the truth as of its last good answers; gives whether that was possible. */
function compare(comparison: Comparison): boolean {
  const instants = comparison.instants();
  for (const [at, instant] of instants.entries()) {
    const isLast = at === instants.length - 1;
    if (!comparison.holds(instant, isLast)) break;
  }
  comparison.isAlive();
  return instants.some(({ isPastOver }) => isPastOver);
}

/** What a subscriber is held to from an instant on. */
interface Instant {
  readonly proof: Proof;
  /** The answers since, as good as that one. */
  readonly after: readonly Look[];
  /** The run's clock. */
  readonly at: number;
  /** Whether all that it has asked for of the past has been handed over. */
  readonly isPastOver: boolean;
}

interface Held {
  readonly candle: Candle;
  readonly status: CandleEvent["status"];
}

class Comparison {
  readonly #log: RunLog;
  readonly #stay: StayLog;
  readonly #context: Context;
  readonly #intervals: Intervals;
  /** All looks from which the stay may know something. */
  readonly #looks: readonly Look[];
  readonly #polls: readonly Look[];
  /** The answers of searches that it may believe, and those that searches follow. */
  readonly #sought: readonly Look[];
  readonly #end: number;
  readonly #past: Past;
  /** Answers without a row of a service that has some, as it was asked from before the pair's creation on. */
  readonly #silent = new Map<Look, boolean>();

  constructor(log: RunLog, stay: StayLog, context: Context) {
    this.#log = log;
    this.#stay = stay;
    this.#context = context;
    const { feed } = this.#plan;
    this.#intervals = intervalsOf(feed.series.timeframe, feed.weekStart);
    const session = sessionOf(log, stay);
    // Whether there is anything in a range says nothing of a candle.
    const all = context.looksAt(feed);
    const isOwn = (look: Look) => look.order > session && look.received >= stay.joined - BELIEVED;
    this.#sought = all.filter((look) => (isProbe(look) || !look.isHistory) && isOwn(look));
    const own = all.filter((look) => !isProbe(look));
    this.#polls = own.filter((look) => !look.isHistory && look.order > session);
    this.#looks =
      log.store === undefined
        ? own.filter((look) => look.order > (look.isHistory ? stay.joinedOrder : session))
        : context.answersOf(feed.series);
    this.#end = endOf(stay);
    this.#past = new Past(log, stay, context, this.#polls, (look) => this.#isTaken(look));
  }

  get #plan() {
    return this.#stay.plan as Extract<WatcherPlan, { feed: FeedPlan }>;
  }

  /** Whether an answer says what the service has. */
  readonly #isGood = (look: Look): boolean => {
    if (!isClean(look)) return false;
    if (look.rows.size > 0 || !this.#log.plan.world.quirks.emptyBeforeCreation) return true;
    let isSilent = this.#silent.get(look);
    if (isSilent === undefined) {
      const { asked, asOf } = look;
      const span = { from: asked.from, to: asked.to, at: asOf };
      isSilent = candlesAt(this.#log, this.#plan.feed.series, span).size > 0;
      this.#silent.set(look, isSilent);
    }
    return !isSilent;
  };

  /** Whether there were candles to be shown: not where it ended with an error before the service had told of any. */
  isOfCandles(): boolean {
    const { joined, events, ended } = this.#stay;
    if (ended?.isError !== true || events.length > 0) return true;
    return this.#polls.some(
      (look) => look.received >= joined && look.received <= this.#end && this.#isGood(look),
    );
  }

  /** The instants at which what is held can be compared, some of them, ascending. */
  instants(): Instant[] {
    const all = proofsAmong(this.#polls, this.#isGood).flatMap((proof) => this.#instantOf(proof) ?? []);
    // Those just after trouble, and just before the next, come first.
    const { length } = all;
    const step = Math.max(1, Math.ceil(length / INSTANTS));
    return all.filter((_, at) => (length - 1 - at) % step === 0);
  }

  /** Whether an answer is taken in: by the time that it tells, a client whose clock was wrong has asked for another range. */
  #isTaken(look: Look): boolean {
    return this.#isGood(look) && covers(look, look.answeredAt);
  }

  #instantOf(proof: Proof): Instant | undefined {
    if (!this.#isTaken(proof.look)) return undefined;
    const { joined } = this.#stay;
    const known = Math.max(proof.look.received, joined);
    const next = this.#polls.find(({ order }) => order > proof.look.order);
    if (next !== undefined && next.received <= known) return undefined;
    const { base, spread } = this.#log.plan.world.latency;
    const settled = this.#past.waitEnds(known) + SETTLES + ASKS * 2 * (base + spread);
    // Where the next answer is far, the past comes in between.
    const isAlone = next === undefined || next.received > this.#past.quiet;
    const at = this.#past.isOver(settled) || !isAlone ? settled : Math.max(settled, this.#past.quiet);
    const after = this.#polls.filter(({ order, received }) => order > proof.look.order && received <= at);
    // Whose clock was set before it has joined knows the running interval with the next answer.
    const isLost =
      this.#context.sleptWithin(known, at) || this.#context.clockWasSet(proof.look.received, joined);
    if (at > this.#end || !after.every(this.#isGood) || isLost) return undefined;
    // Of the first answer a client may learn no more than the time: it asks again at once.
    const { series } = proof.look.asked;
    const isAskedAgain = this.#log.exchanges.some(
      ({ url, priority, sent, received = Number.POSITIVE_INFINITY }) =>
        priority !== "history" &&
        sent === proof.look.received &&
        received > at &&
        askedBy(url).series === series,
    );
    if (isAskedAgain) return undefined;
    return { proof, after, at, isPastOver: this.#past.isOver(at) };
  }

  /** Whether all is as it should be at an instant; the first breach ends it. */
  holds({ proof, after, at, isPastOver }: Instant, isLast: boolean): boolean {
    const { feed, options } = this.#plan;
    const { series, revisionWindow, settle } = feed;
    const intervals = this.#intervals;
    const { look, before } = proof;
    const known = this.#heldAt(at);
    const newest = newestOf(known);
    const running = intervals.start(look.answeredAt);
    const given = this.#stay.events.flatMap(({ at: told, value: { candle } }) =>
      told > at || isFlat(candle) ? [] : [candle.timestamp],
    );
    const beginning = beginningOf(this.#log, this.#stay, look, this.#context, given);
    const from = isLast ? beginning : Math.max(beginning, intervals.shift(running, -RECENT));
    const until = isPastOver ? intervals.end(running) : Math.min(intervals.end(running), newest + 1);
    const truth = candlesAt(this.#log, series, { from, to: intervals.end(running), at: look.asOf });
    const windowFrom = intervals.shift(running, -revisionWindow);
    let isSound = true;
    const breach = (promise: number, what: string) => {
      isSound = false;
      this.#context.breach(promise, `stay ${this.#stay.id} of ${series.timeframe}: ${what}`, at);
    };
    const looks = this.#looks.filter(({ received }) => received <= at);
    const polls = this.#polls.filter(({ received }) => received <= at);
    const sought = this.#sought.filter(({ received }) => received <= at);
    // Of two replicas the one that lags may have answered last: which of them is right nobody can know.
    const truths = [...after, ...(this.#log.plan.world.replicas === undefined ? [] : polls.slice(-4))].map(
      ({ asOf }) => candlesAt(this.#log, series, { from, to: intervals.end(running), at: asOf }),
    );
    const isAs = (has: Candle | undefined, wanted: Candle | undefined) =>
      has === wanted || (has !== undefined && wanted !== undefined && isTrue(has, wanted));
    const finality = {
      intervals,
      leaves: (timestamp: number) =>
        Math.max(intervals.shift(timestamp, revisionWindow + 1), intervals.end(timestamp) + settle),
      tolerance: this.#context.clockTolerance + 300,
      hasDate: this.#log.plan.world.hasDate,
      bornAt: this.#context.bornAt(feed),
      isGood: this.#isGood,
      calls: this.#log.store?.calls.filter((call) => call.series === seriesNameOf(series)) ?? [],
    };
    /** The first absence that another answer has to confirm: nothing from there on closes. */
    let doubted = Number.POSITIVE_INFINITY;
    // The poll may wait for what this subscriber does not have.
    const mayBeGoing = new Set(polls.slice(-LATELY).flatMap(({ rows }) => [...rows.keys()]));
    const isUntold = this.#isUntold(known, looks);
    for (const timestamp of new Set([...truth.keys(), ...known.keys()])) {
      if (timestamp < from || timestamp >= until) continue;
      const own = known.get(timestamp);
      const has = own === undefined || isFlat(own.candle) ? undefined : own.candle;
      const wanted = truth.get(timestamp);
      if (isAs(has, wanted)) continue;
      if (has !== undefined && wanted === undefined) mayBeGoing.add(timestamp);
      if (truths.some((other) => isAs(has, other.get(timestamp)))) continue;
      const isOpenEnded = own !== undefined && own.status !== "final";
      const mayChange =
        isOpenEnded || timestamp >= windowFrom || look.answeredAt < finality.leaves(timestamp);
      const isKnown = mayChange
        ? this.#isNotYet(timestamp, has, wanted, { known, polls, proof })
        : wasAnswered(looks, timestamp, has, finality);
      if (!mayChange && has === undefined && isUntold) continue;
      // Its row was broken until it had left the window: it stays as it was last read.
      const passed = looks.find(
        (other) => covers(other, timestamp) && other.answeredAt >= finality.leaves(timestamp),
      );
      if (own?.status === "open" && passed !== undefined && isUnreadable(passed, timestamp)) continue;
      const wasShown = looks.some(({ rows }) => rows.has(timestamp));
      if (has === undefined && !wasShown && isPassedOver(sought, timestamp)) continue;
      if (isKnown) {
        if (mayChange) doubted = Math.min(doubted, timestamp);
        continue;
      }
      const text = (candle: Candle | undefined) =>
        candle === undefined ? "nothing" : `close ${candle.close}, ${candle.swaps} swaps`;
      breach(
        mayChange ? 1 : 5,
        `has ${text(has)} (${own?.status}) at ${new Date(timestamp).toISOString()}, the service ${text(wanted)}`,
      );
    }
    if (before === undefined || !isPastOver || this.#isUncertain(proof, polls)) return isSound;
    for (const timestamp of mayBeGoing)
      if (timestamp < until && !truth.has(timestamp) && this.#isGoing(timestamp, polls))
        doubted = Math.min(doubted, timestamp);

    // What two answers have shown since it left the window is final.
    const beside = this.#context.mayBeMachine(look.order) ? BESIDE : 0;
    const due = before.answeredAt - this.#context.clockTolerance - (before.received - before.sent) - beside;
    if (this.#isOpenEnded(before, look, polls))
      doubted = Math.min(doubted, intervals.end(newestOf(look.rows)));
    for (const [timestamp, { status }] of known) {
      if (status === "final" || finality.leaves(timestamp) > due) continue;
      if (timestamp >= doubted) continue;
      if (
        status === "open" &&
        looks.some((other) => covers(other, timestamp) && isUnreadable(other, timestamp))
      )
        continue;
      breach(12, `has not made ${new Date(timestamp).toISOString()} final`);
    }

    if (options.fillGaps)
      checkFilling(
        known,
        { from: earliest(known), until: Math.min(doubted, intervals.start(due - settle)) },
        intervals.end,
        (timestamp) => looks.some((other) => covers(other, timestamp) && isUnreadable(other, timestamp)),
        breach,
      );
    return isSound;
  }

  /** Whether nothing tells the silence before a pair from one after it: no report, and no candle that was final. */
  #isUntold(known: ReadonlyMap<number, Held>, looks: readonly Look[]): boolean {
    if (this.#plan.feed.series.network === "mainnet") return false;
    const isSilent = looks.some((look) => isClean(look) && !this.#isGood(look));
    return (
      isSilent && ![...known.values()].some(({ candle, status }) => status === "final" && !isFlat(candle))
    );
  }

  /**
   * Whether nobody can tell yet that the second of two answers shows a silence again: before machines are told apart whose
   * clocks differ by more than lies between the two, or where nothing had shown by the first one that a service may hide.
   */
  #isUncertain({ look, before }: Proof, polls: readonly Look[]): boolean {
    const { machines } = this.#log.plan.world;
    const ahead = machines?.ahead ?? 0;
    const isToldApart = machines === undefined || this.#context.toleranceAt(look.order) < ahead;
    if (!isToldApart && look.answeredAt - before!.answeredAt < APART + ahead) return true;
    if (before!.rows.size === 0 && this.#leadsToFailure(before!)) return true;
    // All that had shown may be gone, or cut off.
    if (this.#knownIn(before!, polls).length > 0 && !this.#beginsWithKnown(before!, polls)) return true;
    const mayHide = this.#plan.feed.series.network !== "mainnet";
    return mayHide && polls.every(({ order, rows }) => order > before!.order || rows.size === 0);
  }

  /** Whether what an answer leads to at once has failed: a first one without a row is taken in with a candle from before it. */
  #leadsToFailure({ received, asked }: Look): boolean {
    return this.#log.exchanges.some(
      ({ sent, told, url }) =>
        sent === received && told?.isGood === false && askedBy(url).series === asked.series,
    );
  }

  /** The candles that an answer should show, as others that were made a second before it have shown them. */
  #knownIn(look: Look, polls: readonly Look[]): readonly number[] {
    const earlier = polls.filter(({ answeredAt }) => look.answeredAt - answeredAt >= APART);
    return earlier.flatMap(({ rows }) => [...rows.keys()]).filter((timestamp) => covers(look, timestamp));
  }

  #beginsWithKnown(look: Look, polls: readonly Look[]): boolean {
    return this.#knownIn(look, polls).some((timestamp) => look.rows.has(timestamp));
  }

  /**
   * Whether what follows the last row takes one more answer: one that gives the oldest first may be cut off, and it counts
   * once all before it does, from the first candle that shows on. `before`: the first of two answers.
   */
  #isOpenEnded(before: Look, look: Look, polls: readonly Look[]): boolean {
    if (!ascends(look)) return false;
    const shown = polls.slice(polls.findIndex(({ rows }) => rows.size > 0));
    const proof = proofsAmong(shown, this.#isGood).find(({ look }) => look === before);
    if (proof?.before === undefined) return true;
    // A silence that it begins with is told once by an answer for which that had settled.
    const first = earliest(before.rows);
    const { answeredAt } = proof.before;
    const isSilent = first > this.#intervals.shift(before.asked.from, 1);
    return isSilent && this.#intervals.start(answeredAt - this.#plan.feed.settle) < first;
  }

  /** Promise 6: after trouble an answer comes within the longest wait, and from then on within two slots. */
  isAlive() {
    const { feed } = this.#plan;
    const { left, joined, id } = this.#stay;
    if (left === undefined) return;
    const { start } = this.#log.plan.world;
    const found = waits(this.#stay) ? this.#context.foundAt(feed) : Number.NEGATIVE_INFINITY;
    const calmSince = Math.max(start + this.#log.plan.healthyFrom, joined, found);
    const grace = this.#context.graceOf(feed);
    let last = calmSince;
    for (const at of [...this.#polls.map(({ received }) => received), left]) {
      if (at <= calmSince || at > left) continue;
      const most = last === calmSince ? grace : Math.min(grace, 2 * feed.period + LATE);
      if (at - last > most && !this.#context.isThrottled(at) && !this.#isStretched())
        this.#context.breach(
          6,
          `stay ${id} of ${feed.series.timeframe}: was not read for ${at - last} ms`,
          at,
        );
      last = at;
    }
    const isDue = left - calmSince > grace + HISTORY && !this.#isStretched();
    const isHeldBack = this.#past.waitEnds(left - SETTLES) > left - SETTLES;
    if (isDue && Number.isFinite(this.#past.quiet) && !this.#past.isOver(left) && !isHeldBack)
      this.#context.breach(6, `stay ${id} of ${feed.series.timeframe}: has not been given its past`, left);
  }

  /** Whether a quota makes polls rarer. */
  #isStretched(): boolean {
    return this.#log.plan.world.client.quota !== undefined;
  }

  /** Whether it is right that what may still change is not yet what the service has. */
  #isNotYet(
    timestamp: number,
    has: Candle | undefined,
    wanted: Candle | undefined,
    {
      known,
      polls,
      proof: { before },
    }: { known: ReadonlyMap<number, Held>; polls: readonly Look[]; proof: Proof },
  ): boolean {
    const about = polls.filter((look) => asksFor(look, timestamp, this.#intervals));
    const last = about.at(-1);
    // What no answer has reached is still to be caught up.
    if (last === undefined) {
      // Before the time is known an answer may be about the future.
      const beyond = polls.filter(
        (look) =>
          look.asked.from <= look.answeredAt &&
          look.asked.to > this.#intervals.end(timestamp) &&
          this.#isGood(look),
      );
      return apart(beyond).length < 2;
    }
    if (!this.#isGood(last)) return true;
    if (has !== undefined && wanted === undefined) {
      if (before === undefined) return true;
      // Missing for the first time: the second look is on its way. An answer without an older candle may be cut there.
      const since = about.slice(about.findLastIndex((look) => look.rows.has(timestamp)) + 1);
      // One that lacks a final candle for the first time counts for that alone.
      const isWhole = (look: Look) =>
        [...look.rows.keys()].some((other) => other < timestamp) &&
        this.#finalsLacked(look, known).every((other) =>
          since.some(
            (one) => look.answeredAt - one.answeredAt >= APART && lacksOlder(one, [other], timestamp),
          ),
        );
      if (this.#isNewestEnd(timestamp, since)) return true;
      const absent = apart(since);
      return apart(since.filter(isWhole)).length < 2 && absent.length < 3;
    }
    return false;
  }

  #finalsLacked(look: Look, known: ReadonlyMap<number, Held>): readonly number[] {
    return [...known]
      .filter(
        ([timestamp, { status }]) =>
          status === "final" && lacksOlder(look, [timestamp], Number.POSITIVE_INFINITY),
      )
      .map(([timestamp]) => timestamp);
  }

  /** Whether a candle that polls have shown has gone so late that it may be there still. */
  #isGoing(timestamp: number, polls: readonly Look[]): boolean {
    return this.#isNewestEnd(
      timestamp,
      polls.slice(polls.findLastIndex((look) => look.rows.has(timestamp)) + 1),
    );
  }

  /** What nothing follows goes only once no answer has shown it for five seconds, and for an interval: a replica may lag. */
  #isNewestEnd(timestamp: number, since: readonly Look[]): boolean {
    const last = since.at(-1);
    const isFollowed = last === undefined || [...last.rows.keys()].some((other) => other > timestamp);
    const least = Math.max(NEWEST_END, this.#intervals.end(timestamp) - timestamp);
    return !isFollowed && last.answeredAt - since[0]!.answeredAt < least;
  }

  #heldAt(at: number): Map<number, Held> {
    const known = new Map<number, Held>();
    for (const { at: told, value } of this.#stay.events) {
      if (told > at) break;
      const { type, candle, status } = value;
      if (type === "removed") known.delete(candle.timestamp);
      else known.set(candle.timestamp, { candle, status });
    }
    return known;
  }
}

/** Of looks those that the service made a second after the one before, as far as their ways tell. */
function apart(looks: readonly Look[]): Look[] {
  const others: Look[] = [];
  for (const look of looks) {
    const least = APART + 2 * (look.received - look.sent);
    if (others.length === 0 || look.answeredAt - others.at(-1)!.answeredAt >= least) others.push(look);
  }
  return others;
}

/** Whether the rows of an answer run from the oldest to the newest. */
function ascends({ rows }: Look): boolean {
  const shown = [...rows.keys()];
  return shown.length > 1 && shown.every((timestamp, at) => at === 0 || timestamp > shown[at - 1]!);
}

/** There may be more than a call can take as arguments. */
function earliest(known: ReadonlyMap<number, unknown>): number {
  let first = Number.POSITIVE_INFINITY;
  for (const timestamp of known.keys()) first = Math.min(first, timestamp);
  return first;
}

function newestOf(known: ReadonlyMap<number, unknown>): number {
  let last = Number.NEGATIVE_INFINITY;
  for (const timestamp of known.keys()) last = Math.max(last, timestamp);
  return last;
}
