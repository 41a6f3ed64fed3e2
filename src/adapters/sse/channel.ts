import type { SchedulerLike } from "rxjs";
import { Connections } from "./connections.js";
import type { Feed, Viewer } from "./feed.js";
import { Outlet, readId } from "./outlet.js";

export interface ChannelOptions {
  /** Time between two heartbeats, in ms. */
  readonly heartbeat: number;
  readonly scheduler: SchedulerLike;
  /** What it tells; `onChange` is to be called after every change. */
  feed(onChange: () => void): Feed;
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

/** After how many heartbeats one who does not read is left. */
const PATIENCE = 8;

/**
 * One stream for any number of viewers, as server-sent events. Each gets the present state, then what changes of it. One who
 * reads slowly, or comes back with the id that it had, gets all changes of a candle or wallet as one.
 */
export class Channel {
  readonly #id = globalThis.crypto.randomUUID();
  readonly #options: ChannelOptions;
  readonly #feed: Feed;
  readonly #connections: Connections;
  /** Node loses the abort of a request that nobody holds (nodejs/node#55428): each is held until its answer has ended. */
  readonly #answered = new Set<Request>();

  constructor(options: ChannelOptions) {
    const { scheduler, heartbeat } = options;
    this.#options = options;
    this.#connections = new Connections(scheduler, { heartbeat, patience: PATIENCE });
    this.#feed = options.feed(() => {
      this.#connections.flush();
      if (this.#feed.ending !== undefined) this.#connections.stopHeartbeats();
    });
    this.#connections.startHeartbeats();
  }

  /** Whether its timers stand still, so that it tells nothing. */
  get standsStill(): boolean {
    return this.#connections.standsStill;
  }

  respond(request: Request, { since, retry, onLeave }: ResponseTerms): Response {
    const { heartbeat, scheduler } = this.#options;
    const resumed = readId(request.headers.get("last-event-id"));
    const viewer = { since, cameAt: scheduler.now(), isWaiting: false };
    // What was good enough for it then still is.
    if (resumed?.channel !== this.#id) this.#feed.want(viewer);
    const outlet = new Outlet(this.#feed, { channel: this.#id, heartbeat, viewer, resumed });
    this.#answered.add(request);
    const connection = this.#connections.open(outlet, retry, () => {
      this.#answered.delete(request);
      onLeave();
    });
    const { signal } = request;
    if (signal?.aborted) connection.close();
    else signal?.addEventListener("abort", () => connection.close(), { once: true });
    return new Response(connection.body, { headers: HEADERS });
  }

  close(): void {
    this.#feed.close();
    this.#connections.close();
  }
}

const HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-store",
  // Without this header nginx would buffer the events.
  "x-accel-buffering": "no",
};
