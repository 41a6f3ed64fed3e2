import type { SchedulerLike, Subscription } from "rxjs";
import { Connection } from "./connection.js";
import type { Feed, Viewer } from "./feed.js";
import { Outlet, readId } from "./outlet.js";

export interface ChannelOptions {
  /** Time between two heartbeats, in ms. */
  readonly heartbeat: number;
  readonly scheduler: SchedulerLike;
  /** What it tells; `onChange` is to be called after every change. */
  feed(onChange: () => void): Feed;
  /** Called once its streams have ended. Whoever comes then is told how. */
  onEnd(): void;
}

/** What one response needs besides its request. */
export interface ResponseTerms {
  /** Where the viewer's candles begin. */
  readonly since?: Viewer["since"];
  /** How long the viewer is to wait before it comes back, in ms. */
  readonly retry: number;
  /** Called once, when the viewer has left or its response has ended. */
  onLeave(): void;
}

/** After how many heartbeats that are due and have not come the timers stand still. */
const MOST_MISSED = 2.5;

/**
 * One stream for any number of viewers, as server-sent events. Each gets the present state, then what changes of it. One who
 * reads slowly, or comes back with the id that it had, gets all changes of a candle or wallet as one.
 */
export class Channel {
  readonly #id = globalThis.crypto.randomUUID();
  readonly #options: ChannelOptions;
  readonly #feed: Feed;
  /** Node loses the abort of a request that nobody holds (nodejs/node#55428): each is held until its answer has ended. */
  readonly #open = new Map<Connection, Request>();
  readonly #heartbeats: Subscription;
  #beatAt: number;

  constructor(options: ChannelOptions) {
    const { scheduler, heartbeat } = options;
    this.#options = options;
    this.#feed = options.feed(() => {
      for (const connection of this.#open.keys()) connection.flush();
      if (!this.hasEnded) return;
      this.#heartbeats.unsubscribe();
      options.onEnd();
    });
    this.#beatAt = scheduler.now();
    const beat = () => {
      this.#beatAt = scheduler.now();
      for (const connection of this.#open.keys()) connection.beat();
    };
    // From one timer, however receivers come and go: so they stop with the streams' timers, where a platform ends these.
    this.#heartbeats = scheduler.schedule(function () {
      beat();
      this.schedule(undefined, heartbeat);
    }, heartbeat);
  }

  get hasEnded(): boolean {
    return this.#feed.ending !== undefined;
  }

  /**
   * Whether heartbeats have failed to come, for longer than a receiver waits for one. Then the streams, which were started
   * together with them, tell nothing either.
   */
  get standsStill(): boolean {
    const { scheduler, heartbeat } = this.#options;
    return !this.#heartbeats.closed && scheduler.now() - this.#beatAt > MOST_MISSED * heartbeat;
  }

  respond(request: Request, { since, retry, onLeave }: ResponseTerms): Response {
    const { heartbeat, scheduler } = this.#options;
    const resumed = readId(request.headers.get("last-event-id"));
    const viewer = { since, cameAt: scheduler.now(), isWaiting: false };
    // What was good enough for it then still is.
    if (resumed?.channel !== this.#id) this.#feed.want(viewer);
    const outlet = new Outlet(this.#feed, { channel: this.#id, heartbeat, viewer, resumed });
    const connection = new Connection(outlet, retry, (left) => {
      this.#open.delete(left);
      onLeave();
    });
    // The channel may have ended already, so that the response ends at once.
    if (connection.isOpen) this.#open.set(connection, request);
    const { signal } = request;
    if (signal?.aborted) connection.close();
    else signal?.addEventListener("abort", () => connection.close(), { once: true });
    return new Response(connection.body, { headers: HEADERS });
  }

  close(): void {
    this.#feed.close();
    this.#heartbeats.unsubscribe();
    for (const connection of this.#open.keys()) connection.close();
  }
}

const HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-store",
  // Without this header nginx would buffer the events.
  "x-accel-buffering": "no",
};
