import type { Subscriber, Subscription } from "rxjs";
import { type ClientCore, type Priority, serviceNow } from "../client/core.js";
import type { CallKind } from "../client/limits/quota.js";
import type { PolledFeed, RunningPoll } from "../client/metering.js";
import { earliestTime, latestTime, safeSendTimeFor, sendTimeFor } from "../client/service-clock.js";
import { callAt, sleepUntil } from "../client/timers.js";
import { type AnyPairstreamError, ContractError, isPairstreamError, QuotaExceededError } from "../errors.js";
import { asOfRunning, heldFor, isFatal, isNotFound, isUnknown, quotaProbeAt, retryAt } from "./failure.js";
import type { MissingPair } from "./missing.js";
import { nextSlot, type Schedule, type Slot } from "./schedule.js";
import type { Tell } from "./teller.js";

/** What one answer has told. */
export interface Step<State> {
  /** Absent where the answer could not be taken in. */
  readonly state?: State | undefined;
  /** When the service made the answer, by its clock, at least; absent where that does not count. */
  readonly observedAt?: number | undefined;
  /** Whether there is more to read before the poll is done: it follows at once. */
  readonly isMore?: boolean;
  /** After how many ms another answer may tell more; absent where this one has told all there is. */
  readonly again?: number | undefined;
  /** The newest instant by which all is known that can be; absent where something is missing. */
  readonly currentAt?: number | undefined;
  /** Why an answer that was taken in leaves something unknown. */
  readonly error?: AnyPairstreamError | undefined;
  /** Whether a candle, or a sniper, has been told by now; absent where that says nothing. */
  readonly hasShown?: boolean;
  /** The start of the newest candle that is known, told or not. */
  readonly newest?: number | undefined;
}

/** What a poll asks for, and when. */
export interface Poll<State> {
  readonly schedule: Schedule;
  readonly ask: (options: AskOptions) => Promise<Step<State>>;
  readonly kind: CallKind;
  readonly feed: PolledFeed;
}

export interface AskOptions {
  readonly priority: Priority;
  /** The instant that the answer should show, by the service's clock. */
  readonly at: number;
  /** How many answers have left something open: a cache would give the last one again to whoever asks the same. */
  readonly asks: number;
  readonly signal: AbortSignal;
  readonly tell?: Tell | undefined;
}

/** How a poll stands, after each of its steps. */
export interface FeedUpdate<State> {
  /** As last accepted; absent until then. */
  readonly state?: State;
  /** Whether the state comes from this step. */
  readonly isFresh: boolean;
  /** Whether a due poll failed, or had no answer by the end of its slot, and no later one has made up for it. */
  readonly isLate: boolean;
  /** Polls that failed, in a row. */
  readonly failures: number;
  readonly lastError?: AnyPairstreamError;
}

export const UNASKED = { isFresh: false, isLate: false, failures: 0 };

/**
 * How often one slot is asked for again as nobody knows when an answer was made, and how often for what one lacks. What is open
 * then is left to the next slot.
 */
const ASKS = 2;
/** A poll is late no sooner than so long after its slot, in ms: a request may wait for a whole second, to learn the clock. */
const PATIENCE = 2_000;
/** How long those who have had units of a period leave the next one to the others, in ms. */
const TURN = 1_000;

/** Asks for every slot. There may be thousands of polls: between two slots each is little more than a timer. */
export class Poller<State> implements RunningPoll {
  readonly begunAt: number;
  /** As last told. */
  update: FeedUpdate<State> = UNASKED;
  readonly #core: ClientCore;
  readonly #poll: Poll<State>;
  readonly #views: ReadonlySet<MissingPair>;
  readonly #subscriber: Subscriber<FeedUpdate<State>>;
  readonly #tell: Tell | undefined;
  #slot: Slot;
  #observedAt = -Infinity;
  /** The last closing that was asked for: those that no answer has proven are left to later ones. */
  #closed = -Infinity;
  /** When the last answer came that shows no such pair, by the scheduler, while the poll waits because of it. */
  #missedAt: number | undefined;
  /** Whether the slot was asked for before, and that failed. */
  #isRetry = false;
  #timer: Subscription | undefined;
  /** Aborts what is under way. It is not kept between two slots, as it takes 0.8 kB, and there may be thousands. */
  #abort: AbortController | undefined;

  /** `views`: what each subscriber makes of answers that show no such pair. `tell`: absent where nobody is warned. */
  constructor(
    core: ClientCore,
    poll: Poll<State>,
    views: ReadonlySet<MissingPair>,
    subscriber: Subscriber<FeedUpdate<State>>,
    tell: Tell | undefined,
  ) {
    this.begunAt = core.scheduler.now();
    this.#core = core;
    this.#poll = poll;
    this.#views = views;
    this.#subscriber = subscriber;
    this.#tell = tell;
    this.#slot = { at: serviceNow(core), kind: "refresh" };
  }

  get feed(): PolledFeed {
    return this.#poll.feed;
  }

  get state(): RunningPoll["state"] {
    const { state, isLate } = this.update;
    return state === undefined ? "starting" : isLate ? "stalled" : "live";
  }

  get lastError(): AnyPairstreamError | undefined {
    return this.update.lastError;
  }

  /** Asks at once; further slots follow. */
  start(): void {
    this.#timer = undefined;
    this.#missedAt = undefined;
    this.#serveSlot().catch((error: unknown) => this.#subscriber.error(error));
  }

  /** Asks sooner for a missing pair if a new subscriber is less patient than the others. */
  hurry(): void {
    if (this.#missedAt === undefined) return;
    this.#timer?.unsubscribe();
    // Whoever comes after a slot that nobody asked for waits for the next one.
    const now = serviceNow(this.#core);
    if (this.#slot.at <= now) this.#slot = this.#slotFollowing(now);
    this.#startWhenDue();
  }

  /** Aborts the request in flight, and leaves no timer. */
  stop(): void {
    this.#missedAt = undefined;
    this.#timer?.unsubscribe();
    this.#abort?.abort();
  }

  /** All that follows from one slot that is due. */
  async #serveSlot(): Promise<void> {
    let failure: AnyPairstreamError | undefined;
    this.#abort = new AbortController();
    try {
      await this.#ask(this.#abort.signal);
    } catch (error) {
      if (this.#subscriber.closed || !isPairstreamError(error)) throw error;
      const failures = this.update.failures + 1;
      const hasPage = this.#hasPage;
      if (isFatal(error, hasPage)) {
        this.#tell?.({ type: "failure", error, failures });
        throw error;
      }
      failure = hasPage ? asOfRunning(error) : error;
      if (this.#isMissing(failure)) for (const view of this.#views) view.miss(this.#core.scheduler.now());
      if ([...this.#views].some(({ isOver }) => isOver)) this.#tell?.({ type: "failure", error, failures });
      this.#emit({ ...this.update, isFresh: false, isLate: true, failures, lastError: failure });
    } finally {
      this.#abort = undefined;
      this.#timer?.unsubscribe();
    }
    if (this.#subscriber.closed) return;
    if (failure === undefined && this.#slot.kind === "close") this.#closed = this.#known(this.#slot.at);
    const next = failure === undefined ? this.#nextSlot() : this.#slotAfterFailure(failure);
    this.#isRetry = next.at === this.#slot.at;
    this.#slot = next;
    const due = this.#startWhenDue();
    if (failure === undefined) return;
    const again = Math.max(0, due - this.#core.scheduler.now());
    const mayEnd = this.#isMissing(failure) && [...this.#views].some(({ isHasty }) => isHasty);
    this.#tell?.({ type: "failure", error: failure, failures: this.update.failures, again, mayEnd });
  }

  /** Asks until an answer has told all there is, and not once the next slot has come. */
  async #ask(signal: AbortSignal): Promise<void> {
    const { scheduler } = this.#core;
    const isFirst = this.update.state === undefined;
    // A stream that has shown nothing is as urgent as a closing.
    const priority = isFirst ? "close" : this.#slot.kind;
    for (let asks = 0, doubts = 0; ; asks += 1) {
      this.#awaitSlotEnd(asks > 0);
      const begun = scheduler.now();
      const step = await this.#poll.ask({ priority, at: this.#slot.at, asks, signal, tell: this.#tell });
      this.#timer?.unsubscribe();
      const { isMore, again } = step;
      this.#observedAt = step.observedAt ?? this.#observedAt;
      const due = this.#dueAgain(step, begun);
      const isInDoubt = again === 0;
      if (isInDoubt) doubts += 1;
      const isSpent = !isMore && again !== undefined && (isInDoubt ? doubts : asks + 1 - doubts) > ASKS;
      // Of the last one nobody knows either when it was made: that is no answer.
      const isLost = isSpent && isInDoubt;
      // By a clock that is in doubt nobody knows when the next slot comes.
      const mayWait = !isFirst && !isInDoubt;
      const isLast = due === undefined || isSpent || (mayWait && due >= this.#sendTime(this.#slotAfter()));
      this.#take(step, isLast && !isLost);
      if (isLost) throw new ContractError(["Date"], "contradicts the other answers");
      if (isLast) return;
      if (isMore) asks -= 1;
      else if (due > scheduler.now()) {
        this.#awaitSlotEnd(true);
        await sleepUntil(scheduler, due, signal);
        this.#timer?.unsubscribe();
      }
    }
  }

  /** When to ask again, by the scheduler; `undefined` where the answer to what was asked at `begun` has told all there is. */
  #dueAgain({ isMore, again }: Step<State>, begun: number): number | undefined {
    const now = this.#core.scheduler.now();
    if (isMore) return -Infinity;
    // Tapes tell whole ms.
    if (again !== undefined) return Math.ceil(now + again);
    const { at, kind } = this.#slot;
    // A slot that lies ahead is one of a clock that was set back since.
    if (kind !== "close" || this.#observedAt >= at || this.#known(at) < at) return undefined;
    // Nothing proves that the interval was over by the service's clock. Soon an answer will, but one that was asked for since
    // then is a cache's, and comes once more.
    const safe = safeSendTimeFor(this.#core.serviceClock(), at);
    return safe > begun ? Math.max(now, safe) : undefined;
  }

  /** Whether an answer has shown that there is such a pair, though it may have told no more than the time. */
  get #hasPage(): boolean {
    return this.#observedAt > -Infinity;
  }

  /** Whether an error says that there is no such pair, and no answer has shown it yet. */
  #isMissing(error: AnyPairstreamError): boolean {
    return isUnknown(error) && !this.#hasPage;
  }

  /** The poll is late if the next answer takes until the end of its slot, and for at least two seconds. */
  #awaitSlotEnd(isAgain: boolean): void {
    const at = this.#known(this.#slot.at);
    const { scheduler } = this.#core;
    if (this.update.isLate || this.#subscriber.closed) return;
    // What is asked again has no slot of its own: the one that follows the last answer counts.
    const due = isAgain ? this.#slotFollowing(Math.max(at, this.#observedAt)).at : at;
    const end = Math.max(this.#slotFollowing(due).at, due + PATIENCE);
    if (end === Infinity) return;
    this.#timer = callAt(scheduler, end - serviceNow(this.#core) + scheduler.now(), () => {
      this.#emit({ ...this.update, isLate: true, isFresh: false });
      this.#tell?.({ type: "late" });
    });
  }

  #take({ state, currentAt, again, error, hasShown, newest }: Step<State>, isLast: boolean): void {
    if (state === undefined) return;
    const wasLate = this.update.isLate;
    // What no answer can prove yet is not missing.
    const provable = earliestTime(this.#core.serviceClock(), this.#core.scheduler.now());
    const isBehind = currentAt === undefined || this.#poll.schedule.nextDue(currentAt) + PATIENCE <= provable;
    const isLate = isLast ? isBehind : wasLate;
    const isSuccess = isLast || again === undefined;
    const { failures, lastError } = isSuccess
      ? { failures: 0, lastError: isLate ? error : undefined }
      : this.update;
    this.#emit({ state, isFresh: true, isLate, failures, ...(lastError && { lastError }) });
    this.#tell?.({ type: "page", isLate, error: lastError, hasShown, newest });
  }

  #emit(update: FeedUpdate<State>): void {
    this.update = update;
    this.#subscriber.next(update);
  }

  /** An instant, or now where it surely lies ahead of the clock, which is another one since: it proves nothing. */
  #known(instant: number): number {
    const latest = latestTime(this.#core.serviceClock(), this.#core.scheduler.now());
    return instant > latest ? serviceNow(this.#core) : instant;
  }

  /** The first closing that no answer has proven, or the first refresh, after the present slot. */
  #slotAfter(stretch = this.#core.spending.pollThrottle(this.#poll.schedule)): Slot {
    const { schedule } = this.#poll;
    const now = earliestTime(this.#core.serviceClock(), this.#core.scheduler.now());
    const { at, kind } = this.#slot;
    const closed = this.#known(kind === "close" ? at : this.#closed);
    const proven = Math.max(this.#known(this.#observedAt), closed);
    const next = nextSlot(schedule, proven, Math.max(this.#known(at), now), stretch);
    // A closing that is asked for no later serves a refresh just before it, too.
    if (next.kind === "close") return next;
    const close = { at: schedule.nextClose(next.at), kind: "close" } as const;
    return this.#sendTime(close) <= this.#sendTime(next) ? close : next;
  }

  #nextSlot(): Slot {
    const { spending } = this.#core;
    const { schedule } = this.#poll;
    const stretch = spending.pollThrottle(schedule);
    const next = this.#slotAfter(stretch);
    const probeAt = quotaProbeAt(this.#core, "counted", 0);
    if (next.at <= probeAt) return next;
    // The next period brings all of its units, and polls are as far apart as these allow. Where they do not pay for all closings,
    // whoever got none of this one asks first.
    const throttle = spending.wholeThrottle(schedule);
    const whole = this.#slotAfter(throttle);
    const earliest = throttle.close > 1 ? probeAt + TURN : probeAt;
    const again: Slot = whole.at >= earliest ? whole : { at: earliest, kind: "close" };
    return next.at < again.at ? next : again;
  }

  #slotAfterFailure(error: AnyPairstreamError): Slot {
    const now = serviceNow(this.#core);
    const { at, kind } = this.#slot;
    const next = this.#slotFollowing(Math.max(this.#known(at), now));
    if (this.#isMissing(error)) {
      this.#missedAt = this.#core.scheduler.now();
      if (isNotFound(error)) return next;
    }
    const again = retryAt(this.#core, error, this.update.failures);
    // A poll before this would fail at once: a 429 stops the client, or no units are left.
    const earliest = error instanceof QuotaExceededError ? again : now + heldFor(error);
    const due = Math.max(earliest, Math.min(next.at, again));
    const slot = due === next.at ? next : { at: due, kind };
    if (this.update.state !== undefined) return slot;
    // Each slot takes several attempts: a stream that has not begun has no closing to prove, and leaves some of them out.
    return { ...slot, at: Math.max(slot.at, retryAt(this.#core, error, 1)) };
  }

  /**
   * When to ask again for a pair that is not known, by the scheduler. A wait is a length of time: what is learned of the
   * service's clock meanwhile moves only the slot, `slotDue`, for which those ask who are in a hurry.
   */
  #dueWhileMissing(missedAt: number, slotDue: number): number {
    const now = this.#core.scheduler.now();
    let due = Infinity;
    for (const view of this.#views) {
      due = Math.min(due, view.asksAgainAt(missedAt, now));
      if (view.isHasty) due = Math.min(due, slotDue);
    }
    return due;
  }

  #sendTime({ at }: Slot): number {
    return sendTimeFor(this.#core.serviceClock(), at, this.#slotFollowing(at).at);
  }

  /** The first slot after an instant, whatever is proven and however polls are stretched. */
  #slotFollowing(instant: number): Slot {
    return nextSlot(this.#poll.schedule, instant, instant);
  }

  /**
   * Waits until it is time to ask for the slot, and tells when that is; it moves with what is learned of the service's
   * clock.
   */
  #startWhenDue(epoch = this.#core.serviceClock().epoch): number {
    const { scheduler } = this.#core;
    const clock = this.#core.serviceClock();
    const slotDue = this.#isRetry ? safeSendTimeFor(clock, this.#slot.at) : this.#sendTime(this.#slot);
    const isMissing = this.#missedAt !== undefined;
    const due = isMissing ? this.#dueWhileMissing(this.#missedAt!, slotDue) : slotDue;
    // The service's clock has jumped: only an answer tells what is due now.
    if ((clock.epoch !== epoch && !isMissing) || scheduler.now() >= due) {
      this.start();
      return due;
    }
    this.#timer = callAt(scheduler, due, () => {
      // The machine's clock was set back: only an answer tells how far the service's is from it now.
      if (scheduler.now() < due) this.start();
      else this.#startWhenDue(epoch);
    });
    return due;
  }
}
