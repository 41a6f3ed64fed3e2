import { Subscription } from "rxjs";
import type { Client } from "../../../client/core.js";
import { callAt } from "../../../client/timers.js";
import { type Closing, closing } from "../../../closing.js";
import type { PairSource } from "../../../source.js";
import { readId } from "../outlet.js";
import { raced } from "../silence.js";
import { answerOf, BUSY, Refusal, refusalOf } from "./answers.js";
import { behindClient, behindSource, isSource } from "./behind.js";
import { Channels } from "./channels.js";
import { Histories } from "./histories.js";
import { type CheckedGateway, checkGateway, type GatewayOptions, type Wanted } from "./options.js";
import { visitorOf } from "./origins.js";
import { checkLength, pathOf, readWanted } from "./wanted.js";

/** Answers the requests of `gatewaySource`. `await using` closes it when its block is left. */
export interface Gateway extends Closing {
  /**
   * Answers GET and HEAD for `/candles`, `/snipers`, `/history` and `/status`, and OPTIONS for pages of other sites. It
   * never rejects, and may be passed on as a function.
   */
  fetch(request: Request): Promise<Response>;
  /** Ends all channels, responses and timers. Later requests get 503. */
  close(): Promise<void>;
}

const METHODS = "GET, HEAD, OPTIONS";
/** For how long `allow` may take, in ms. */
const PATIENCE = 10_000;
/** For how long a page may keep what is final, in seconds. */
const KEPT_FOR = 86_400;
/** For how long a browser may remember what a preflight has said, in seconds. */
const PREFLIGHT = 600;

/**
 * Serves the streams of a client, or of another gateway, to pages and other programs, so that the key stays on your
 * server. It is a handler of web-standard requests, for Hono, Next, Bun, Deno, Workers, and for Node with an adapter.
 *
 * All viewers of the same stream with the same options share one channel, whatever their `since`. It begins with
 * the first viewer, and ends `linger` ms after the last one, so nothing is polled when nobody watches. Channels are of the
 * timeframes of the service: `gatewaySource` makes others of them. `/history` gives
 * closed candles from the client's store or the service. `allow` decides which requests are answered. Pages of other sites
 * are refused unless `origins` names them. The gateway does not limit the requests of one visitor: your server has to. A
 * refusal is JSON: `{ error: { message, allowed, … } }`. The gateway does nothing before the first request. Throws an
 * `InvalidInputError` at the call.
 *
 * ```ts
 * import { createClient, type Series } from "pairstream";
 * import { createGateway } from "pairstream/sse";
 *
 * const client = createClient({ baseUrl: "https://api.example.com", apiKey: "…" });
 * const pairAddress = "83v8iPyZihDEjDdY8RdZddyZNyUtXngz69Lgo9Kt5d6d";
 * const series: Series = { network: "mainnet", pairAddress, timeframe: "1min", currency: "usd" };
 * export default createGateway(client, { allow: [series] });
 * ```
 */
export function createGateway(source: Client | PairSource, options: GatewayOptions): Gateway {
  const settings = checkGateway(options);
  const { historyRequests } = settings;
  const behind = isSource(source)
    ? behindSource(source, historyRequests, settings.scheduler)
    : behindClient(source, historyRequests);
  const { scheduler, now, source: streams } = behind;
  const channels = new Channels({ ...settings, source: streams, scheduler });
  const histories = new Histories(behind, settings.fixed);
  /** One for each request that is being answered; a stream that has begun is its channel's. */
  const answering = new Set<AbortController>();
  let isClosed = false;
  let viewers = 0;

  /** Takes a place; gives the function that leaves it, which does so once. */
  const enter = (): (() => void) => {
    if (viewers >= settings.maxViewers) {
      throw new Refusal(
        503,
        "The gateway is full",
        `at most ${settings.maxViewers} viewers at once; try again later`,
        BUSY,
      );
    }
    viewers += 1;
    let isHere = true;
    return () => {
      if (isHere) viewers -= 1;
      isHere = false;
    };
  };

  /** Follows a request until its answer begins: the signal aborts when it, or the gateway, has ended. */
  const follow = ({ signal }: Request): { signal: AbortSignal; end(): void } => {
    const gone = new AbortController();
    const leave = () => gone.abort(GONE);
    answering.add(gone);
    if (signal.aborted) leave();
    else signal.addEventListener("abort", leave, { once: true });
    const end = () => {
      answering.delete(gone);
      signal.removeEventListener("abort", leave);
    };
    return { signal: gone.signal, end };
  };

  /** Throws unless `allow` lets the request in; it may throw, reject or never answer itself. */
  const admit = async (request: Request, wanted: Wanted, signal: AbortSignal): Promise<void> => {
    let timer = Subscription.EMPTY;
    const late = new Promise<never>((_, reject) => {
      timer = callAt(scheduler, scheduler.now() + PATIENCE, () => reject(new Error("too late")));
    });
    let isAllowed: boolean;
    try {
      const asked = Promise.resolve().then(() => settings.allow(request, wanted));
      isAllowed = await raced(Promise.race([asked, late]), signal);
    } catch {
      signal.throwIfAborted();
      throw new Refusal(
        503,
        "The gateway could not decide whether to allow this request",
        "trying again later",
        BUSY,
      );
    } finally {
      timer.unsubscribe();
    }
    signal.throwIfAborted();
    if (isAllowed !== true)
      throw new Refusal(403, "The gateway does not allow this request", "what its option allow lets in");
  };

  const answer = async (request: Request, url: URL, headers: Record<string, string>): Promise<Response> => {
    const path = pathOf(url, settings.basePath);
    const { method } = request;
    if (method === "OPTIONS")
      return new Response(null, { status: 204, headers: { ...headers, allow: METHODS } });
    const isHead = method === "HEAD";
    if (method !== "GET" && !isHead) {
      throw new Refusal(405, "The method is not allowed", METHODS, undefined, { allow: METHODS });
    }
    const start = readId(request.headers.get("last-event-id"))?.start;
    const wanted = readWanted(path, url.searchParams, settings, now(), start);
    // Whoever looks after the gateway can look when it is full, too.
    const leave = wanted.type === "status" ? () => {} : enter();
    const { signal, end } = follow(request);
    let isStreaming = false;
    try {
      await admit(request, wanted, signal);
      switch (wanted.type) {
        case "status":
          return answerOf(statusOf(settings, channels, viewers), { ...headers, "cache-control": "no-store" });
        case "history": {
          if (isHead) return answerOf({}, headers);
          const { text, isFinal } = await histories.read(wanted.options, signal);
          return new Response(text, { headers: { ...HISTORY, ...headers, ...cachingOf(isFinal, options) } });
        }
        default: {
          if (isHead) {
            channels.checkRoom(wanted);
            return new Response(null, { headers: { ...headers, "content-type": "text/event-stream" } });
          }
          isStreaming = true;
          const response = channels.respond(wanted, request, leave);
          for (const [name, value] of Object.entries(headers)) response.headers.set(name, value);
          return response;
        }
      }
    } catch (error) {
      isStreaming = false;
      throw error;
    } finally {
      end();
      if (!isStreaming) leave();
    }
  };

  const serve = async (request: Request): Promise<Response> => {
    let headers: Record<string, string> = {};
    try {
      if (isClosed) throw CLOSED;
      checkLength(request.url);
      const url = new URL(request.url);
      headers = { vary: "origin, sec-fetch-site" };
      const visitor = visitorOf(request.headers, url.host, settings.origins);
      if (!visitor.isLetIn) {
        throw new Refusal(
          403,
          "The gateway does not serve pages of this origin",
          "pages of its own origin, and of those in its option origins",
        );
      }
      if (visitor.foreign !== undefined) Object.assign(headers, crossOrigin(visitor.foreign, request));
      const response = await answer(request, url, headers);
      return request.method === "HEAD" ? new Response(null, response) : response;
    } catch (error) {
      const refusal = refusalOf(error);
      for (const [name, value] of Object.entries(headers)) refusal.headers.set(name, value);
      return request.method === "HEAD" ? new Response(null, refusal) : refusal;
    }
  };

  return closing({
    fetch: serve,
    async close(): Promise<void> {
      isClosed = true;
      for (const gone of answering) gone.abort(CLOSED);
      channels.close();
    },
  });
}

const CLOSED = new Refusal(503, "The gateway is closed", "trying again later", 1_000);
const GONE = new Refusal(503, "The request was ended by its sender", "trying again");
const HISTORY = { "content-type": "application/json", "x-content-type-options": "nosniff" };

/** What runs, without anything that is not known to those who look. */
function statusOf({ maxViewers, maxChannels }: CheckedGateway, channels: Channels, viewers: number) {
  return { viewers, maxViewers, maxChannels, channels: channels.facts() };
}

/** What is final may be kept: by all where everybody may have it, and else by the one who got it. */
function cachingOf(isFinal: boolean, { allow }: GatewayOptions): Record<string, string> {
  if (!isFinal) return { "cache-control": "no-store" };
  const who = typeof allow === "function" ? "private" : "public";
  return { "cache-control": `${who}, max-age=${KEPT_FOR}, immutable` };
}

/** What lets a page of another site read the answer, and send the headers that it asks for. */
function crossOrigin(origin: string, { method, headers }: Request): Record<string, string> {
  const allowed = { "access-control-allow-origin": origin, "access-control-expose-headers": "Retry-After" };
  if (method !== "OPTIONS") return allowed;
  const asked = headers.get("access-control-request-headers") ?? "";
  const isPlain = asked.length <= 1_000 && /^[\w\s,-]*$/.test(asked);
  return {
    ...allowed,
    "access-control-allow-methods": METHODS,
    "access-control-allow-headers": isPlain && asked !== "" ? asked : "Last-Event-ID",
    "access-control-max-age": String(PREFLIGHT),
  };
}
