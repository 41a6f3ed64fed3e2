import { BehaviorSubject, defer, finalize, map, Observable, share } from "rxjs";
import type { ClientCore } from "../client/core.js";
import { MissingPair, type WhenMissing } from "./missing.js";
import { type FeedUpdate, type Poll, Poller, UNASKED } from "./poller.js";
import { type Tell, Teller } from "./teller.js";

/** One poll for all, as long as there is anyone. */
interface SharedPoll<State> {
  readonly updates: Observable<FeedUpdate<State>>;
  /** What each subscriber makes of answers that show no such pair. */
  readonly views: Set<MissingPair>;
  poller: Poller<State> | undefined;
  /** Absent where nobody is warned. */
  teller: Teller | undefined;
}

/**
 * One poll for all who subscribe with the same key: it starts with the first and, when the last has left, aborts the
 * request in flight and leaves no timer. Every subscriber gets the last update at once, a first one that nothing was
 * asked yet. What to do about a pair that is not known is each one's own choice.
 */
export function sharedFeed<State>(
  core: ClientCore,
  key: string,
  make: () => Poll<State>,
  {
    whenMissing,
    missingPace,
  }: { readonly whenMissing: WhenMissing; readonly missingPace?: number | undefined },
): Observable<FeedUpdate<State>> {
  return defer(() => {
    const { updates, views, poller } = sharedPoll(core, key, make);
    const view = new MissingPair(whenMissing, core.scheduler.now(), missingPace);
    views.add(view);
    poller?.hurry();
    return updates.pipe(
      map((update) => {
        if (view.isOver) throw update.lastError;
        return update;
      }),
      finalize(() => views.delete(view)),
    );
  });
}

/** How the polls stand that run under a key with this beginning; those that nothing has come of are left out. */
export function runningStates<State>(core: ClientCore, prefix: string): readonly FeedUpdate<State>[] {
  return [...core.shared].flatMap(([key, shared]) => {
    if (!key.startsWith(prefix)) return [];
    const update = (shared as SharedPoll<State>).poller?.update;
    return update?.state === undefined ? [] : update;
  });
}

/** Tells of a part of a stream besides its poll, until the second function is called. */
export function joinTeller(
  core: ClientCore,
  key: string,
): readonly [tell: Tell, leave: () => void] | undefined {
  return (core.shared.get(key) as SharedPoll<unknown> | undefined)?.teller?.join();
}

function sharedPoll<State>(core: ClientCore, key: string, make: () => Poll<State>): SharedPoll<State> {
  const running = core.shared.get(key) as SharedPoll<State> | undefined;
  if (running !== undefined) return running;
  const views = new Set<MissingPair>();
  const updates = new Observable<FeedUpdate<State>>((subscriber) => {
    const poll = make();
    const { closeEvery, refreshEvery } = poll.schedule;
    const leave = core.spending.join({ closeEvery, refreshEvery, kind: poll.kind });
    const teller = core.warner && new Teller(core.warner, poll.feed);
    const poller = new Poller(core, poll, views, subscriber, teller?.join()[0]);
    shared.poller = poller;
    shared.teller = teller;
    core.metering.polls.add(poller);
    poller.start();
    return () => {
      leave();
      core.metering.polls.delete(poller);
      // Whoever subscribes again inside an error handler connects before the old connection is closed.
      if (shared.poller === poller && core.shared.get(key) === shared) core.shared.delete(key);
      teller?.stop();
      poller.stop();
    };
  }).pipe(share({ connector: () => new BehaviorSubject<FeedUpdate<State>>(UNASKED) }));
  const shared: SharedPoll<State> = { updates, views, poller: undefined, teller: undefined };
  core.shared.set(key, shared);
  return shared;
}
