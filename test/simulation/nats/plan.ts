import type { Timeframe } from "../../../src/index.js";
import { Draw } from "../draw.js";

const SECOND = 1_000;
const HOUR = 3_600_000;

/** What the machine of a process is like. */
export interface MachinePlan {
  /** How far its clock is ahead at the start, in ms. */
  readonly offset: number;
  /** By how much its clock runs too fast: 0.0005 is 0.5 ms a second. */
  readonly drift: number;
}

interface CollectorPlan extends MachinePlan {
  /** When it begins, in ms after the start. */
  readonly from: number;
}

export interface SubscriberPlan extends MachinePlan {
  /** The number of its series. */
  readonly series: number;
  readonly from: number;
  readonly until: number | undefined;
  /** Where its history begins: so many ms before it subscribes, or so many candles; none where absent. */
  readonly since: { readonly back: number } | { readonly candles: number } | undefined;
}

/** Who something happens to: a collector or a subscriber, by number. */
export type Whom = { readonly collector: number } | { readonly subscriber: number };

/** Something that goes wrong; times in ms after the start. */
export type NatsFault = { readonly from: number; readonly until: number } & (
  | { readonly kind: "cut"; readonly whom: Whom; readonly side: "servers" | "service" | "both" }
  | { readonly kind: "pause"; readonly whom: Whom }
  /** It dies with its n-th message or request from then on, before or after that is sent; then it begins anew. */
  | {
      readonly kind: "crash";
      readonly collector: number;
      readonly operation: number;
      readonly isSent: boolean;
    }
  /** It leaves and tells the others; then it begins anew. */
  | { readonly kind: "leave"; readonly collector: number }
  | { readonly kind: "clock set"; readonly whom: Whom; readonly by: number }
  | {
      readonly kind: "messages";
      readonly how: "lost" | "late" | "doubled" | "swapped";
      readonly rate: number;
    }
  | { readonly kind: "leaderless" }
  /** One server of the cluster has nothing of what is stored meanwhile, and a third of all new consumers get to it. */
  | { readonly kind: "server behind" }
  | { readonly kind: "servers restart" }
  | { readonly kind: "servers' clock set"; readonly by: number }
  | { readonly kind: "service's clock set"; readonly by: number }
  | { readonly kind: "service down"; readonly rate: number }
  | { readonly kind: "purge" | "deleted"; readonly what: "candles" | "leases" }
  /**
   * A series stands in no list, but is asked for from an instant on, again and again, or until it is taken up;
   * `until` is when it has to be there.
   */
  | { readonly kind: "asked"; readonly series: number; readonly askedFrom: number; readonly isOnce?: boolean }
);

/** How much the service has to tell, and for how long that changes. */
interface MarketPlan {
  /** How many swaps a pair has in an interval on average; `undefined` for several in each. */
  readonly swaps: number | undefined;
  /** The age in ms from which a swap no longer changes: less than that of a candle that becomes final. */
  readonly settlesAfter: number;
  /** The share of swaps that appear late. */
  readonly late: number;
  /** The chance of a fork in each `settlesAfter`; in a sparse market, the share of swaps that are taken back. */
  readonly forks: number;
  readonly revisionWindow: number;
}

/** Collectors and subscribers, by number, of another version of the package or with another setting. */
export type OthersPlan = {
  readonly collectors: readonly number[];
  readonly subscribers: readonly number[];
} & (
  | { readonly kind: "additions" }
  /** Their messages and leases are of a version that is higher or lower by so much. */
  | { readonly kind: "version"; readonly by: 1 | -1 }
  /** Their leases last so long, in ms. */
  | { readonly kind: "rules"; readonly lease: number }
);

/** A world of collectors and subscribers, and what goes wrong there. */
export interface NatsPlan {
  readonly seed: number;
  readonly start: number;
  readonly length: number;
  /** From here on nothing goes wrong any more. */
  readonly healthyFrom: number;
  readonly pairs: readonly string[];
  readonly timeframe: Timeframe;
  readonly every: number | "close";
  readonly interval: number;
  readonly market: MarketPlan;
  readonly lease: number;
  /** Whether every request that the key allows is made. */
  readonly isTight: boolean;
  readonly limit: { readonly requests: number; readonly per: number };
  readonly timeout: number;
  readonly retention: number | undefined;
  /** How far the service's clock is ahead, in ms. */
  readonly serviceOffset: number;
  /** One way, in ms: to the servers and to the service, and by how much longer the latter takes at most. */
  readonly latency: {
    readonly servers: number;
    readonly service: number;
    readonly spread: number;
  };
  readonly collectors: readonly CollectorPlan[];
  readonly subscribers: readonly SubscriberPlan[];
  /** Absent where all are alike. */
  readonly others?: OthersPlan | undefined;
  readonly faults: readonly NatsFault[];
}

/** The part of the spread by which the way to the servers varies. */
export const SPREAD_OF_SERVERS = 0.2;

/** Whether a process is one of the others. */
export function isOther({ others }: Pick<NatsPlan, "others">, whom: Whom): boolean {
  if ("collector" in whom) return others?.collectors.includes(whom.collector) === true;
  return others?.subscribers.includes(whom.subscriber) === true;
}

/** What the name of everything begins with. */
export const NAME = "p";

/** The plan of a seed, of a world that lives for so many seconds. */
export function drawNatsPlan(seed: number, seconds = 0): NatsPlan {
  const draw = new Draw(`nats ${seed}`);
  const count = draw.fork("count");
  const collectors = count.whole(2, 7);
  const size = count.scaled(1, 50);
  const isQuick = size <= 12;
  const timeframe = isQuick ? "1s" : "10s";
  const interval = isQuick ? SECOND : 10 * SECOND;
  const lease = draw.scaled(1_000, 8_000);
  const every = draw.chance(0.5) ? "close" : interval / 2;
  const isTight = isQuick && draw.chance(0.4);
  const pairs = Array.from({ length: size }, (_, at) => `pair${at}x${draw.whole(1e6, 9e6)}`);
  const per = draw.pick([1_000, 2_000]);
  const demand = (size * per) / (every === "close" ? interval : every);
  const requests = isTight ? 2 * size : Math.ceil(2 * demand) + 4;
  const length = (seconds > 0 ? seconds : draw.whole(70, 150)) * SECOND;
  const start = Date.UTC(2026, 0, 1) + draw.whole(0, HOUR);
  const timeout = draw.whole(1_500, 4_000);
  const retention = draw.chance(0.1) ? draw.whole(20, 60) * SECOND : undefined;
  const serviceOffset = draw.pick([0, draw.whole(-5_000, 5_000)]);
  const latency = {
    servers: draw.scaled(1, 20),
    service: draw.scaled(2, 100),
    spread: draw.scaled(1, 50),
  };
  const healthyFrom = Math.round(length - 30 * SECOND - 2 * lease - 2 * interval);
  const machine = (of: Draw): MachinePlan => ({
    offset: of.pick([0, of.whole(-900, 900), of.whole(-HOUR, HOUR)]),
    drift: of.pick([0, of.between(-5e-4, 5e-4)]),
  });
  const people = draw.fork("people");
  const faults = draw.fork("faults");
  const plan = {
    seed,
    start,
    length,
    healthyFrom,
    pairs,
    timeframe,
    every: isTight ? interval / 2 : every,
    interval,
    // A silent pair is asked for a second time where an answer proves nothing: a tight limit has no room for that.
    market: drawMarket(draw.fork("market"), interval, isTight),
    lease,
    isTight,
    limit: { requests, per: isTight ? 1_000 : per },
    timeout,
    retention,
    serviceOffset,
    latency,
    collectors: Array.from({ length: collectors }, (_, at) => {
      const of = people.fork(`collector ${at}`);
      return { ...machine(of), from: of.chance(0.6) ? of.whole(0, 200) : of.whole(0, healthyFrom) };
    }),
    subscribers: Array.from({ length: people.whole(1, 6) }, (_, at) => {
      const of = people.fork(`subscriber ${at}`);
      const from = of.chance(0.4) ? of.whole(0, 500) : of.whole(0, length - 10 * SECOND);
      return {
        ...machine(of),
        series: of.whole(0, size - 1),
        from,
        until: of.chance(0.75) ? undefined : from + of.whole(1_000, length),
        since: of.pick([undefined, { candles: of.whole(1, 30) }, { back: of.whole(0, from + 20 * SECOND) }]),
      };
    }),
    faults: [],
  } satisfies NatsPlan;
  const others = drawOthers(draw.fork("others"), plan);
  const isBearable = (fault: NatsFault) =>
    // Where the leases are lost, the version that comes first is another one, and both have refused one another then.
    !(others?.kind === "version" && "what" in fault && fault.what === "leases");
  const drawn = drawFaults(faults, plan).filter(isBearable);
  return { ...plan, others, faults: [...drawn, ...drawAsked(draw.fork("asked"), { ...plan, others })] };
}

/** How long a series that is asked for may take until it is there, in ms. */
const ASKED_WITHIN = 10_000;

function drawAsked(draw: Draw, { pairs, others, healthyFrom }: Omit<NatsPlan, "faults">): NatsFault[] {
  // Another version refuses whoever asks.
  const isRefused = others?.kind === "version";
  if (!draw.chance(0.2) || isRefused || healthyFrom < 2 * ASKED_WITHIN) return [];
  const askedFrom = draw.whole(0, healthyFrom - ASKED_WITHIN);
  const series = draw.whole(0, pairs.length - 1);
  return [{ kind: "asked", from: 0, until: askedFrom + ASKED_WITHIN, series, askedFrom }];
}

function drawOthers(
  draw: Draw,
  { collectors, subscribers, lease }: Pick<NatsPlan, "collectors" | "subscribers" | "lease">,
): OthersPlan | undefined {
  if (!draw.chance(0.3)) return undefined;
  const kind = draw.weighed({ additions: 3, version: 2, rules: 1 });
  const some = (of: readonly unknown[]) => [...of.keys()].filter(() => draw.chance(0.5));
  const whom = { collectors: some(collectors), subscribers: some(subscribers) };
  if (kind === "version") return { ...whom, kind, by: draw.pick([1, -1] as const) };
  return kind === "rules" ? { ...whom, kind, lease: Math.round(1.5 * lease) } : { ...whom, kind };
}

const BUSY: MarketPlan = {
  swaps: undefined,
  settlesAfter: SECOND,
  late: 0.2,
  forks: 0.3,
  revisionWindow: 2,
};

function drawMarket(draw: Draw, interval: number, isTight: boolean): MarketPlan {
  if (isTight || draw.chance(0.6)) return BUSY;
  const revisionWindow = draw.whole(2, 5);
  return {
    swaps: draw.scaled(20, 150) / 100,
    settlesAfter: draw.whole(SECOND, Math.min(15 * SECOND, (revisionWindow - 1) * interval)),
    late: draw.between(0.1, 0.4),
    forks: draw.between(0.05, 0.4),
    revisionWindow,
  };
}

const KINDS: Readonly<Record<Exclude<NatsFault["kind"], "server behind" | "asked">, number>> = {
  cut: 6,
  pause: 5,
  crash: 6,
  leave: 3,
  "clock set": 2,
  messages: 4,
  leaderless: 1.5,
  "servers restart": 1,
  "servers' clock set": 1,
  "service's clock set": 1,
  "service down": 1,
  purge: 1,
  deleted: 1,
};

function drawFaults(draw: Draw, plan: Omit<NatsPlan, "faults">): NatsFault[] {
  const { healthyFrom, lease } = plan;
  const most = draw.chance(0.1) ? 0 : draw.whole(1, 8);
  const drawn = Array.from({ length: most }, (_, at) => drawFault(draw.fork(at), plan, healthyFrom, lease));
  const asleep = draw.fork("asleep");
  const earliest = 2 * lease;
  const isAsleep = asleep.chance(0.1) && earliest + 1_000 < healthyFrom;
  const sleep = isAsleep
    ? sleepOverLoss({
        collector: asleep.whole(0, plan.collectors.length - 1),
        lease,
        at: asleep.whole(earliest, healthyFrom - 1_000),
        wakesAfter: asleep.scaled(10, 1_000),
      })
    : [];
  const behind = drawServersBehind(draw.fork("behind"), healthyFrom);
  return [...drawn, ...behind, ...sleep].sort((a, b) => a.from - b.from);
}

/** A collector sleeps past its lease, and wakes up soon after all leases were lost. */
function sleepOverLoss({
  collector,
  lease,
  at,
  wakesAfter,
}: {
  readonly collector: number;
  readonly lease: number;
  readonly at: number;
  readonly wakesAfter: number;
}): NatsFault[] {
  return [
    { kind: "pause", from: Math.round(at - 2 * lease), until: at + wakesAfter, whom: { collector } },
    { kind: "purge", from: at, until: at, what: "leases" },
  ];
}

/** Several in a row, as one that nobody begins to read from shows nothing. */
function drawServersBehind(draw: Draw, healthyFrom: number): NatsFault[] {
  const faults: NatsFault[] = [];
  if (draw.chance(0.7)) return faults;
  for (let from = draw.whole(0, healthyFrom); from < healthyFrom; from += draw.scaled(1_000, 30_000)) {
    const until = Math.min(healthyFrom, from + draw.scaled(50, 15_000));
    faults.push({ kind: "server behind", from, until });
    from = until;
  }
  return faults;
}

function drawFault(
  draw: Draw,
  { collectors, subscribers }: Pick<NatsPlan, "collectors" | "subscribers">,
  healthyFrom: number,
  lease: number,
): NatsFault {
  const kind = draw.weighed(KINDS);
  const from = draw.whole(0, healthyFrom - 1_000);
  const lasts = (least: number, most: number) => ({
    from,
    until: Math.min(healthyFrom, from + draw.scaled(least, most)),
  });
  const collector = draw.whole(0, collectors.length - 1);
  const whom: Whom = draw.chance(0.75)
    ? { collector }
    : { subscriber: draw.whole(0, subscribers.length - 1) };
  const at = { from, until: from };
  switch (kind) {
    case "cut":
      return { kind, ...lasts(200, 30_000), whom, side: draw.pick(["servers", "service", "both"] as const) };
    case "pause":
      return { kind, ...lasts(200, 4 * lease), whom };
    case "crash":
      return {
        kind,
        ...lasts(500, 20_000),
        collector,
        operation: draw.whole(0, 30),
        isSent: draw.chance(0.5),
      };
    case "leave":
      return { kind, ...lasts(500, 20_000), collector };
    case "clock set":
      return { kind, ...at, whom, by: draw.pick([-1, 1]) * draw.scaled(10, 600_000) };
    case "messages":
      return {
        kind,
        ...lasts(1_000, 30_000),
        how: draw.pick(["lost", "late", "doubled", "swapped"] as const),
        rate: draw.between(0.02, 0.3),
      };
    case "leaderless":
      return { kind, ...lasts(1_000, 30_000) };
    case "servers restart":
      return { kind, ...lasts(500, 10_000) };
    case "servers' clock set":
      return { kind, ...at, by: draw.whole(-900, 900) };
    case "service's clock set":
      return { kind, ...at, by: draw.whole(-3_000, 3_000) };
    case "service down":
      return { kind, ...lasts(1_000, 20_000), rate: draw.between(0.1, 1) };
    case "purge":
    case "deleted":
      return { kind, ...at, what: draw.chance(0.7) ? "candles" : "leases" };
  }
}
