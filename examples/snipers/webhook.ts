import { defer, lastValueFrom, type Observable, retry, type SchedulerLike, takeUntil, timer } from "rxjs";
import type { Alert } from "./alerts.js";

export interface WebhookOptions {
  readonly url: string;
  /** From then on what has failed is not tried again. */
  readonly stopped: Observable<unknown>;
  /** Hears of each failure, and in how many ms the next attempt follows. */
  readonly failed: (reason: string, delay: number) => void;
  readonly scheduler?: SchedulerLike;
}

const TIMEOUT = 10_000;
const LONGEST_DELAY = 60_000;

/**
 * Posts alerts. Says whether the receiver has taken one: it is asked again and again, until it has or the program is stopped. Each
 * attempt carries the same `Idempotency-Key`, so that a receiver can leave out what it has had already.
 */
export function webhook(options: WebhookOptions): (alert: Alert) => Promise<boolean> {
  const { url, stopped, failed, scheduler } = options;
  return (alert) => {
    const attempts = defer(async () => {
      const { ok, status, body } = await fetch(url, {
        method: "POST",
        headers: { "content-type": "application/json", "idempotency-key": alert.id },
        body: JSON.stringify(alert),
        // Followed, a redirect may turn the alert into a question.
        redirect: "manual",
        signal: AbortSignal.timeout(TIMEOUT),
      });
      await body?.cancel();
      if (!ok) throw new Error(`it answered ${status}`);
      return true;
    }).pipe(
      retry({
        delay: (error: Error, attempt) => {
          const delay = Math.min(1_000 * 2 ** (attempt - 1), LONGEST_DELAY);
          failed(reasonOf(error), delay);
          return timer(delay, scheduler).pipe(takeUntil(stopped));
        },
      }),
    );
    return lastValueFrom(attempts, { defaultValue: false });
  };
}

/** What stands behind it, as fetch itself says only that it failed. The address may be a secret, so it is in no message. */
function reasonOf({ message, cause }: Error): string {
  const { code, message: detail } = (cause ?? {}) as { code?: unknown; message?: unknown };
  return String(code ?? detail ?? message);
}
