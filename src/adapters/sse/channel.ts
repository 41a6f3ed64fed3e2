import { EMPTY, merge, type Observable, tap } from "rxjs";
import { ChannelState } from "./channel-state.js";
import { Connections } from "./connections.js";
import { checkChannelOptions, type EventChannelOptions } from "./options.js";
import { Outlet } from "./outlet.js";

/** One set of streams, for any number of receivers. */
export interface EventChannel {
  /**
   * Answers a request of a receiver with a stream of events: what there is, then what changes. A request that carries
   * the `Last-Event-ID` of this channel gets what it has missed, where that is still known. 405 for methods other than
   * GET; 503 once the channel is closed.
   */
  respond(request: Request): Response;
  /** Leaves the streams, ends all responses, and leaves no timer; receivers come back and find out what is next. */
  close(): void;
}

/** How long a receiver waits before it comes back, in ms. */
const RETRY = 1_000;

/**
 * Relays streams to browsers and other programs as server-sent events, so that no key has to leave this one: of each
 * stream one subscription, whoever listens, from this call until `close`.
 *
 * Every receiver gets what there is and then what changes. One that reads slowly gets fewer events and no older ones:
 * what happens to a candle or a wallet until it reads on is told as one change, and nothing is queued for it. Behind a
 * channel a revision therefore grows, not by one, and `closed` may be skipped for `final`. One that comes back within
 * `buffer` changes gets what it has missed; later, or at another channel, it gets the state as a whole, and tells its
 * subscriber the difference. Candles further back than `keep` are neither corrected nor removed any more.
 *
 * When a stream completes, the others go on; when all have, or one has failed, receivers are told so and end likewise.
 * Nothing of the events but their documented fields goes out, and of errors no cause and no body. Whom it answers, and
 * across which origins, is for the server around it to say; a page of another origin needs the request header
 * `Last-Event-ID` allowed. Throws an `InvalidInputError` at the call.
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
  // Or nginx would hold back what is to arrive at once.
  "x-accel-buffering": "no",
};

function taken<T>(source: Observable<T> | undefined, take: (value: T) => void): Observable<T> {
  return source === undefined ? EMPTY : source.pipe(tap(take));
}

function refusal(status: number, text: string, headers: Record<string, string>): Response {
  return new Response(text, { status, headers: { ...HEADERS, ...headers, "content-type": "text/plain" } });
}
