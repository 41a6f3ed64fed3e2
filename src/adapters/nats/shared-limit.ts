import { type SchedulerLike, Subscription } from "rxjs";
import {
  type BudgetPart,
  type Client,
  type ClientCore,
  clientOf,
  coreOf,
  type Starter,
} from "../../client/core.js";
import { type Begin, Budget } from "../../client/limits/budget.js";
import type { Allowance } from "../../client/limits/places.js";
import { walkOf } from "../../client/send/walk.js";
import { callAt } from "../../client/timers.js";

/** How many requests per window belong to a number of parts. */
export type ShareRule = (parts: number) => number;

/** The result of a request whose place was taken back before the client let it start. */
const TAKEN_BACK = Symbol();

/**
 * A client that keeps within the collector's share of the key's rate limit.
 *
 * The client's own budget does not know the other collectors. So every attempt needs a place here first, and then one
 * in the client's budget.
 */
export class SharedLimit implements BudgetPart {
  readonly client: Client;
  readonly #core: ClientCore;
  readonly #scheduler: SchedulerLike;
  readonly #share: ShareRule;
  readonly #budget: Budget;
  /** The instants of `now()` from which the parts of the share count, ascending. */
  #parts: readonly number[] = [];
  /** One controller for each request that waits in the client's budget, in the order in which they got their places. */
  readonly #unsent = new Set<AbortController>();
  #actsUntil = -Infinity;
  #latest = -Infinity;
  #setBack = 0;
  #end = Subscription.EMPTY;

  /** `share`: how many requests per window of `per` ms belong to a number of parts. */
  constructor(client: Client, { share, per }: { share: ShareRule; per: number }) {
    this.#core = coreOf(client);
    this.#scheduler = this.#core.scheduler;
    this.#share = share;
    this.#budget = new Budget(this.#scheduler, { per, allowances: () => this.#rooms() }, () => {});
    const core: ClientCore = {
      ...this.#core,
      shared: new Map(),
      send: (ask) => this.#core.send({ ...ask, within: this }),
      walk: (walk) => walkOf(core.send, walk),
    };
    this.client = clientOf({ ...client }, core);
    this.#core.parts.add(this);
  }

  /** Ends the limit. Requests that wait are never started, because those who asked have left. */
  close(): void {
    this.#core.parts.delete(this);
    this.#end.unsubscribe();
    this.hold([]);
  }

  /** The present instant of a clock that stands still where the scheduler's is set back. */
  now(): number {
    return this.#now() + this.#setBack;
  }

  /** By how much the scheduler's clock was set back so far, in ms. */
  get setBack(): number {
    this.#now();
    return this.#setBack;
  }

  /** Sets the collector's parts, each given as the instant of `now()` from which it counts. */
  hold(parts: Iterable<number>): void {
    this.#parts = [...parts].sort((a, b) => a - b);
    this.#changed();
  }

  /** Lets requests go out until an instant of the scheduler's clock, but not after it. */
  actUntil(instant: number): void {
    this.#actsUntil = instant;
    this.#end.unsubscribe();
    this.#end = callAt(this.#scheduler, instant, () => this.mayAct());
    this.#changed();
  }

  /** Whether requests may go out now. If not, requests that wait in the client lose their places. */
  mayAct(): boolean {
    const mayAct = this.#now() < this.#actsUntil;
    if (!mayAct) this.#takeBack(0);
    return mayAct;
  }

  within(whole: Starter): Starter {
    return async <T>(priority: Parameters<Starter>[0], signal: AbortSignal | undefined, begin: Begin<T>) => {
      for (;;) {
        const outcome = await this.#budget.start(priority, signal, (_now, end) =>
          this.#through(whole, priority, signal, (now, endThere) =>
            begin(now, (at) => {
              end(at);
              endThere(at);
            }),
          ),
        );
        if (outcome !== TAKEN_BACK) return outcome;
      }
    };
  }

  count(): (at: number) => void {
    return this.#budget.count();
  }

  /**
   * Starts a request that has a place here in the client's budget. Gives `TAKEN_BACK` if it lost its place before it
   * started.
   */
  async #through<T>(
    whole: Starter,
    priority: Parameters<Starter>[0],
    signal: AbortSignal | undefined,
    begin: Begin<T>,
  ): Promise<T | typeof TAKEN_BACK> {
    const unsent = new AbortController();
    const leave = () => unsent.abort(signal?.reason);
    signal?.addEventListener("abort", leave, { once: true });
    this.#unsent.add(unsent);
    const sent = () => {
      this.#unsent.delete(unsent);
      signal?.removeEventListener("abort", leave);
    };
    try {
      return await whole(priority, unsent.signal, (now, end) => {
        sent();
        return begin(now, end);
      });
    } catch (error) {
      if (unsent.signal.aborted && !signal?.aborted) return TAKEN_BACK;
      throw error;
    } finally {
      sent();
    }
  }

  #rooms(): readonly Allowance[] {
    if (!this.mayAct()) return [];
    const counting = this.#counting();
    const later = this.#parts.slice(counting);
    return [
      { from: this.#latest, requests: this.#share(counting) },
      ...later.map((from, at) => ({
        from: from - this.#setBack,
        requests: this.#share(counting + at + 1),
      })),
    ];
  }

  #changed(): void {
    // Requests may wait long in a client that pauses. Those beyond the present share lose their places.
    this.#takeBack(this.#share(this.#counting()));
    this.#budget.serve();
  }

  /** How many parts count now. */
  #counting(): number {
    const now = this.now();
    return this.#parts.filter((from) => from <= now).length;
  }

  /** Of the requests that have not started, lets the first `most` keep their places. The others ask for a new one. */
  #takeBack(most: number): void {
    for (const unsent of [...this.#unsent].slice(most)) unsent.abort();
  }

  #now(): number {
    const now = this.#scheduler.now();
    if (now < this.#latest) {
      this.#setBack += this.#latest - now;
      // It is not known any more how long the lease has lasted. The next renewal sets it again.
      this.#actsUntil = -Infinity;
    }
    this.#latest = now;
    return now;
  }
}
