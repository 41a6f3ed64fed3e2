import { type Observable, Subject } from "rxjs";
import type { Series } from "../contract/model.js";
import type { AnyPairstreamError } from "../errors.js";

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
  /** How many slots it holds and may work on now. */
  readonly slots: number;
}

/** What the streams and the collectors of a client tell its meters. */
export type Told =
  | {
      /** A poll has changed candles. */
      readonly type: "candles";
      readonly series: Series;
      readonly changes: readonly {
        readonly type: "new" | "updated" | "removed";
        readonly status: "open" | "closed" | "final";
      }[];
      /** For each candle that is seen closed for the first time: how long that had been due, in ms. */
      readonly closedLateBy: readonly number[];
    }
  | {
      /** A collector begins to work. */
      readonly type: "collector";
      readonly group: string;
    }
  | {
      /** A collector has taken a slot over, or has given one up. */
      readonly type: "slot";
      readonly group: string;
      readonly change: "taken" | "given-up";
    }
  | {
      /** What became of a message of a collector. */
      readonly type: "message";
      readonly group: string;
      readonly outcome: "stored" | "superseded" | "retried";
    }
  | {
      /** The streams or the leases of a collector could not be reached, or one of its feeds has failed for good. */
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
