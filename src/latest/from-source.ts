import { type Observable, type SchedulerLike, Subscription } from "rxjs";
import { onAbort } from "../aborts.js";
import { PairstreamError } from "../errors.js";
import type { FeedStatus } from "../feed-status.js";

/** A stream of a source, and its status: `take` gets all that it emits until it is live, and that is enough. */
interface Streamed<E> {
  readonly events: Observable<E>;
  readonly status: Observable<FeedStatus>;
  take(event: E): void;
  /** Whether what has come is enough. */
  isEnough(): boolean;
}

/**
 * Subscribes until all is known that has settled; gives the status of then. It fails with the first trouble, as a call does.
 */
export function untilLive<E>(
  { events, status, take, isEnough }: Streamed<E>,
  signal: AbortSignal,
): Promise<FeedStatus> {
  return new Promise<FeedStatus>((resolve, reject) => {
    const both = new Subscription();
    const leave = () => fail(signal.reason);
    const end = () => {
      stay();
      both.unsubscribe();
    };
    const fail = (error: unknown) => {
      end();
      reject(error);
    };
    const over = () => fail(new PairstreamError("The source has ended before it was live"));
    if (signal.aborted) {
      reject(signal.reason);
      return;
    }
    const stay = onAbort(signal, leave);
    let last: FeedStatus | undefined;
    const look = () => {
      if (last?.state === "live") {
        if (!isEnough()) return;
        end();
        resolve(last);
      } else if (last?.lastError !== undefined) fail(last.lastError);
    };
    const takeEvent = (event: E) => {
      take(event);
      look();
    };
    const takeStatus = (now: FeedStatus) => {
      last = now;
      look();
    };
    // A status shares the connection of events with the same options, so these come first.
    both.add(events.subscribe({ next: takeEvent, error: fail, complete: over }));
    if (!both.closed) both.add(status.subscribe({ next: takeStatus, error: fail, complete: over }));
  });
}

/** How long ago something was asked for, in ms; `Infinity` if the clock was set back since. */
export function sinceAsked(scheduler: SchedulerLike, askedAt = scheduler.now()): () => number {
  return () => {
    const age = scheduler.now() - askedAt;
    return age < 0 ? Infinity : age;
  };
}
