import { type SchedulerAction, type SchedulerLike, Subscription } from "rxjs";
import { InvalidInputError, PairstreamError } from "../errors.js";

/**
 * A scheduler on which time passes only when told to, for tests and replays of any RxJS operator and of
 * promises: between two of its steps one macrotask passes, so that what a timer set off has settled before the
 * next one fires.
 *
 * ```ts
 * import { VirtualClock } from "pairstream";
 * import { interval } from "rxjs";
 *
 * const clock = new VirtualClock(Date.UTC(2024, 0, 1));
 * interval(60_000, clock).subscribe(() => console.log(new Date(clock.now())));
 * await clock.advanceBy(3_600_000); // sixty lines, at once
 * ```
 */
export class VirtualClock implements SchedulerLike {
  #now: number;
  #born = 0;
  #running = false;
  readonly #queue: Timer[] = [];

  /** `start`: the first instant, ms since the epoch; default 0. */
  constructor(start = 0) {
    if (!Number.isFinite(start)) {
      throw new InvalidInputError("start", "a number of ms since the epoch", `is ${start}`);
    }
    this.#now = start;
  }

  /** The present instant, ms since the epoch. */
  now(): number {
    return this.#now;
  }

  /** How many timers are set; 0 once everything that used the clock has cleaned up after itself. */
  get pending(): number {
    return this.#queue.reduce((count, timer) => (timer.cancelled ? count : count + 1), 0);
  }

  schedule<T>(work: (this: SchedulerAction<T>, state?: T) => void, delay = 0, state?: T): Subscription {
    const arm = (fire: () => void, after: number): Timer => {
      if (!Number.isFinite(after)) throw new InvalidInputError("delay", "a number of ms", `is ${after}`);
      const timer = { due: this.#now + Math.max(0, after), order: this.#born++, fire, cancelled: false };
      push(this.#queue, timer);
      return timer;
    };
    return new VirtualAction(work, arm).schedule(state, delay);
  }

  /** Lets `ms` pass; see `advanceTo`. */
  advanceBy(ms: number): Promise<void> {
    return this.advanceTo(this.#now + ms);
  }

  /**
   * Fires, in order, everything due up to and at `instant`, and leaves the clock there. Rejects with what a
   * timer's work throws.
   */
  async advanceTo(instant: number): Promise<void> {
    if (!(instant >= this.#now)) {
      const allowed = `an instant from the present one (${this.#now}) on`;
      throw new InvalidInputError("instant", allowed, `is ${instant}`);
    }
    if (this.#running) throw new PairstreamError("This clock is already being advanced");
    this.#running = true;
    try {
      await macrotask();
      for (let next = this.#queue[0]; next !== undefined && next.due <= instant; next = this.#queue[0]) {
        pop(this.#queue);
        if (next.cancelled) continue;
        this.#now = next.due;
        next.fire();
        await macrotask();
      }
      this.#now = instant;
    } finally {
      this.#running = false;
    }
  }
}

interface Timer {
  readonly due: number;
  /** Of two timers due at the same instant the one armed first fires first. */
  readonly order: number;
  readonly fire: () => void;
  cancelled: boolean;
}

/** One scheduled work; `schedule` from inside it arms it again, as RxJS operators do. */
class VirtualAction<T> extends Subscription implements SchedulerAction<T> {
  readonly #work: (this: SchedulerAction<T>, state?: T) => void;
  readonly #arm: (fire: () => void, delay: number) => Timer;
  #timer: Timer | undefined;

  constructor(
    work: (this: SchedulerAction<T>, state?: T) => void,
    arm: (fire: () => void, delay: number) => Timer,
  ) {
    super(() => this.#cancel());
    this.#work = work;
    this.#arm = arm;
  }

  schedule(state?: T, delay = 0): Subscription {
    this.#cancel();
    if (!this.closed) this.#timer = this.#arm(() => this.#fire(state), delay);
    return this;
  }

  #fire(state: T | undefined): void {
    this.#timer = undefined;
    this.#work.call(this, state);
  }

  #cancel(): void {
    if (this.#timer !== undefined) this.#timer.cancelled = true;
    this.#timer = undefined;
  }
}

function isBefore(a: Timer, b: Timer): boolean {
  return a.due < b.due || (a.due === b.due && a.order < b.order);
}

function push(heap: Timer[], timer: Timer): void {
  let at = heap.length;
  while (at > 0) {
    const above = (at - 1) >> 1;
    const parent = heap[above]!;
    if (!isBefore(timer, parent)) break;
    heap[at] = parent;
    at = above;
  }
  heap[at] = timer;
}

/** Takes the first timer off the heap. */
function pop(heap: Timer[]): void {
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return;
  let at = 0;
  for (let below = 1; below < heap.length; below = 2 * at + 1) {
    if (below + 1 < heap.length && isBefore(heap[below + 1]!, heap[below]!)) below += 1;
    const child = heap[below]!;
    if (!isBefore(child, last)) break;
    heap[at] = child;
    at = below;
  }
  heap[at] = last;
}

/** A turn of the event loop, after which every promise that could settle has done so. */
function macrotask(): Promise<void> {
  return new Promise((resolve) => {
    if (typeof setImmediate === "function") {
      setImmediate(resolve);
      return;
    }
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(undefined);
  });
}
