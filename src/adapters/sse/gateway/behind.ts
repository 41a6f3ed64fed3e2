import { asyncScheduler, type SchedulerLike } from "rxjs";
import { type HistoryQuery, readHistory } from "../../../candles/history.js";
import { type BudgetPart, type Client, coreOf, type Starter, serviceNow } from "../../../client/core.js";
import { serviceTime } from "../../../client/service-clock.js";
import type { Candle, Series } from "../../../contract/model.js";
import { RateLimitError } from "../../../errors.js";
import { clientSource, type PairSource } from "../../../source.js";
import { clientWithin } from "../../wire/client-within.js";

const MINUTE = 60_000;
/** How far the clock of this machine may be ahead of the service's, in ms, where nothing tells that. */
const CLOCK_SLACK = 60_000;

/** What a gateway gets its streams and histories from. */
export interface Behind {
  readonly source: PairSource;
  readonly scheduler: SchedulerLike;
  /** The service's clock, as far as it is known. */
  now(): number;
  /** Notes that something is asked for now. What it gives tells, afterwards, when that was at least, by the service's clock. */
  asked(): () => number;
  /** Rejects as `readHistory` does, and with a `RateLimitError` where the budget is spent. */
  read(query: Series & HistoryQuery, signal: AbortSignal): Promise<readonly Candle[]>;
  /** Whether what was read once need not be kept. */
  readonly hasStore: boolean;
}

export function isSource(source: Client | PairSource): source is PairSource {
  return typeof (source as Partial<PairSource> | null | undefined)?.candles === "function";
}

/** A client; `requests`: how many its histories may send to the service in a minute. */
export function behindClient(client: Client, requests: number): Behind {
  const core = coreOf(client);
  const { scheduler } = core;
  const limited = clientWithin(client, new MinuteLimit(requests, () => scheduler.now()));
  return {
    source: clientSource(client),
    scheduler,
    now: () => serviceNow(core),
    asked: () => {
      const askedAt = scheduler.now();
      return () => serviceTime(core.serviceClock(), askedAt);
    },
    read: (query, signal) => readHistory(limited, query, signal),
    hasStore: core.store !== undefined,
  };
}

/** Another source, such as a gateway; `requests`: how many histories it is asked for in a minute. */
export function behindSource(
  source: PairSource,
  requests: number,
  scheduler: SchedulerLike = asyncScheduler,
): Behind {
  const now = () => scheduler.now();
  const limit = new MinuteLimit(requests, now);
  return {
    source,
    scheduler,
    now,
    asked: () => {
      const askedAt = now() - CLOCK_SLACK;
      return () => askedAt;
    },
    read: async (query, signal) => {
      limit.take();
      return source.history(query, { signal });
    },
    hasStore: false,
  };
}

/** The gateway's own limit, whose words may go out. */
export class HistoriesSpent extends RateLimitError {}

/** So many requests in any minute; one more is refused, as whoever asks can come again. */
class MinuteLimit implements BudgetPart {
  readonly #most: number;
  readonly #now: () => number;
  /** When each request of the last minute began. */
  #begun: readonly number[] = [];

  constructor(most: number, now: () => number) {
    this.#most = most;
    this.#now = now;
  }

  within(whole: Starter): Starter {
    return async (priority, signal, begin) => {
      this.take();
      return whole(priority, signal, begin);
    };
  }

  /** Counts a request, or throws a `RateLimitError`. */
  take(): void {
    const now = this.#now();
    // After the clock was set back nothing of before counts: it would count for too long.
    this.#begun = this.#begun.filter((at) => at <= now && now - at < MINUTE);
    const oldest = this.#begun[0];
    if (oldest !== undefined && this.#begun.length >= this.#most) {
      const message = `The gateway has used its ${this.#most} requests a minute for histories; try again later`;
      throw new HistoriesSpent(message, "", oldest + MINUTE - now);
    }
    this.#begun = [...this.#begun, now];
  }
}
