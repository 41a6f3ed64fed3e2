import { type Observable, Subscription } from "rxjs";
import type { FeedStatus } from "../../feed-status.js";
import type { Follow } from "./shared-store.js";

/** The status before the stream has told its own. */
export const STARTING: FeedStatus = Object.freeze({ state: "starting", failures: 0 });

/** What was thrown, as an error. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

/** Follows streams of changes of a state, which tell what it becomes; the first of them that fails ends all. */
export function followChanges<S extends { readonly error: Error | undefined }>(
  empty: S,
  streams: readonly Observable<(state: S) => Partial<S>>[],
): Follow<S> {
  return (publish, fail) => {
    let state = empty;
    const all = new Subscription();
    const become = (change: Partial<S>) => {
      state = Object.freeze({ ...state, ...change });
      publish(() => state);
    };
    const end = (thrown: unknown) => {
      all.unsubscribe();
      fail();
      become({ error: asError(thrown) } as Partial<S>);
    };
    for (const stream of streams) {
      if (!all.closed) all.add(stream.subscribe({ next: (change) => become(change(state)), error: end }));
    }
    return all;
  };
}
