import { asyncScheduler } from "rxjs";
import {
  type Currency,
  checkWeekStart,
  type Network,
  parseIsoInstant,
  TIMEFRAMES,
  type Timeframe,
  type WeekStart,
} from "../contract.js";
import { InvalidInputError } from "../errors.js";
import { intervalsOf } from "../timeframe.js";
import { CandleReader } from "./candles.js";
import { readCursor, writeCursor } from "./cursor.js";
import { sniperReport } from "./snipers.js";
import type { SwapPair, SwapSource } from "./swaps.js";

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
  const { source, clock, apiKeys, weekStart } = checkOptions(options);
  const candles = new CandleReader();

  function answer(method: string, url: string, apiKey: string | null): Answer {
    const now = Math.floor(clock());
    if (!(now >= 0 && now <= LATEST_INSTANT)) {
      throw new InvalidInputError("clock", "a function that gives ms since the epoch", `gave ${now}`);
    }
    const { path, parameters } = splitUrl(url);
    const route = readRoute(path);
    if (route === undefined) return refusal(now, 404, `Cannot ${method} ${path}`);
    if (method !== "GET") return refusal(now, 405, `${method} is not allowed`, { allow: "GET" });
    const isKnown = apiKeys === undefined ? !!apiKey : apiKey !== null && apiKeys.has(apiKey);
    if (!isKnown) return refusal(now, 401, "Unauthorized: X-API-Key is missing or not known");
    const weight = { "x-request-weight": route.operation === "ohlcv" ? "150" : "50" };
    try {
      const body =
        route.operation === "ohlcv" ? ohlcv(route, parameters, now) : snipers(route, parameters, now);
      return makeAnswer(now, 200, body, weight);
    } catch (error) {
      if (error instanceof Refusal) return refusal(now, error.status, error.answer, weight);
      const reason = error instanceof Error ? error.message : String(error);
      return refusal(now, 500, `The swap source failed: ${reason}`, weight);
    }
  }

  function ohlcv({ network, pairAddress }: Route, parameters: URLSearchParams, now: number): object {
    const reader = new ParameterReader(parameters);
    const timeframe = reader.choice<Timeframe>("timeframe", TIMEFRAMES);
    const currency = reader.choice<Currency>("currency", ["usd", "native"]);
    const from = reader.date("fromDate");
    const to = reader.date("toDate");
    const limit = reader.integer("limit", { min: 1, max: 1_000, absent: 100 });
    const cursor = reader.optional("cursor");
    if (from > to) reader.problems.push("fromDate must not be after toDate");
    // Nothing of a bad query is worth a look at its cursor, which belongs to a good one.
    reader.refuseProblems();
    const query = [network, pairAddress, timeframe, currency, from, to, weekStart].join(" ");
    const state = cursor ? readCursor(cursor, query) : { asOf: now, before: to, page: 1, limit };
    if (state === undefined) throw new Refusal(400, ["cursor is not known for this query"]);

    const pair = findPair(network, pairAddress);
    const intervals = intervalsOf(timeframe, weekStart);
    const { asOf, before, page } = state;
    const pairKey = `${network} ${pairAddress}`;
    const range = { pair, pairKey, intervals, currency, from, to: before, asOf };
    // One more than is served tells whether there is a next page.
    const found = candles.newest(range, state.limit + 1);
    const served = found.slice(0, state.limit);
    const next = { ...state, before: served.at(-1)?.timestamp ?? from, page: page + 1 };
    return {
      cursor: found.length > served.length ? writeCursor(next, query) : null,
      page,
      pairAddress,
      tokenAddress: pair.tokenAddress,
      timeframe,
      currency,
      result: served.map((candle) => ({ ...candle, timestamp: new Date(candle.timestamp).toISOString() })),
    };
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
  const { source, clock = () => asyncScheduler.now(), apiKeys } = options;
  if (typeof source?.pair !== "function") {
    const allowed = "a swapTape, a simulatedMarket, or a SwapSource of your own";
    throw new InvalidInputError("source", allowed, "has no method pair");
  }
  if (typeof clock !== "function") {
    throw new InvalidInputError("clock", "a function that gives ms since the epoch", `is a ${typeof clock}`);
  }
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
  };
}

// Requests -------------------------------------------------------------------------------------------------

interface Route {
  readonly operation: "ohlcv" | "snipers";
  readonly network: Network;
  readonly pairAddress: string;
}

const ROUTE = /\/token\/(mainnet|devnet)\/pairs\/([^/]+)\/(ohlcv|snipers)$/;

function splitUrl(url: string): { path: string; parameters: URLSearchParams } {
  const [, path = "", query] = /^(?:[a-z][a-z\d+.-]*:\/\/[^/?#]*)?([^?#]*)(?:\?([^#]*))?/i.exec(url) ?? [];
  return { path, parameters: new URLSearchParams(query ?? "") };
}

function readRoute(path: string): Route | undefined {
  const [, network, address, operation] = ROUTE.exec(path) ?? [];
  if (address === undefined || (operation === "snipers" && network !== "mainnet")) return undefined;
  try {
    return {
      operation: operation as Route["operation"],
      network: network as Network,
      pairAddress: decodeURIComponent(address),
    };
  } catch {
    return undefined;
  }
}

function headerOf(headers: Record<string, string> | undefined, name: string): string | null {
  for (const key in headers) if (key.toLowerCase() === name) return headers[key] ?? null;
  return null;
}

/** Reads the parameters of a query and gathers what is wrong with them, so that one answer names it all. */
class ParameterReader {
  readonly problems: string[] = [];

  constructor(private readonly parameters: URLSearchParams) {}

  optional(name: string): string | undefined {
    const values = this.parameters.getAll(name);
    if (values.length > 1) this.problems.push(`${name} must be given once`);
    return values[0];
  }

  choice<T extends string>(name: string, choices: readonly T[]): T {
    const value = this.optional(name) as T;
    if (!choices.includes(value)) this.problems.push(`${name} must be one of ${choices.join(", ")}`);
    return value;
  }

  integer(name: string, { min, max, absent }: { min: number; max: number; absent: number }): number {
    const value = this.optional(name);
    if (value === undefined) return absent;
    const number = /^\d+$/.test(value) ? Number(value) : Number.NaN;
    if (!(number >= min && number <= max)) {
      this.problems.push(`${name} must be a whole number from ${min} to ${max}`);
    }
    return number;
  }

  /** An instant in ms; `NaN` where it is none. */
  date(name: string): number {
    const value = this.optional(name) ?? "";
    const ms = /^\d+(\.\d+)?$/.test(value)
      ? Math.round(Number(value) * 1_000)
      : (parseIsoInstant(value) ?? parseIsoInstant(`${value}Z`) ?? parseIsoInstant(`${value}T00:00:00Z`));
    if (ms !== undefined && ms <= LATEST_INSTANT) return ms;
    this.problems.push(
      `${name} must be unix seconds, an ISO 8601 date-time (UTC without a zone) or YYYY-MM-DD`,
    );
    return Number.NaN;
  }

  refuseProblems(): void {
    if (this.problems.length > 0) throw new Refusal(400, this.problems);
  }
}

const LATEST_INSTANT = 8.64e15;

// Answers --------------------------------------------------------------------------------------------------

interface Answer {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** A way out of a handler with an answer other than 200. */
class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly answer: string | string[],
  ) {
    super(String(answer));
  }
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
