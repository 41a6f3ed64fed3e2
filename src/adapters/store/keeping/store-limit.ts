import type { Subscription } from "rxjs";
import type { StoreMeans } from "../../../client/client-store.js";
import { callAt } from "../../../client/timers.js";
import { PairstreamError } from "../../../errors.js";

/** What a store answers; rejects where it has not within the limit. Without `waiting` any longer, no timer is left. */
export async function withinLimit<T>(
  answer: () => Promise<T>,
  { scheduler, timeout }: Pick<StoreMeans, "scheduler" | "timeout">,
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
