import { BehaviorSubject, defer, finalize, from, type Observable, type SchedulerLike, share } from "rxjs";
import type { ClientCore, Priority } from "../client/core.js";
import type { CallKind } from "../client/quota.js";
import { callAt, sleepUntil } from "../client/schedule.js";
import { aim, aimSafely, serviceTime } from "../client/service-clock.js";
import { PairstreamError, QuotaExceededError } from "../errors.js";
import { isFatal, isNotFound, periodProbeAt, recoveryAt } from "./recovery.js";
import { nextSlot, type Schedule, type Slot } from "./schedule.js";

/** What a look at the service has found out so far; a look may take several steps. */
export interface LookStep<State> {
  readonly state: State;
  /** The service's clock had come this far, at least. */
  readonly provenAt: number;
  /** Whether everything is known that can be by then. */
  readonly isCurrent: boolean;
  /** Whether the look ends with this step. */
  readonly isLast: boolean;
  /** Why something is not known although an answer was accepted. */
  readonly error?: PairstreamError;
}

/** What a poll asks for, and when. */
export interface Poll<State> {
  readonly schedule: Schedule;
  readonly look: Look<State>;
  readonly kind: CallKind;
}

/** One look: asks as often as it takes, and gives the state after each answer. */
export type Look<State> = (options: LookOptions) => AsyncIterable<LookStep<State>>;

export interface LookOptions {
  readonly priority: Priority;
  readonly signal: AbortSignal;
  /** Whether this is the first look or one at the end of an interval. */
  readonly isClosing: boolean;
}

/** How a poll stands, after each of its steps. */
export interface FeedUpdate<State> {
  /** As last accepted; absent until then. */
  readonly state?: State;
  /** Whether the state is that of this step, and not the one before. */
  readonly isFresh: boolean;
  /** Whether a due poll has failed, or went unanswered past its slot, and has not been made good. */
  readonly isLate: boolean;
  /** Polls that failed, in a row. */
  readonly failures: number;
  readonly lastError?: PairstreamError;
}

/** Young pairs are indexed late: this many answers 404 in a row, a slot apart, mean that there is no such pair. */
const NOT_FOUND_LIMIT = 3;
/** How far off the service's clock can be taken for at first, in ms. */
const CLOCK_SLACK = 2_000;
/** A closing poll whose answer does not prove that the interval was over is repeated once. */
const CLOSING_TRIES = 2;

const UNASKED = { isFresh: false, isLate: false, failures: 0 };

/**
 * One poll for all who subscribe with the same key: it starts with the first and, when the last has left, aborts the
 * request in flight and leaves no timer. Every subscriber gets the last update at once, a first one that nothing was
 * asked yet.
 */
export function sharedFeed<State>(
  core: ClientCore,
  key: string,
  make: () => Poll<State>,
): Observable<FeedUpdate<State>> {
  return defer(() => {
    const running = core.shared.get(key) as Observable<FeedUpdate<State>> | undefined;
    if (running !== undefined) return running;
    // One who subscribes again from within an error connects anew before the old connection is taken down.
    let connections = 0;
    const feed: Observable<FeedUpdate<State>> = defer(() => {
      connections += 1;
      const abort = new AbortController();
      const poll = make();
      const leave = core.spending.join({ ...poll.schedule, kind: poll.kind });
      return from(updates(core, poll, abort.signal)).pipe(
        finalize(() => {
          leave();
          connections -= 1;
          if (connections === 0 && core.shared.get(key) === feed) core.shared.delete(key);
          abort.abort();
        }),
      );
    }).pipe(share({ connector: () => new BehaviorSubject<FeedUpdate<State>>(UNASKED) }));
    core.shared.set(key, feed);
    return feed;
  });
}

async function* updates<State>(
  core: ClientCore,
  { schedule, look }: Poll<State>,
  signal: AbortSignal,
): AsyncGenerator<FeedUpdate<State>> {
  const serviceNow = () => serviceTime(core.serviceClock(), core.scheduler.now());
  let feed: FeedUpdate<State> = UNASKED;
  let slot: Slot = { at: serviceNow(), kind: "refresh" };
  let provenAt = Number.NEGATIVE_INFINITY;
  /** How often in a row the present slot was polled for. */
  let tries = 1;
  let notFound = 0;

  for (;;) {
    let next: Slot;
    try {
      const isClosing = slot.kind === "close" || feed.state === undefined;
      const steps = look({ priority: slot.kind, signal, isClosing })[Symbol.asyncIterator]();
      for (;;) {
        const step = steps.next();
        const slotEnd = nextSlot(schedule, slot.at, slot.at).at - serviceNow() + core.scheduler.now();
        if (!feed.isLate && (await isSlower(step, core.scheduler, slotEnd, signal))) {
          feed = { ...feed, isLate: true, isFresh: false };
          yield feed;
        }
        const { done, value } = await step;
        if (done) break;
        const { state, isCurrent, isLast } = value;
        provenAt = value.provenAt;
        const isBehind = !isCurrent || (feed.isLate && schedule.nextClose(provenAt) <= serviceNow());
        const isLate = isLast ? isBehind : feed.isLate;
        const trouble = isLate && value.error !== undefined ? { lastError: value.error } : {};
        feed = { state, isFresh: true, isLate, failures: 0, ...trouble };
        yield feed;
      }
      notFound = 0;
      const stretch = core.spending.stretch();
      next = nextSlot(schedule, provenAt, polledUntil(slot, serviceNow()), stretch);
      if (next.kind === "close" && next.at === slot.at && tries >= CLOSING_TRIES) {
        const polled = polledUntil(slot, serviceNow());
        next = nextSlot(schedule, polled, polled, stretch);
      }
      // A spent quota leaves one probe at the start of the next period.
      if (next.at === Number.POSITIVE_INFINITY) next = { at: periodProbeAt(core, "counted"), kind: "close" };
    } catch (error) {
      if (signal.aborted || !(error instanceof PairstreamError)) throw error;
      notFound = isNotFound(error) && feed.state === undefined ? notFound + 1 : 0;
      if (isFatal(error) || notFound >= NOT_FOUND_LIMIT) throw error;
      const failures = feed.failures + 1;
      feed = { ...feed, isFresh: false, isLate: true, failures, lastError: error };
      yield feed;
      next = slotAfterFailure(schedule, slot, recoveryAt(core, error, failures), error, serviceNow());
    }
    tries = next.kind === slot.kind && next.at === slot.at ? tries + 1 : 1;
    slot = next;
    await sleepUntilDue(core, slot, tries > 1, signal);
  }
}

/** A slot counts as polled even where the answer came a little before it; not where the service's clock was set back. */
function polledUntil(slot: Slot, now: number): number {
  return slot.at > now + CLOCK_SLACK ? now : Math.max(slot.at, now);
}

/** Whether a step takes beyond an instant of the scheduler's clock. */
function isSlower(
  step: Promise<unknown>,
  scheduler: SchedulerLike,
  instant: number,
  signal: AbortSignal,
): Promise<boolean> {
  if (!Number.isFinite(instant)) return Promise.resolve(false);
  return new Promise((resolve) => {
    const end = (isSlow: boolean) => {
      timer.unsubscribe();
      signal.removeEventListener("abort", inTime);
      resolve(isSlow);
    };
    const inTime = () => end(false);
    const timer = callAt(scheduler, instant, () => end(true));
    signal.addEventListener("abort", inTime, { once: true });
    step.then(inTime, inTime);
  });
}

/** Waits for the instant at which to ask for a slot, which moves as more is learned of the service's clock. */
async function sleepUntilDue(core: ClientCore, slot: Slot, isRepeated: boolean, signal: AbortSignal) {
  const { epoch } = core.serviceClock();
  for (;;) {
    const clock = core.serviceClock();
    // The service's clock has jumped: what is due by now shows with the next look.
    if (clock.epoch !== epoch) return;
    const due = isRepeated ? aimSafely(clock, slot.at) : aim(clock, slot.at);
    if (core.scheduler.now() >= due) return;
    await sleepUntil(core.scheduler, due, signal);
    // The machine's clock was set back meanwhile: only an answer tells how far the service's is from it now.
    if (core.scheduler.now() < due) return;
  }
}

function slotAfterFailure(
  schedule: Schedule,
  failed: Slot,
  recovery: number,
  error: PairstreamError,
  now: number,
): Slot {
  const polled = polledUntil(failed, now);
  const next = nextSlot(schedule, polled, polled);
  const mayWait = error instanceof QuotaExceededError || next.at > recovery;
  return mayWait ? { at: recovery, kind: failed.kind } : next;
}
