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
}

/** The range in which the service's time lies. */
export interface ServiceTimeBounds {
  /** The service's clock shows this at least. */
  readonly earliest: number;
  /** The service's clock shows no more than this. */
  readonly latest: number;
}

/** How far the service's clock is ahead of the scheduler's, in ms: between `low` and `high`. */
interface Bounds {
  readonly low: number;
  readonly high: number;
}

/** One of the clocks that answers come from. */
interface Machine extends Bounds {
  /** How much the answers since its last one tell against it: 2 each that contradicts it, 1 each that barely fits. */
  readonly others: number;
  /** How many answers have come since one that fitted it alone. */
  readonly shared: number;
  /** When an answer last checked its bounds, by the scheduler. */
  readonly checkedAt: number;
  /** How far its bounds have moved beyond the drift of clocks, in ms, and when they last did. */
  readonly slid: number;
  readonly slidAt: number;
}

/**
 * What is known of the service's clock. Every `Date`, a whole second, bounds its distance from the scheduler's
 * clock; the bounds of many answers intersect to about one round trip. Behind one address there may be machines whose
 * clocks differ: an instant counts as reached once all of them have reached it.
 */
export interface ServiceClock {
  /** Of all machines. Absent until a `Date` comes; until then the scheduler's clock stands in. */
  readonly bounds: Bounds | undefined;
  /** Machines that have answered lately, the one furthest behind first. */
  readonly machines: readonly Machine[];
  /** Bounds near the known ones that fit no machine, newest first. Once a second answer agrees they are a new machine's. */
  readonly unmatched: readonly Bounds[];
  /** Bounds far from the known ones, and how many answers in a row agree on them. With enough the clock has jumped. */
  readonly contradictingBounds: Bounds & { readonly answers: number };
  /** The bounds before the last jump, and how many answers it takes to jump back there. */
  readonly former: Bounds;
  readonly backAfter: number;
  /** Whether the last `Date` contradicts what is known. It proves nothing until another answer agrees with either. */
  readonly isContradicted: boolean;
  /** Whether two sources agree: two answers, or one answer and the scheduler. One `Date` alone may be wrong. */
  readonly isConfirmed: boolean;
  /** Whether the last answer had a `Date` and no `Age`: the next one may prove by its `Date` what bounds do not. */
  readonly hasFreshDate: boolean;
  /** A quick recent round trip, in ms. */
  readonly roundTrip: number;
  /** The shortest round trip since the bounds began, in ms; `Infinity` until one is known. */
  readonly shortest: number;
  /** Counts the first `Date` and each jump. Instants of different epochs cannot be compared. */
  readonly epoch: number;
}

/** How many answers prove a jump; a clock that jumps to and fro needs more and more. */
const JUMP_AFTER = 2;
const LATEST_JUMP_AFTER = 32;

/** Bounds that nothing agrees with. */
const NONE = { low: Number.POSITIVE_INFINITY, high: Number.NEGATIVE_INFINITY, answers: 0 };

export const unknownClock: ServiceClock = {
  bounds: undefined,
  machines: [],
  unmatched: [],
  contradictingBounds: NONE,
  former: NONE,
  backAfter: JUMP_AFTER,
  isContradicted: false,
  isConfirmed: false,
  hasFreshDate: false,
  roundTrip: 0,
  shortest: Number.POSITIVE_INFINITY,
  epoch: 0,
};

/** Bounds that contradict each other by no more than this, in ms, are of one clock that drifts; by more, of two clocks. */
const DRIFT_GAP = 250;
/** Bounds no further apart than this, in ms, are those of several machines; by more, the clock has jumped. */
const SKEW = 2_500;
/** Clocks that differ by no more than this, in ms, confirm each other. */
const NEAR = 5_000;
/** A machine is forgotten once so much tells against it, or half as many answers in a row fit another one as well. */
const FORGOTTEN_AFTER = 64;
/** How many bounds that fit no machine are kept. */
const STRANGERS = 3;
/** A longer round trip, in ms, tells nothing: the machine slept. */
const LONGEST_TRIP = 60_000;
/** Bounds no wider than a round trip and this, in ms, are narrow enough. */
const NARROW = 20;
/** ms per ms; clocks of computers drift ten times more slowly. */
const FASTEST_DRIFT = 5e-4;
/** Bounds that move further than this beyond any drift, in ms, are of a clock that was set. */
const MOST_SLID = 40;
/** After so many ms narrow bounds are checked by a `Date` again, as clocks drift. */
const CHECK_EVERY = 600_000;

/** A clock that is being made. */
type Draft = { -readonly [field in keyof ServiceClock]: ServiceClock[field] };

/** Learns from one round trip. */
export function learn(before: ServiceClock, trip: RoundTrip): ServiceClock {
  const { sent, received, date, age } = trip;
  const took = received - sent;
  // If the scheduler's clock was set back meanwhile, nobody knows how long it took.
  const length = took < 0 ? Number.POSITIVE_INFINITY : took;
  const clock: Draft = {
    ...before,
    hasFreshDate: date !== undefined && age === undefined,
    roundTrip: quickOf(before.roundTrip, took),
    shortest: Math.min(before.shortest, length),
  };
  const { bounds: known } = before;
  // Without any Date the scheduler's clock is all there is.
  if (date === undefined) {
    if (known === undefined) clock.isConfirmed = true;
    return clock;
  }
  const seen: Bounds = { low: date - received, high: date + 1_000 - madeAfter(trip) };
  if (known === undefined) {
    clock.isConfirmed = seen.low <= NEAR && seen.high >= -NEAR;
    clock.epoch += 1;
    return ofMachines(clock, [machineOf(seen, received)]);
  }
  const gaps = before.machines.map((machine) => gapBetween(machine, seen));
  const least = Math.min(...gaps);
  const own = least <= DRIFT_GAP ? gaps.indexOf(least) : -1;
  const machines = before.machines.map((machine, at) => {
    if (at === own) {
      const updated = updatedMachine(machine, seen, received, clock);
      if (updated === undefined) clock.shortest = length;
      const isAlone = gaps.every((gap, other) => other === own || gap > 0);
      return { ...(updated ?? machineOf(seen, received)), shared: isAlone ? 0 : machine.shared + 1 };
    }
    const others = machine.others + countsAgainst(machine, seen, clock.roundTrip);
    return { ...machine, others, shared: machine.shared + 1 };
  });
  if (own >= 0) {
    clock.contradictingBounds = NONE;
    clock.isConfirmed = true;
    return ofMachines(clock, machines);
  }
  clock.isContradicted = true;
  if (gapBetween(known, seen) <= SKEW) {
    const agreed = before.unmatched.find((stranger) => gapBetween(stranger, seen) <= 0);
    if (agreed === undefined) {
      clock.machines = machines;
      clock.unmatched = [seen, ...before.unmatched].slice(0, STRANGERS);
      return clock;
    }
    // Answers of the new machine may have narrowed the known bounds. A machine's own answers keep within a second of its upper bound.
    const all = machines.map((machine) => {
      const low = Math.min(machine.low, machine.high - 1_000 - 2 * clock.roundTrip);
      return { ...machine, low };
    });
    all.push(machineOf(intersection(agreed, seen), received));
    clock.unmatched = [];
    clock.contradictingBounds = NONE;
    return ofMachines(clock, all);
  }
  const gap = gapBetween(before.contradictingBounds, seen);
  const answers = gap <= NEAR ? before.contradictingBounds.answers + 1 : 1;
  const bounds = gap <= 0 ? intersection(before.contradictingBounds, seen) : seen;
  const isBack = gapBetween(before.former, bounds) <= NEAR;
  const needed = isBack ? before.backAfter : JUMP_AFTER;
  if (answers < needed) {
    clock.contradictingBounds = { ...bounds, answers };
    return clock;
  }
  clock.unmatched = [];
  clock.contradictingBounds = NONE;
  clock.former = known;
  clock.backAfter = isBack ? Math.min(2 * needed, LATEST_JUMP_AFTER) : JUMP_AFTER;
  clock.isConfirmed = true;
  clock.epoch += 1;
  clock.shortest = length;
  return ofMachines(clock, [machineOf(bounds, received)]);
}

/**
 * How much an answer that is taken for another machine's tells against one: nothing where it may as well be its own.
 * Answers whose Dates are a second apart have a round trip in common, whichever machines they come from.
 */
function countsAgainst(machine: Machine, seen: Bounds, roundTrip: number): number {
  const overlap = -gapBetween(machine, seen);
  if (overlap < 0) return 2;
  return overlap < Math.min(machine.high - machine.low, NARROW + roundTrip) ? 1 : 0;
}

function machineOf({ low, high }: Bounds, at: number): Machine {
  return { low, high, others: 0, shared: 0, checkedAt: at, slid: 0, slidAt: at };
}

/**
 * The machine after one of its answers. Honest bounds are no narrower than the shortest round trip. Narrower ones tell that
 * the clocks have drifted apart: the newest answer is right, and the bounds slide along. Bounds that slide faster than
 * clocks drift tell that a clock was set: `undefined`, they begin anew.
 */
function updatedMachine(
  machine: Machine,
  seen: Bounds,
  at: number,
  clock: ServiceClock,
): Machine | undefined {
  const narrow = NARROW + clock.roundTrip;
  const shortest = shortestOf(clock);
  const isCheck = seen.low >= machine.low - narrow || seen.high <= machine.high + narrow;
  const checkedAt = isCheck ? at : machine.checkedAt;
  const { low, high } = intersection(machine, seen);
  const isSqueezed = high - low < shortest;
  const width = isSqueezed
    ? Math.max(NARROW, shortest, low > high ? machine.high - machine.low : 0)
    : high - low;
  const slide = width - (high - low);
  const drift = (at - machine.slidAt) * FASTEST_DRIFT;
  const slid = slide > 0 ? Math.max(0, machine.slid + slide - drift) : machine.slid;
  if (slid > MOST_SLID) return undefined;
  const isLow = low === seen.low;
  return {
    low: isLow ? low : Math.max(seen.low, high - width),
    high: isLow ? Math.min(seen.high, low + width) : high,
    others: 0,
    shared: machine.shared,
    checkedAt,
    slid,
    slidAt: slide > 0 ? at : machine.slidAt,
  };
}

/** Goes by these machines, but for those that are forgotten. */
function ofMachines(clock: Draft, known: readonly Machine[]): ServiceClock {
  const kept = known.filter(({ others }) => others < FORGOTTEN_AFTER);
  if (kept.length > 1) kept.sort((a, b) => a.low - b.low);
  // What all answers fit may be one machine whose clock was set: it is the one behind, by which nothing is too early.
  const machines = kept.filter(({ shared }, place) => place === 0 || shared < FORGOTTEN_AFTER / 2);
  const { low } = machines[0]!;
  let { high } = machines[0]!;
  for (const machine of machines) high = Math.max(high, machine.high);
  clock.machines = machines;
  clock.bounds = { low, high };
  clock.isContradicted = false;
  return clock;
}

/** The service made the answer after this instant, by the scheduler. If its clock was set back meanwhile, the start lies ahead. */
function madeAfter({ sent, received, age }: RoundTrip): number {
  return Math.min(sent, received) - (age === undefined ? 0 : (age + 1) * 1_000);
}

/** The shortest round trip, as far as any is known. */
function shortestOf({ shortest }: ServiceClock): number {
  return shortest === Number.POSITIVE_INFINITY ? 0 : shortest;
}

/** Follows quick trips at once and slow ones slowly. A trip in which the scheduler's clock was set, or stood, tells nothing. */
function quickOf(usual: number, took: number): number {
  if (took < 0 || took > LONGEST_TRIP) return usual;
  return usual === 0 || took < usual ? took : usual + (took - usual) / 16;
}

/** The earliest time the service's clock can have shown when it made an answer, from which `clock` has learned already. */
export function earliestAnswerTime(
  { bounds, machines, isContradicted }: ServiceClock,
  trip: RoundTrip,
): number {
  const made = madeAfter(trip);
  const { date } = trip;
  if (bounds === undefined) return made;
  const byBounds = made + bounds.low;
  if (date === undefined) return byBounds;
  // One of the two is wrong: take the earlier.
  if (isContradicted) return Math.min(byBounds, date);
  // With several machines nobody knows which one answered; the bounds hold for all.
  return machines.length > 1 ? byBounds : Math.max(byBounds, date);
}

/** The service's time at an instant of the scheduler's, at least; and when a request sent then arrives, at most. */
export function serviceTimeBounds({ bounds, roundTrip }: ServiceClock, now: number): ServiceTimeBounds {
  return { earliest: now + (bounds?.low ?? 0), latest: now + (bounds?.high ?? 0) + 2 * roundTrip };
}

/** The service's likeliest time at an instant of the scheduler's, by the machine that is furthest behind. */
export function serviceTime({ machines: [machine] }: ServiceClock, now: number): number {
  return machine === undefined ? now : now + middle(machine);
}

/** The likeliest value within bounds. Within wide ones the scheduler's own clock is as likely as any. */
function middle({ low, high }: Bounds): number {
  return high - low > NEAR ? Math.min(Math.max(low, 0), high) : (low + high) / 2;
}

/**
 * When to send a request, by the scheduler, so that its answer comes just after `target` by the service's clock.
 *
 * If a `Date` can prove that the answer came after `target`: for the middle of the bounds while they are wide, as the
 * answer then halves them, and for their low side once they are narrow. Both are half the shortest round trip early. The
 * low bound is that of an answer, which took its way back, so the request still arrives after `target`.
 *
 * If only the bounds can prove it: safely after. If they are wide, or were not checked for long, the request goes out
 * later still, to arrive as a second begins, where its `Date` narrows them.
 */
export function sendTimeFor(clock: ServiceClock, target: number): number {
  const [machine] = clock.machines;
  const safe = safeSendTimeFor(clock, target);
  if (machine === undefined || !clock.hasFreshDate) return safe;
  const { low, high, checkedAt } = machine;
  const isNarrow = high - low <= NARROW + clock.roundTrip;
  const there = shortestOf(clock) / 2;
  if (target % 1_000 === 0 && clock.machines.length === 1) {
    return Math.ceil(target - there - (isNarrow ? low : middle(machine)));
  }
  if (isNarrow && safe - checkedAt < CHECK_EVERY) return safe;
  const late = there + middle(machine);
  return Math.ceil(Math.ceil((safe + late) / 1_000) * 1_000 - late);
}

/** The first instant, by the scheduler, at which a request may go out whose answer surely comes after `target`. */
export function safeSendTimeFor({ bounds }: ServiceClock, target: number): number {
  return bounds === undefined ? target : Math.ceil(target - bounds.low);
}

/** Above 0 where two bounds have nothing in common. */
function gapBetween(a: Bounds, b: Bounds): number {
  return Math.max(a.low - b.high, b.low - a.high);
}

function intersection(a: Bounds, b: Bounds): Bounds {
  return { low: Math.max(a.low, b.low), high: Math.min(a.high, b.high) };
}
