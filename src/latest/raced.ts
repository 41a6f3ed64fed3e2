import { onAbort } from "../aborts.js";

/** Settles as the promise does, or rejects with the signal's reason once that aborts, whichever comes first. */
export function raced<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const leave = () => reject(signal.reason);
    if (signal.aborted) leave();
    const stay = onAbort(signal, leave);
    promise.then(resolve, reject).finally(stay);
  });
}
