import { EMPTY, merge, type Observable, Subscription, tap } from "rxjs";
import { type Closing, closing } from "../../closing.js";
import type { SniperLook } from "../../snipers/look.js";
import { ChannelState } from "./channel-state.js";
import { Connections } from "./connections.js";
import { checkChannelOptions, type EventChannelOptions } from "./options.js";
import { Outlet } from "./outlet.js";

/** One set of streams, for any number of receivers. `await using` closes it when its block is left. */
export interface EventChannel extends Closing {
  /**
   * Answers a receiver's request with a stream of events: the present state, then the changes. If the request has a
   * `Last-Event-ID` of this channel, the receiver gets the missed changes, as far as the channel still has them. Answers 405
   * for methods other than GET, and 503 once the channel is closed.
   */
  respond(request: Request): Response;
  /** Unsubscribes from the streams, ends all responses, and stops all timers. Receivers will reconnect. */
  close(): void;
}

/** How long a receiver waits before it reconnects, in ms. */
const RETRY = 1_000;

/**
 * Relays streams to browsers and other programs as server-sent events, so the API key stays in this program. It
 * subscribes once to each stream, from the first request until `close`, for any number of receivers. Before that request
 * it does nothing, so a module may open a channel when it is imported.
 *
 * Every receiver gets the present state, then the changes. A slow reader gets fewer events, but not older ones: all
 * changes of a candle or wallet since its last read become one change, and nothing is queued for it. So a revision may
 * grow by more than one, and `final` may come without `closed`. A receiver that reconnects within `buffer` changes gets
 * the missed ones. Later, or at another channel, it gets the whole state and emits the difference. Candles beyond the
 * last `keep` are neither corrected nor removed.
 *
 * When a stream completes, the others go on. When all have completed, or one has failed, the receivers end in the same
 * way. Only the documented fields of events are sent, and errors go without cause and body. Access control and CORS are
 * up to your server; a page of another origin needs the request header `Last-Event-ID` allowed. Throws an
 * `InvalidInputError` at the call.
 *
 * ```ts
 * import { createClient, watchCandles, watchFeedStatus } from "pairstream";
 * import { createEventChannel } from "pairstream/sse";
 *
 * const client = createClient({ baseUrl: "https://api.example.com", apiKey: "…" });
 * const series = {
 *   network: "mainnet",
 *   pairAddress: "83v8iPyZihDEjDdY8RdZddyZNyUtXngz69Lgo9Kt5d6d",
 *   timeframe: "1min",
 *   currency: "usd",
 *   since: { candles: 500 },
 * } as const;
 * const channel = createEventChannel({
 *   candles: watchCandles(client, series),
 *   status: watchFeedStatus(client, series),
 * });
 * // Hono: app.get("/events", (context) => channel.respond(context.req.raw));
 * export default { fetch: (request: Request) => channel.respond(request) };
 * ```
 */
export function createEventChannel(options: EventChannelOptions): EventChannel {
  const channel = openChannel(options);
  return closing({
    respond: (request: Request) => channel.respond(request),
    close: () => channel.close(),
  });
}

/** A channel that says when a receiver has left. */
export interface WatchedChannel {
  /**
   * As `EventChannel` has it. `onLeave` is called once, when the receiver has left or its response has ended; at once
   * where there is none.
   */
  respond(request: Request, onLeave?: () => void): Response;
  /** Whether its timers stand still, so that it tells nothing. */
  readonly standsStill: boolean;
  close(): void;
}

/**
 * `looks`: takes the place of the events of snipers. `patience`: after how many heartbeats a receiver that does not read is
 * left; default: it never is.
 */
export function openChannel(
  options: EventChannelOptions,
  patience = Infinity,
  looks?: Observable<SniperLook>,
): WatchedChannel {
  const { candles, snipers, status, scheduler, ...rest } = checkChannelOptions(options);
  const connections = new Connections(scheduler, { heartbeat: rest.heartbeat, retry: RETRY, patience });
  const streams = new Subscription();
  /** Node loses the abort of a request that nobody holds (nodejs/node#55428): each is held until its answer has ended. */
  const answered = new Set<Request>();
  let state: ChannelState | undefined;

  // Only a request may begin this: Workers refuse timers and random numbers during an import, and `next build` imports
  // every route.
  const start = (): ChannelState => {
    const started = new ChannelState({
      ...rest,
      channel: globalThis.crypto.randomUUID(),
      hasStatus: status !== undefined,
      now: () => scheduler.now(),
    });
    state = started;
    connections.startHeartbeats();
    const end = (how: Parameters<ChannelState["end"]>[0]) => {
      started.end(how);
      connections.flush();
      connections.stopHeartbeats();
    };
    /** The events of one report come in one synchronous run, so a microtask later the first report is complete. */
    const settleLater = (pairAddress: string) =>
      queueMicrotask(() => {
        started.settlePair(pairAddress);
        connections.flush();
      });
    const events = merge(
      taken(candles, (event) => started.takeCandle(event)),
      taken(snipers, (event) => {
        if (started.takeSniper(event)) settleLater(event.pairAddress);
      }),
      taken(looks, (look) => started.takeLook(look)),
      taken(status, (event) => started.takeStatus(event)),
    );
    streams.add(
      events.subscribe({
        next: () => connections.flush(),
        error: (error: unknown) => end({ error }),
        complete: () => end("complete"),
      }),
    );
    return started;
  };

  const refusalOf = ({ method }: Request): Response | undefined => {
    if (method !== "GET") return refusal(405, "Only GET is allowed here", { allow: "GET" });
    const retry = { "retry-after": String(RETRY / 1_000) };
    if (streams.closed) return refusal(503, "The channel is closed", retry);
    return connections.standsStill ? refusal(503, STANDS_STILL, retry) : undefined;
  };

  return {
    get standsStill() {
      return connections.standsStill;
    },
    respond(request: Request, onLeave = () => {}): Response {
      const refused = refusalOf(request);
      if (refused !== undefined) {
        onLeave();
        return refused;
      }
      const outlet = new Outlet(state ?? start(), request.headers.get("last-event-id"));
      answered.add(request);
      const connection = connections.open(outlet, () => {
        answered.delete(request);
        onLeave();
      });
      const { signal } = request;
      if (signal?.aborted) connection.close();
      else signal?.addEventListener("abort", () => connection.close(), { once: true });
      return new Response(connection.body, { headers: HEADERS });
    },
    close(): void {
      streams.unsubscribe();
      connections.close();
    },
  };
}

/** On Workers a request's timers end with it, those of the streams too. */
const STANDS_STILL =
  "The timers of the channel stand still. On Workers the channel has to live in a Durable Object: timers end with the " +
  "request that has set them";

const HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-store",
  // Without this header nginx would buffer the events.
  "x-accel-buffering": "no",
};

function taken<T>(source: Observable<T> | undefined, take: (value: T) => void): Observable<T> {
  return source === undefined ? EMPTY : source.pipe(tap(take));
}

function refusal(status: number, text: string, headers: Record<string, string>): Response {
  return new Response(text, { status, headers: { ...HEADERS, ...headers, "content-type": "text/plain" } });
}
