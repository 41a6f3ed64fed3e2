import { type SchedulerAction, Subscription } from "rxjs";

/** An action with the instant at which it is due. */
export interface Timer {
  readonly due: number;
  /** Breaks ties: of two timers due at the same instant, the one with the lower order fires first. */
  readonly order: number;
  readonly fire: () => void;
  /** Its index in the queue; negative once it has left the queue. */
  place: number;
}

/** Timers in the order in which they are due: a heap in which each timer knows its index. */
export class TimerQueue<T extends Timer> {
  readonly #heap: T[] = [];

  get size(): number {
    return this.#heap.length;
  }

  /** The timer that is due first. */
  get first(): T | undefined {
    return this.#heap[0];
  }

  add(timer: T): void {
    this.#rise(timer, this.#heap.length);
  }

  /** Removes a timer from anywhere in the queue. Ignores a timer that is not in a queue. */
  remove(timer: T): void {
    const { place } = timer;
    if (place < 0) return;
    timer.place = -1;
    const last = this.#heap.pop()!;
    if (last === timer) return;
    const above = this.#heap[(place - 1) >> 1];
    if (place > 0 && isBefore(last, above!)) this.#rise(last, place);
    else this.#sink(last, place);
  }

  /** All timers, in no particular order. */
  [Symbol.iterator](): Iterator<T> {
    return this.#heap[Symbol.iterator]();
  }

  #rise(timer: T, from: number): void {
    const heap = this.#heap;
    let at = from;
    while (at > 0) {
      const above = (at - 1) >> 1;
      const parent = heap[above]!;
      if (!isBefore(timer, parent)) break;
      this.#put(parent, at);
      at = above;
    }
    this.#put(timer, at);
  }

  #sink(timer: T, from: number): void {
    const heap = this.#heap;
    let at = from;
    for (let below = 2 * at + 1; below < heap.length; below = 2 * at + 1) {
      if (below + 1 < heap.length && isBefore(heap[below + 1]!, heap[below]!)) below += 1;
      const child = heap[below]!;
      if (!isBefore(child, timer)) break;
      this.#put(child, at);
      at = below;
    }
    this.#put(timer, at);
  }

  #put(timer: T, at: number): void {
    this.#heap[at] = timer;
    timer.place = at;
  }
}

function isBefore(a: Timer, b: Timer): boolean {
  return a.due < b.due || (a.due === b.due && a.order < b.order);
}

/** Sets a timer, `delay` ms from now. The returned function cancels it. */
export type Arm = (fire: () => void, delay: number) => () => void;

/** A scheduled action. Calling `schedule` from inside its work sets it again, as RxJS operators do. */
export class TimerAction<T> extends Subscription implements SchedulerAction<T> {
  readonly #work: (this: SchedulerAction<T>, state?: T) => void;
  readonly #arm: Arm;
  #disarm: (() => void) | undefined;

  constructor(work: (this: SchedulerAction<T>, state?: T) => void, arm: Arm) {
    super(() => this.#cancel());
    this.#work = work;
    this.#arm = arm;
  }

  schedule(state?: T, delay = 0): Subscription {
    this.#cancel();
    if (!this.closed) this.#disarm = this.#arm(() => this.#fire(state), delay);
    return this;
  }

  #fire(state: T | undefined): void {
    this.#disarm = undefined;
    this.#work.call(this, state);
  }

  #cancel(): void {
    this.#disarm?.();
    this.#disarm = undefined;
  }
}
