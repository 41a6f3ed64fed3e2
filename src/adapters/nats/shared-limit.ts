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

/** How many requests of a window a number of parts is worth. */
export type ShareRule = (parts: number) => number;

/** What a place was given for, and was taken back before the client let it start. */
const TAKEN_BACK = Symbol();

/**
 * A client of which a collector may use a part, as large as its share of the key's rate limit.
 *
 * The client's own budget does not know of the other collectors. So every single attempt needs a place here first, and then
 * one in the client's budget.
 */
export class SharedLimit implements BudgetPart {
  readonly client: Client;
  readonly #core: ClientCore;
  readonly #scheduler: SchedulerLike;
  readonly #share: ShareRule;
  readonly #budget: Budget;
  /** From when on each part of the share counts, ascending. */
  #parts: readonly number[] = [];
  /** Ends what waits in the client's budget, by when it was given its place. */
  readonly #unsent = new Set<AbortController>();
  #actsUntil = Number.NEGATIVE_INFINITY;
  #latest = Number.NEGATIVE_INFINITY;
  #end = Subscription.EMPTY;

  /** `share`: what a number of parts is worth, in requests of a window of `per` ms. */
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

  /** Ends it; what waits does so for ever, as those have left who asked. */
  close(): void {
    this.#core.parts.delete(this);
    this.#end.unsubscribe();
    this.hold([]);
  }

  /** The parts that are this collector's, by the instant from which each counts. */
  hold(parts: Iterable<number>): void {
    this.#now();
    this.#parts = [...parts].sort((a, b) => a - b);
    this.#changed();
  }

  /** Lets requests go out until an instant of the scheduler's clock, and none after it. */
  actUntil(instant: number): void {
    this.#actsUntil = instant;
    this.#end.unsubscribe();
    this.#end = callAt(this.#scheduler, instant, () => this.mayAct());
    this.#changed();
  }

  /** Whether requests may go out now; where not, those that have a place and wait in the client lose it. */
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

  /** Starts what has its place here in the client's budget; `TAKEN_BACK` where it has lost that before. */
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
    const now = this.#latest;
    const counting = this.#parts.filter((from) => from <= now).length;
    const later = this.#parts.slice(counting);
    return [
      { from: now, requests: this.#share(counting) },
      ...later.map((from, at) => ({ from, requests: this.#share(counting + at + 1) })),
    ];
  }

  #changed(): void {
    const now = this.#now();
    // What waits in the client may do so for long, where the client pauses.
    this.#takeBack(this.#share(this.#parts.filter((from) => from <= now).length));
    this.#budget.serve();
  }

  /** Leaves so many their places that have not started yet, the first ones; the others ask for another. */
  #takeBack(most: number): void {
    for (const unsent of [...this.#unsent].slice(most)) unsent.abort();
  }

  #now(): number {
    const now = this.#scheduler.now();
    if (now < this.#latest) {
      // How long the lease has lasted cannot be told any more; the next renewal says it anew.
      this.#parts = this.#parts.map((from) => from - (this.#latest - now));
      this.#actsUntil = Number.NEGATIVE_INFINITY;
    }
    this.#latest = now;
    return now;
  }
}
