import { type SchedulerAction, type SchedulerLike, Subscription } from "rxjs";
import type { SessionRequest } from "../client/send/transport.js";
import type { PairstreamError } from "../errors.js";
import { afterPromises } from "./event-loop.js";
import type { LateTurn } from "./tape.js";
import { type Timer, TimerAction, TimerQueue } from "./timers.js";

/**
 * Timers that are later (or earlier) than this, in ms, are not just inaccurate: the machine slept, or its clock was
 * set.
 */
export const LATENESS = 1_000;
/** Added to the order of arrivals, so that they come after all timers due at the same instant. */
const AFTER_TIMERS = 2 ** 52;

/**
 * The lateness of timers and arrivals, as far as it affects a session. A recording writes it down; a replay repeats it.
 */
export interface TurnLateness {
  /** Reports a turn that is out of time, or that is still to come when somebody acts from outside. */
  tell(turn: Omit<LateTurn, "ended">): void;
  /**
   * The instant from which the next timer or arrival with that due instant may have its turn. A replay takes it from
   * the recording. Infinity means that only `takePassed` gives it its turn.
   */
  until(turn: Pick<LateTurn, "due" | "taken" | "arrival">): number;
}

interface QueuedTurn extends Timer {
  /** The timer of the underlying scheduler for this turn, and when it fires. */
  bell: Subscription;
  rings: number;
  /** Whether its bell was due by a clock that was then set back. */
  hasPassed: boolean;
}

/**
 * The clock of a client whose session is recorded or replayed. It makes the order of events independent of how late
 * timers fire.
 *
 * Timers and arrivals (answers and failures) take turns in the order of their instants; an arrival comes after all
 * timers due by then. A turn includes all promises that it settles. `now` stays at the instant of the turn until the
 * turn ends. An action from outside has its turn at once.
 *
 * Some lateness still shows, and then it is reported as a part of the session. A timer more than a second late takes
 * its turn at the present instant. And when somebody acts from outside, turns may be due that have not come yet.
 */
export class SessionClock implements SchedulerLike {
  readonly #scheduler: SchedulerLike;
  readonly #lateness: TurnLateness;
  readonly #queue = new TimerQueue<QueuedTurn>();
  #born = 0;
  /** The instant of the current turn, until all promises that it settled are done. */
  #instant: number | undefined;
  /** Why turns have no end here. */
  #failure: PairstreamError | undefined;
  /** The instant of the last turn, which later turns do not precede. */
  #latest = -Infinity;
  /**
   * The due instant of the last timer that had its turn, and how many timers with the same due instant have had theirs.
   */
  #taken = { due: Number.NaN, count: 0 };

  constructor(scheduler: SchedulerLike, lateness: TurnLateness) {
    this.#scheduler = scheduler;
    this.#lateness = lateness;
  }

  /** Throws where no turn has an end, as the platform does not tell when promises have settled. */
  now(): number {
    if (this.#failure !== undefined) throw this.#failure;
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

  /**
   * Runs `work` for the arrival number `order`, which came at `instant`. It runs at once if nothing has to come before
   * it.
   */
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

  /**
   * Gives a timer with a later due instant its turn now: the one with `ahead` others before it. Returns whether there
   * is one. The others wait for this one no more.
   */
  takePassed({ due, ahead }: Pick<LateTurn, "due" | "ahead">): boolean {
    const turns = [...this.#queue].filter((one) => one.due === due);
    const turn = turns.find((one) => this.#countAhead(one) === ahead);
    if (turn === undefined) return false;
    for (const other of turns) if (other !== turn && other.rings === Infinity) this.#setBell(other);
    this.#take(turn, this.#scheduler.now());
    return true;
  }

  #add(due: number, order: number, fire: () => void): QueuedTurn {
    const turn = { due, order, fire, place: -1, rings: 0, bell: Subscription.EMPTY, hasPassed: false };
    this.#queue.add(turn);
    this.#setBell(turn);
    return turn;
  }

  #cancel(turn: QueuedTurn): void {
    if (this.#instant === undefined && turn.place >= 0) this.#enter();
    this.#drop(turn);
  }

  #drop(turn: QueuedTurn): void {
    this.#queue.remove(turn);
    turn.bell.unsubscribe();
  }

  #setBell(turn: QueuedTurn, earliest = this.#until(turn)): void {
    const now = this.#scheduler.now();
    turn.rings = Math.max(now, earliest);
    if (turn.rings === Infinity) return;
    turn.bell = this.#scheduler.schedule(() => this.#ring(turn), turn.rings - now);
  }

  /** A bell rang: the first turn in the queue is due. That may be another turn than the bell's own. */
  #ring(rung: QueuedTurn): void {
    const now = this.#scheduler.now();
    const first = this.#queue.first!;
    const earliest = this.#until(first);
    rung.hasPassed ||= rung.rings - now > LATENESS;
    if (rung.hasPassed && first.due > now) {
      // The clock was set back, and this turn was due before that, so it comes now; turns due by the new time come
      // first.
      this.#take(rung, now);
    } else if (earliest > now) {
      // Timers can fire a little early.
      this.#setBell(rung, earliest);
    } else {
      this.#take(first, now);
      if (rung.place >= 0) this.#setBell(rung, rung.hasPassed ? now : this.#until(rung));
    }
  }

  #take(turn: QueuedTurn, now: number): void {
    const { due, order, fire } = turn;
    const isTimer = order < AFTER_TIMERS;
    const isOutOfTime = isTimer && (now - due > LATENESS || now < due);
    if (isOutOfTime) this.#tell(turn, now, true);
    this.#drop(turn);
    if (isTimer && now >= due) this.#taken = { due, count: this.#takenOf(due) + 1 };
    this.#begin(isOutOfTime ? now : due);
    fire();
  }

  /** Begins the turn of an action from outside. It comes before turns that are already due. */
  #enter(): void {
    const now = this.#scheduler.now();
    this.#begin(now);
    if (this.#queue.first === undefined || this.#queue.first.due > now) return;
    for (const turn of this.#queue) if (turn.due <= now) this.#tell(turn, now, false);
  }

  #tell(turn: QueuedTurn, at: number, hasTurn: boolean): void {
    this.#lateness.tell({ ...this.#identityOf(turn), at, hasTurn, ahead: this.#countAhead(turn) });
  }

  #identityOf({
    due,
    order,
  }: Pick<QueuedTurn, "due" | "order">): Pick<LateTurn, "due" | "taken" | "arrival"> {
    if (order >= AFTER_TIMERS) return { due, taken: 0, arrival: order - AFTER_TIMERS };
    return { due, taken: this.#takenOf(due) };
  }

  #countAhead({ due, order }: QueuedTurn): number {
    let count = 0;
    for (const other of this.#queue) if (other.due === due && other.order < order) count += 1;
    return count;
  }

  #until(turn: Pick<QueuedTurn, "due" | "order">): number {
    return this.#lateness.until(this.#identityOf(turn));
  }

  #takenOf(due: number): number {
    return this.#taken.due === due ? this.#taken.count : 0;
  }

  #begin(instant: number): void {
    // Turns do not go back in time, unless the clock does.
    const isSetBack = this.#scheduler.now() < this.#latest;
    this.#latest = isSetBack ? instant : Math.max(this.#latest, instant);
    if (this.#instant === undefined) {
      afterPromises(
        () => {
          this.#instant = undefined;
        },
        (error) => {
          this.#failure = error;
        },
      );
    }
    this.#instant = this.#latest;
  }
}

/** Marks an answer or a failure as arrived. The client takes it when its turn comes. */
export function land(request: SessionRequest | undefined, instant: number, order: number): void {
  if (request === undefined) return;
  request.received = instant;
  const { scheduler } = request;
  if (scheduler instanceof SessionClock) request.arrive = (work) => scheduler.arrive(instant, order, work);
}
