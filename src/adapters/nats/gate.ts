import {
  filter,
  firstValueFrom,
  fromEvent,
  merge,
  mergeMap,
  NEVER,
  type SchedulerLike,
  Subject,
  Subscription,
  startWith,
  throwError,
} from "rxjs";
import { type BudgetPart, type Client, coreOf, type Starter } from "../../client/core.js";
import type { Begin } from "../../client/limits/budget.js";
import { callAfter } from "../../client/timers.js";
import { clientWithin } from "../wire/client-within.js";

/** The result of a request that the gate was shut for when its turn in the client's budget had come. */
const SHUT = Symbol();

/**
 * Lets the requests of a client out while its collector leads, and once no request of an earlier leader counts any more. The
 * client's own budget keeps the limit.
 */
export class Gate implements BudgetPart {
  readonly client: Client;
  readonly #scheduler: SchedulerLike;
  /** Requests may go out now, perhaps. */
  readonly #served = new Subject<void>();
  /** Whether no request of an earlier leader counts any more. */
  #isQuiet = false;
  #actsUntil = -Infinity;
  #latest = -Infinity;
  #setBacks = 0;
  #opening = Subscription.EMPTY;
  #expiry = Subscription.EMPTY;

  constructor(client: Client) {
    this.#scheduler = coreOf(client).scheduler;
    this.client = clientWithin(client, this, { shared: new Map() });
  }

  /** Whether the lease lasts. If not, nothing may be asked or told. */
  get mayAct(): boolean {
    return this.#now() < this.#actsUntil;
  }

  /** Whether requests may go out. */
  get isOpen(): boolean {
    return this.#isQuiet && this.mayAct;
  }

  /** How often the scheduler's clock was set back, as far as that shows. */
  get setBacks(): number {
    this.#now();
    return this.#setBacks;
  }

  /** A new lease has begun: nothing is asked for so long, in ms. */
  shutFor(wait: number): void {
    this.#isQuiet = false;
    this.#opening.unsubscribe();
    this.#opening = callAfter(this.#scheduler, this.#scheduler.now(), wait, () => {
      this.#isQuiet = true;
      this.#served.next();
    });
  }

  /** The lease lasts until an instant of the scheduler's clock. `expired` is called if it is not extended until then. */
  extend(until: number, expired: () => void): void {
    this.#actsUntil = until;
    this.#expiry.unsubscribe();
    const now = this.#scheduler.now();
    this.#expiry = callAfter(this.#scheduler, now, until - now, expired);
    this.#served.next();
  }

  /** The lease is over, or given up. */
  shut(): void {
    this.#actsUntil = -Infinity;
    this.#isQuiet = false;
    this.#opening.unsubscribe();
    this.#expiry.unsubscribe();
  }

  within(whole: Starter): Starter {
    return async <T>(priority: Parameters<Starter>[0], signal: AbortSignal | undefined, begin: Begin<T>) => {
      for (;;) {
        await this.#opened(signal);
        const outcome = await whole<T | typeof SHUT>(priority, signal, async (now, end) =>
          this.isOpen ? begin(now, end) : SHUT,
        );
        if (outcome !== SHUT) return outcome;
      }
    };
  }

  /** Resolves once requests may go out; rejects with the signal's reason. */
  #opened(signal: AbortSignal | undefined): Promise<unknown> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    const left = signal === undefined ? NEVER : fromEvent(signal, "abort");
    const over = left.pipe(mergeMap(() => throwError(() => signal?.reason)));
    const opened = this.#served.pipe(
      startWith(undefined),
      filter(() => this.isOpen),
    );
    return firstValueFrom(merge(opened, over));
  }

  #now(): number {
    const now = this.#scheduler.now();
    if (now < this.#latest) {
      // It is not known any more how long the lease has lasted. The next renewal says it.
      this.#setBacks += 1;
      this.#actsUntil = -Infinity;
    }
    this.#latest = now;
    return now;
  }
}
