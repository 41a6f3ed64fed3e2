import { EMPTY, merge, type Observable, tap } from "rxjs";
import { ChannelState } from "./channel-state.js";
import { Connections } from "./connections.js";
import { checkChannelOptions, type EventChannelOptions } from "./options.js";
import { Outlet } from "./outlet.js";

/** One set of streams, for any number of receivers. */
export interface EventChannel {
  /**
   * Answers a receiver's request with a stream of events: the present state, then the changes. If the request carries
   * the `Last-Event-ID` of this channel, it gets the missed changes, as far as the channel still has them. Answers 405
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
 * subscribes once to each stream, from this call until `close`, for any number of receivers.
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
  const { candles, snipers, status, scheduler, ...rest } = checkChannelOptions(options);
  const channel = globalThis.crypto.randomUUID();
  const state = new ChannelState({
    ...rest,
    channel,
    hasStatus: status !== undefined,
    now: () => scheduler.now(),
  });
  const connections = new Connections(scheduler, rest.heartbeat, RETRY);
  let isClosed = false;

  /** The events of one report come in one go: a microtask later the first of them has been told to its end. */
  const settleLater = (pairAddress: string) =>
    queueMicrotask(() => {
      state.settlePair(pairAddress);
      connections.flush();
    });
  const subscription = merge(
    taken(candles, (event) => state.takeCandle(event)),
    taken(snipers, (event) => {
      if (state.takeSniper(event)) settleLater(event.pairAddress);
    }),
    taken(status, (event) => state.takeStatus(event)),
  ).subscribe({
    next: () => connections.flush(),
    error: (error: unknown) => {
      state.end({ error });
      connections.flush();
    },
    complete: () => {
      state.end("complete");
      connections.flush();
    },
  });

  return Object.freeze({
    respond(request: Request): Response {
      if (request.method !== "GET") return refusal(405, "Only GET is answered here", { allow: "GET" });
      if (isClosed) return refusal(503, "The channel is closed", { "retry-after": String(RETRY / 1_000) });
      const connection = connections.open(new Outlet(state, request.headers.get("last-event-id")));
      const { signal } = request;
      if (signal?.aborted) connection.close();
      else signal?.addEventListener("abort", () => connection.close(), { once: true });
      return new Response(connection.body, { headers: HEADERS });
    },
    close(): void {
      isClosed = true;
      subscription.unsubscribe();
      connections.close();
    },
  });
}

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
