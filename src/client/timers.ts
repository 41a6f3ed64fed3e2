import type { SchedulerLike, Subscription } from "rxjs";
import { onAbort } from "../aborts.js";

/**
 * A wait is made of timers. Each takes a hundredth of what is left, but no less than so many ms, or all of a shorter rest. Timers
 * stand still while a machine sleeps, so a long one would be late by that time; and one beyond 2^31 − 1 would fire at once.
 */
const SHORT_TIMER = 60_000;
/** If a timer fires more than this too early, in ms, the clock was set back. */
const LARGEST_EARLINESS = 1_000;

/**
 * Calls `work` once, when the scheduler's clock has reached `instant`: never earlier, although timers fire a
 * little early at times, and however far away it is. Should the clock be set back meanwhile, the time that has
 * passed by then still counts.
 */
export function callAt(scheduler: SchedulerLike, instant: number, work: () => void): Subscription {
  let target = instant;
  let armedAt = scheduler.now();
  const delay = () => {
    const left = Math.max(0, target - armedAt);
    return Math.min(left, Math.max(SHORT_TIMER, Math.ceil(left / 100)));
  };
  return scheduler.schedule(function () {
    const now = scheduler.now();
    const early = armedAt + delay() - now;
    if (early > LARGEST_EARLINESS) target -= early;
    armedAt = now;
    if (now >= target) work();
    else this.schedule(undefined, delay());
  }, delay());
}

/**
 * Calls `work` once, when `wait` ms have passed since `begun`. If the clock was set back since, that lies ahead, and the
 * wait counts from now.
 */
export function callAfter(
  scheduler: SchedulerLike,
  begun: number,
  wait: number,
  work: () => void,
): Subscription {
  return callAt(scheduler, Math.min(begun, scheduler.now()) + wait, work);
}

/**
 * Resolves when the scheduler's clock has reached `instant`, at once where it has; rejects with the signal's
 * reason when that aborts, and leaves no timer behind.
 */
export function sleepUntil(scheduler: SchedulerLike, instant: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    if (scheduler.now() >= instant) {
      resolve();
      return;
    }
    const leave = () => {
      timer.unsubscribe();
      reject(signal?.reason);
    };
    const stay = onAbort(signal, leave);
    const timer = callAt(scheduler, instant, () => {
      stay();
      resolve();
    });
  });
}
