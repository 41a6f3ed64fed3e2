import type { SchedulerLike } from "rxjs";

/** Waits `ms` on the scheduler, or forever if it is infinite. Rejects with the signal's reason when it aborts. */
export function wait(scheduler: SchedulerLike, ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const leave = () => {
      timer?.unsubscribe();
      reject(signal?.reason);
    };
    signal?.addEventListener("abort", leave, { once: true });
    const timer =
      ms === Infinity
        ? undefined
        : scheduler.schedule(() => {
            signal?.removeEventListener("abort", leave);
            resolve();
          }, ms);
  });
}
