import { type SchedulerAction, type SchedulerLike, Subscription } from "rxjs";
import type { VirtualClock } from "../../../src/index.js";
import { ArmedAction } from "../../armed-action.js";
import type { MachinePlan } from "./plan.js";

/** What happens to a machine; instants of the world's clock. */
export interface NodeTroubles {
  readonly pauses: readonly { readonly from: number; readonly until: number }[];
  readonly steps: readonly { readonly at: number; readonly by: number }[];
}

/** A process on a machine of its own: its clock is off, drifts and is set, it stands still for a while, and dies. */
export class Node implements SchedulerLike {
  readonly #clock: VirtualClock;
  readonly #born: number;
  readonly #plan: MachinePlan;
  readonly #troubles: NodeTroubles;
  isDead = false;
  readonly #timers = new Set<object>();

  constructor(clock: VirtualClock, origin: number, plan: MachinePlan, troubles: NodeTroubles) {
    this.#clock = clock;
    this.#born = origin;
    this.#plan = plan;
    this.#troubles = troubles;
  }

  now(): number {
    const now = this.#clock.now();
    const { offset, drift } = this.#plan;
    const steps = this.#troubles.steps.reduce((sum, { at, by }) => (at <= now ? sum + by : sum), 0);
    return now + offset + (now - this.#born) * drift + steps;
  }

  schedule<T>(work: (this: SchedulerAction<T>, state?: T) => void, delay = 0, state?: T): Subscription {
    const arm = (fire: () => void, after: number) =>
      this.#arm(fire, Math.max(0, after) / (1 + this.#plan.drift));
    return new ArmedAction(work, arm).schedule(state, delay);
  }

  /** Calls when something from outside has come, which a process that stands still notices afterwards. */
  arrive(work: () => void): void {
    const wakes = this.#wakes(this.#clock.now());
    const take = () => {
      if (!this.isDead) work();
    };
    if (wakes === undefined) take();
    else this.#clock.schedule(take, wakes - this.#clock.now());
  }

  #arm(fire: () => void, delay: number): Subscription {
    const now = this.#clock.now();
    const due = now + delay;
    const token = {};
    this.#timers.add(token);
    const timer = this.#clock.schedule(
      () => {
        this.#timers.delete(token);
        if (!this.isDead) fire();
      },
      (this.#wakes(due) ?? due) - now,
    );
    return new Subscription(() => {
      this.#timers.delete(token);
      timer.unsubscribe();
    });
  }

  /** How many timers are set. */
  get pending(): number {
    return this.#timers.size;
  }

  /** When it goes on after a pause that holds an instant. */
  #wakes(instant: number): number | undefined {
    return this.#troubles.pauses.find(({ from, until }) => from <= instant && instant < until)?.until;
  }
}
