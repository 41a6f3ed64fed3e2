import type { CollectorActivity } from "../../../src/adapters/nats/index.js";
import type { Candle, CandleEvent, FeedStatus } from "../../../src/index.js";
import type { NatsPlan, SubscriberPlan } from "./plan.js";

/** A request as it reached the service. */
export interface Arrival {
  /** When it got there, and when it was sent, by the world's clock. */
  readonly at: number;
  readonly sent: number;
  readonly pair: string;
  readonly collector: number;
  readonly life: number;
  /** Whether its collector had given it up by then. */
  readonly isGivenUp: boolean;
}

/** A status that was stored although candles of the range that it covers were gone. */
export interface Uncovered {
  readonly at: number;
  readonly subject: string;
  /** Their timestamps, and when they were stored last. */
  readonly gone: readonly { readonly timestamp: number; readonly storedAt: number }[];
}

/** What the service has shown a collector of a pair. */
export interface Shown {
  /** When it got there, by the world's clock. */
  readonly at: number;
  readonly pair: string;
  /** The range that it is about, by the service's clock, and the candles in it. */
  readonly from: number;
  readonly until: number;
  readonly timestamps: ReadonlySet<number>;
}

/** One life of a collector. */
export interface CollectorLife {
  readonly collector: number;
  readonly life: number;
  readonly began: number;
  /** When it died or had left. */
  ended: number | undefined;
  /** What the service has answered it. */
  readonly shown: Shown[];
  readonly activities: { readonly at: number; readonly activity: CollectorActivity }[];
  error: unknown;
}

/** One subscription. */
export interface SubscriberLog {
  readonly number: number;
  readonly plan: SubscriberPlan;
  readonly joined: number;
  /** From which instant on its history was asked for; `undefined` where by count, or not at all. */
  readonly since: number | undefined;
  left: number | undefined;
  readonly events: { readonly at: number; readonly event: CandleEvent }[];
  readonly statuses: { readonly at: number; readonly status: FeedStatus }[];
  readonly breaches: { readonly at: number; readonly what: string }[];
  readonly known: Map<number, CandleEvent>;
  error: unknown;
}

/** All that happened in a run; instants are those of the world's clock. */
export interface NatsLog {
  readonly plan: NatsPlan;
  readonly ends: number;
  readonly arrivals: readonly Arrival[];
  readonly lives: readonly CollectorLife[];
  readonly subscribers: readonly SubscriberLog[];
  /** Messages of an earlier lease that replaced one of a later lease. */
  readonly unfenced: readonly { readonly at: number; readonly what: string }[];
  /** Changes of a candle that were stored under a revision that is no higher than the one before. */
  readonly unordered: readonly { readonly at: number; readonly what: string }[];
  readonly uncovered: readonly Uncovered[];
  readonly stored: number;
  readonly faults: Readonly<Record<string, number>>;
  /** By pair, what is stored at the end: the texts by the last parts of their subjects. */
  readonly kept: ReadonlyMap<string, ReadonlyMap<string, string>>;
  /** By pair, the candles as the service has them at the end. */
  readonly truth: ReadonlyMap<string, ReadonlyMap<number, Candle>>;
  /** By the service's clock: what began before does not change any more. */
  readonly settledUntil: number;
  /** After all have left: what is still there. */
  readonly left: { readonly timers: number; readonly consumers: number; readonly waiting: number };
  /** The most messages that the streams have kept, and the most consumers that there were. */
  readonly most: { readonly messages: number; readonly consumers: number };
}

/** A promise that a run has broken. */
export interface NatsBreach {
  readonly monitor: string;
  readonly what: string;
  /** In ms after the start. */
  readonly at: number;
}

/** Notes that a promise was broken, and when. */
export type Tell = (what: string, at: number) => void;
