import { asyncScheduler, type SchedulerLike } from "rxjs";
import { checkChoice, checkNumber, LONGEST_DELAY } from "../../contract/input.js";
import { checkNames } from "../../contract/names.js";
import { InvalidInputError } from "../../errors.js";
import { checkSeed, hashText, mix, randomNumbers } from "../random.js";
import { FAULT_KINDS, type Fault, type FaultKind } from "./kinds.js";

/** A fault that is to befall a call. */
export interface ScheduledFault {
  /** Which call, counted from 1. */
  readonly call: number;
  /** What kind of fault. */
  readonly kind: FaultKind;
}

/** Which faults befall which calls. */
export interface FaultOptions {
  /** A whole number; with the same one, and the same calls in the same order, come the same faults. */
  seed: number;
  /** Every wait and every `at` comes from it; default: RxJS's `asyncScheduler`. */
  scheduler?: SchedulerLike;
  /** How likely each kind befalls a call, 0 to 1; kinds that are not named: never. Default: each kind 0.01. */
  rates?: { readonly [kind in FaultKind]?: number };
  /** In place of `rates`: the faults themselves, in any order, several of a call too. */
  schedule?: readonly ScheduledFault[];
  /** The longest `delay`, ms, 1 to 2,147,483,647; default 20,000. Most are a good deal shorter. */
  longestDelay?: number;
  /** How far a Date is off at most, ms, 1,000 to 86,400,000; default 10,800,000 (three hours). Most are far nearer. */
  furthestDate?: number;
  /** Calls made from this instant on, by the scheduler in ms since the epoch, have no faults and a right Date; default: never. */
  until?: number;
  /**
   * Told of each fault as it takes effect; one that changes nothing, such as `shuffled` of a single row, is not told.
   * Default: nobody.
   */
  onFault?: (fault: Fault) => void;
}

/** The faults of one call, each with random numbers of its own, so that none depends on which others there are. */
export type FaultsOfCall = ReadonlyMap<FaultKind, () => number>;

export const NO_FAULTS: FaultsOfCall = new Map();

const DEFAULT_RATE = 0.01;
const OPTION_NAMES = [
  "seed",
  "scheduler",
  "rates",
  "schedule",
  "longestDelay",
  "furthestDate",
  "until",
  "onFault",
] as const;

export function checkFaultOptions(options: FaultOptions) {
  const seed = checkSeed(options);
  checkNames(options, OPTION_NAMES);
  const { scheduler = asyncScheduler, rates, schedule, onFault, until } = options;
  if (typeof scheduler?.schedule !== "function" || typeof scheduler.now !== "function") {
    const allowed = "a SchedulerLike of RxJS, such as VirtualClock";
    throw new InvalidInputError("scheduler", allowed, "has no methods now and schedule");
  }
  if (rates !== undefined && schedule !== undefined) {
    throw new InvalidInputError("schedule", "rates or a schedule, not both", "is given beside rates");
  }
  if (onFault !== undefined && typeof onFault !== "function") {
    throw new InvalidInputError("onFault", "a function", `is a ${typeof onFault}`);
  }
  const delays = { min: 1, max: LONGEST_DELAY };
  const dates = { min: 1_000, max: 86_400_000 };
  return {
    scheduler,
    onFault,
    ...(schedule === undefined ? byRates(seed, rates) : bySchedule(seed, schedule)),
    until: until === undefined ? Infinity : checkNumber("until", until, { min: 0 }),
    longestDelay: checkNumber("longestDelay", options.longestDelay ?? 20_000, delays),
    furthestDate: checkNumber("furthestDate", options.furthestDate ?? 10_800_000, dates),
  };
}

/** Which faults befall a call, and whether a kind may befall any. */
interface Choice {
  readonly faultsOf: (call: number) => FaultsOfCall;
  readonly mayBefall: (kind: FaultKind) => boolean;
}

function byRates(seed: number, rates: FaultOptions["rates"]): Choice {
  const randomOf = draws(seed);
  const likely = checkRates(rates).filter(([, rate]) => rate > 0);
  const faultsOf = (call: number) => {
    const faults = new Map<FaultKind, () => number>();
    for (const [kind, rate] of likely) {
      const { befalls, random } = randomOf(kind, call);
      if (befalls < rate) faults.set(kind, random);
    }
    return faults;
  };
  return { faultsOf, mayBefall: (kind) => likely.some(([other]) => other === kind) };
}

function checkRates(rates: FaultOptions["rates"]): [FaultKind, number][] {
  if (rates === undefined) return FAULT_KINDS.map((kind) => [kind, DEFAULT_RATE]);
  if (typeof rates !== "object" || rates === null) {
    throw new InvalidInputError(
      "rates",
      "an object with a rate for each kind",
      `is ${rates === null ? "null" : typeof rates}`,
    );
  }
  return Object.entries(rates).map(([name, rate]) => {
    const kind = name as FaultKind;
    if (!FAULT_KINDS.includes(kind)) {
      throw new InvalidInputError(`rates.${name}`, FAULT_KINDS.join(", "), "is not known");
    }
    return [kind, checkNumber(`rates.${kind}`, rate, { min: 0, max: 1 })];
  });
}

function bySchedule(seed: number, schedule: readonly ScheduledFault[]): Choice {
  if (!Array.isArray(schedule)) {
    throw new InvalidInputError("schedule", "a list of { call, kind }", "is no list");
  }
  const randomOf = draws(seed);
  const kindsOf = new Map<number, FaultKind[]>();
  schedule.forEach((fault: ScheduledFault | undefined, at) => {
    const place = `schedule[${at}]`;
    const call = checkNumber(`${place}.call`, fault?.call as number, { min: 1, integer: true });
    const kind = checkChoice(`${place}.kind`, fault?.kind as FaultKind, FAULT_KINDS);
    kindsOf.set(call, [...(kindsOf.get(call) ?? []), kind]);
  });
  return {
    faultsOf: (call) =>
      new Map((kindsOf.get(call) ?? []).map((kind) => [kind, randomOf(kind, call).random] as const)),
    mayBefall: (kind) => schedule.some((fault) => fault.kind === kind),
  };
}

/** Whether a fault befalls a call, and its details: from the same numbers, however it comes to be chosen. */
function draws(seed: number) {
  const keys = new Map(FAULT_KINDS.map((kind) => [kind, hashText(`${seed} ${kind}`, 21)]));
  return (kind: FaultKind, call: number) => {
    const random = randomNumbers(mix(keys.get(kind)! ^ mix(call)));
    return { befalls: random(), random };
  };
}
