import { BehaviorSubject, defer, Observable, type Subscriber, type Subscription, share, tap } from "rxjs";
import { type ClientCore, type Priority, serviceNow } from "../client/core.js";
import type { CallKind } from "../client/limits/quota.js";
import type { PolledFeed, RunningPoll } from "../client/metering.js";
import { safeSendTimeFor, sendTimeFor } from "../client/service-clock.js";
import { callAt } from "../client/timers.js";
import { PairstreamError, QuotaExceededError } from "../errors.js";
import { isFatal, isNotFound } from "./fatal.js";
import { MissingPair, type WhenMissing } from "./missing.js";
import { quotaProbeAt, retryAt } from "./retry-at.js";
import { nextSlot, type Schedule, type Slot } from "./schedule.js";

/** What a look at the service has found out so far; a look may take several steps. */
export interface LookStep<State> {
  readonly state: State;
  /** When the request that was answered went out, by the scheduler. */
  readonly sentAt: number;
  /** The service's clock had come this far, at least. */
  readonly observedAt: number;
  /** Whether everything is known that can be by then; `undefined` where only another answer can tell. */
  readonly isCurrent: boolean | undefined;
  /** Whether what it found counts only once a second look has shown it, too. */
  readonly needsSecondLook: boolean;
  /** Whether the look ends with this step. */
  readonly isLast: boolean;
  /** Why an accepted answer leaves something unknown. */
  readonly error?: PairstreamError | undefined;
}

/** What a poll asks for, and when. */
export interface Poll<State> {
  readonly schedule: Schedule;
  readonly look: Look<State>;
  readonly kind: CallKind;
  readonly feed: PolledFeed;
}

/** One look: asks as often as it takes, and tells the state after each answer. It ends with the last step. */
export type Look<State> = (options: LookOptions, take: (step: LookStep<State>) => void) => Promise<void>;

export interface LookOptions {
  readonly priority: Priority;
  readonly signal: AbortSignal;
  /** Whether this is the first look or one at the end of an interval. */
  readonly isClosing: boolean;
  /** Whether a request sent at `sentAt` comes so soon after the last look's that a cache may give the same answer. */
  readonly isRepeat: (sentAt: number) => boolean;
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
  readonly lastError?: PairstreamError;
}

/**
 * The wait before a second look, in ms: a cache has another answer by then. A slot that comes sooner takes the place of
 * the second look.
 */
export const SECOND_LOOK = 1_000;
/** How many second looks follow one slot: each answer can raise a doubt of its own. */
const SECOND_LOOKS = 2;

/** How wrong the first guess of the service's clock can be, in ms. */
const CLOCK_SLACK = 2_000;
/** How often a closing poll is sent while no answer proves that the interval is over. */
const CLOSING_TRIES = 2;

const UNASKED = { isFresh: false, isLate: false, failures: 0 };

/** One poll for all, as long as there is anyone. */
interface SharedPoll<State> {
  readonly updates: Observable<FeedUpdate<State>>;
  /** What each subscriber makes of answers 404. */
  readonly views: Set<MissingPair>;
  poller: Poller<State> | undefined;
}

/**
 * One poll for all who subscribe with the same key: it starts with the first and, when the last has left, aborts the
 * request in flight and leaves no timer. Every subscriber gets the last update at once, a first one that nothing was
 * asked yet. What to do about a pair that is not known is each one's own choice.
 */
export function sharedFeed<State>(
  core: ClientCore,
  key: string,
  make: () => Poll<State>,
  whenMissing: WhenMissing,
): Observable<FeedUpdate<State>> {
  return defer(() => {
    const { updates, views, poller } = sharedPoll(core, key, make);
    const view = new MissingPair(whenMissing);
    views.add(view);
    poller?.hurry();
    const next = ({ lastError }: FeedUpdate<State>) => {
      if (view.isOver) throw lastError;
    };
    return updates.pipe(tap({ next, finalize: () => views.delete(view) }));
  });
}

function sharedPoll<State>(core: ClientCore, key: string, make: () => Poll<State>): SharedPoll<State> {
  const running = core.shared.get(key) as SharedPoll<State> | undefined;
  if (running !== undefined) return running;
  const views = new Set<MissingPair>();
  // Whoever subscribes again inside an error handler connects before the old connection is closed.
  let connections = 0;
  const updates = new Observable<FeedUpdate<State>>((subscriber) => {
    connections += 1;
    const poll = make();
    const { closeEvery, refreshEvery } = poll.schedule;
    const leave = core.spending.join({ closeEvery, refreshEvery, kind: poll.kind });
    const poller = new Poller(core, poll, views, subscriber);
    shared.poller = poller;
    core.metering.polls.add(poller);
    poller.look();
    return () => {
      leave();
      core.metering.polls.delete(poller);
      connections -= 1;
      if (connections === 0 && core.shared.get(key) === shared) core.shared.delete(key);
      poller.stop();
    };
  }).pipe(share({ connector: () => new BehaviorSubject<FeedUpdate<State>>(UNASKED) }));
  const shared: SharedPoll<State> = { updates, views, poller: undefined };
  core.shared.set(key, shared);
  return shared;
}

/** Looks once for every slot. There may be thousands: between two looks each is little more than a timer. */
class Poller<State> implements RunningPoll {
  readonly #core: ClientCore;
  readonly #poll: Poll<State>;
  readonly #views: ReadonlySet<MissingPair>;
  readonly #subscriber: Subscriber<FeedUpdate<State>>;
  #feed: FeedUpdate<State> = UNASKED;
  #slot: Slot;
  /** How often in a row the present slot was polled for. */
  #tries = 1;
  /** The last closing that was given up; later answers may still prove it. */
  #unproven: number | undefined;
  #observedAt = Number.NEGATIVE_INFINITY;
  /** When the last answer 404 came, by the scheduler, while the poll waits because of it. */
  #missedAt: number | undefined;
  #needsSecondLook = false;
  /** Second looks since the last slot. */
  #secondLooks = 0;
  /** When the last request that was answered went out, by the scheduler. */
  #sentAt = Number.NEGATIVE_INFINITY;
  #timer: Subscription | undefined;
  /** Aborts the look under way. It is not kept between two looks, as it takes 0.8 kB, and there may be thousands. */
  #abort: AbortController | undefined;

  constructor(
    core: ClientCore,
    poll: Poll<State>,
    views: ReadonlySet<MissingPair>,
    subscriber: Subscriber<FeedUpdate<State>>,
  ) {
    this.#core = core;
    this.#poll = poll;
    this.#views = views;
    this.#subscriber = subscriber;
    this.#slot = { at: serviceNow(this.#core), kind: "refresh" };
  }

  get feed(): PolledFeed {
    return this.#poll.feed;
  }

  get state(): RunningPoll["state"] {
    const { state, isLate } = this.#feed;
    return state === undefined ? "starting" : isLate ? "stalled" : "live";
  }

  /** Looks at once; further looks follow. */
  look(): void {
    this.#timer = undefined;
    // Whoever asks for a missing pair long before the slot has not asked for the slot.
    if (this.#missedAt !== undefined && isAhead(this.#slot, serviceNow(this.#core))) this.#tries = 0;
    this.#missedAt = undefined;
    this.#lookAndWait().catch((error: unknown) => this.#subscriber.error(error));
  }

  /** Looks sooner for a missing pair if a new subscriber is less patient than the others. */
  hurry(): void {
    if (this.#missedAt === undefined) return;
    this.#timer?.unsubscribe();
    // Whoever comes after a slot that nobody asked for waits for the next one.
    const now = serviceNow(this.#core);
    if (this.#slot.at <= now) this.#slot = nextSlot(this.#poll.schedule, now, now);
    this.#lookWhenDue(this.#core.serviceClock().epoch);
  }

  /** Aborts the request in flight, and leaves no timer. */
  stop(): void {
    this.#missedAt = undefined;
    this.#timer?.unsubscribe();
    this.#abort?.abort();
  }

  async #lookAndWait(): Promise<void> {
    const failure = await this.#lookOnce();
    if (this.#subscriber.closed) return;
    const next = failure === undefined ? this.#slotAfterSuccess() : this.#slotAfterFailure(failure);
    const isSame = next.kind === this.#slot.kind && next.at === this.#slot.at;
    this.#tries = isSame ? this.#tries + 1 : 1;
    this.#slot = next;
    this.#lookWhenDue(this.#core.serviceClock().epoch);
  }

  /** Looks for the present slot. Gives an error that passes, and rejects with one that does not. */
  async #lookOnce(): Promise<PairstreamError | undefined> {
    try {
      await this.#takeSteps();
      return undefined;
    } catch (error) {
      if (this.#subscriber.closed || !(error instanceof PairstreamError)) throw error;
      if (isFatal(error)) throw error;
      if (this.#isMissing(error)) for (const view of this.#views) view.miss(this.#core.scheduler.now());
      const failures = this.#feed.failures + 1;
      this.#emit({ ...this.#feed, isFresh: false, isLate: true, failures, lastError: error });
      return error;
    }
  }

  /** Whether an error says that the pair does not exist, and no answer has shown it yet. */
  #isMissing(error: PairstreamError): boolean {
    return isNotFound(error) && this.#feed.state === undefined;
  }

  /** One look, step by step. */
  async #takeSteps(): Promise<void> {
    this.#abort = new AbortController();
    const { signal } = this.#abort;
    const { schedule } = this.#poll;
    const { kind } = this.#slot;
    const isClosing = kind === "close" || this.#feed.state === undefined;
    // After a jump of the service's clock several slots can be due at once.
    const pause = Math.min(SECOND_LOOK, schedule.closeEvery, schedule.refreshEvery) / 2;
    const lastSentAt = this.#sentAt;
    const isRepeat = (sentAt: number) => Math.abs(sentAt - lastSentAt) < pause;
    const look = this.#poll.look({ priority: kind, signal, isClosing, isRepeat }, (step) => {
      this.#timer?.unsubscribe();
      this.#take(step);
      if (!step.isLast) this.#awaitSlotEnd();
    });
    this.#awaitSlotEnd();
    try {
      await look;
    } finally {
      this.#abort = undefined;
      this.#timer?.unsubscribe();
    }
  }

  /** The poll is late if the next step takes until the end of its slot. */
  #awaitSlotEnd(): void {
    const { at } = this.#slot;
    const { scheduler } = this.#core;
    if (this.#feed.isLate || this.#subscriber.closed) return;
    // A second look has no slot of its own: the slot that begins during it counts.
    const due = this.#secondLooks > 0 ? nextSlot(this.#poll.schedule, at, at).at : at;
    const end = nextSlot(this.#poll.schedule, due, due).at;
    if (end === Number.POSITIVE_INFINITY) return;
    this.#timer = callAt(scheduler, end - serviceNow(this.#core) + scheduler.now(), () =>
      this.#emit({ ...this.#feed, isLate: true, isFresh: false }),
    );
  }

  #take({ state, sentAt, observedAt, isCurrent, needsSecondLook, isLast, error }: LookStep<State>): void {
    const wasLate = this.#feed.isLate;
    this.#sentAt = sentAt;
    this.#observedAt = observedAt;
    this.#needsSecondLook = needsSecondLook;
    const isBehind =
      !isCurrent || (wasLate && this.#poll.schedule.nextClose(observedAt) <= serviceNow(this.#core));
    // A poll is late if it is still in doubt after its last second look.
    const isSettled = isCurrent !== undefined || (needsSecondLook && this.#secondLooks >= SECOND_LOOKS);
    const isLate = isLast && isSettled ? isBehind : wasLate;
    // A step that only another answer can confirm is no success yet: the look may still fail by the same answer.
    const isSuccess = isLast || isCurrent !== undefined;
    const { failures, lastError } = isSuccess
      ? { failures: 0, lastError: isLate ? error : undefined }
      : this.#feed;
    const feed = { state, isFresh: true, isLate, failures };
    this.#emit(lastError === undefined ? feed : { ...feed, lastError });
  }

  #emit(feed: FeedUpdate<State>): void {
    this.#feed = feed;
    this.#subscriber.next(feed);
  }

  #slotAfterSuccess(): Slot {
    const now = serviceNow(this.#core);
    const next = this.#nextSlot();
    const isSooner = next.at > now && next.at <= now + SECOND_LOOK;
    if (!this.#needsSecondLook || isSooner || this.#secondLooks >= SECOND_LOOKS) {
      this.#secondLooks = 0;
      return next;
    }
    this.#secondLooks += 1;
    return { at: now + SECOND_LOOK, kind: this.#slot.kind };
  }

  #nextSlot(): Slot {
    const { schedule } = this.#poll;
    const stretch = this.#core.spending.pollThrottle();
    const now = serviceNow(this.#core);
    const polled = polledUntil(this.#slot, now);
    // If the last answer's instant lies ahead of the clock, the clock was set back since: the instant proves nothing.
    const proven = this.#observedAt > now + CLOCK_SLACK ? polled : this.#observedAt;
    let next = nextSlot(schedule, proven, polled, stretch);
    const isAgain = next.at === this.#slot.at && this.#tries >= CLOSING_TRIES;
    // If the service's clock is further behind than thought, a later answer can still prove the closing.
    const mayWait = safeSendTimeFor(this.#core.serviceClock(), next.at) > this.#core.scheduler.now();
    if (next.kind === "close" && !mayWait && (isAgain || next.at === this.#unproven)) {
      this.#unproven = next.at;
      next = nextSlot(schedule, polled, polled, stretch);
    }
    // If the quota is spent, one poll at the start of the next period finds out whether it is back.
    if (next.at !== Number.POSITIVE_INFINITY) return next;
    return { at: quotaProbeAt(this.#core, "counted"), kind: "close" };
  }

  #slotAfterFailure(error: PairstreamError): Slot {
    this.#secondLooks = 0;
    // The next slot of the schedule, without regard to what is proven or throttled.
    const polled = polledUntil(this.#slot, serviceNow(this.#core));
    const next = nextSlot(this.#poll.schedule, polled, polled);
    if (this.#isMissing(error)) {
      this.#missedAt = this.#core.scheduler.now();
      return next;
    }
    const again = retryAt(this.#core, error, this.#feed.failures);
    const mayWait = error instanceof QuotaExceededError || next.at > again;
    return mayWait ? { at: again, kind: this.#slot.kind } : next;
  }

  /**
   * When to ask again for a pair that is not known, by the scheduler. A wait is a length of time: what is learned of the
   * service's clock meanwhile moves only the slot, `slotDue`, for which those ask who are in a hurry.
   */
  #dueWhileMissing(missedAt: number, slotDue: number): number {
    const now = this.#core.scheduler.now();
    let due = Number.POSITIVE_INFINITY;
    for (const view of this.#views) {
      due = Math.min(due, view.asksAgainAt(missedAt, now));
      if (view.isHasty) due = Math.min(due, slotDue);
    }
    return due;
  }

  /** Waits until it is time to ask for the slot; that moves with what is learned of the service's clock. */
  #lookWhenDue(epoch: number): void {
    const { scheduler } = this.#core;
    const clock = this.#core.serviceClock();
    const isAgain = this.#tries > 1 || this.#secondLooks > 0;
    const slotDue = isAgain ? safeSendTimeFor(clock, this.#slot.at) : sendTimeFor(clock, this.#slot.at);
    const isMissing = this.#missedAt !== undefined;
    const due = isMissing ? this.#dueWhileMissing(this.#missedAt!, slotDue) : slotDue;
    // The service's clock has jumped: only an answer tells what is due now.
    if ((clock.epoch !== epoch && !isMissing) || scheduler.now() >= due) {
      this.look();
      return;
    }
    this.#timer = callAt(scheduler, due, () => {
      // The machine's clock was set back: only an answer tells how far the service's is from it now.
      if (scheduler.now() < due) this.look();
      else this.#lookWhenDue(epoch);
    });
  }
}

/** Until when polls count as done. An answer a little before the slot counts for it; not after the clock was set back. */
function polledUntil(slot: Slot, now: number): number {
  return isAhead(slot, now) ? now : Math.max(slot.at, now);
}

/** Whether it is too soon for a poll to count for a slot. */
function isAhead(slot: Slot, now: number): boolean {
  return slot.at > now + CLOCK_SLACK;
}
