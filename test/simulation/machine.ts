import type { SchedulerAction, SchedulerLike, Subscription } from "rxjs";
import type { VirtualClock } from "../../src/index.js";
import { ArmedAction } from "../armed-action.js";
import type { Fault } from "./faults.js";

/** The computer that the client runs on: its clock can be set, and it can sleep, which stops all of its timers. */
export class Machine implements SchedulerLike {
  readonly #clock: VirtualClock;
  readonly #sleeps: readonly { from: number; until: number; keepsTimers: boolean }[];
  readonly #steps: readonly { at: number; by: number }[];
  /** The longest delay that a timer was asked for, and the first that none can take. */
  longestDelay = 0;
  oddDelay: number | undefined;

  constructor(clock: VirtualClock, faults: readonly Fault[]) {
    const start = clock.now();
    this.#clock = clock;
    this.#sleeps = faults.flatMap((fault) =>
      fault.kind === "asleep"
        ? [{ from: start + fault.from, until: start + fault.until, keepsTimers: fault.keepsTimers }]
        : [],
    );
    this.#steps = faults.flatMap((fault) =>
      fault.kind === "clock set" ? [{ at: start + fault.from, by: fault.by }] : [],
    );
  }

  /** What its clock shows. */
  now(): number {
    const now = this.#clock.now();
    let shown = now;
    for (const { at, by } of this.#steps) if (now >= at) shown += by;
    return shown;
  }

  schedule<T>(work: (this: SchedulerAction<T>, state?: T) => void, delay = 0, state?: T): Subscription {
    return new ArmedAction(work, (fire, after) => this.#arm(fire, after)).schedule(state, delay);
  }

  /** Calls when something from outside has come, which a process that sleeps notices when it wakes. */
  deliver(delay: number, work: () => void): Subscription {
    const due = this.#clock.now() + delay;
    const sleep = this.#sleeps.find(({ from, until }) => due >= from && due < until);
    return this.#clock.schedule(work, (sleep?.until ?? due) - this.#clock.now());
  }

  #arm(fire: () => void, delay: number): Subscription {
    if (!(delay >= 0 && delay <= 2 ** 31 - 1)) this.oddDelay ??= delay;
    this.longestDelay = Math.max(this.longestDelay, delay);
    const now = this.#clock.now();
    let due = now + Math.max(0, delay);
    for (const { from, until, keepsTimers } of this.#sleeps) {
      if (due < from || now >= until) continue;
      // Where timers count what the process has lived through, the gap is none of it.
      if (keepsTimers && now < from) due += until - from;
      else due = Math.max(due, until);
    }
    return this.#clock.schedule(fire, due - now);
  }
}
