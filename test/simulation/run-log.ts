import type { Candle, CandleEvent, ClientActivity, FeedStatus, SniperEvent } from "../../src/index.js";
import type { SwapSource } from "../../src/service/index.js";
import type { StoreLog } from "./disk.js";
import type { Exchange } from "./exchanges.js";
import type { Plan, WatcherPlan } from "./plan.js";

/** Something that a watcher was given, and when. */
export interface Seen<T> {
  /** The run's clock. */
  readonly at: number;
  /** How many exchanges the client had told of by then. */
  readonly order: number;
  readonly value: T;
}

/** One subscription, or call, from beginning to end. */
export interface StayLog {
  readonly id: number;
  readonly plan: WatcherPlan;
  /** When it subscribed and, once it has, left; the run's clock. */
  readonly joined: number;
  /** How many exchanges the client had told of by then. */
  readonly joinedOrder: number;
  left: number | undefined;
  leftOrder: number | undefined;
  readonly events: Seen<CandleEvent>[];
  readonly statuses: Seen<FeedStatus>[];
  readonly sniperEvents: Seen<SniperEvent>[];
  readonly candles: Seen<Candle>[];
  readonly answers: Seen<unknown>[];
  /** How it ended, unless somebody left. */
  ended: (Seen<unknown> & { readonly isError: boolean }) | undefined;
}

/** All that happened in the life of a client; a run has one, or more of them with one store. */
export interface RunLog {
  /** Of the watchers those of this life. */
  readonly plan: Plan;
  /** The lives before it. */
  readonly earlier: readonly RunLog[];
  /** Whether it is the last of its run. */
  readonly isLast: boolean;
  readonly store: StoreLog | undefined;
  readonly source: SwapSource;
  readonly exchanges: readonly Exchange[];
  /** Those that the client has told of, in that order. */
  readonly told: readonly Exchange[];
  readonly activities: readonly Seen<ClientActivity>[];
  /** What the client warns of: message and trouble. */
  readonly warnings: readonly Seen<readonly unknown[]>[];
  readonly stays: readonly StayLog[];
  readonly longestDelay: number;
  readonly oddDelay: number | undefined;
  /** After everybody had left. */
  readonly pendingTimers: number;
  readonly requestsBefore: number;
  readonly unaborted: readonly Exchange[];
}

/** A promise that a run has broken. */
export interface Breach {
  /** Of DESIGN §3. */
  readonly promise: number;
  readonly monitor: string;
  readonly what: string;
  /** ms after the start of the run. */
  readonly at: number;
}
