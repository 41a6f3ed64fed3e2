import { defer, type Observable, type SchedulerLike, Subscription } from "rxjs";
import type { CandleWatch } from "../../candles/options.js";
import type { FeedStatus } from "../../feed-status.js";
import type { PairSource } from "../../source.js";
import { toWireError } from "../wire/error.js";
import { HeardClock } from "../wire/heard-clock.js";
import { statusText, writeMessage, writeStatus } from "./wire.js";

/** Who watches a channel, as its feed sees it. */
export interface Viewer {
  /** Where its candles begin. */
  readonly since: CandleWatch["since"];
  /** When it came, by the channel's own clock. */
  readonly cameAt: number;
  /** Whether it waits for a history that is being read. */
  isWaiting: boolean;
}

export interface FeedOptions {
  readonly source: PairSource;
  readonly scheduler: SchedulerLike;
  /** Called after every change. */
  onChange(): void;
}

/** What a channel has to tell: a state of which each viewer gets a part, and what changes of it, by version. */
export abstract class Feed {
  /** The service's clock. */
  protected readonly clock = new HeardClock();
  readonly #options: FeedOptions;
  readonly #streams = new Subscription();
  /** Each is written once for all who get it. */
  readonly #texts = new WeakMap<object, string>();
  #ending: string | undefined;

  constructor(options: FeedOptions) {
    this.#options = options;
  }

  /** Grows with every change. */
  abstract readonly version: number;
  /** Subscribes to the sources, or to more of them, so that a viewer can get what it asks for. */
  abstract want(viewer: Viewer): void;
  /** Where the viewer's state begins; `undefined` until all of it is known. */
  abstract startFor(viewer: Viewer): number | undefined;
  /** The status for a viewer whose state begins at `start`; `undefined`: of what is still being read for it. */
  protected abstract statusFor(viewer: Viewer, start: number | undefined): FeedStatus | undefined;
  /** The messages of the whole state from `start` on. */
  abstract snapshot(start: number): readonly string[];
  /** The messages of what has changed since a version; `undefined` where that is not known any more. */
  abstract since(version: number, start: number): readonly string[] | undefined;

  /** The service's clock; `null` while nothing was heard of it. */
  get now(): number | null {
    return this.clock.told(this.#options.scheduler.now());
  }

  /** The last message; absent while the sources go on. */
  get ending(): string | undefined {
    return this.#ending;
  }

  /** The message of its status. */
  status(viewer: Viewer, start: number | undefined): string | undefined {
    const status = this.statusFor(viewer, start);
    return status && writeStatus(start === undefined ? "waiting" : "status", this.textOf(status, statusText));
  }

  /** Leaves the sources. */
  close(): void {
    this.#streams.unsubscribe();
  }

  /**
   * Follows a source as `streams`. If it fails, or refuses what it is asked for, the channel ends, and if it completes, where
   * `complete` says so.
   */
  protected follow(streams: Subscription, told: () => Observable<unknown>, complete = () => true): void {
    const end = (text: string) => {
      this.#ending = text;
      this.close();
      this.#options.onChange();
    };
    this.#streams.add(streams);
    streams.add(
      defer(told).subscribe({
        next: () => this.#options.onChange(),
        error: (error: unknown) => end(writeMessage("error", toWireError(error))),
        complete: () => {
          if (complete()) end(writeMessage("complete", {}));
        },
      }),
    );
  }

  protected textOf<T extends object>(told: T, write: (told: T) => string): string {
    const text = this.#texts.get(told) ?? write(told);
    this.#texts.set(told, text);
    return text;
  }
}
