import { defer, firstValueFrom, fromEvent, takeUntil, timeout } from "rxjs";
import type { Client } from "../../../client/core.js";
import { type Closing, closing } from "../../../closing.js";
import { shortened } from "../../../contract/quote.js";
import type { PairSource } from "../../../source.js";
import { warnProcess } from "../../../warning.js";
import { readId } from "../outlet.js";
import { answerOf, BUSY, Refusal, refusalOf } from "./answers.js";
import { behindClient, behindSource, isSource } from "./behind.js";
import { Channels } from "./channels.js";
import { Histories } from "./histories.js";
import { checkGateway, type GatewayOptions, type Wanted } from "./options.js";
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
/** The time between two warnings of an `allow` that fails, in ms, and the longest name of an error in one. */
const WARNINGS_APART = 60_000;
const LONGEST_KIND = 60;
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
  /** What is final may be kept: by all where everybody may have it, and else by the one who got it. */
  const kept = `${typeof options.allow === "function" ? "private" : "public"}, max-age=${KEPT_FOR}, immutable`;
  let isClosed = false;
  let viewers = 0;

  const enter = () => {
    const allowed = `at most ${settings.maxViewers} viewers at once; try again later`;
    if (viewers >= settings.maxViewers) throw new Refusal(503, "The gateway is full", allowed, BUSY);
    viewers += 1;
  };
  const leave = () => {
    viewers -= 1;
  };

  /** Follows a request until its answer begins: the signal aborts when it, or the gateway, has ended. */
  const follow = ({ signal }: Request): { signal: AbortSignal; end(): void } => {
    const gone = new AbortController();
    const abort = () => gone.abort(GONE);
    answering.add(gone);
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
    const end = () => {
      answering.delete(gone);
      signal.removeEventListener("abort", abort);
    };
    return { signal: gone.signal, end };
  };

  let warnedAt = -Infinity;
  /** Tells whoever runs the gateway, as a viewer learns nothing of it. */
  const warnOfAllow = (cause: unknown) => {
    if (Math.abs(scheduler.now() - warnedAt) < WARNINGS_APART) return;
    warnedAt = scheduler.now();
    // Its message may hold what nobody may see.
    const kind = cause instanceof Error ? cause.name : typeof cause;
    warnProcess(`The option allow of a gateway has failed with ${shortened(kind, LONGEST_KIND)}`, "GATEWAY");
  };

  /** Throws unless `allow` lets the request in; it may throw, reject or never answer itself. */
  const admit = async (request: Request, wanted: Wanted, signal: AbortSignal): Promise<void> => {
    signal.throwIfAborted();
    const asked = defer(async () => settings.allow(request, wanted)).pipe(
      timeout({ first: PATIENCE, scheduler }),
      takeUntil(fromEvent(signal, "abort")),
    );
    const isAllowed = await firstValueFrom(asked).catch((cause: unknown) => {
      signal.throwIfAborted();
      warnOfAllow(cause);
      const message = "The gateway could not decide whether to allow this request";
      throw new Refusal(503, message, "trying again later", BUSY);
    });
    signal.throwIfAborted();
    if (isAllowed === true) return;
    throw new Refusal(403, "The gateway does not allow this request", "what its option allow lets in");
  };

  const answer = async (request: Request, url: URL): Promise<Response> => {
    const path = pathOf(url, settings.basePath);
    const { method } = request;
    if (method === "OPTIONS") return new Response(null, { status: 204, headers: { allow: METHODS } });
    const isHead = method === "HEAD";
    if (method !== "GET" && !isHead) {
      throw new Refusal(405, "The method is not allowed", METHODS, undefined, { allow: METHODS });
    }
    const start = readId(request.headers.get("last-event-id"))?.start;
    const wanted = readWanted(path, url.searchParams, settings, now(), start);
    // Whoever looks after the gateway can look when it is full, too.
    const takesPlace = wanted.type !== "status";
    if (takesPlace) enter();
    const { signal, end } = follow(request);
    let isStreaming = false;
    try {
      await admit(request, wanted, signal);
      if (wanted.type === "status") {
        const { maxViewers, maxChannels } = settings;
        const facts = { viewers, maxViewers, maxChannels, channels: channels.facts() };
        return answerOf(JSON.stringify(facts), { "cache-control": "no-store" });
      }
      if (wanted.type === "history") {
        if (isHead) return answerOf("", {});
        const { text, isFinal } = await histories.read(wanted.options, signal);
        return answerOf(text, { "cache-control": isFinal ? kept : "no-store" });
      }
      channels.checkRoom(wanted);
      if (isHead) return new Response(null, { headers: { "content-type": "text/event-stream" } });
      const response = channels.respond(wanted, request, leave);
      isStreaming = true;
      return response;
    } finally {
      end();
      if (takesPlace && !isStreaming) leave();
    }
  };

  const serve = async (request: Request): Promise<Response> => {
    const headers: Record<string, string> = {};
    const answered = async () => {
      if (isClosed) throw CLOSED;
      checkLength(request.url);
      const url = new URL(request.url);
      headers.vary = "origin, sec-fetch-site";
      const visitor = visitorOf(request.headers, url.host, settings.origins);
      if (!visitor.isLetIn) {
        const allowed = "pages of its own origin, and of those in its option origins";
        throw new Refusal(403, "The gateway does not serve pages of this origin", allowed);
      }
      if (visitor.foreign !== undefined) Object.assign(headers, crossOrigin(visitor.foreign, request));
      return answer(request, url);
    };
    const response = await answered().catch(refusalOf);
    for (const [name, value] of Object.entries(headers)) response.headers.set(name, value);
    return request.method === "HEAD" ? new Response(null, response) : response;
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
