import { QuotaExceededError } from "../../errors.js";
import type { QuotaActivity } from "../activity.js";
import {
  type CallKind,
  charged,
  type Demand,
  type Ledger,
  ledgerAt,
  type PollThrottle,
  pollThrottle,
  type Quota,
  throttleFor,
  UNTHROTTLED,
} from "./quota.js";

/** Without a quota there is no end of units; what the service counts as spent should be back with the next day, UTC. */
const NO_QUOTA: Quota = { units: Infinity, per: 86_400_000 };
/** What calls cost, in units, if answers do not say. */
export const DEFAULT_COSTS: Readonly<Record<CallKind, number>> = { ohlcv: 150, snipers: 50 };

/** The service's time now, at least, and when a request arrives that is sent now, at most. */
type ServiceNow = () => { readonly earliest: number; readonly latest: number };
export type QuotaReport = Omit<QuotaActivity, "type" | "at">;

/** A request without an answer yet. */
interface Charge {
  readonly cost: number;
  /** Whether it is counted for the next period, too. */
  readonly isAhead: boolean;
}

/** Keeps count of the units that a client spends, and says how to make them last. */
export class Spending {
  readonly #quota: Quota;
  readonly #now: ServiceNow;
  readonly #report: (report: QuotaReport) => void;
  readonly #demands = new Set<Demand>();
  /** What calls of each kind cost, by the last good answer. */
  readonly #costs = { ...DEFAULT_COSTS };
  readonly #underWay = new Set<Charge>();
  #ledger: Ledger | undefined;
  #phase = "ample";

  constructor(quota: Quota | undefined, now: ServiceNow, tell: (told: QuotaReport) => void) {
    this.#quota = quota ?? NO_QUOTA;
    this.#now = now;
    this.#report = tell;
  }

  /** When units come back that were spent now, or up to `ago` ms before, by the service's clock. */
  resetsAt(ago = 0): number {
    const { per } = this.#quota;
    return (Math.floor((this.#now().earliest - ago) / per) + 1) * per;
  }

  /** Counts in what a stream will ask for, until the function that it returns is called. */
  join(demand: Demand): () => void {
    this.#demands.add(demand);
    return () => this.#demands.delete(demand);
  }

  /** Whether streams ask for calls of this kind. */
  hasDemand(kind: CallKind): boolean {
    return [...this.#demands].some((demand) => demand.kind === kind);
  }

  /** The units of the quota, and what is left of them in this period; `undefined` without a quota. Changes nothing. */
  balance(): { readonly units: number; readonly left: number } | undefined {
    const { units } = this.#quota;
    if (units === Infinity) return undefined;
    const { spent } = ledgerAt(this.#ledger, this.#quota, this.#now().earliest, this.#costUnderWay());
    return { units, left: Math.max(0, units - spent) };
  }

  /** How much longer a stream's polls have to wait so that the units last until the end of the period. */
  pollThrottle(schedule: Pick<Demand, "closeEvery">): PollThrottle {
    if (this.#quota.units === Infinity) return UNTHROTTLED;
    const { earliest } = this.#now();
    const stretch = pollThrottle(this.#ledgerNow(), this.#quota, this.#demands, this.#costs, earliest);
    const { refresh, close } = stretch;
    const polls = close > 1 ? "closings" : refresh > 1 ? "refreshes" : "ample";
    this.#enter(close === Infinity ? "spent" : polls, stretch);
    return throttleFor(schedule, stretch);
  }

  /** How much longer they have to wait in a period that begins with all of its units. */
  wholeThrottle(schedule: Pick<Demand, "closeEvery">): PollThrottle {
    const whole = { period: 0, spent: 0, spentAhead: 0 };
    return throttleFor(schedule, pollThrottle(whole, this.#quota, this.#demands, this.#costs, 0));
  }

  /** Moves what was spent to the period of a clock that has become known, or has jumped. */
  moveAlong(): void {
    if (this.#ledger === undefined) return;
    const period = Math.floor(this.#now().earliest / this.#quota.per);
    this.#ledger = { ...this.#ledger, period };
  }

  /** Throws a `QuotaExceededError` if the period has no units left for a call. */
  check(kind: CallKind): void {
    const cost = this.#costs[kind];
    const { units } = this.#quota;
    const { spent } = this.#ledgerNow();
    if (spent + cost <= units) return;
    this.#enter("spent", { refresh: Infinity, close: Infinity });
    const left = Math.max(0, units - spent);
    const problem = `A call costs ${cost} units, and ${left} of the client's quota of ${units} are left`;
    if (cost > units) throw new QuotaExceededError(`${problem}; allowed: quota.units of at least ${cost}`);
    const resetsAt = this.resetsAt();
    const reset = new Date(resetsAt).toISOString();
    throw new QuotaExceededError(`${problem}; the next period begins at ${reset}`, "", resetsAt);
  }

  /**
   * Counts the expected cost of a request that goes out. The function that it returns takes the cost that the answer
   * names, if it does, and gives what the call has cost. The cost in a good answer is expected of the next calls, too.
   */
  charge(kind: CallKind): (weight: number | undefined, isGood: boolean) => number {
    const expected = this.#costs[kind];
    const charge: Charge = { cost: expected, isAhead: this.#isAhead() };
    this.#add(expected, charge.isAhead);
    this.#underWay.add(charge);
    return (weight, isGood) => {
      // A period that has begun meanwhile counts it, too.
      this.#ledgerNow();
      this.#underWay.delete(charge);
      const cost = weight ?? DEFAULT_COSTS[kind];
      if (isGood && cost > 0) this.#costs[kind] = cost;
      this.#add(cost - expected, this.#isAhead());
      return cost;
    };
  }

  /** The service says that nothing is left. */
  exhaust(): void {
    const { units } = this.#quota;
    if (units < Infinity) this.#add(Math.max(0, units - this.#ledgerNow().spent), this.#isAhead());
  }

  #add(cost: number, isAhead: boolean): void {
    this.#ledger = charged(this.#ledgerNow(), cost, isAhead);
  }

  /** Whether what is sent now may count for the next period. */
  #isAhead(): boolean {
    return Math.floor(this.#now().latest / this.#quota.per) > this.#ledgerNow().period;
  }

  #ledgerNow(): Ledger {
    this.#ledger = ledgerAt(this.#ledger, this.#quota, this.#now().earliest, this.#costUnderWay());
    return this.#ledger;
  }

  #costUnderWay(): number {
    let underWay = 0;
    for (const { cost, isAhead } of this.#underWay) if (!isAhead) underWay += cost;
    return underWay;
  }

  #enter(phase: string, { refresh, close }: PollThrottle): void {
    if (phase === this.#phase) return;
    this.#phase = phase;
    const { units } = this.#quota;
    this.#report({ spent: this.#ledger?.spent ?? 0, units, resetsAt: this.resetsAt(), refresh, close });
  }
}
