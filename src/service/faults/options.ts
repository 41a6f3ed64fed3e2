import { asyncScheduler, type SchedulerLike } from "rxjs";
import { checkChoice, checkNumber, LONGEST_DELAY } from "../../contract/input.js";
import { checkNames, checkScheduler } from "../../contract/names.js";
import { InvalidInputError } from "../../errors.js";
import { checkSeed, hashText, mix, randomNumbers } from "../random.js";
import { FAULT_KINDS, type Fault, type FaultKind } from "./kinds.js";

/** A fault planned for a call. */
export interface ScheduledFault {
  /** The number of the call, from 1. */
  readonly call: number;
  /** The kind of the fault. */
  readonly kind: FaultKind;
}

/** Which calls get which faults. */
export interface FaultOptions {
  /** A whole number. The same seed and the same calls in the same order give the same faults. */
  seed: number;
  /** The clock of every wait and every `at`; default: RxJS's `asyncScheduler`. */
  scheduler?: SchedulerLike;
  /** The probability per call of each kind, 0 to 1; kinds without one never occur. Default: 0.01 for each kind. */
  rates?: { readonly [kind in FaultKind]?: number };
  /** The faults themselves, in place of `rates`, in any order; a call may have several. */
  schedule?: readonly ScheduledFault[];
  /** The longest `delay`, ms, 1 to 2,147,483,647; default 20,000. Most are a good deal shorter. */
  longestDelay?: number;
  /**
   * The largest error of a Date, ms, 1,000 to 86,400,000; default 10,800,000 (three hours). Most errors are far
   * smaller.
   */
  furthestDate?: number;
  /**
   * From this instant on, by the scheduler in ms since the epoch, calls have no faults and a right Date; default:
   * never.
   */
  until?: number;
  /**
   * Called with each fault that takes effect. A fault that changes nothing, such as `shuffled` of a single row, is not
   * reported. Default: no report.
   */
  onFault?: (fault: Fault) => void;
}

/** The faults of one call. Each has random numbers of its own, so no fault depends on the others. */
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
  checkScheduler(scheduler);
  if (rates !== undefined && schedule !== undefined) {
    throw new InvalidInputError("schedule", "either rates or schedule", "is given together with rates");
  }
  if (onFault !== undefined && typeof onFault !== "function") {
    throw new InvalidInputError("onFault", "a function", `is of type ${typeof onFault}`);
  }
  const delays = { min: 1, max: LONGEST_DELAY, unit: "ms" };
  const dates = { min: 1_000, max: 86_400_000, unit: "ms" };
  return {
    scheduler,
    onFault,
    ...(schedule === undefined ? byRates(seed, rates) : bySchedule(seed, schedule)),
    until:
      until === undefined ? Infinity : checkNumber("until", until, { min: 0, unit: "ms since the epoch" }),
    longestDelay: checkNumber("longestDelay", options.longestDelay ?? 20_000, delays),
    furthestDate: checkNumber("furthestDate", options.furthestDate ?? 10_800_000, dates),
  };
}

/** Chooses the faults of a call, and says whether a kind can occur at all. */
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
      `is ${rates === null ? "null" : `of type ${typeof rates}`}`,
    );
  }
  return Object.entries(rates).map(([name, rate]) => {
    const kind = name as FaultKind;
    if (!FAULT_KINDS.includes(kind)) {
      throw new InvalidInputError(`rates.${name}`, FAULT_KINDS.join(", "), "is not a kind of fault");
    }
    return [kind, checkNumber(`rates.${kind}`, rate, { min: 0, max: 1 })];
  });
}

function bySchedule(seed: number, schedule: readonly ScheduledFault[]): Choice {
  if (!Array.isArray(schedule)) {
    throw new InvalidInputError("schedule", "a list of { call, kind }", "is not a list");
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

/**
 * The random numbers that decide whether a call has a fault, and its details. They are the same with `rates` and
 * `schedule`.
 */
function draws(seed: number) {
  const keys = new Map(FAULT_KINDS.map((kind) => [kind, hashText(`${seed} ${kind}`, 21)]));
  return (kind: FaultKind, call: number) => {
    const random = randomNumbers(mix(keys.get(kind)! ^ mix(call)));
    return { befalls: random(), random };
  };
}
