/** One request and its answer, in time: on the scheduler's clock, and the answer's `Date` on the service's. */
export interface RoundTrip {
  /** When the request went out, by the scheduler. */
  readonly sent: number;
  /** When the whole answer was there, by the scheduler. */
  readonly received: number;
  /** The answer's `Date` in ms, a whole second; `undefined` where it has none that can be read. */
  readonly date: number | undefined;
  /** The answer's `Age`, in seconds, where a cache gave it that long after it was made; it may be off by one. */
  readonly age?: number | undefined;
}

/** What the service's clock can be. */
export interface ServiceTimeBounds {
  /** It is this late at least. */
  readonly earliest: number;
  /** It is no later than this. */
  readonly latest: number;
}

/** What the service's clock is ahead of the scheduler's, in ms: between `low` and `high`. */
interface Bounds {
  readonly low: number;
  readonly high: number;
}

/** One of the clocks that answers come from. */
interface Machine extends Bounds {
  /** How many answers have come from others, or may have, since the last that told of it. */
  readonly others: number;
  /** When an answer last told whether its bounds still hold, by the scheduler. */
  readonly checkedAt: number;
  /** How far its bounds have slid, in ms, beyond what clocks drift, and when they last did. */
  readonly slid: number;
  readonly slidAt: number;
}

/**
 * What is known of the service's clock. Every `Date`, a whole second, bounds its distance from the scheduler's
 * clock; the bounds of many answers intersect to about one round trip. Behind one address there may be machines whose
 * clocks differ: what is to be proven is proven by all of them.
 */
export interface ServiceClock {
  /** Of all machines; absent until a `Date` was seen: the scheduler's clock stands in then. */
  readonly bounds: Bounds | undefined;
  /** Those heard of late, the one whose clock is furthest behind first. */
  readonly machines: readonly Machine[];
  /** Bounds near the known ones that fit no machine, the last first: they are another one's once a second answer agrees. */
  readonly unmatched: readonly Bounds[];
  /** Bounds far from the known ones, and how many answers in a row have agreed on them: by then the clock has jumped. */
  readonly contradictingBounds: Bounds & { readonly answers: number };
  /** The bounds before the last jump, and how many answers it takes to jump back there. */
  readonly former: Bounds;
  readonly backAfter: number;
  /** Whether the last `Date` contradicts what is known: it proves nothing until another answer sides with one of the two. */
  readonly isContradicted: boolean;
  /** Whether two sources agree: two answers, or the first one and the scheduler; one `Date` alone may be wrong. */
  readonly isConfirmed: boolean;
  /** Whether the last answer told the time at which it was given, so that the next one may prove what bounds do not. */
  readonly hasFreshDate: boolean;
  /** A quick round trip of late, in ms. */
  readonly roundTrip: number;
  /** The shortest round trip of all, in ms. */
  readonly shortest: number;
  /** Counts the first `Date` and the jumps that were believed: instants of different epochs cannot be compared. */
  readonly epoch: number;
}

/** A clock that has jumped is believed at the second answer; one that goes to and fro after more and more. */
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

/** Clocks drift apart: bounds contradict each other by up to this much then, in ms; by more, they are of two clocks. */
const DRIFT_GAP = 250;
/** Bounds no further apart than this, in ms, are those of several machines; by more, the clock has jumped. */
const SKEW = 2_500;
/** The scheduler's clock, this close, confirms the first answer, in ms; an answer this close sides with another one. */
const NEAR = 5_000;
/** A machine is no longer there once so many answers in a row did not need it; one that contradicts it counts twice. */
const FORGOTTEN_AFTER = 64;
/** So many answers that fit no machine are kept until another one agrees. */
const STRANGERS = 3;
/** In ms. */
const LONGEST_TRIP = 60_000;
/** Bounds that exceed a round trip by less than this, in ms, are not worth narrowing further. */
const NARROW = 20;
/** ms per ms; clocks of computers drift ten times more slowly. */
const FASTEST_DRIFT = 5e-4;
/** Bounds that have slid further than this beyond any drift, in ms, are of a clock that was set. */
const MOST_SLID = 40;
/** Clocks drift: after so many ms narrow bounds are held against a `Date` again. */
const CHECK_EVERY = 600_000;

/** Learns from one round trip. */
export function learn(before: ServiceClock, trip: RoundTrip): ServiceClock {
  const { sent, received, date, age } = trip;
  const took = received - sent;
  const clock: ServiceClock = {
    ...before,
    hasFreshDate: date !== undefined && age === undefined,
    roundTrip: quickOf(before.roundTrip, took),
    shortest: Math.min(before.shortest, Math.max(0, took)),
  };
  if (date === undefined) return clock;
  const seen: Bounds = { low: date - received, high: date + 1_000 - madeAfter(trip) };
  if (clock.bounds === undefined) {
    const isConfirmed = seen.low <= NEAR && seen.high >= -NEAR;
    return { ...withMachines(clock, [machineOf(seen, received)]), isConfirmed, epoch: clock.epoch + 1 };
  }
  const gaps = clock.machines.map((machine) => gapBetween(machine, seen));
  const least = Math.min(...gaps);
  const own = least <= DRIFT_GAP ? gaps.indexOf(least) : -1;
  const machines = clock.machines.map((machine, at) => {
    if (at === own) return updatedMachine(machine, seen, received, clock);
    return { ...machine, others: machine.others + (gaps[at]! > 0 ? 2 : 1) };
  });
  if (own >= 0) return { ...withMachines(clock, machines), contradictingBounds: NONE, isConfirmed: true };
  const doubted = { ...clock, isContradicted: true };
  if (gapBetween(clock.bounds, seen) <= SKEW) {
    const agreed = clock.unmatched.find((stranger) => gapBetween(stranger, seen) <= 0);
    if (agreed === undefined) {
      return { ...doubted, machines, unmatched: [seen, ...clock.unmatched].slice(0, STRANGERS) };
    }
    // Those known may have been narrowed by answers of this one: each of its own is within a second of its upper bound.
    const known = machines.map((machine) => {
      const low = Math.min(machine.low, machine.high - 1_000 - 2 * clock.roundTrip);
      return { ...machine, low };
    });
    known.push(machineOf(intersection(agreed, seen), received));
    return { ...withMachines(clock, known), unmatched: [], contradictingBounds: NONE };
  }
  const gap = gapBetween(clock.contradictingBounds, seen);
  const answers = gap <= NEAR ? clock.contradictingBounds.answers + 1 : 1;
  const bounds = gap <= 0 ? intersection(clock.contradictingBounds, seen) : seen;
  const isBack = gapBetween(clock.former, bounds) <= NEAR;
  const needed = isBack ? clock.backAfter : JUMP_AFTER;
  if (answers < needed) return { ...doubted, contradictingBounds: { ...bounds, answers } };
  return {
    ...withMachines(clock, [machineOf(bounds, received)]),
    unmatched: [],
    contradictingBounds: NONE,
    former: clock.bounds,
    backAfter: isBack ? Math.min(2 * needed, LATEST_JUMP_AFTER) : JUMP_AFTER,
    isConfirmed: true,
    epoch: clock.epoch + 1,
  };
}

function machineOf({ low, high }: Bounds, at: number): Machine {
  return { low, high, others: 0, checkedAt: at, slid: 0, slidAt: at };
}

/**
 * What an answer tells of the machine that it comes from. As answers took their ways there and back, honest bounds are
 * no narrower than the shortest trip: where they would be, clocks have drifted apart, and what was just told is right.
 * Where they slide faster than clocks drift, one clock was set, and the bounds begin anew.
 */
function updatedMachine(
  machine: Machine,
  seen: Bounds,
  at: number,
  { roundTrip, shortest }: ServiceClock,
): Machine {
  const narrow = NARROW + roundTrip;
  const isCheck = seen.low >= machine.low - narrow || seen.high <= machine.high + narrow;
  const checkedAt = isCheck ? at : machine.checkedAt;
  const { low, high } = intersection(machine, seen);
  const width = Math.max(high - low, shortest, low > high ? machine.high - machine.low : 0);
  const slide = width - (high - low);
  const drift = (at - machine.slidAt) * FASTEST_DRIFT;
  const slid = slide > 0 ? Math.max(0, machine.slid + slide - drift) : machine.slid;
  if (slid > MOST_SLID) return machineOf(seen, at);
  const bounds =
    low === seen.low
      ? { low, high: Math.min(seen.high, low + width) }
      : { low: Math.max(seen.low, high - width), high };
  return { ...bounds, others: 0, checkedAt, slid, slidAt: slide > 0 ? at : machine.slidAt };
}

/** A clock of those machines that are still there. */
function withMachines(clock: ServiceClock, machines: readonly Machine[]): ServiceClock {
  const sorted = machines.filter(({ others }) => others < FORGOTTEN_AFTER).sort((a, b) => a.low - b.low);
  const bounds = { low: sorted[0]!.low, high: Math.max(...sorted.map(({ high }) => high)) };
  return { ...clock, machines: sorted, bounds, isContradicted: false };
}

/** An answer was made after this, by the scheduler. */
function madeAfter({ sent, age }: RoundTrip): number {
  return age === undefined ? sent : sent - (age + 1) * 1_000;
}

/** Follows quick trips at once and slow ones slowly; one in which the scheduler's clock was set, or stood, tells nothing. */
function quickOf(usual: number, took: number): number {
  if (took < 0 || took > LONGEST_TRIP) return usual;
  return usual === 0 || took < usual ? took : usual + (took - usual) / 16;
}

/** How far the service's clock had come, at least, when it gave an answer; `clock` has learned from that already. */
export function earliestAnswerTime(
  { bounds, machines, isContradicted }: ServiceClock,
  trip: RoundTrip,
): number {
  const made = madeAfter(trip);
  const { date } = trip;
  if (bounds === undefined) return made;
  const byBounds = made + bounds.low;
  if (date === undefined) return byBounds;
  // Neither what is known nor a date that contradicts it may be trusted for more.
  if (isContradicted) return Math.min(byBounds, date);
  // Which of several machines it comes from is not known: all have come as far as the bounds say.
  return machines.length > 1 ? byBounds : Math.max(byBounds, date);
}

/** Between what the service's clock is at an instant of the scheduler's, and at most when a request sent then arrives. */
export function serviceTimeBounds({ bounds, roundTrip }: ServiceClock, now: number): ServiceTimeBounds {
  return { earliest: now + (bounds?.low ?? 0), latest: now + (bounds?.high ?? 0) + 2 * roundTrip };
}

/** The service's clock at an instant of the scheduler's, by the middle of what is known of the machine that is behind. */
export function serviceTime({ machines: [machine] }: ServiceClock, now: number): number {
  return machine === undefined ? now : now + middle(machine);
}

/** The likeliest within some bounds: those of an old answer hold many, and the scheduler's clock is as good as any. */
function middle({ low, high }: Bounds): number {
  return high - low > NEAR ? Math.min(Math.max(low, 0), high) : (low + high) / 2;
}

/**
 * When to send a request, by the scheduler, that is to be answered just after `target` by the service's clock: aimed
 * at the middle while the bounds are wide, as the answer then halves them; once narrow, at the side where the answer
 * proves to be late enough. Where a `Date` can prove that, half the shortest round trip earlier: the low bound is itself that of
 * an answer which took its way back since, so that the request still arrives after `target`.
 *
 * Elsewhere only the bounds prove it: where they are wide, or were not checked for long, it is sent so much later that
 * it meets the turn of a second.
 */
export function sendTimeFor(clock: ServiceClock, target: number): number {
  const [machine] = clock.machines;
  const safe = safeSendTimeFor(clock, target);
  if (machine === undefined || !clock.hasFreshDate) return safe;
  const { low, high, checkedAt } = machine;
  const isNarrow = high - low <= NARROW + clock.roundTrip;
  const there = clock.shortest / 2;
  if (target % 1_000 === 0 && clock.machines.length === 1) {
    return Math.ceil(target - there - (isNarrow ? low : middle(machine)));
  }
  if (isNarrow && safe - checkedAt < CHECK_EVERY) return safe;
  const late = there + middle(machine);
  return Math.ceil(Math.ceil((safe + late) / 1_000) * 1_000 - late);
}

/** When to send a request, by the scheduler, whose answer is proven to be no earlier than `target`. */
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
