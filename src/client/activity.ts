import { type Observable, Subject } from "rxjs";
import type { Series } from "../contract/model.js";
import type { StoreKey } from "../contract/store.js";
import { type AnyPairstreamError, ContractError } from "../errors.js";
import type { Redactor } from "./send/redact.js";

/** Who goes first when the rate limit lets only some go; the first named goes first. */
export type Priority = "close" | "refresh" | "history";

/** One thing that a client does; `type` says which. URLs are path and query, without the origin. */
export type ClientActivity =
  | RequestActivity
  | ResponseActivity
  | RetryActivity
  | ThrottledActivity
  | QuotaActivity
  | ClockActivity
  | DroppedActivity
  | StoreActivity;

/** A request is sent. */
export interface RequestActivity {
  readonly type: "request";
  /** When, by the client's scheduler, ms since the epoch. */
  readonly at: number;
  /** Path and query. */
  readonly url: string;
  /** 1 for the first attempt of a call. */
  readonly attempt: number;
  /** The order under the rate limit: `close` before `refresh` (direct calls too) before `history`. */
  readonly priority: Priority;
}

/** A request has ended, with or without success. A request that its caller aborted has no such activity. */
export interface ResponseActivity {
  readonly type: "response";
  /** When, by the client's scheduler, ms since the epoch. */
  readonly at: number;
  /** Path and query. */
  readonly url: string;
  /** 1 for the first attempt of a call. */
  readonly attempt: number;
  /** The HTTP status; absent if no answer came. */
  readonly status?: number;
  /** The time from the request to the whole body, or to the failure, in ms. */
  readonly duration: number;
  /** The cost in units: the answer's `X-Request-Weight`, else 150 (OHLCV) or 50 (snipers); absent if no answer came. */
  readonly weight?: number;
  /** The size of the body in bytes, unpacked, as a tape holds it, without the key; absent if no answer came. */
  readonly bytes?: number;
  /** Why the answer cannot be used. */
  readonly error?: AnyPairstreamError;
}

/**
 * An attempt has failed, and another one follows. If a kept connection was closed before the first byte of the answer,
 * the same attempt is made once more, with `delay: 0`.
 */
export interface RetryActivity {
  readonly type: "retry";
  /** When, by the client's scheduler, ms since the epoch. */
  readonly at: number;
  /** Path and query. */
  readonly url: string;
  /** The attempt that failed, from 1. */
  readonly attempt: number;
  /** How long until the next attempt, in ms; the rate limit may make it longer. */
  readonly delay: number;
  /** Why it failed. */
  readonly error: AnyPairstreamError;
}

/** A request has to wait: for the rate limit, or because the service answered 429. */
export interface ThrottledActivity {
  readonly type: "throttled";
  /** When, by the client's scheduler, ms since the epoch. */
  readonly at: number;
  /**
   * When the next request may be sent at the latest, by the client's scheduler, ms since the epoch; absent while that
   * depends on the answers to requests under way.
   */
  readonly until?: number;
  /** The cause: the client's own `rateLimit`, or a 429 of the service. */
  readonly reason: "rate-limit" | "too-many-requests";
  /** How many requests wait. */
  readonly waiting: number;
}

/** The client's `quota` begins or stops to stretch polls, so that its units last for the period, or it is spent. */
export interface QuotaActivity {
  readonly type: "quota";
  /** When, by the client's scheduler, ms since the epoch. */
  readonly at: number;
  /** Units spent in this period. */
  readonly spent: number;
  /** The units of a period. */
  readonly units: number;
  /** When the next period begins, by the service's clock, ms since the epoch. */
  readonly resetsAt: number;
  /** How many times longer than `every` polls within an interval wait; 1: no longer, `Infinity`: they are left out. */
  readonly refresh: number;
  /** How many times longer than usual polls at the end of an interval wait, and those for snipers: both are stretched last. */
  readonly close: number;
}

/** The service's clock is known, for the first time or again. */
export interface ClockActivity {
  readonly type: "clock";
  /** When, by the client's scheduler, ms since the epoch. */
  readonly at: number;
  /** The clock that the client uses: the service's `Date`, or the scheduler's if answers have none. */
  readonly source: "date" | "scheduler";
  /** How far the service's clock is ahead of the scheduler's, in ms: the middle of what is possible. */
  readonly offset: number;
  /** The largest error of `offset`, either way, in ms; 0 for the scheduler's clock, which counts as exact. */
  readonly uncertainty: number;
  /** Whether the service's clock has jumped. */
  readonly jumped: boolean;
}

/** A part of an answer that breaks the contract was left out, after several reads. */
export interface DroppedActivity {
  readonly type: "dropped";
  /** When, by the client's scheduler, ms since the epoch. */
  readonly at: number;
  /** Which part. */
  readonly what: "row";
  /** Whether a poll has left it out, or a history: of `since`, or of an audit. */
  readonly reading: "poll" | "history";
  /** The pair. */
  readonly pairAddress: string;
  /** The series; absent for snipers. */
  readonly series?: Series;
  /** Path and query. */
  readonly url: string;
  /** The candle's timestamp in ms, or the wallet's address; `null` if the row does not have it. */
  readonly key: number | string | null;
  /** What is wrong with it. */
  readonly error: AnyPairstreamError;
}

/**
 * The client's store has failed, has taken longer than the client's `timeout`, or contradicts itself. If a read fails, the
 * candles are requested from the service. A write that fails is repeated a little later. A contradictory span is forgotten,
 * once.
 */
export interface StoreActivity {
  readonly type: "store";
  /** When, by the client's scheduler, ms since the epoch. */
  readonly at: number;
  /** The operation of the store. */
  readonly operation: "read" | "write" | "forget";
  /** The series, and the service. */
  readonly key: StoreKey;
  /** Start of the span, inclusive, ms since the epoch. */
  readonly from: number;
  /** End of the span, exclusive, ms since the epoch. */
  readonly to: number;
  /** What went wrong; its `cause` is the store's own error, if there is one. */
  readonly error: AnyPairstreamError;
}

/** Emits what the client does, and costs next to nothing while nobody listens. */
export class ActivityFeed {
  readonly #redact: Redactor;
  readonly #subject = new Subject<ClientActivity>();
  readonly stream: Observable<ClientActivity> = this.#subject.asObservable();

  constructor(redact: Redactor) {
    this.#redact = redact;
  }

  emit(activity: () => ClientActivity): void {
    if (this.#subject.observed) this.#subject.next(Object.freeze(this.#redacted(activity())));
  }

  /** The activity without the key. Errors about rows are cleaned here; all others are made without it. */
  #redacted(activity: ClientActivity): ClientActivity {
    if (!("url" in activity)) return activity;
    const url = this.#redact.route(activity.url);
    if (activity.type !== "dropped") return { ...activity, url };
    const { key, error } = activity;
    return {
      ...activity,
      url,
      key: typeof key === "string" ? this.#redact.text(key) : key,
      error: error instanceof ContractError ? this.#redact.contractError(error) : error,
    };
  }
}
