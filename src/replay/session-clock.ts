import { type SchedulerAction, type SchedulerLike, Subscription } from "rxjs";
import type { SessionRequest } from "../client/send/transport.js";
import { afterPromises } from "./event-loop.js";
import type { LateTurn } from "./tape.js";
import { type Timer, TimerAction, TimerQueue } from "./timers.js";

/** Beyond this a timer is not just a little late, or early, in ms: the machine has slept, or its clock was set. */
export const LATENESS = 1_000;
/** Whatever has arrived comes after all timers due at its instant. */
const AFTER_TIMERS = 2 ** 52;

/** How late timers are, where that matters to a session. */
export interface Lateness {
  /** Something has its turn out of time, or has not had it when somebody acts. */
  tell(turn: Omit<LateTurn, "ended">): void;
  /**
   * When what is due at an instant, and not yet `taken`, can have its turn, as was told in the recording; infinity
   * where it is `takePassed` that gives it one.
   */
  until(turn: Pick<LateTurn, "due" | "taken" | "arrival">): number;
}

interface Turn extends Timer {
  /** What wakes the scheduler for it, and when that is. */
  bell: Subscription;
  rings: number;
  /** Whether its bell has rung by a clock that was set back meanwhile. */
  hasPassed: boolean;
}

/**
 * The time of a client whose session is recorded or replayed: what happens, and in which order, does not depend on how
 * late timers fire.
 *
 * Timers and arrivals take turns, each with all that it sets off in promises, in the order of their instants: what
 * arrives waits for the timers due by then. `now` stays at that instant for as long as the turn lasts. Whoever acts from
 * outside has a turn at once.
 *
 * Where lateness shows all the same it is told, as it is part of the session: of a timer that is more than a second
 * late, which takes its turn at the present instant, and of whatever is still to come when somebody acts from outside.
 */
export class SessionClock implements SchedulerLike {
  readonly #scheduler: SchedulerLike;
  readonly #lateness: Lateness;
  readonly #queue = new TimerQueue<Turn>();
  #born = 0;
  /** The instant of the turn that runs: until all is done that it has set off in promises. */
  #instant: number | undefined;
  /** The instant of the last turn. */
  #latest = Number.NEGATIVE_INFINITY;
  /** Of the last timer that had its turn: when it was due, and how many that were due then have had theirs. */
  #taken = { due: Number.NaN, count: 0 };

  constructor(scheduler: SchedulerLike, lateness: Lateness) {
    this.#scheduler = scheduler;
    this.#lateness = lateness;
  }

  now(): number {
    if (this.#instant === undefined) this.#enter();
    return this.#instant!;
  }

  schedule<T>(work: (this: SchedulerAction<T>, state?: T) => void, delay = 0, state?: T): Subscription {
    const arm = (fire: () => void, after: number) => {
      const turn = this.#add(this.now() + Math.max(0, after), this.#born++, fire);
      return () => this.#cancel(turn);
    };
    return new TimerAction(work, arm).schedule(state, delay);
  }

  /** Does `work` about what came at `instant` as the `order`th: at once where nothing has to come before it. */
  arrive(instant: number, order: number, work: () => void): Subscription {
    const { first } = this.#queue;
    const hasTime =
      this.#instant === undefined &&
      this.#until({ due: instant, order: AFTER_TIMERS + order }) <= this.#scheduler.now();
    if (hasTime && (first === undefined || first.due > instant)) {
      this.#begin(instant);
      work();
      return Subscription.EMPTY;
    }
    const turn = this.#add(instant, AFTER_TIMERS + order, work);
    return new Subscription(() => this.#cancel(turn));
  }

  /** Gives the timer its turn now that was due later, with so many `ahead` of it, and says whether there is one. */
  takePassed({ due, ahead }: Pick<LateTurn, "due" | "ahead">): boolean {
    const turn = [...this.#queue].find((one) => one.due === due && this.#countAhead(one) === ahead);
    if (turn !== undefined) this.#take(turn, this.#scheduler.now());
    return turn !== undefined;
  }

  #add(due: number, order: number, fire: () => void): Turn {
    const turn = { due, order, fire, place: -1, rings: 0, bell: Subscription.EMPTY, hasPassed: false };
    this.#queue.add(turn);
    this.#setBell(turn);
    return turn;
  }

  #cancel(turn: Turn): void {
    if (this.#instant === undefined && turn.place >= 0) this.#enter();
    this.#drop(turn);
  }

  #drop(turn: Turn): void {
    this.#queue.remove(turn);
    turn.bell.unsubscribe();
  }

  #setBell(turn: Turn, earliest = this.#until(turn)): void {
    const now = this.#scheduler.now();
    turn.rings = Math.max(now, earliest);
    if (turn.rings === Number.POSITIVE_INFINITY) return;
    turn.bell = this.#scheduler.schedule(() => this.#ring(turn), turn.rings - now);
  }

  /** One turn is due: that of the first in the queue, which is not always the one whose bell rings. */
  #ring(rung: Turn): void {
    const now = this.#scheduler.now();
    const first = this.#queue.first!;
    const earliest = this.#until(first);
    rung.hasPassed ||= rung.rings - now > LATENESS;
    if (rung.hasPassed && first.due > now) {
      // The clock was set back: what has passed by then has passed, though not before what is due by now.
      this.#take(rung, now);
    } else if (earliest > now) {
      // Timers fire a little early at times.
      this.#setBell(rung, earliest);
    } else {
      this.#take(first, now);
      if (rung.place >= 0) this.#setBell(rung, rung.hasPassed ? now : this.#until(rung));
    }
  }

  #take(turn: Turn, now: number): void {
    const { due, order, fire } = turn;
    const isTimer = order < AFTER_TIMERS;
    const isOutOfTime = isTimer && (now - due > LATENESS || now < due);
    if (isOutOfTime) this.#tell(turn, now, true);
    this.#drop(turn);
    if (isTimer && now >= due) this.#taken = { due, count: this.#takenOf(due) + 1 };
    this.#begin(isOutOfTime ? now : due);
    fire();
  }

  /** Somebody from outside acts, before what is due already has had its turn. */
  #enter(): void {
    const now = this.#scheduler.now();
    this.#begin(now);
    if (this.#queue.first === undefined || this.#queue.first.due > now) return;
    for (const turn of this.#queue) if (turn.due <= now) this.#tell(turn, now, false);
  }

  #tell(turn: Turn, at: number, hasTurn: boolean): void {
    this.#lateness.tell({ ...this.#identityOf(turn), at, hasTurn, ahead: this.#countAhead(turn) });
  }

  #identityOf({ due, order }: Pick<Turn, "due" | "order">): Pick<LateTurn, "due" | "taken" | "arrival"> {
    if (order >= AFTER_TIMERS) return { due, taken: 0, arrival: order - AFTER_TIMERS };
    return { due, taken: this.#takenOf(due) };
  }

  #countAhead({ due, order }: Turn): number {
    let count = 0;
    for (const other of this.#queue) if (other.due === due && other.order < order) count += 1;
    return count;
  }

  #until(turn: Pick<Turn, "due" | "order">): number {
    return this.#lateness.until(this.#identityOf(turn));
  }

  #takenOf(due: number): number {
    return this.#taken.due === due ? this.#taken.count : 0;
  }

  #begin(instant: number): void {
    // Turns do not go back in time unless the clock does.
    const isSetBack = this.#scheduler.now() < this.#latest;
    this.#latest = isSetBack ? instant : Math.max(this.#latest, instant);
    if (this.#instant === undefined) {
      afterPromises(() => {
        this.#instant = undefined;
      });
    }
    this.#instant = this.#latest;
  }
}

/** An answer or failure is here: its client may take it when it is its turn. */
export function land(request: SessionRequest | undefined, instant: number, order: number): void {
  if (request === undefined) return;
  request.received = instant;
  const { scheduler } = request;
  if (scheduler instanceof SessionClock) request.arrive = (work) => scheduler.arrive(instant, order, work);
}
