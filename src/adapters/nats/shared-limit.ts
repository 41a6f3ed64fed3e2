import { type SchedulerLike, Subscription } from "rxjs";
import type { RetryActivity } from "../../client/activity.js";
import {
  type Ask,
  type Client,
  type ClientCore,
  clientOf,
  coreOf,
  type Exchange,
  type Priority,
} from "../../client/core.js";
import { delayAfter } from "../../client/failure.js";
import { callAt, sleepUntil } from "../../client/schedule.js";
import { walkOf } from "../../client/walk.js";
import {
  emptyWindow,
  opensAt,
  type RequestWindow,
  type ShareRule,
  setBack,
  wentOut,
} from "./request-window.js";

/** One request that was given its turn. */
interface Turn {
  /** Whether the request has gone out. */
  isUsed: boolean;
  /** Ends the call: before its request has gone out, or between that and another attempt. */
  readonly end: AbortController;
  /** Why the attempt failed, where another one is to follow. */
  failure: RetryActivity | undefined;
}

type Waiter = () => void;

/** A first `Date` that is far from the scheduler's clock is believed once another answer agrees; so many are asked. */
const CLOCK_READS = 3;

/**
 * A client of which a collector may use a part, as large as its share of the key's rate limit.
 *
 * The client's own budget does not know of the other collectors. So every single attempt needs a turn here first: a call
 * of the client is ended where it would try again by itself, and made anew with the next turn.
 */
export class SharedLimit {
  readonly client: Client;
  readonly #core: ClientCore;
  readonly #scheduler: SchedulerLike;
  readonly #per: number;
  readonly #share: ShareRule;
  readonly #waiting: Readonly<Record<Priority, Set<Waiter>>> = {
    close: new Set(),
    refresh: new Set(),
    history: new Set(),
  };
  /** By route: two calls with the same one take turns, so that what the client tells can be told apart. */
  readonly #turns = new Map<string, Turn>();
  #window: RequestWindow = emptyWindow;
  #actsUntil = Number.NEGATIVE_INFINITY;
  #latest = Number.NEGATIVE_INFINITY;
  #timer = Subscription.EMPTY;
  #end = Subscription.EMPTY;

  /** `share`: what a number of parts is worth, in requests of a window of `per` ms. */
  constructor(client: Client, { share, per }: { share: ShareRule; per: number }) {
    this.#core = coreOf(client);
    this.#scheduler = this.#core.scheduler;
    this.#share = share;
    this.#per = per;
    const core: ClientCore = {
      ...this.#core,
      shared: new Map(),
      send: (ask) => this.#send(ask),
      walk: (walk) => walkOf(core.send, walk),
    };
    this.client = clientOf({ ...client }, core);
  }

  /** Follows what the client does, until unsubscribed; nothing may be asked without. */
  follow(client: Client): Subscription {
    const following = client.activity.subscribe((activity) => {
      if (activity.type === "request") this.#went(activity.url, activity.at);
      else if (activity.type === "retry") this.#failed(activity);
    });
    following.add(() => {
      this.#timer.unsubscribe();
      this.#end.unsubscribe();
    });
    return following;
  }

  /** The parts that are this collector's, by the instant from which each counts. */
  hold(parts: Iterable<number>): void {
    const now = this.#now();
    const held = [...parts].sort((a, b) => a - b);
    this.#window = { ...this.#window, parts: held };
    // A call may have its turn for long, where the client pauses.
    this.#takeTurnsBack(this.#share(held.filter((from) => from <= now).length));
    this.#serve();
  }

  /** Lets requests go out until an instant of the scheduler's clock, and none after it. */
  actUntil(instant: number): void {
    this.#actsUntil = instant;
    this.#end.unsubscribe();
    this.#end = callAt(this.#scheduler, instant, () => this.mayAct());
    this.#serve();
  }

  /** Whether requests may go out now; where not, calls that have their turn lose it. */
  mayAct(): boolean {
    const mayAct = this.#now() < this.#actsUntil;
    if (!mayAct) this.#takeTurnsBack(0);
    return mayAct;
  }

  /** Leaves so many calls their turns that have not used them yet, the first ones; the others ask for another. */
  #takeTurnsBack(most: number): void {
    const unused = [...this.#turns.values()].filter(({ isUsed }) => !isUsed);
    for (const { end } of unused.slice(most)) end.abort();
  }

  /** As the client's own `send` does it, a turn for each attempt. */
  async #send<T>(ask: Ask<T>): Promise<Exchange<T>> {
    for (let asked = 1; ; asked += 1) {
      const exchange = await this.#sendOnce(ask);
      const { bounds, isConfirmed } = this.#core.serviceClock();
      if (!ask.needsClock || bounds === undefined || isConfirmed || asked >= CLOCK_READS) return exchange;
    }
  }

  async #sendOnce<T>(ask: Ask<T>): Promise<Exchange<T>> {
    for (let attempt = 1; ; ) {
      const outcome = await this.#attempt(ask);
      if ("exchange" in outcome) return outcome.exchange;
      // A turn that was lost before it was used is no attempt.
      if (outcome.failure === undefined) continue;
      // The client took it for a first attempt; what the service asked for is in its delay.
      const { at, error, delay: told } = outcome.failure;
      const delay = delayAfter(attempt, error, undefined, this.#core.retry);
      if (delay === undefined) throw error;
      attempt += 1;
      await sleepUntil(this.#scheduler, at + Math.max(delay, told), ask.signal);
    }
  }

  async #attempt<T>(
    ask: Ask<T>,
  ): Promise<{ exchange: Exchange<T> } | { failure: RetryActivity | undefined }> {
    const turn = await this.#turn(ask);
    const { signal } = ask;
    const leave = () => turn.end.abort(signal?.reason);
    signal?.addEventListener("abort", leave, { once: true });
    try {
      return { exchange: await this.#core.send({ ...ask, signal: turn.end.signal, needsClock: false }) };
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      if (turn.failure !== undefined || turn.end.signal.aborted) return { failure: turn.failure };
      throw error;
    } finally {
      signal?.removeEventListener("abort", leave);
      if (!turn.isUsed) this.#window = { ...this.#window, turns: this.#window.turns - 1 };
      this.#turns.delete(ask.route);
      this.#serve();
    }
  }

  /** Waits for a turn: by priority, then first come, first served. */
  #turn({ route, priority, signal }: Ask<unknown>): Promise<Turn> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      const queue = this.#waiting[priority];
      const leave = () => {
        queue.delete(waiter);
        reject(signal?.reason);
      };
      const waiter: Waiter = () => {
        if (this.#turns.has(route)) return;
        queue.delete(waiter);
        signal?.removeEventListener("abort", leave);
        const turn: Turn = { isUsed: false, end: new AbortController(), failure: undefined };
        this.#turns.set(route, turn);
        this.#window = { ...this.#window, turns: this.#window.turns + 1 };
        resolve(turn);
      };
      queue.add(waiter);
      signal?.addEventListener("abort", leave, { once: true });
      this.#serve();
    });
  }

  #serve(): void {
    this.#timer.unsubscribe();
    for (const queue of Object.values(this.#waiting)) {
      for (const waiter of queue) {
        if (!this.mayAct()) return;
        const now = this.#now();
        const opens = opensAt(this.#window, this.#share, this.#per, now);
        if (opens > now) {
          if (Number.isFinite(opens)) this.#timer = callAt(this.#scheduler, opens, () => this.#serve());
          return;
        }
        waiter();
      }
    }
  }

  #went(route: string, at: number): void {
    const turn = this.#turns.get(route);
    const hadTurn = turn !== undefined && !turn.isUsed;
    if (hadTurn) turn.isUsed = true;
    this.#window = wentOut(this.#window, this.#per, at, hadTurn);
  }

  #failed(activity: RetryActivity): void {
    const turn = this.#turns.get(activity.url);
    if (turn === undefined || !turn.isUsed) return;
    turn.failure = activity;
    turn.end.abort();
  }

  #now(): number {
    const now = this.#scheduler.now();
    if (now < this.#latest) {
      // How long the lease has lasted cannot be told any more; the next renewal says it anew.
      this.#window = setBack(this.#window, this.#latest - now);
      this.#actsUntil = Number.NEGATIVE_INFINITY;
    }
    this.#latest = now;
    return now;
  }
}
