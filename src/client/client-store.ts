import type { SchedulerLike } from "rxjs";
import type { Series, Timeframe, WeekStart } from "../contract/model.js";
import type { CandleStore } from "../contract/store.js";
import type { PairstreamError } from "../errors.js";
import type { StoreActivity } from "./activity.js";

/** What a store needs of the client that it serves. */
export interface StoreMeans {
  /** Origin and path of the client's `baseUrl`. */
  readonly service: string;
  readonly scheduler: SchedulerLike;
  /** How long the store may take to answer, in ms. */
  readonly timeout: number;
  report(activity: StoreActivity): void;
  /** Says what a user should know; absent where nobody is warned. */
  readonly warn?: ((text: string, error: PairstreamError) => void) | undefined;
}

/** A store at the service of one client. */
export interface ServingStore {
  /** What is stored of a series, to be closed once; `openStored` of the candles knows what else it can do. */
  open(series: Series<Timeframe>, weekStart: WeekStart): { close(): void };
}

/**
 * What a store brings along for a client: a program without a store does not download it. A registered symbol: a client
 * takes the stores of every loaded copy of this package.
 */
export const SERVE: unique symbol = Symbol.for("pairstream.store");

/**
 * A store as `createClient` takes it. `sqliteStore`, `indexedDbStore` and `memoryStore` of `pairstream/store` are such
 * stores, and `candleStore` makes one of a store of your own.
 *
 * ```ts
 * import { createClient } from "pairstream";
 * import type { ClientStore } from "pairstream/store";
 *
 * const clientWith = (store: ClientStore) =>
 *   createClient({ baseUrl: "https://api.example.com", apiKey: "…", store });
 * ```
 */
export interface ClientStore extends CandleStore {
  /** Only the stores of `pairstream/store` have it. */
  readonly [SERVE]: unknown;
}

/** The same, as the client knows it. */
export interface ServableStore extends ClientStore {
  readonly [SERVE]: (this: CandleStore, means: StoreMeans) => ServingStore;
}
