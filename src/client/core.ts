import type { Observable, SchedulerLike } from "rxjs";
import type { OhlcvPage, OhlcvQuery, SniperQuery, SniperReport } from "../contract/model.js";
import type { Quote } from "../contract/quote.js";
import { InvalidInputError, type PairstreamError } from "../errors.js";
import type { ClientActivity, Priority } from "./activity.js";
import type { ServingStore } from "./client-store.js";
import type { KnownPairs } from "./known-pairs.js";
import type { Budget } from "./limits/budget.js";
import type { RateLimit } from "./limits/places.js";
import type { Spending } from "./limits/spending.js";
import type { Metering, PolledFeed } from "./metering.js";
import { type ServiceClock, serviceTime } from "./service-clock.js";

/**
 * A client of one service: one key, one retry policy and one rate limit for all calls and streams. `createClient` makes
 * it.
 */
export interface Client {
  /**
   * One page of candles of `[fromDate, toDate)`, in the order served.
   *
   * Rejects with an `InvalidInputError` before any request, with another `PairstreamError` when the client's `retry` is
   * exhausted, and with the signal's reason when the signal aborts.
   */
  ohlcvPage(query: OhlcvQuery, options?: CallOptions): Promise<OhlcvPage>;
  /**
   * All pages of candles of `[fromDate, toDate)`. Each page is requested when the loop wants it. After the loop is left,
   * nothing runs on. `limit` is sent with the first request only. The last page has no `cursor`.
   *
   * Throws an `InvalidInputError` at the call. The loop throws the errors of `ohlcvPage`.
   */
  ohlcvPages(query: OhlcvQuery, options?: CallOptions): AsyncIterable<OhlcvPage>;
  /** The snipers of a pair. It rejects as `ohlcvPage` does. */
  sniperReport(query: SniperQuery, options?: CallOptions): Promise<SniperReport>;
  /** What the client does, for logs and metrics. It is hot, has no replay, and never errors or completes. */
  readonly activity: Observable<ClientActivity>;
}

/** Options of one call. */
export interface CallOptions {
  /** Ends the call at once. The call then rejects with the signal's `reason`. Default: none. */
  signal?: AbortSignal | undefined;
}

export type { Priority };

/** How often an attempt is made, and how long to wait before the next, in ms. */
export interface RetryRules {
  /** The first one counted; 1 means no retries. */
  readonly attempts: number;
  readonly baseDelay: number;
  readonly maxDelay: number;
}

/** What becomes of a call: a request goes out, an answer can be read, or an attempt has failed and is made again after `again` ms. */
export type CallNews =
  | { readonly type: "sent" }
  | { readonly type: "answer" }
  | { readonly type: "attempt"; readonly error: PairstreamError; readonly again: number };

/** One call of the service, retries included. */
export interface Call<T> {
  /** Path and query, such as `ohlcvRoute` gives; or what gives them for an attempt, by when that starts. */
  readonly route: string | ((now: number) => string);
  readonly priority: Priority;
  /** Reads the body; a `ContractError` thrown here is retried. What it shows of the body is quoted, without the key. */
  parse(text: string, quote: Quote): T;
  readonly signal?: AbortSignal | undefined;
  /** Whether the result depends on the service's clock: the call is repeated until the clock is certain. */
  readonly needsClock?: boolean;
  /** The part of the client's budget in which its attempts start; default: all of it. */
  readonly within?: BudgetPart | undefined;
  readonly tell?: ((news: CallNews) => void) | undefined;
}

/** Lets requests start. */
export type Starter = Budget["start"];

/** A part of a client's budget, such as a collector's. */
export interface BudgetPart {
  /** Lets requests start within the part, and then within the whole. */
  within(whole: Starter): Starter;
}

/** What a call has brought, and when. */
export interface CallResult<T> {
  readonly value: T;
  /** The service's clock when it answered, at least. */
  readonly observedAt: number;
  /** The epoch of the service's clock: instants of different epochs cannot be compared. */
  readonly epoch: number;
  /** Whether what was known of the service's clock contradicts this answer's `Date`: one of the two is wrong. */
  readonly isInDoubt: boolean;
}

/** What a page says of itself. */
export interface PageFacts {
  /** That of the next page; `undefined` on the last one. */
  readonly cursor: string | undefined;
  /** How many rows it has, refused ones and those outside the range included. */
  readonly rows: number;
  /** The instants of the earliest and the latest row, in ms; `first > last` if no row tells its instant. */
  readonly first: number;
  readonly last: number;
  /** How many pages the range, as last asked for, can fill; one more is refused. */
  readonly mostPages: number;
}

/** A page of a walk, as it was read: it may keep refused rows, and drop rows outside the range. */
export interface Paged {
  readonly facts: PageFacts;
}

/** A walk along the cursors of one range: a call for each page. */
export interface Walk<T extends Paged> extends Omit<Call<T>, "route" | "within"> {
  /**
   * The route of a request that starts at `now`: of the first one without `cursor`, of each later one with that of the
   * page before.
   */
  route(cursor: string | undefined, now: number): string;
  /** The cursor in the first route, if it has one. */
  readonly startedAt?: string | undefined;
}

/** Warns about a stream, or about the client where there is no feed; `failures`: in a row. */
export interface Warner {
  /** The one of the options: a session that is recorded has a clock of its own, to which a warning is nothing. */
  readonly scheduler: SchedulerLike;
  readonly warn: (
    text: string,
    feed: PolledFeed | undefined,
    error: PairstreamError | undefined,
    failures: number,
  ) => void;
}

/** What the streams use of a client; not part of the package's face. */
export interface ClientCore {
  /** Origin and path of `baseUrl`. */
  readonly service: string;
  readonly scheduler: SchedulerLike;
  readonly retry: RetryRules;
  /** ms for one attempt. */
  readonly timeout: number;
  /** The limit of the key; absent where there is none. */
  readonly rateLimit: RateLimit | undefined;
  /** What is known of the service's clock now. Every answer teaches it, errors included. */
  serviceClock(): ServiceClock;
  /** Asks, within the rate limit and with retries; rejects with the last error, or at once with `signal.reason`. */
  send<T>(ask: Call<T>): Promise<CallResult<T>>;
  /** What the client has spent, and how to make the rest last. */
  readonly spending: Pick<Spending, "resetsAt" | "join" | "pollThrottle" | "wholeThrottle" | "balance">;
  /** Tells the listeners of `activity`, if there are any. */
  report(activity: ClientActivity): void;
  /** What meters see of the streams and collectors. */
  readonly metering: Metering;
  /** What the streams of a client share while they run, by key: polls and histories. Only they read it. */
  readonly shared: Map<string, unknown>;
  /** Absent where the client has no store. */
  readonly store: ServingStore | undefined;
  /** Absent where the client is silent. */
  readonly warner?: Warner | undefined;
  /** What was learned about pairs, for the next stream of a pair. */
  readonly pairs: KnownPairs;
}

/** The service's clock at present, by the middle of what is known. */
export function serviceNow(core: Pick<ClientCore, "scheduler" | "serviceClock">): number {
  return serviceTime(core.serviceClock(), core.scheduler.now());
}

const CORE = Symbol("core");

/** Joins a client's face and core. */
export function clientOf(face: Client, core: ClientCore): Client {
  Object.defineProperty(face, CORE, { value: core });
  return Object.freeze(face);
}

/** Whether it is what `createClient` of this copy has made. */
export function isClient(value: unknown): value is Client {
  return (value as { [CORE]?: ClientCore } | null | undefined)?.[CORE] !== undefined;
}

/** The core of a client; throws an `InvalidInputError` for what `createClient` has not made. */
export function coreOf(client: Client): ClientCore {
  const core = (client as { [CORE]?: ClientCore } | null | undefined)?.[CORE];
  if (core !== undefined) return core;
  const kind =
    client === null
      ? "null"
      : typeof client === "object" && "pairAddress" in client
        ? "what to watch: the client comes first"
        : `of type ${typeof client}, and was not made by this copy of pairstream (are two installed?)`;
  throw new InvalidInputError("client", "what createClient returns", `is ${kind}`);
}
