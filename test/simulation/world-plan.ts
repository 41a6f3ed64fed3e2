import type { ClientOptions, Network, WeekStart } from "../../src/index.js";
import type { ServiceQuirks, UnsettledOptions } from "../../src/service/index.js";
import type { Draw } from "./draw.js";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** The market, the service in front of it and the way there. */
export interface WorldPlan {
  /** The machine's clock at the start of the run. */
  readonly start: number;
  /** How far the service's clock is ahead of the machine's at the start, ms. */
  readonly offset: number;
  /** By how much it gains on the machine's, ms per ms. */
  readonly drift: number;
  readonly hasDate: boolean;
  readonly network: Network;
  readonly pairs: readonly string[];
  /** A pair for calls, which nobody watches. */
  readonly callPair: string;
  readonly market: "tape" | "simulated";
  /** By the service's clock. */
  readonly createdAt: number;
  /** Mean ms between swaps of a tape. */
  readonly swapEvery: number;
  /** A stretch of the past in which they were no further apart than `every`, ms. */
  readonly busy?: { readonly from: number; readonly until: number; readonly every: number };
  readonly weekStart: WeekStart;
  readonly quirks: ServiceQuirks;
  /** How late swaps are indexed, and how often forks take some back. */
  readonly indexing: Omit<UnsettledOptions, "seed"> | undefined;
  /** One way, ms. */
  readonly latency: {
    readonly base: number;
    readonly spread: number;
    readonly spikeRate: number;
    readonly spike: number;
  };
  /** The service's own limit, beyond which it answers 429. */
  readonly limiter:
    | { readonly requests: number; readonly per: number; readonly hasHint: boolean }
    | undefined;
  /** Two machines behind one address: the clock of one is the service's, that of the other is ahead of it. */
  readonly machines: MachinesPlan | undefined;
  /** Two copies of what the service knows, one of which is behind. */
  readonly replicas: ReplicasPlan | undefined;
  readonly cache: CachePlan | undefined;
  readonly client: Pick<ClientOptions, "timeout" | "retry" | "rateLimit" | "quota">;
}

/** How two take turns in answering. */
export interface Turns {
  /** How many answers in a row come from each. */
  readonly turns: number | "chance";
  /** How many come from the other one, where chance says which. */
  readonly share: number;
}

export interface MachinesPlan extends Turns {
  /** ms. */
  readonly ahead: number;
}

/** Both have the right time; one tells what was known before. */
export interface ReplicasPlan extends Turns {
  /** ms. */
  readonly lag: number;
}

/** A cache in front of the service. */
export interface CachePlan {
  /** For how long it gives the same answer to the same question, ms. */
  readonly keeps: number;
  /** Whether it tells the age of its answers by an `Age`; else only their `Date` does, which is the old one. */
  readonly tellsAge: boolean;
}

/** A market and a service to ask about it, of every kind that there may be. */
export function drawWorld(draw: Draw, length: number): WorldPlan {
  const start = drawStart(draw);
  const hasDate = draw.chance(0.8);
  const offset = draw.pick(
    [
      0,
      draw.whole(-999, 999),
      draw.whole(-4_000, 4_000),
      draw.whole(-HOUR, HOUR),
      -3 * 365 * DAY + draw.whole(0, 5_000),
      2 * 365 * DAY - draw.whole(0, 5_000),
    ].slice(0, hasDate ? undefined : 1),
  );
  const begins = start + offset;
  const createdAt = begins + Math.round(drawBirth(draw, length));
  const market = draw.chance(0.15) && createdAt > begins - 3 * HOUR ? "simulated" : "tape";
  const isFar = draw.chance(0.3);
  const machines = hasDate ? drawMachines(draw.fork("machines")) : undefined;
  const name = (at: number) => `pair${at}x${draw.whole(1e6, 9e6)}`;
  return {
    start,
    offset,
    drift: hasDate ? drawDrift(draw.fork("drift")) : 0,
    hasDate,
    network: draw.chance(0.85) || market === "simulated" ? "mainnet" : "devnet",
    pairs: draw.chance(0.3) ? [name(1), name(2)] : [name(1)],
    callPair: name(3),
    market,
    createdAt,
    swapEvery: draw.scaled(4_000, 15 * MINUTE),
    weekStart: draw.chance(0.7) ? "monday" : "thursday",
    quirks: drawQuirks(draw),
    indexing: draw.chance(0.6) ? drawIndexing(draw) : undefined,
    latency: {
      base: draw.chance(0.2) ? 0 : draw.scaled(1, isFar ? 400 : 40),
      spread: draw.chance(0.2) ? 0 : draw.scaled(1, isFar ? 400 : 60),
      spikeRate: draw.chance(0.4) ? draw.between(0, 0.05) : 0,
      spike: draw.scaled(500, 8_000),
    },
    limiter: draw.chance(0.3)
      ? { requests: draw.whole(20, 60), per: draw.pick([1_000, 4_000]), hasHint: draw.chance(0.5) }
      : undefined,
    machines,
    replicas: drawReplicas(draw.fork("replicas")),
    cache:
      drawCache(draw.fork("cache")) ??
      drawOddCache(draw.fork("odd cache"), hasDate && machines === undefined),
    client: {
      timeout: draw.chance(0.5) ? 10_000 : draw.scaled(2_000, 20_000),
      retry: draw.chance(0.15)
        ? false
        : {
            attempts: draw.whole(1, 4),
            baseDelay: draw.scaled(100, 1_000),
            maxDelay: draw.scaled(1_000, 8_000),
          },
      ...(draw.chance(0.1) ? { quota: { units: 150 * draw.scaled(10, 200), per: 600_000 } } : {}),
      ...(draw.chance(0.4)
        ? {}
        : {
            rateLimit: draw.chance(0.25)
              ? false
              : { requests: draw.whole(10, 40), per: draw.pick([1_000, 1_000, 4_000]) },
          }),
    },
  };
}

/** Clocks of computers drift by less. */
const FASTEST_DRIFT = 1e-4;

function drawDrift(draw: Draw): number {
  return draw.chance(0.9) ? 0 : draw.between(-FASTEST_DRIFT, FASTEST_DRIFT);
}

function drawMachines(draw: Draw): MachinesPlan | undefined {
  if (draw.chance(0.85)) return undefined;
  const turns = draw.pick(["chance", "chance", 1, 2] as const);
  return { ahead: draw.whole(400, 2_000), turns, share: draw.between(0.3, 0.7) };
}

function drawCache(draw: Draw): CachePlan | undefined {
  if (draw.chance(0.9)) return undefined;
  return { keeps: draw.scaled(1_000, 20_000), tellsAge: true };
}

/** One that keeps longer, and may hide how old an answer is where one clock dates it. */
function drawOddCache(draw: Draw, hasOneClock: boolean): CachePlan | undefined {
  if (draw.chance(0.9)) return undefined;
  return {
    keeps: draw.scaled(2_000, 60_000),
    // Without a Date nothing tells it from an answer that was made just now, and between two clocks little does.
    tellsAge: draw.chance(0.5) || !hasOneClock,
  };
}

function drawReplicas(draw: Draw): ReplicasPlan | undefined {
  if (draw.chance(0.93)) return undefined;
  const turns = draw.pick(["chance", "chance", 1, 2] as const);
  return { lag: draw.whole(1_000, 5_000), turns, share: draw.between(0.3, 0.7) };
}

/** At any time, and often just before a day, a month or a year begins. */
function drawStart(draw: Draw): number {
  const day = Date.UTC(2024, draw.whole(0, 23), draw.whole(1, 28));
  if (draw.chance(0.3)) return Date.UTC(2024, draw.whole(0, 23), 1) - draw.whole(0, 2 * HOUR);
  return day + draw.whole(0, DAY);
}

/** When the pair is created, after the start of the run. */
function drawBirth(draw: Draw, length: number): number {
  const kind = draw.weighed({ old: 5, young: 3, within: 2 });
  if (kind === "old") return -draw.scaled(DAY, 400 * DAY);
  if (kind === "young") return -draw.scaled(10 * SECOND, DAY);
  return draw.between(0, length / 3);
}

function drawQuirks(draw: Draw): ServiceQuirks {
  const emptyBeforeCreation = draw.chance(0.3);
  const pageSize = draw.weighed({ "as asked": 4, shorter: 1, longer: 1 });
  return {
    order: draw.weighed({ "newest-first": 5, "oldest-first": 2, shuffled: 2 }),
    // Of a service with both nobody could get the first candle.
    inclusive: draw.weighed({ start: 4, both: 2, neither: emptyBeforeCreation ? 0 : 2 }),
    cursor: draw.weighed({ null: 4, absent: 2, empty: 2 }),
    ...(pageSize === "as asked"
      ? {}
      : { pageSize: pageSize === "shorter" ? draw.scaled(40, 400) : draw.scaled(1_000, 10_000) }),
    trades: draw.chance(0.25),
    emptyBeforeCreation,
    pageAsText: draw.chance(0.2),
  };
}

function drawIndexing(draw: Draw): Omit<UnsettledOptions, "seed"> {
  return {
    settlesAfter: draw.scaled(2_000, 600_000),
    late: draw.chance(0.7) ? draw.between(0, 0.4) : 0,
    forks: draw.chance(0.7) ? draw.between(0, 0.6) : 0,
    silences: draw.chance(0.2) ? draw.between(0, 0.5) : 0,
  };
}
