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

/** How far the service's clock is ahead of the scheduler's, in ms: between `low` and `high`. */
interface Bounds {
  readonly low: number;
  readonly high: number;
}

/** One of the clocks that answers come from, as one answer tells it, or several. */
interface Machine extends Bounds {
  /** As of which instants of the scheduler's the bounds are proven. As clocks drift they hold for less and less. */
  readonly lowAt: number;
  readonly highAt: number;
  /** The number of the last answer that fits no other machine. */
  readonly answer: number;
}

/** What one answer told. */
interface Heard extends Machine {
  readonly question: string | undefined;
}

/**
 * What is known of the service's clock. Every `Date`, a whole second, bounds its distance from the scheduler's
 * clock; the bounds of many answers intersect to about one round trip. Behind one address there may be machines whose
 * clocks differ: an instant counts as reached once all of them have reached it.
 */
export interface ServiceClock {
  /** Machines that have answered lately, the one furthest behind first. Until a `Date` comes the scheduler's clock stands in. */
  readonly machines: readonly [Machine, ...Machine[]];
  /** What the last two answers told that fit none of them. Once another one agrees there is a new machine, or the clock has jumped. */
  readonly doubted: readonly Machine[];
  /**
   * What the last answers told, but for copies: one of their Dates that comes again for the same question is that of a copy. And
   * questions whose answer has not come, with when it may have been made at the earliest.
   */
  readonly heard: readonly Heard[];
  /** How many answers with a `Date` there were. */
  readonly answers: number;
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
  machines: [{ low: 0, lowAt: Infinity, high: 0, highAt: Infinity, answer: 0 }],
  doubted: [],
  heard: [],
  answers: 0,
  isConfirmed: false,
  hasFreshDate: false,
  roundTrip: 0,
  shortest: Infinity,
  epoch: 0,
};

/** A machine counts while it has given one of so many last answers. Their Dates are remembered. */
const REMEMBERED = 64;
/** Once so many answers have not shown a machine alone, the next request is to find out whether it still answers. */
const UNSEEN = 4;
/** An answer that contradicts a machine by no more than this, in ms, and what clocks drift, is its own: a `Date` may be as wrong. */
const ONE_CLOCK = 20;
/** Bounds no further apart than this, in ms, are those of several machines; by more, the clock has jumped. */
const SKEW = 2_500;
/** Answers that contradict each other by more than this, in ms, and what clocks drift, are of two machines. */
const TWO_CLOCKS = 150;
/** Clocks that differ by no more than this, in ms, confirm each other. */
const NEAR = 5_000;
/** A longer round trip, in ms, tells nothing: the machine slept. */
const LONGEST_TRIP = 60_000;
/** Bounds no wider than a round trip and this, in ms, are narrow enough. */
const NARROW = 20;
/** Clocks of computers drift by no more, ms per ms. */
const FASTEST_DRIFT = 1e-4;
/** What is proven so much too late, in ms, is worth a wait for the next second. */
const LATE = 100;

/** A clock that is being made. */
type Draft = { -readonly [field in keyof ServiceClock]: ServiceClock[field] };

/** The service made the answer after this instant, by the scheduler. If its clock was set back meanwhile, the start lies ahead. */
export function madeAfter({ sent, received, age }: RoundTrip): number {
  return Math.min(sent, received) - (age === undefined ? 0 : (age + 1) * 1_000);
}

/** Takes note of a question whose answer has not come: a cache may have it, and give it to who asks again. */
export function unanswered(before: ServiceClock, sent: number, question: string): ServiceClock {
  const { answers: answer } = before;
  const lost = { low: -Infinity, lowAt: sent, high: Infinity, highAt: sent, answer, question };
  return { ...before, heard: [lost, ...before.heard.slice(0, REMEMBERED - 1)] };
}

/** Learns from one round trip. */
export function learn(before: ServiceClock, trip: RoundTrip): ServiceClock {
  const { sent, received, date, age, question } = trip;
  const took = received - sent;
  // If the scheduler's clock was set back meanwhile, or stood, nobody knows how long it took.
  const length = took < 0 || took > LONGEST_TRIP ? Infinity : took;
  const clock: Draft = {
    ...before,
    hasFreshDate: date !== undefined && age === undefined,
    roundTrip: quickOf(before, length),
    shortest: Math.min(before.shortest, length),
  };
  const { doubted } = before;
  // Without any Date the scheduler's clock is all there is.
  if (date === undefined) {
    if (before.answers === 0) clock.isConfirmed = true;
    return clock;
  }
  const isLost = (one: Heard) => one.high === Infinity && one.question === question;
  const made = Math.min(madeAfter(trip), before.heard.findLast(isLost)?.highAt ?? Infinity);
  clock.answers += 1;
  const seen: Machine = {
    low: date - received,
    lowAt: received,
    high: date + 1_000 - made,
    highAt: made,
    answer: clock.answers,
  };
  const known = boundsOf(before);
  const heard = before.heard.find((one) => one.low + one.lowAt === date && one.question === question);
  // A cache may hide the age of its copies. One that comes once its second is over tells nothing.
  if (heard !== undefined && (sent >= heard.lowAt + 1_000 || seen.high < known.low)) return clock;
  if (heard === undefined) {
    const others = before.heard.filter((one) => !isLost(one)).slice(0, REMEMBERED - 1);
    clock.heard = [{ ...seen, question }].concat(others);
  }
  if (before.answers === 0) {
    clock.isConfirmed = seen.low <= NEAR && seen.high >= -NEAR;
    clock.epoch += 1;
    return ofMachines(clock, [seen]);
  }
  const gaps = before.machines.map((machine) => gapBetween(machine, seen));
  // What fits a machine as it is known is none of another one that would have to have drifted.
  const isFitting = gaps.some((gap) => gap <= 0);
  const fit = isFitting ? gaps : before.machines.map((machine) => gapBetween(asOf(machine, received), seen));
  const apart = Math.min(...fit);
  const own = fit.indexOf(apart);
  const isFar = gapBetween(known, seen) > SKEW;
  const agreeing = isFitting ? undefined : doubted.find((one) => gapBetween(one, seen) <= (isFar ? SKEW : 0));
  const near = clock.heard.filter((one) => gapBetween(known, one) <= SKEW && isRecent(one, clock));
  const told = isFitting ? [] : machinesOf(near, received, clock);
  // However long nobody has looked: what is further off takes two answers. So does a clock that was set rather than that it has drifted.
  if (apart <= ONE_CLOCK && !isFar && agreeing === undefined) {
    // Where it fits several nobody knows whose it is, and it tells of none.
    const isShared = gaps.filter((gap) => gap <= 0).length > 1;
    clock.isConfirmed = true;
    clock.doubted = doubted.filter((one) => gapBetween(known, one) <= SKEW);
    const machines = before.machines.map((machine, at) => {
      if (at !== own || isShared) return machine;
      // The clock may have been set back, and ways be others since.
      if (apart > 0 && seen.high < machine.low) clock.shortest = length;
      return updatedMachine(machine, seen, clock);
    });
    return ofMachines(clock, told.length > machines.length ? told : machines);
  }
  if (agreeing === undefined) {
    clock.doubted = [seen, ...doubted.slice(0, 1)];
    return clock;
  }
  const added = gapBetween(agreeing, seen) <= 0 ? updatedMachine(agreeing, seen, clock) : seen;
  clock.doubted = [];
  clock.isConfirmed = true;
  clock.shortest = length;
  if (!isFar) {
    const others = before.machines.map((machine) => withoutAnswersOf(added, machine, clock.roundTrip));
    return ofMachines(clock, told.length > 1 ? told : [...others, added]);
  }
  clock.epoch += 1;
  return ofMachines(clock, [added]);
}

/**
 * The machine after one of its answers. Where that contradicts its bounds the clocks have drifted apart: the newest answer is
 * right, and the bounds slide along, as far as clocks drift. By more the clock may have been set back, and what was proven of it
 * holds no more; what is as far ahead tells nothing.
 */
function updatedMachine(machine: Machine, seen: Machine, clock: ServiceClock): Machine {
  let { low, high } = intersection(machine, seen);
  if (low > high) {
    const width = Math.max(NARROW, clock.shortest, machine.high - machine.low);
    const left = intersection(asOf(machine, seen.lowAt), seen);
    if (left.low > left.high) return low === seen.low ? { ...machine, answer: seen.answer } : seen;
    if (low === seen.low) high = Math.min(left.high, low + width);
    else low = Math.max(left.low, high - width);
  }
  // What was proven fades by the drift. Of the two proofs of a bound the one that says more now counts, as of when it said just that.
  const lowAt = Math.max(...[machine, seen].map((one) => one.lowAt + (one.low - low) / FASTEST_DRIFT));
  const highAt = Math.max(...[machine, seen].map((one) => one.highAt + (high - one.high) / FASTEST_DRIFT));
  return { low, lowAt, high, highAt, answer: seen.answer };
}

/** The fewest machines that so many answers, the newest first, can be of, the one furthest behind first. */
function machinesOf(heard: readonly Machine[], now: number, clock: ServiceClock): Machine[] {
  const rough = heard.map((one) => {
    const { low, high } = asOf(one, now);
    return { one, low: low - TWO_CLOCKS / 2, high: high + TWO_CLOCKS / 2 };
  });
  const highs = furthestAhead(rough);
  const lows = furthestAhead(rough.map(({ low, high }) => ({ low: -high, high: -low }))).reverse();
  const ranges = highs.map((high, at) => ({ low: -lows[at]!, high }));
  const ofEach = ranges.map((range) =>
    rough
      .filter((one) => ranges.every((other) => gapBetween(one, other) <= 0 === (other === range)))
      .map(({ one }) => one),
  );
  // One answer alone may be wrong.
  const alone = ofEach.find((own) => own.length === 1)?.[0];
  if (alone !== undefined) {
    const others = heard.filter((one) => one !== alone);
    return machinesOf(others, now, clock);
  }
  return ofEach.map((own) => own.reduceRight((machine, one) => updatedMachine(machine, one, clock)));
}

/** How far ahead each of the fewest machines may be of which so many answers are, if none is further behind than it must. */
function furthestAhead(answers: readonly Bounds[]): number[] {
  const machines: number[] = [];
  for (const { low, high } of [...answers].sort((a, b) => a.high - b.high)) {
    if (low > (machines.at(-1) ?? -Infinity)) machines.push(high);
  }
  return machines;
}

/** A machine without what answers of another one may have told: of its bounds the one that sets the two apart is surely its own. */
function withoutAnswersOf(other: Bounds, machine: Machine, roundTrip: number): Machine {
  const width = 1_000 + 2 * roundTrip;
  if (other.low >= machine.high) return { ...machine, low: Math.min(machine.low, machine.high - width) };
  if (other.high <= machine.low) return { ...machine, high: Math.max(machine.high, machine.low + width) };
  return machine;
}

/** Goes by these machines, but for those that are forgotten. */
function ofMachines(clock: Draft, known: readonly Machine[]): ServiceClock {
  const lately = known.filter((machine) => isRecent(machine, clock));
  const [first, ...others] = [...(lately.length === 0 ? known : lately)].sort((a, b) => a.low - b.low);
  clock.machines = [first!, ...others];
  return clock;
}

/** The bounds of all machines. */
export function boundsOf({ machines }: ServiceClock): Bounds {
  let high = -Infinity;
  for (const machine of machines) high = Math.max(high, machine.high);
  return { low: machines[0].low, high };
}

/** Whether the last `Date` contradicts what is known. It proves nothing until another answer agrees with either. */
export function isContradicted({ doubted, answers }: ServiceClock): boolean {
  return doubted[0]?.answer === answers;
}

/** Whether one of the last answers is surely this machine's. */
function isRecent({ answer }: Machine, { answers }: ServiceClock): boolean {
  return answers - answer < REMEMBERED;
}

/** What is proven of a machine by an instant of the scheduler's. */
function asOf({ low, lowAt, high, highAt }: Machine, now: number): Bounds {
  return {
    low: low - FASTEST_DRIFT * Math.max(0, now - lowAt),
    high: high + FASTEST_DRIFT * Math.max(0, now - highAt),
  };
}

/** Follows the first trip and quick ones at once, and slow ones slowly. */
function quickOf({ roundTrip, shortest }: ServiceClock, took: number): number {
  if (took === Infinity) return roundTrip;
  return shortest === Infinity || took < roundTrip ? took : roundTrip + (took - roundTrip) / 16;
}

/** The service's time at an instant of the scheduler's, at least. */
export function earliestTime({ machines: [machine] }: ServiceClock, now: number): number {
  return now + asOf(machine, now).low;
}

/** The service's time when a request arrives that is sent at an instant of the scheduler's, at most. */
export function latestTime(clock: ServiceClock, now: number): number {
  return now + boundsOf(clock).high + 2 * clock.roundTrip;
}

/** The service's likeliest time at an instant of the scheduler's, by the machine that is furthest behind. */
export function serviceTime({ machines: [machine] }: ServiceClock, now: number): number {
  return now + middle(machine);
}

/** The likeliest value within bounds. Within wide ones the scheduler's own clock is as likely as any. */
function middle({ low, high }: Bounds): number {
  return high - low > NEAR ? Math.min(Math.max(low, 0), high) : (low + high) / 2;
}

/**
 * When to send a request, by the scheduler, so that its answer comes just after `target` by the service's clock.
 *
 * If a `Date` can prove that the answer came after `target`: for the middle of the bounds while they are wide, as the
 * answer then halves them, and for their low side once they are narrow, both half the shortest round trip early. The low
 * bound is that of an answer, which took its way back, so the request still arrives after `target`. Below their high one it is
 * by as much, or by 20 ms if that is more: so far clocks may drift before it comes too early.
 *
 * If only the bounds can prove it: safely after. If they are wide, or were not proven for long, the request goes out
 * later still, to arrive as a second begins, where its `Date` narrows them. Of two machines less than a second apart it
 * arrives where one of them has begun a second and the other has not: there a `Date` is surely that of one of them, and there
 * it goes out, too, where many answers have fitted both. It waits for less than half of the time to `next`, the target after
 * this one, unless that is whole seconds away: other polls hit all parts of a second anyway.
 */
export function sendTimeFor(clock: ServiceClock, target: number, next = Infinity): number {
  const { machines } = clock;
  const [machine] = machines;
  const safe = safeSendTimeFor(clock, target);
  if (!clock.hasFreshDate) return safe;
  const ahead = machines.at(-1)!;
  const isAlone = machine === ahead;
  const narrow = NARROW + clock.roundTrip;
  // For so much of a second an answer may be of either machine, and narrows nothing.
  const shared = isAlone ? 0 : Math.max(0, machine.high + 1_000 - ahead.low);
  const isWide = ({ low, high }: Bounds) => high - low > shared + narrow;
  const shortest = clock.shortest === Infinity ? 0 : clock.shortest;
  const way = shortest / 2;
  const aim = isWide(machine)
    ? way + middle(machine)
    : Math.min(way + machine.low, machine.high - Math.max(NARROW, way));
  if (target % 1_000 === 0 && isAlone) return Math.ceil(target - aim);
  const isOld = FASTEST_DRIFT * (safe - machine.lowAt) > LATE;
  const isVague = isOld || isWide(machine) || (shared > 0 && isWide(ahead));
  const isUntold = shared > 0 && clock.answers - Math.min(machine.answer, ahead.answer) >= UNSEEN;
  if (!isVague && !isUntold) return safe;
  // The rest of the second begins where the one ahead has surely begun it, and ends before the other one may have.
  const begun = isWide(ahead) ? machine.high + narrow : Infinity;
  const late = shared === 0 ? aim : Math.min(begun, ahead.low - 1);
  const narrowing = Math.ceil(Math.ceil((safe + late) / 1_000) * 1_000 - late);
  const apart = next - target;
  const most = Math.min(apart % 1_000 === 0 ? apart : apart / 2, isVague ? apart : shared + narrow);
  return narrowing - safe < most ? narrowing : safe;
}

/** The first instant, by the scheduler, at which a request may go out whose answer surely comes after `target`. */
export function safeSendTimeFor({ machines: [machine] }: ServiceClock, target: number): number {
  const at = target - machine.low;
  const drift = FASTEST_DRIFT * Math.max(0, at - machine.lowAt);
  return Math.ceil(at + drift / (1 - FASTEST_DRIFT));
}

/** Above 0 where two bounds have nothing in common. */
function gapBetween(a: Bounds, b: Bounds): number {
  return Math.max(a.low - b.high, b.low - a.high);
}

function intersection(a: Bounds, b: Bounds): Bounds {
  return { low: Math.max(a.low, b.low), high: Math.min(a.high, b.high) };
}
