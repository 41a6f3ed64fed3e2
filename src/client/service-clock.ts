/** One request and its answer, in time: on the scheduler's clock, and the answer's `Date` on the service's. */
export interface RoundTrip {
  /** When the request went out, by the scheduler. */
  readonly sent: number;
  /** When the whole answer was there, by the scheduler. */
  readonly received: number;
  /** The answer's `Date` in ms, a whole second; `undefined` where it has none that can be read. */
  readonly date: number | undefined;
}

/** What the service's clock can be. */
export interface ServiceSpan {
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

/**
 * What is known of the service's clock. Every `Date`, a whole second, bounds its distance from the scheduler's
 * clock; the bounds of many answers intersect to about one round trip.
 */
export interface ServiceClock {
  /** Absent until a `Date` was seen; the scheduler's clock stands in then. */
  readonly bounds: Bounds | undefined;
  /** Bounds that contradict the known ones; believed once a second answer agrees with them. */
  readonly rival: Bounds | undefined;
  /** Whether two sources agree: two answers, or the first one and the scheduler; one `Date` alone may be wrong. */
  readonly isConfirmed: boolean;
  /** Whether the last answer told its time, so that the next one may prove what bounds do not. */
  readonly isTold: boolean;
  /** A quick round trip of late, in ms. */
  readonly roundTrip: number;
  /** The same of those that others did not hold up; 0 while there was none. */
  readonly freeTrip: number;
  /** Counts the first `Date` and the jumps that were believed: instants of different epochs cannot be compared. */
  readonly epoch: number;
}

export const unknownClock: ServiceClock = {
  bounds: undefined,
  rival: undefined,
  isConfirmed: false,
  isTold: false,
  roundTrip: 0,
  freeTrip: 0,
  epoch: 0,
};

/** Clocks drift apart: bounds contradict each other by up to this much then, in ms; by more, one clock has jumped. */
const DRIFT_GAP = 250;
/** A service whose clock is this close to the scheduler's, in ms, is believed at once. */
const NEAR = 5_000;
/** In ms. */
const LONGEST_TRIP = 60_000;
/** Bounds that exceed a round trip by less than this, in ms, are not worth narrowing further. */
const NARROW = 20;

/**
 * Learns from one round trip; `isCrowded`: so many others were under way that it tells how long those took, and not how
 * long the way is.
 */
export function learn(
  before: ServiceClock,
  { sent, received, date }: RoundTrip,
  isCrowded = false,
): ServiceClock {
  const took = received - sent;
  const isHeldUp = isCrowded && took >= before.freeTrip;
  const clock: ServiceClock = {
    ...before,
    isTold: date !== undefined,
    roundTrip: quickOf(before.roundTrip, took),
    freeTrip: isHeldUp ? before.freeTrip : quickOf(before.freeTrip, took),
  };
  if (date === undefined) return clock;
  const seen: Bounds = { low: date - received, high: date + 1_000 - sent };
  if (clock.bounds === undefined) {
    const isConfirmed = seen.low <= NEAR && seen.high >= -NEAR;
    return { ...clock, bounds: seen, isConfirmed, epoch: clock.epoch + 1 };
  }
  const known = clock.bounds;
  const gap = gapBetween(known, seen);
  if (gap <= DRIFT_GAP) {
    const bounds = gap <= 0 ? intersection(known, seen) : slid(known, seen);
    return { ...clock, bounds, rival: undefined, isConfirmed: true };
  }
  if (clock.rival !== undefined && gapBetween(clock.rival, seen) <= 0) {
    const bounds = intersection(clock.rival, seen);
    return { ...clock, bounds, rival: undefined, isConfirmed: true, epoch: clock.epoch + 1 };
  }
  return { ...clock, rival: seen };
}

/** Follows quick trips at once and slow ones slowly; one in which the scheduler's clock was set, or stood, tells nothing. */
function quickOf(usual: number, took: number): number {
  if (took < 0 || took > LONGEST_TRIP) return usual;
  return usual === 0 || took < usual ? took : usual + (took - usual) / 16;
}

/** How far the service's clock had come, at least, when it gave an answer; `clock` has learned from that already. */
export function provenBy({ bounds, rival }: ServiceClock, { sent, date }: RoundTrip): number {
  if (bounds === undefined) return sent;
  const byBounds = sent + bounds.low;
  if (date === undefined) return byBounds;
  // A date that contradicts what is known proves nothing: neither of the two may be trusted for more.
  return rival === undefined ? Math.max(byBounds, date) : Math.min(byBounds, date);
}

/** Between what the service's clock is at an instant of the scheduler's, and at most when a request sent then arrives. */
export function spanAt({ bounds, roundTrip }: ServiceClock, now: number): ServiceSpan {
  return { earliest: now + (bounds?.low ?? 0), latest: now + (bounds?.high ?? 0) + 2 * roundTrip };
}

/** The service's clock at an instant of the scheduler's, by the middle of what is known. */
export function serviceTime(clock: ServiceClock, now: number): number {
  return clock.bounds === undefined ? now : now + (clock.bounds.low + clock.bounds.high) / 2;
}

/**
 * When to send a request, by the scheduler, that is to be answered just after `target` by the service's clock: aimed
 * at the middle while the bounds are wide, as the answer then halves them; once narrow, at the side where the answer
 * proves to be late enough. Where a `Date` can prove that, half a round trip earlier: the low bound is itself that of
 * an answer which took its way back since, so that the request still arrives after `target`.
 */
export function aim(clock: ServiceClock, target: number): number {
  if (clock.bounds === undefined) return target;
  const { low, high } = clock.bounds;
  const isNarrow = high - low <= NARROW + clock.roundTrip;
  const there = clock.freeTrip / 2;
  if (!isNarrow) return Math.ceil(target - (low + high) / 2 - there);
  return clock.isTold && target % 1_000 === 0 ? Math.ceil(target - low - there) : aimSafely(clock, target);
}

/** When to send a request, by the scheduler, whose answer is proven to be no earlier than `target`. */
export function aimSafely({ bounds }: ServiceClock, target: number): number {
  return bounds === undefined ? target : Math.ceil(target - bounds.low);
}

/** Above 0 where two bounds have nothing in common. */
function gapBetween(a: Bounds, b: Bounds): number {
  return Math.max(a.low - b.high, b.low - a.high);
}

function intersection(a: Bounds, b: Bounds): Bounds {
  return { low: Math.max(a.low, b.low), high: Math.min(a.high, b.high) };
}

/** Bounds that have drifted past what was just seen follow it, about as narrow as they were. */
function slid(known: Bounds, seen: Bounds): Bounds {
  const width = Math.max(NARROW, known.high - known.low);
  return seen.low > known.high
    ? { low: seen.low, high: Math.min(seen.high, seen.low + width) }
    : { low: Math.max(seen.low, seen.high - width), high: seen.high };
}
