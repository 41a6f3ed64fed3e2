import type { SchedulerAction, Subscription } from "rxjs";
import { VirtualClock } from "../src/replay/virtual-clock.js";

/** A clock that notes the delays it is asked for, whose timers may fire early, and that can be set back. */
export class BentClock extends VirtualClock {
  readonly delays: number[] = [];
  back = 0;
  #bend: (delay: number) => number;

  constructor(start = 0, bend: (delay: number) => number = (delay) => delay) {
    super(start);
    this.#bend = bend;
  }

  override now(): number {
    return super.now() - this.back;
  }

  override schedule<T>(
    work: (this: SchedulerAction<T>, state?: T) => void,
    delay = 0,
    state?: T,
  ): Subscription {
    const bent = (asked = 0) => {
      this.delays.push(asked);
      return this.#bend(asked);
    };
    const bentWork = function (this: SchedulerAction<T>, held?: T) {
      const again = { schedule: (next?: T, asked?: number) => this.schedule(next, bent(asked)) };
      work.call(Object.assign(Object.create(this) as SchedulerAction<T>, again), held);
    };
    return super.schedule(bentWork, bent(delay), state);
  }
}
