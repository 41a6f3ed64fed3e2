import { type Observable, Subscription } from "rxjs";
import { isPairstreamError } from "../../errors.js";
import type { FeedStatus } from "../../feed-status.js";
import type { Follow } from "./shared-store.js";

/** The status before the stream has told its own. */
export const STARTING: FeedStatus = Object.freeze({ state: "starting", failures: 0 });

/** A stream for each field of a state, of what makes it: of several in a frame the last one is called. */
type Fields<S> = { readonly [name in keyof S]?: Observable<() => S[name]> };

/** Follows a stream for each field of a state; the first of them that fails ends all. */
export function followFields<S extends { readonly error: Error | undefined; readonly status: FeedStatus }>(
  empty: S,
  fields: Fields<S>,
): Follow<S> {
  return (publish, fail) => {
    let state = empty;
    const changed = new Map<string, () => unknown>();
    const make = () => {
      const changes = Array.from(changed, ([name, now]) => [name, now()] as const);
      changed.clear();
      state = Object.freeze({ ...state, ...Object.fromEntries(changes) });
      return state;
    };
    const become = (name: string, now: () => unknown) => {
      changed.set(name, now);
      publish(make);
    };
    const all = new Subscription();
    const end = (thrown: unknown) => {
      all.unsubscribe();
      fail();
      const error = thrown instanceof Error ? thrown : new Error(String(thrown));
      become("error", () => error);
      // Whoever shows the status alone would take what has ended for live.
      const lastError = isPairstreamError(error) && { lastError: error };
      become("status", () => Object.freeze({ ...state.status, state: "stalled", ...lastError }));
    };
    for (const [name, stream] of Object.entries<Observable<() => unknown> | undefined>(fields)) {
      if (!all.closed) all.add(stream?.subscribe({ next: (now) => become(name, now), error: end }));
    }
    return all;
  };
}
