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

const READER = { offset: 0, drift: 0, series: 0, from: 0, until: undefined, since: { back: 0 } } as const;

/** A world in which JetStream answers nothing for a while. */
export function unanswered(seed: number): NatsPlan {
  const faults = [{ kind: "leaderless", from: 12_000, until: 20_000 }] as const;
  return calm({
    seed,
    collectors: onTime(1),
    subscribers: [READER],
    faults,
    lease: 30_000,
    healthyFrom: 20_000,
  });
}

/** A world of few swaps, of which many are taken back while nobody leads. */
export function takenBackMeanwhile(seed: number): NatsPlan {
  const market = { swaps: 0.5, settlesAfter: 3_000, late: 0.3, forks: 0.4, revisionWindow: 4 };
  const crashes = [0, 1, 2].map((turn) => {
    const from = 12_000 + 10_000 * turn;
    return { kind: "crash", from, until: from + 4_000, collector: 0, operation: 0, isSent: false } as const;
  });
  return calm({ seed, market, collectors: onTime(1), faults: crashes, length: 90_000, healthyFrom: 45_000 });
}

/** A world in which a series is asked for once, and then the leader dies for good. */
export function askedBeforeTakeover(seed: number, collector = 0): NatsPlan {
  const faults = [
    { kind: "asked", from: 0, until: 15_000, series: 1, askedFrom: 5_000, isOnce: true },
    { kind: "crash", from: 20_000, until: 79_000, collector, operation: 0, isSent: false },
  ] as const;
  return calm({ seed, collectors: onTime(2), faults, length: 80_000, healthyFrom: 80_000 });
}

/** A world in which some begin to read while a server is behind. */
export function readBehind(seed: number): NatsPlan {
  const subscribers = Array.from({ length: 6 }, (_, at) => {
    return { ...READER, from: 15_000 + 1_000 * at, since: { back: 10_000 } };
  });
  const faults = [{ kind: "server behind", from: 12_000, until: 30_000 }] as const;
  return calm({ seed, collectors: onTime(1), subscribers, faults, length: 60_000, healthyFrom: 30_000 });
}
