import { asyncScheduler } from "rxjs";
import { checkWeekStart } from "../contract/input.js";
import type { Network, WeekStart } from "../contract/model.js";
import { checkNames } from "../contract/names.js";
import { InvalidInputError } from "../errors.js";
import { OhlcvPages } from "./ohlcv.js";
import { checkQuirks, type ServiceQuirks } from "./quirks.js";
import { LATEST_DATE, ParameterReader, Refusal, type Route, readRoute, splitUrl } from "./request.js";
import { sniperReport } from "./snipers.js";
import { checkSource, type SwapPair, type SwapSource } from "./swaps.js";

/** The part of `fetch` that the library uses. The global fetch, cross-fetch and a service's `fetch` all fit. */
export type FetchLike = (
  url: string,
  init?: {
    method?: string;
    headers?: Record<string, string>;
    redirect?: "error" | "manual";
    signal?: AbortSignal;
  },
) => Promise<{ status: number; headers: { get(name: string): string | null }; text(): Promise<string> }>;

/** The options of a service. */
export interface PairServiceOptions {
  /** The source of its swaps. */
  source: SwapSource;
  /** The service's clock, ms since the epoch. Later swaps do not exist yet. Default: the system's clock. */
  clock?: () => number;
  /** The accepted API keys; default: any key that is not empty. */
  apiKeys?: string[];
  /** The day on which `1w` begins; default `"monday"`. */
  weekStart?: WeekStart;
  /** Unusual behaviour where the contract leaves it open; default: none. */
  quirks?: ServiceQuirks;
}

/** A pair analytics service in this process. */
export interface PairService {
  /**
   * Answers a request within the process.
   *
   * For a URL it returns a plain object, which costs a fifth of a `Response`; the origin and any path before `/token`
   * do not matter. For a `Request` it returns a `Response`. Rejects with the signal's reason if the signal is already
   * aborted.
   */
  readonly fetch: FetchLike & ((request: Request) => Promise<Response>);
}

/**
 * Creates a service that implements the contract on top of swaps. Give its `fetch` to a client, or serve it with
 * `listen`.
 *
 * Candles come newest first, 100 per page by default and 1,000 at most, including the open one. Intervals without swaps
 * have no candle. A range is half-open, by the starts of intervals. A cursor holds the query and the instant at which
 * the walk began. Throws an `InvalidInputError` for invalid options.
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
  const { source, clock, apiKeys, weekStart, quirks } = checkServiceOptions(options);
  const ohlcv = new OhlcvPages({ findPair, weekStart, quirks });

  function answer(method: string, url: string, apiKey: string | null): ServiceAnswer {
    const now = readClock(clock);
    const { path, parameters } = splitUrl(url);
    const route = readRoute(path);
    if (route === undefined) return refusalAnswer(now, 404, `Cannot ${method} ${path}`);
    if (method !== "GET")
      return refusalAnswer(now, 405, `${method} is not allowed; allowed: GET`, { allow: "GET" });
    const isKnown = apiKeys === undefined ? !!apiKey : apiKey !== null && apiKeys.has(apiKey);
    if (!isKnown) return refusalAnswer(now, 401, "Unauthorized: X-API-Key is missing or not known");
    const weight = { "x-request-weight": route.operation === "ohlcv" ? "150" : "50" };
    try {
      const body =
        route.operation === "ohlcv" ? ohlcv.answer(route, parameters, now) : snipers(route, parameters, now);
      return makeAnswer(now, 200, body, weight);
    } catch (error) {
      if (error instanceof Refusal) return refusalAnswer(now, error.status, error.answer, weight);
      const reason = error instanceof Error ? error.message : String(error);
      return refusalAnswer(now, 500, `The swap source failed: ${reason}`, weight);
    }
  }

  function snipers({ network, pairAddress }: Route, parameters: URLSearchParams, now: number): object {
    const reader = new ParameterReader(parameters);
    const blocks = reader.integer("blocksAfterCreation", { min: 0, max: 1_000, absent: 3 });
    reader.refuseProblems();
    const report = sniperReport(findPair(network, pairAddress), { blocks, asOf: now, quirks });
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

function checkServiceOptions(options: PairServiceOptions) {
  if (typeof options !== "object" || options === null) {
    throw new InvalidInputError("options", "an object with a source", "is missing");
  }
  checkNames(options, ["source", "clock", "apiKeys", "weekStart", "quirks"]);
  const { clock = () => asyncScheduler.now(), apiKeys } = options;
  const source = checkSource(options.source);
  checkClock(clock);
  const isList = Array.isArray(apiKeys) && apiKeys.length > 0;
  if (apiKeys !== undefined && !(isList && apiKeys.every((key) => typeof key === "string" && key !== ""))) {
    const allowed = "a list of at least one key, none of them empty; leave it out to accept any key";
    throw new InvalidInputError(
      "apiKeys",
      allowed,
      isList ? "holds an empty key, or one that is not a string" : "is not a list of keys",
    );
  }
  return {
    source,
    clock,
    apiKeys: apiKeys && new Set(apiKeys),
    weekStart: checkWeekStart(options.weekStart),
    quirks: checkQuirks(options.quirks),
  };
}

const CLOCK_ALLOWED = "a function that returns ms since the epoch";

function checkClock(clock: () => number): void {
  if (typeof clock === "function") return;
  throw new InvalidInputError("clock", CLOCK_ALLOWED, `is of type ${typeof clock}`);
}

/** The whole ms at which a clock stands; throws an `InvalidInputError` where it is none, or tells no time. */
export function readClock(clock: () => number): number {
  checkClock(clock);
  const now = Math.floor(clock());
  if (now >= 0 && now <= LATEST_DATE) return now;
  throw new InvalidInputError("clock", CLOCK_ALLOWED, `returned ${now}`);
}

function headerOf(headers: Record<string, string> | undefined, name: string): string | null {
  for (const key in headers) if (key.toLowerCase() === name) return headers[key] ?? null;
  return null;
}

interface ServiceAnswer {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string;
}

function refusalAnswer(
  now: number,
  status: number,
  message: string | string[],
  headers?: Record<string, string>,
) {
  return makeAnswer(now, status, { message, statusCode: status }, headers);
}

function makeAnswer(
  now: number,
  status: number,
  body: object,
  headers?: Record<string, string>,
): ServiceAnswer {
  const date = new Date(now).toUTCString();
  return {
    status,
    headers: { "content-type": "application/json; charset=utf-8", date, ...headers },
    body: JSON.stringify(body),
  };
}

function asPlain({ status, headers, body }: ServiceAnswer): Awaited<ReturnType<FetchLike>> {
  return {
    status,
    headers: { get: (name) => headers[name.toLowerCase()] ?? null },
    text: async () => body,
  };
}
