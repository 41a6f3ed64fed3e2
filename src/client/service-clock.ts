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

/** What one `Date` tells. */
interface Dated extends Bounds {
  readonly date: number;
}

/** One of the clocks that answers come from. */
interface Machine extends Bounds {
  /** How much the answers since its last one tell against it: 2 each that contradicts it, 1 each that barely fits. */
  readonly others: number;
  /** How many answers have come since one that fitted it alone. */
  readonly shared: number;
  /** How far ahead it was at least, as of an instant of the scheduler's: as clocks drift that holds for less and less. */
  readonly proven: { readonly low: number; readonly at: number };
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
  readonly unmatched: readonly Dated[];
  /** What the last answer told, if that is far from the known bounds. Once another one agrees the clock has jumped. */
  readonly doubted: Dated | undefined;
  /** The newest `Date` that did not contradict the bounds. */
  readonly newest: number;
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

export const unknownClock: ServiceClock = {
  bounds: undefined,
  machines: [],
  unmatched: [],
  doubted: undefined,
  newest: Number.NEGATIVE_INFINITY,
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
/** A machine is forgotten once so much tells against it, which takes 64 answers. */
const FORGOTTEN_AFTER = 128;
/** A machine ahead of another one is forgotten once so many answers in a row fit that one as well. */
const SHARED_AFTER = 32;
/** How many bounds that fit no machine are kept. */
const STRANGERS = 3;
/** No cache gives an answer for longer than this, in ms, without telling how old it is. */
const OLDEST_COPY = 60_000;
/** A longer round trip, in ms, tells nothing: the machine slept. */
const LONGEST_TRIP = 60_000;
/** Bounds no wider than a round trip and this, in ms, are narrow enough. */
const NARROW = 20;
/** Clocks of computers drift by no more, ms per ms; and bounds that move this much faster are of a clock that was set. */
const FASTEST_DRIFT = 1e-4;
const FASTEST_SLIDE = 5e-4;
/** Bounds that move further than this beyond any drift, in ms, are of a clock that was set. */
const MOST_SLID = 40;
/** What is proven so much too late, in ms, is worth a wait for the next second. */
const LATE = 100;

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
  const seen: Dated = { low: date - received, high: date + 1_000 - madeAfter(trip), date };
  if (known === undefined) {
    clock.isConfirmed = seen.low <= NEAR && seen.high >= -NEAR;
    clock.epoch += 1;
    clock.newest = date;
    return ofMachines(clock, [machineOf(seen, received)]);
  }
  const gaps = before.machines.map((machine) => gapBetween(machine, seen));
  const least = Math.min(...gaps);
  // A cache may hide the age of its copies. No copy is newer than all before, and none moves what is known.
  const isNew = date > before.newest;
  const isCopy = !isNew && seen.high < known.low + shortestOf(clock);
  const own = least <= DRIFT_GAP && !isCopy ? gaps.indexOf(least) : -1;
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
    clock.isConfirmed = true;
    clock.newest = Math.max(before.newest, date);
    return ofMachines(clock, machines);
  }
  // Copies of one answer agree: only Dates that advance, or that are new, tell of another clock.
  clock.isContradicted = true;
  const fastest = Math.max(...before.machines.map(({ low }) => low));
  if (gapBetween({ low: fastest, high: known.high }, seen) <= SKEW) {
    const isOther = (each: Dated) => each.date !== date || date !== before.newest;
    const agreed = before.unmatched.find((each) => isOther(each) && gapBetween(each, seen) <= 0);
    if (agreed === undefined) {
      clock.machines = machines;
      clock.unmatched = [seen, ...before.unmatched].slice(0, STRANGERS);
      return clock;
    }
    // Answers of the new machine may have narrowed the known bounds. A machine's own answers keep within a second of its upper bound.
    const all = machines.map((machine) => {
      const low = Math.min(machine.low, machine.high - 1_000 - 2 * clock.roundTrip);
      return { ...machine, low, proven: { low: Math.min(machine.proven.low, low), at: machine.proven.at } };
    });
    all.push(machineOf(intersection(agreed, seen), received));
    clock.unmatched = [];
    return ofMachines(clock, all);
  }
  const { doubted } = before;
  const mayBeCopy = !isNew && gapBetween(known, seen) <= OLDEST_COPY;
  const isSame = mayBeCopy && doubted?.date === date;
  if (doubted === undefined || isSame || gapBetween(doubted, seen) > SKEW) {
    // What seems to be an old copy is taken as old: to ask again at once gives it again.
    clock.isContradicted = !mayBeCopy;
    clock.doubted = isSame ? doubted : seen;
    return clock;
  }
  clock.unmatched = [];
  clock.newest = date;
  clock.isConfirmed = true;
  clock.epoch += 1;
  clock.shortest = length;
  const agreed = gapBetween(doubted, seen) <= 0 ? intersection(doubted, seen) : seen;
  return ofMachines(clock, [machineOf(agreed, received)]);
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
  return { low, high, others: 0, shared: 0, proven: { low, at }, slid: 0, slidAt: at };
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
  const shortest = shortestOf(clock);
  const { low, high } = intersection(machine, seen);
  const isSqueezed = high - low < Math.max(1, shortest);
  const width = isSqueezed
    ? Math.max(NARROW, shortest, low > high ? machine.high - machine.low : 0)
    : high - low;
  const slide = width - (high - low);
  const drift = (at - machine.slidAt) * FASTEST_SLIDE;
  const slid = slide > 0 ? Math.max(0, machine.slid + slide - drift) : machine.slid;
  if (slid > MOST_SLID) return undefined;
  const isLow = low === seen.low;
  const aimed = isLow ? low : Math.max(seen.low, high - width);
  return {
    low: aimed,
    high: isLow ? Math.min(seen.high, low + width) : high,
    others: 0,
    shared: machine.shared,
    proven: { low: Math.max(seen.low, Math.min(provenLow(machine, at), aimed)), at },
    slid,
    slidAt: slide > 0 ? at : machine.slidAt,
  };
}

/** Goes by these machines, but for those that are forgotten. */
function ofMachines(clock: Draft, known: readonly Machine[]): ServiceClock {
  const kept = known.filter(({ others }) => others < FORGOTTEN_AFTER);
  if (kept.length > 1) kept.sort((a, b) => a.low - b.low);
  // What all answers fit may be one machine whose clock was set: it is the one behind, by which nothing is too early.
  const machines = kept.filter(({ shared }, place) => place === 0 || shared < SHARED_AFTER);
  const { low } = machines[0]!;
  let { high } = machines[0]!;
  for (const machine of machines) high = Math.max(high, machine.high);
  clock.machines = machines;
  clock.bounds = { low, high };
  clock.isContradicted = false;
  clock.doubted = undefined;
  return clock;
}

/** How far a machine is ahead at least, at an instant of the scheduler's; without any, the scheduler's clock stands in. */
function provenLow(machine: Machine | undefined, now: number): number {
  if (machine === undefined) return 0;
  return machine.proven.low - FASTEST_DRIFT * Math.max(0, now - machine.proven.at);
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
  const byBounds = made + provenLow(machines[0], trip.received);
  if (date === undefined) return byBounds;
  // Where the two cannot both be right, the earlier counts.
  if (isContradicted || made + bounds.low > date + 1_000) return Math.min(byBounds, date);
  // With several machines nobody knows which one answered; the bounds hold for all.
  return machines.length > 1 ? byBounds : Math.max(byBounds, date);
}

/** The service's time at an instant of the scheduler's, at least; and when a request sent then arrives, at most. */
export function serviceTimeBounds(
  { bounds, machines, roundTrip }: ServiceClock,
  now: number,
): ServiceTimeBounds {
  return { earliest: now + provenLow(machines[0], now), latest: now + (bounds?.high ?? 0) + 2 * roundTrip };
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
  const { low, high } = machine;
  const isNarrow = high - low <= NARROW + clock.roundTrip;
  const there = shortestOf(clock) / 2;
  if (target % 1_000 === 0 && clock.machines.length === 1) {
    return Math.ceil(target - there - (isNarrow ? low : middle(machine)));
  }
  if (isNarrow && low - provenLow(machine, safe) <= LATE) return safe;
  const late = there + (isNarrow ? low : middle(machine));
  return Math.ceil(Math.ceil((safe + late) / 1_000) * 1_000 - late);
}

/** The first instant, by the scheduler, at which a request may go out whose answer surely comes after `target`. */
export function safeSendTimeFor({ machines: [machine] }: ServiceClock, target: number): number {
  if (machine === undefined) return target;
  const at = target - machine.proven.low;
  const drift = FASTEST_DRIFT * Math.max(0, at - machine.proven.at);
  return Math.ceil(at + drift / (1 - FASTEST_DRIFT));
}

/** Above 0 where two bounds have nothing in common. */
function gapBetween(a: Bounds, b: Bounds): number {
  return Math.max(a.low - b.high, b.low - a.high);
}

function intersection(a: Bounds, b: Bounds): Bounds {
  return { low: Math.max(a.low, b.low), high: Math.min(a.high, b.high) };
}
