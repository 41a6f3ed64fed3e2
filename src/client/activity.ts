import { type Observable, Subject } from "rxjs";
import { ContractError, type PairstreamError } from "../errors.js";
import type { Priority } from "./limits/budget.js";
import type { Redactor } from "./send/redact.js";

/** What a client does, as it does it; told apart by `type`. URLs are path and query, without the origin. */
export type ClientActivity =
  | RequestActivity
  | ResponseActivity
  | RetryActivity
  | ThrottledActivity
  | QuotaActivity
  | ClockActivity
  | DroppedActivity;

/** A request goes out. */
export interface RequestActivity {
  readonly type: "request";
  /** When, by the client's scheduler, ms since the epoch. */
  readonly at: number;
  /** Path and query. */
  readonly url: string;
  /** 1 for the first attempt of a call. */
  readonly attempt: number;
  /** Who goes first under the rate limit: `close` before `refresh` (direct calls too) before `history`. */
  readonly priority: Priority;
}

/** A request has ended, well or badly; there is none for a request that its caller aborted. */
export interface ResponseActivity {
  readonly type: "response";
  /** When, by the client's scheduler, ms since the epoch. */
  readonly at: number;
  /** Path and query. */
  readonly url: string;
  /** 1 for the first attempt of a call. */
  readonly attempt: number;
  /** The HTTP status; absent where no answer came. */
  readonly status?: number;
  /** From the request to the whole body, or to the failure, in ms. */
  readonly duration: number;
  /** The units that it cost: the answer's `X-Request-Weight`, else 150 (OHLCV) or 50 (snipers); absent where no answer came. */
  readonly weight?: number;
  /** Why the answer cannot be used. */
  readonly error?: PairstreamError;
}

/**
 * An attempt has failed, and another one follows. Where a kept connection was closed before a byte of the answer had
 * come, it is the same attempt once more, with `delay: 0`.
 */
export interface RetryActivity {
  readonly type: "retry";
  /** When, by the client's scheduler, ms since the epoch. */
  readonly at: number;
  /** Path and query. */
  readonly url: string;
  /** The attempt that failed, from 1. */
  readonly attempt: number;
  /** How long from now the next one waits, in ms; the rate limit may make it longer. */
  readonly delay: number;
  /** Why it failed. */
  readonly error: PairstreamError;
}

/** A request has to wait: for the rate limit, or because the service answered 429. */
export interface ThrottledActivity {
  readonly type: "throttled";
  /** When, by the client's scheduler, ms since the epoch. */
  readonly at: number;
  /**
   * The instant at which the next request may go out, by the client's scheduler, ms since the epoch; absent while that
   * depends on when requests under way will have been answered.
   */
  readonly until?: number;
  /** The client's own `rateLimit`, or the service's 429. */
  readonly reason: "rate-limit" | "too-many-requests";
  /** How many requests wait. */
  readonly waiting: number;
}

/** The client's `quota` begins, or ceases, to stretch polls so that its units last for the period, or is spent. */
export interface QuotaActivity {
  readonly type: "quota";
  /** When, by the client's scheduler, ms since the epoch. */
  readonly at: number;
  /** Units spent in this period. */
  readonly spent: number;
  /** Units to be had in a period. */
  readonly units: number;
  /** When the next period begins, by the service's clock, ms since the epoch. */
  readonly resetsAt: number;
  /** How many times longer than asked for polls within an interval wait; 1: as asked, `Infinity`: they are left out. */
  readonly refresh: number;
  /** How many times longer polls at an interval's end wait, which are stretched last; as in `refresh`. */
  readonly close: number;
}

/** The service's clock is known, for the first time or anew. */
export interface ClockActivity {
  readonly type: "clock";
  /** When, by the client's scheduler, ms since the epoch. */
  readonly at: number;
  /** Whose clock the client goes by: the service's `Date`, or the scheduler's where answers have none. */
  readonly source: "date" | "scheduler";
  /** How far the service's clock is ahead of the scheduler's, in ms: the middle of what is possible. */
  readonly offset: number;
  /** How far from `offset` it may be, either way, in ms; 0 for the scheduler's clock, which is taken at its word. */
  readonly uncertainty: number;
  /** Whether the service's clock has jumped away from what was known. */
  readonly jumped: boolean;
}

/** A part of an answer that breaks the contract was left out, after several reads. */
export interface DroppedActivity {
  readonly type: "dropped";
  /** When, by the client's scheduler, ms since the epoch. */
  readonly at: number;
  /** Which part. */
  readonly what: "row";
  /** Path and query. */
  readonly url: string;
  /** The candle's timestamp in ms, or the wallet's address; `null` where the row does not tell. */
  readonly key: number | string | null;
  /** What is wrong with it. */
  readonly error: PairstreamError;
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
    const url = this.#redact.text(activity.url);
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
