import { asyncScheduler, Subscription } from "rxjs";
import { dropTask, onNextFrame } from "./frames.js";

/** How long a store outlives its last listener, in ms: an effect that runs twice, or a route that is left and entered. */
const LINGER = 1_000;

/**
 * Follows a stream for a store. Each change is told by `publish`, with what makes a snapshot of it; that runs once a
 * frame. `fail` is told when no more will come for an error, so that the next one to ask begins anew.
 */
export type Follow<S> = (publish: (make: () => S) => void, fail: () => void) => Subscription;

/** What `useSyncExternalStore` needs. A lease costs nothing until somebody subscribes. */
export interface Lease<S> {
  subscribe(listener: () => void): () => void;
  snapshot(): S;
  empty(): S;
}

export type Stores<S> = Map<string, SharedStore<S>>;

const ofSource = new WeakMap<object, Stores<never>>();

/** The stores of a source, by the values that they were asked for with. They go with the source. */
export function storesOf<S>(source: object): Stores<S> {
  const stores = ofSource.get(source) ?? new Map<string, SharedStore<never>>();
  ofSource.set(source, stores);
  return stores as unknown as Stores<S>;
}

/**
 * The way to the store of a key. The store is made when somebody subscribes, not when a component renders: of a render
 * that is never committed nothing stays.
 */
export function lease<S>(stores: Stores<S>, key: string, empty: S, follow: Follow<S>): Lease<S> {
  let held: SharedStore<S> | undefined;
  const find = () => (held?.isClosed === false ? held : stores.get(key));
  return {
    subscribe: (listener) => {
      held = find() ?? new SharedStore(stores, key, empty, follow);
      return held.subscribe(listener);
    },
    snapshot: () => find()?.snapshot ?? empty,
    empty: () => empty,
  };
}

/** One subscription for any number of listeners, and what is known by it as of the last frame. */
class SharedStore<S> {
  snapshot: S;
  isClosed = false;
  readonly #leave: () => void;
  readonly #listeners = new Set<{ readonly tell: () => void }>();
  readonly #following: Subscription;
  #closing = Subscription.EMPTY;
  #make: (() => S) | undefined;

  constructor(stores: Stores<S>, key: string, empty: S, follow: Follow<S>) {
    this.snapshot = empty;
    stores.set(key, this);
    this.#leave = () => {
      if (stores.get(key) === this) stores.delete(key);
    };
    const publish = (make: () => S) => {
      this.#make = make;
      onNextFrame(this.#publish);
    };
    this.#following = follow(publish, this.#leave);
    // What is known already need not wait: React looks once more after it has subscribed.
    this.#publish();
    dropTask(this.#publish);
  }

  subscribe(tell: () => void): () => void {
    const listener = { tell };
    this.#listeners.add(listener);
    this.#closing.unsubscribe();
    return () => {
      if (!this.#listeners.delete(listener) || this.#listeners.size > 0) return;
      this.#closing = asyncScheduler.schedule(() => this.#close(), LINGER);
    };
  }

  #publish = (): void => {
    if (this.#make === undefined) return;
    this.snapshot = this.#make();
    this.#make = undefined;
    for (const { tell } of this.#listeners) tell();
  };

  #close(): void {
    this.isClosed = true;
    this.#leave();
    this.#following.unsubscribe();
    dropTask(this.#publish);
  }
}
