import { drawNatsPlan, type NatsPlan } from "./plan.js";

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

/** Collectors that begin at the same moment. */
export const onTime = (count: number) =>
  Array.from({ length: count }, () => ({ offset: 0, drift: 0, from: 20 }));

/** A world in which all is purged while messages are lost. */
export function purgedInLoss(seed: number): NatsPlan {
  const faults = [
    { kind: "messages", from: 10_000, until: 30_000, how: "lost", rate: 0.2 },
    { kind: "purge", from: 20_000, until: 20_000, what: "candles" },
  ] as const;
  return calm({ seed, collectors: onTime(1), faults, length: 60_000, healthyFrom: 30_000 });
}
