import { asyncScheduler } from "rxjs";
import { checkWeekStart } from "../contract/input.js";
import type { Network, WeekStart } from "../contract/model.js";
import { checkNames } from "../contract/names.js";
import { InvalidInputError } from "../errors.js";
import { OhlcvPages } from "./ohlcv.js";
import { checkQuirks, type ServiceQuirks } from "./quirks.js";
import { LATEST_INSTANT, ParameterReader, Refusal, type Route, readRoute, splitUrl } from "./request.js";
import { sniperReport } from "./snipers.js";
import { checkSource, type SwapPair, type SwapSource } from "./swaps.js";

/** What the library asks of a `fetch`; the global one, cross-fetch and a service's are such. */
export type FetchLike = (
  url: string,
  init?: {
    method?: string;
    headers?: Record<string, string>;
    redirect?: "error" | "manual";
    signal?: AbortSignal;
  },
) => Promise<{ status: number; headers: { get(name: string): string | null }; text(): Promise<string> }>;

/** What a service serves, and to whom. */
export interface PairServiceOptions {
  /** Where its swaps come from. */
  source: SwapSource;
  /** The service's clock in ms since the epoch: what is later has not happened yet. Default: the system's. */
  clock?: () => number;
  /** The keys that are let in; default: any that is not empty. */
  apiKeys?: string[];
  /** The day on which `1w` begins; default `"monday"`. */
  weekStart?: WeekStart;
  /** In what it differs from the ordinary, where the contract leaves that open; default: in nothing. */
  quirks?: ServiceQuirks;
}

/** A pair analytics service in this process. */
export interface PairService {
  /**
   * Answers a request; nothing leaves the process.
   *
   * Given a URL (the origin and any path before `/token` do not matter) it gives a plain object, which costs a fifth of
   * a `Response`; given a `Request`, a `Response`. Rejects with the signal's reason where that is aborted already.
   */
  readonly fetch: FetchLike & ((request: Request) => Promise<Response>);
}

/**
 * A service that serves the contract from swaps: give its `fetch` to a client, or open it to the network with `listen`.
 *
 * Candles come newest first, 100 a page and 1,000 at most, the running one among them; intervals without swaps are
 * missing. A range is half-open on the start of the interval. A cursor is a snapshot of the query and of the instant at
 * which the walk began. Throws an `InvalidInputError` for options that it cannot take.
 *
 * @example
 * ```ts
 * import { createPairService, simulatedMarket } from "pairstream/service";
 *
 * const source = simulatedMarket({ seed: 1, createdAt: "2025-01-01" });
 * const service = createPairService({ source, clock: () => Date.UTC(2025, 0, 1, 1) });
 * const answer = await service.fetch(
 *   `http://localhost/token/mainnet/pairs/${source.pairs[0]}/ohlcv` +
 *     "?timeframe=1min&currency=usd&fromDate=2025-01-01&toDate=2025-01-02",
 *   { headers: { "X-API-Key": "any" } },
 * );
 * console.log(answer.status, await answer.text());
 * ```
 */
export function createPairService(options: PairServiceOptions): PairService {
  const { source, clock, apiKeys, weekStart, quirks } = checkOptions(options);
  const ohlcv = new OhlcvPages({ findPair, weekStart, quirks });

  function answer(method: string, url: string, apiKey: string | null): Answer {
    const now = readClock(clock);
    const { path, parameters } = splitUrl(url);
    const route = readRoute(path);
    if (route === undefined) return refusal(now, 404, `Cannot ${method} ${path}`);
    if (method !== "GET") return refusal(now, 405, `${method} is not allowed`, { allow: "GET" });
    const isKnown = apiKeys === undefined ? !!apiKey : apiKey !== null && apiKeys.has(apiKey);
    if (!isKnown) return refusal(now, 401, "Unauthorized: X-API-Key is missing or not known");
    const weight = { "x-request-weight": route.operation === "ohlcv" ? "150" : "50" };
    try {
      const body =
        route.operation === "ohlcv" ? ohlcv.answer(route, parameters, now) : snipers(route, parameters, now);
      return makeAnswer(now, 200, body, weight);
    } catch (error) {
      if (error instanceof Refusal) return refusal(now, error.status, error.answer, weight);
      const reason = error instanceof Error ? error.message : String(error);
      return refusal(now, 500, `The swap source failed: ${reason}`, weight);
    }
  }

  function snipers({ network, pairAddress }: Route, parameters: URLSearchParams, now: number): object {
    const reader = new ParameterReader(parameters);
    const blocks = reader.integer("blocksAfterCreation", { min: 0, max: 1_000, absent: 3 });
    reader.refuseProblems();
    const report = sniperReport(findPair(network, pairAddress), blocks, now);
    if (report === undefined) throw new Refusal(404, `Pair ${pairAddress} has no swaps yet`);
    return report;
  }

  function findPair(network: Network, pairAddress: string): SwapPair {
    const pair = source.pair(network, pairAddress);
    if (pair === undefined) throw new Refusal(404, `Pair ${pairAddress} is not known on ${network}`);
    return pair;
  }

  async function fetch(target: string | Request, init?: Parameters<FetchLike>[1]): Promise<unknown> {
    const isText = typeof target === "string";
    const signal = isText ? init?.signal : target.signal;
    if (signal?.aborted) throw signal.reason;
    if (isText) return asPlain(answer(init?.method ?? "GET", target, headerOf(init?.headers, "x-api-key")));
    const { status, headers, body } = answer(target.method, target.url, target.headers.get("x-api-key"));
    return new Response(body, { status, headers });
  }

  return Object.freeze({ fetch: fetch as PairService["fetch"] });
}

function checkOptions(options: PairServiceOptions) {
  if (typeof options !== "object" || options === null) {
    throw new InvalidInputError("options", "an object with a source", "is missing");
  }
  checkNames(options, ["source", "clock", "apiKeys", "weekStart", "quirks"]);
  const { clock = () => asyncScheduler.now(), apiKeys } = options;
  const source = checkSource(options.source);
  checkClock(clock);
  const isList = Array.isArray(apiKeys) && apiKeys.length > 0;
  if (apiKeys !== undefined && !(isList && apiKeys.every((key) => typeof key === "string" && key !== ""))) {
    const allowed = "a list of at least one key, none of them empty; absent for any key";
    throw new InvalidInputError("apiKeys", allowed, "is no such list");
  }
  return {
    source,
    clock,
    apiKeys: apiKeys && new Set(apiKeys),
    weekStart: checkWeekStart(options.weekStart),
    quirks: checkQuirks(options.quirks),
  };
}

const CLOCK_ALLOWED = "a function that gives ms since the epoch";

function checkClock(clock: () => number): void {
  if (typeof clock === "function") return;
  throw new InvalidInputError("clock", CLOCK_ALLOWED, `is a ${typeof clock}`);
}

/** The whole ms at which a clock stands; throws an `InvalidInputError` where it is none, or tells no time. */
export function readClock(clock: () => number): number {
  checkClock(clock);
  const now = Math.floor(clock());
  if (now >= 0 && now <= LATEST_INSTANT) return now;
  throw new InvalidInputError("clock", CLOCK_ALLOWED, `gave ${now}`);
}

function headerOf(headers: Record<string, string> | undefined, name: string): string | null {
  for (const key in headers) if (key.toLowerCase() === name) return headers[key] ?? null;
  return null;
}

interface Answer {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string;
}

function refusal(now: number, status: number, message: string | string[], headers?: Record<string, string>) {
  return makeAnswer(now, status, { message, statusCode: status }, headers);
}

function makeAnswer(now: number, status: number, body: object, headers?: Record<string, string>): Answer {
  const date = new Date(now).toUTCString();
  return {
    status,
    headers: { "content-type": "application/json; charset=utf-8", date, ...headers },
    body: JSON.stringify(body),
  };
}

function asPlain({ status, headers, body }: Answer): Awaited<ReturnType<FetchLike>> {
  return {
    status,
    headers: { get: (name) => headers[name.toLowerCase()] ?? null },
    text: async () => body,
  };
}
