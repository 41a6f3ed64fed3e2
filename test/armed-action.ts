import { type SchedulerAction, Subscription } from "rxjs";

/** Sets a timer. */
export type Arm = (fire: () => void, delay: number) => Subscription;

/** An action of a scheduler that sets its timers as told; `schedule` from inside the work arms it again. */
export class ArmedAction<T> extends Subscription implements SchedulerAction<T> {
  #timer: Subscription | undefined;

  constructor(
    private readonly work: (this: SchedulerAction<T>, state?: T) => void,
    private readonly arm: Arm,
  ) {
    super(() => this.#timer?.unsubscribe());
  }

  schedule(state?: T, delay = 0): Subscription {
    this.#timer?.unsubscribe();
    if (!this.closed) this.#timer = this.arm(() => this.work.call(this, state), delay);
    return this;
  }
}
