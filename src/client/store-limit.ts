import type { SchedulerLike, Subscription } from "rxjs";
import { PairstreamError } from "../errors.js";
import { callAt } from "./timers.js";

/** For how long a store may take to answer. */
export interface StoreLimit {
  readonly scheduler: SchedulerLike;
  /** ms. */
  readonly timeout: number;
}

/** What a store answers; rejects where it has not within the limit. Without `waiting` any longer, no timer is left. */
export async function withinLimit<T>(
  answer: () => Promise<T>,
  { scheduler, timeout }: StoreLimit,
  waiting: Subscription,
): Promise<T> {
  let timer: Subscription | undefined;
  const late = new Promise<never>((_, reject) => {
    const message = `The store has not answered within ${timeout} ms`;
    timer = callAt(scheduler, scheduler.now() + timeout, () => reject(new PairstreamError(message)));
    waiting.add(timer);
  });
  try {
    return await Promise.race([answer(), late]);
  } finally {
    timer?.unsubscribe();
    waiting.remove(timer!);
  }
}
