/** One request and its answer, in time: on the scheduler's clock, and the answer's `Date` on the service's. */
export interface RoundTrip {
  /** When the request went out, by the scheduler. */
  readonly sent: number;
  /** When the whole answer was there, by the scheduler. */
  readonly received: number;
  /** The answer's `Date` in ms, a whole second; `undefined` without one that can be read. */
  readonly date: number | undefined;
  /** The answer's `Age`, in seconds: how old a cache says the answer is. It may be off by one. */
  readonly age?: number | undefined;
  /** What was asked for, whichever page of it. A cache gives its copies to those alone who ask for the same. */
  readonly question?: string;
}

/** The service made the answer after this instant, by the scheduler. If its clock was set back meanwhile, the start lies ahead. */
export function madeAfter({ sent, received, age }: RoundTrip): number {
  return Math.min(sent, received) - (age === undefined ? 0 : (age + 1) * 1_000);
}

/** The service made the answer before this instant, by the scheduler: a cache may count its age a second too high. */
export function madeBefore({ received, age = 0 }: RoundTrip): number {
  return received - Math.max(0, age - 1) * 1_000;
}
