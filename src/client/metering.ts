import { type Observable, Subject } from "rxjs";
import type { Series } from "../contract/model.js";
import type { AnyPairstreamError } from "../errors.js";
import type { Intervals } from "../timeframe.js";

/** Whose answers a poll asks for; without a timeframe those are snipers. */
export type PolledFeed = Readonly<Series> | { readonly pairAddress: string; readonly timeframe?: undefined };

/** A poll that runs. */
export interface RunningPoll {
  readonly feed: PolledFeed;
  readonly state: "starting" | "live" | "stalled";
  /** When it began, by the scheduler. */
  readonly begunAt: number;
  /** Why the last of its slots failed; absent where none has since the last good answer. */
  readonly lastError: AnyPairstreamError | undefined;
}

/** A collector that works with the client. */
export interface RunningCollector {
  readonly group: string;
  /** Whether it leads its group, and may work now. */
  readonly isLeading: boolean;
}

interface KnownCandle {
  readonly candle: { readonly timestamp: number };
  readonly status: "open" | "closed" | "final";
}

/** What the streams and the collectors of a client tell its meters. */
export type Told =
  | {
      /** A poll has changed candles: those that it knew before, and when an answer told of it, by the service's clock. */
      readonly type: "candles";
      readonly series: Series;
      readonly rules: { readonly intervals: Intervals; readonly settle: number };
      readonly before: { readonly entries: readonly KnownCandle[]; readonly epoch: number | undefined };
      readonly changes: readonly (KnownCandle & { readonly type: "new" | "updated" | "removed" })[];
      readonly observedAt: number;
    }
  | {
      /** A collector begins to work. */
      readonly type: "collector";
      readonly group: string;
    }
  | {
      /** A collector has taken the lease of its group over, or has given it up. */
      readonly type: "lease";
      readonly group: string;
      readonly change: "taken" | "given-up";
    }
  | {
      /** What became of a message of a collector. */
      readonly type: "message";
      readonly group: string;
      readonly outcome: "stored" | "retried";
    }
  | {
      /** The streams or the lease of a collector could not be reached, or one of its feeds has failed for good. */
      readonly type: "trouble";
      readonly group: string;
      readonly what: "connection" | "feed";
    };

/** What the meters of a client can see, beside its activity. It costs next to nothing while there are none. */
export class Metering {
  readonly polls = new Set<RunningPoll>();
  readonly collectors = new Set<RunningCollector>();
  readonly #told = new Subject<Told>();
  readonly told: Observable<Told> = this.#told.asObservable();

  tell(make: () => Told): void {
    if (this.#told.observed) this.#told.next(make());
  }
}
