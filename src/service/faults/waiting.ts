import type { SchedulerLike } from "rxjs";

/** Waits `ms`, or for ever; rejects with the signal's reason once that is aborted. */
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
