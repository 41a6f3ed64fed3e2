import { type Intervals, intervalsOf } from "../calendar.js";
import type { Exchange } from "../exchanges.js";
import type { FeedPlan } from "../plan.js";
import type { Asked, Read } from "../reads.js";
import type { RunLog, StayLog } from "../run-log.js";
import { type Account, MOST_LOOKS_A_SLOT, type Term } from "./allowed.js";
import { isProbe, pagesAfter, readOf, Shown } from "./answers.js";
import { KnownClock } from "./clock.js";
import { allowFailures } from "./failures.js";
import { awakeSlots, isWithin, jumpsWithin, type Span, slotsWithin, spansOf } from "./spans.js";
import { allowSearch } from "./walks.js";

/** How far a client may be wrong about the service's clock while it is being learned, ms. */
const CLOCK_ERROR = 1_200;
/** ms between light probes: at first, and at last, twice as long each time in between. */
const PROBE_PAUSE = { first: 60_000, last: 3_600_000 };
/** Whoever comes so many ms after an answer has waited as after a failure, and not as for a second look. */
const BACK_OFF = 1_500;

/** So many closings in a row may be left unproven while the time is not known. */
const MOST_UNPROVEN = 12;
/**
 * The answers of two machines so far apart, ms, can look like one clock that drifts: their bounds meet in one place, and each
 * closing moves that place by half a trip, until it has moved by a second and nothing is left of it. A client need not tell
 * them apart sooner. Where each request is for the turn of a second, one answer that does not agree with the bounds is what a
 * drift shows, too, and so are the next ones that do. Only a request off the turn tells, and that one is late or one more. Sent
 * whenever three answers have made the bounds too narrow, it spares nearly half of the requests in some orders in which machines
 * answer. It costs a quarter more in others, and nearly twice as many where machines are just less than a second apart: at the
 * turn an answer fits either of them, so one that was found is counted against until it is forgotten.
 */
const LIKE_DRIFT = { from: 1_000, to: 1_300, over: 1_000 };

/** More intervals than this are not read at once, and a page holds about so many. */
const FAR_BEHIND = 450;
const PAGE = 900;

/** What the polls of a feed need, and what their answers excuse; gives how often they may look for a beginning. */
export async function allowPolls(
  log: RunLog,
  feed: FeedPlan,
  stays: readonly StayLog[],
  exchanges: readonly Exchange[],
  account: Account,
): Promise<number> {
  const clock = new KnownClock(log);
  let probes = 0;
  for (const [at, span] of spansOf(log, stays).entries()) {
    const slots = slotsWithin(feed, span);
    account.allow("slot", awakeSlots(log, slots));
    account.allow(at === 0 ? "firstLook" : "laterLook");
    const jumps = jumpsWithin(log, span);
    account.allow("jump", jumps);
    if (log.plan.world.machines !== undefined) account.allow("machines", 1 + jumps);
    const own = exchanges.filter(({ sent }) => isWithin(log, sent, span));
    probes += await new Poll(log, feed, clock, account).allow(own, slots, span);
  }
  allowFailures(log, exchanges, account);
  return probes;
}

/** One poll, from its first subscriber to its last. */
class Poll {
  readonly #log: RunLog;
  readonly #feed: FeedPlan;
  readonly #clock: KnownClock;
  readonly #account: Account;
  readonly #intervals: Intervals;
  readonly #shown: Shown;
  /** So much too early an answer may be, and still be one for the slot that follows, ms. */
  readonly #early: number;
  readonly #mostUnproven: number;
  #wasEmpty = false;
  /** Whether the last look left a closing unproven, and how many such in a row were asked for once more. */
  #wasUnproven = false;
  #unproven = 0;
  /** When the last answer was given. */
  #readAt = Number.POSITIVE_INFINITY;

  constructor(log: RunLog, feed: FeedPlan, clock: KnownClock, account: Account) {
    this.#log = log;
    this.#feed = feed;
    this.#clock = clock;
    this.#account = account;
    this.#intervals = intervalsOf(feed.series.timeframe, feed.weekStart);
    this.#shown = new Shown(log, feed.series, feed.weekStart);
    // Whoever aims at a slot takes half a trip off.
    const trips = log.told.map(({ sent, received = sent }) => received - sent);
    const longest = trips.reduce((a, b) => Math.max(a, b), 0);
    this.#early = Math.min(feed.period / 2, CLOCK_ERROR + longest / 2);
    const { ahead = 0 } = log.plan.world.machines ?? {};
    const isLikeDrift = ahead > LIKE_DRIFT.from && ahead < LIKE_DRIFT.to;
    const shortest = trips.reduce((a, b) => Math.min(a, b), longest);
    this.#mostUnproven = MOST_UNPROVEN + (isLikeDrift ? LIKE_DRIFT.over / (Math.max(1, shortest) / 2) : 0);
  }

  async allow(exchanges: readonly Exchange[], slots: readonly number[], span: Span): Promise<number> {
    const { series } = this.#feed;
    let passed = 0;
    let looksAtSlot = 0;
    let empty = 0;
    let lookedAt = Number.NEGATIVE_INFINITY;
    /** The last range, until something was found in it by a probe. */
    let searched: Asked | undefined;
    for (const exchange of exchanges) {
      const read = readOf(exchange);
      if (read === undefined) continue;
      if (isProbe(exchange)) {
        if (read.served === 0 || searched === undefined || read.asked.from < searched.from) continue;
        allowSearch(this.#account, this.#intervals, searched);
        searched = undefined;
        continue;
      }
      this.#account.allow("page", await pagesAfter(this.#log, series, read));
      this.#allowCatchUp(read);
      const lacks = this.#shown.lacks(read);
      if (read.asked.cursor === undefined) {
        const slot = passed;
        while (passed < slots.length && slots[passed]! <= exchange.answeredAt! + exchange.old + this.#early)
          passed += 1;
        looksAtSlot = passed > slot ? 1 : looksAtSlot + 1;
        searched = read.asked;
        if (read.rows.size === 0) empty += 1;
      }
      const hasWaited = exchange.sent - lookedAt >= BACK_OFF;
      lookedAt = exchange.received!;
      if (looksAtSlot > MOST_LOOKS_A_SLOT && !(lacks && hasWaited)) continue;
      if (lacks) this.#account.allow("lacking");
      if (read.asked.cursor !== undefined) continue;
      // A cache may have given what the slot just before has fetched.
      const isFirst = looksAtSlot === 1 || (looksAtSlot === 2 && exchange.old > 0);
      for (const excuse of this.#excusesOf(read, isFirst)) this.#account.allow(excuse);
    }
    // A first look takes a candle from before its range for none.
    const probes = Math.min(empty + 1, probesWithin(span));
    this.#account.allow("probe", probes);
    return probes;
  }

  /** What was missed for longer than a page holds, or while there was no candle at all, is read like a history. */
  #allowCatchUp({ exchange, rows }: Read): void {
    const missed = this.#intervals.count(this.#readAt, exchange.answeredAt!);
    const isFirstSeen = !this.#shown.hasAny && rows.size > 0 && this.#readAt < Number.POSITIVE_INFINITY;
    if (isFirstSeen || missed > FAR_BEHIND) this.#account.allow("catchUp", 1 + Math.ceil(missed / PAGE));
    this.#readAt = exchange.answeredAt!;
  }

  *#excusesOf(read: Read, isFirst: boolean): Iterable<Term> {
    const { exchange } = read;
    const now = this.#clock.takenFor(exchange);
    if (this.#wasUnproven) this.#unproven = isFirst ? 0 : this.#unproven + 1;
    this.#wasUnproven = isFirst && this.#isUnproven(exchange, now);
    // Whoever goes by what answers have told knows the time by then.
    const isKnown = this.#unproven >= this.#mostUnproven && exchange.old === 0;
    if (this.#wasUnproven && !isKnown) yield "unproven";
    if (this.#intervals.shift(read.asked.to, -1) <= this.#intervals.start(now)) yield "missedPresent";
    if (this.#clock.contradicts(exchange)) yield "contradiction";
    const isEmpty = read.rows.size === 0;
    if (isEmpty && !this.#wasEmpty) yield "empty";
    this.#wasEmpty = isEmpty;
  }

  /** Whether an interval is over and settled about now, and nobody can tell from the answer. */
  #isUnproven(exchange: Exchange, now: number): boolean {
    if (exchange.headers.date === undefined && exchange.old === 0) return false;
    const { settle } = this.#feed;
    const close = this.#intervals.start(now + this.#early - settle) + settle;
    return close > this.#clock.provenBy(exchange);
  }
}

/** How often a pair without a known candle may be looked for while somebody watches. */
function probesWithin({ from, until }: Span): number {
  let count = 1;
  let pause = PROBE_PAUSE.first;
  for (let at = from + pause; at <= until; at += pause) {
    count += 1;
    pause = Math.min(2 * pause, PROBE_PAUSE.last);
  }
  return count;
}
