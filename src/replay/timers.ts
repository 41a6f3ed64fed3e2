import { type SchedulerAction, Subscription } from "rxjs";

/** Something that is to happen at an instant. */
export interface Timer {
  readonly due: number;
  /** Of two timers due at the same instant the one with the lower order comes first. */
  readonly order: number;
  readonly fire: () => void;
  /** Its place in the queue; below 0 once it has left. */
  place: number;
}

/** Timers in the order in which they are due: a heap, in which each timer knows its place. */
export class TimerQueue<T extends Timer> {
  readonly #heap: T[] = [];

  get size(): number {
    return this.#heap.length;
  }

  /** The next timer. */
  get first(): T | undefined {
    return this.#heap[0];
  }

  add(timer: T): void {
    this.#rise(timer, this.#heap.length);
  }

  /** Takes a timer out, wherever it is; one that is in no queue is left alone. */
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

  /** All timers, in no order. */
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

/** Sets a timer, `delay` ms from now; the function that it returns takes it back. */
export type Arm = (fire: () => void, delay: number) => () => void;

/** One scheduled work; `schedule` from inside it arms it again, as RxJS operators do. */
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
