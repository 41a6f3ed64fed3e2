import { drawNatsPlan, type NatsPlan, sleepOverLoss } from "./plan.js";

/** A world of three series of `1s`, in which nothing goes wrong. */
export const calm = (more: Partial<NatsPlan>): NatsPlan => ({
  ...drawNatsPlan(5),
  length: 40_000,
  healthyFrom: 40_000,
  pairs: ["one", "two", "three"],
  timeframe: "1s",
  interval: 1_000,
  every: "close",
  market: { swaps: undefined, settlesAfter: 1_000, late: 0.2, forks: 0.3, revisionWindow: 2 },
  others: undefined,
  lease: 4_000,
  isTight: false,
  limit: { requests: 60, per: 1_000 },
  retention: undefined,
  subscribers: [],
  faults: [],
  ...more,
});

/** The world of a seed in which a collector sleeps past its lease, and wakes up just after all leases were lost. */
export function asleepOverLoss(seed: number): NatsPlan {
  const plan = drawNatsPlan(seed);
  return { ...plan, faults: sleepOverLoss({ collector: 0, lease: plan.lease, at: 20_000, wakesAfter: 30 }) };
}

/** Collectors that begin at the same moment. */
export const onTime = (count: number) =>
  Array.from({ length: count }, () => ({ offset: 0, drift: 0, from: 20 }));
