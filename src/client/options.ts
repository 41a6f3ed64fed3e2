import { asyncScheduler, type SchedulerLike } from "rxjs";
import { checkFlag, checkNumber, LONGEST_DELAY, show } from "../contract/input.js";
import { checkNames, namesOf } from "../contract/names.js";
import { InvalidInputError } from "../errors.js";
import type { RetryRules } from "./core.js";
import type { RateLimit } from "./limits/budget.js";
import type { Quota } from "./limits/quota.js";
import { type FetchLike, keepAliveFetch, SESSION, type SessionFetch } from "./send/transport.js";

/** What `createClient` takes. */
export interface ClientOptions {
  /** Where the service is: `https:`, without credentials, query or fragment; it may carry a path prefix. Plain `http:` only on loopback. */
  baseUrl: string | URL;
  /** Allows plain `http:` to other hosts, which shows the key to everyone on the way; default `false`. */
  insecure?: boolean;
  /** Goes out as `X-API-Key`, to the origin of `baseUrl` and nowhere else. Visible ASCII. */
  apiKey: string;
  /** How requests are sent; default cross-fetch, with connections kept alive on Node. */
  fetch?: FetchLike;
  /** What one attempt may take, body included, in ms, 1 to 2^31 − 1; default 10,000. */
  timeout?: number;
  /**
   * How often a call is attempted (the first counted, 1 to 100; default 3), and the waits between: `baseDelay`
   * (default 500 ms), doubled each time, up to `maxDelay` (default 8,000 ms), or what the service asks for, if
   * that is longer; a call whose service asks for more than `maxDelay` fails. `false`: one attempt.
   */
  retry?:
    | {
        /** Attempts a call, the first counted, 1 to 100; default 3. */
        attempts?: number;
        /** The wait before the second attempt, in ms, 0 to 2^31 − 1; default 500. */
        baseDelay?: number;
        /** The longest wait, in ms, 0 to 2^31 − 1; default 8,000. */
        maxDelay?: number;
      }
    | false;
  /**
   * At most `requests` (1 to 10,000) arrive at the service in any window of `per` ms, over all of the client; default 40
   * per 1,000. A request counts until `per` after its answer has begun, which makes `requests / (per + round trip)`.
   */
  rateLimit?:
    | {
        /** How many requests, a whole number from 1 to 10,000. */
        requests: number;
        /** The length of the window, in ms, 1 to 2^31 − 1. */
        per: number;
      }
    | false;
  /**
   * At most `units` (from 1) in each period of `per` ms (1,000 to 2^31 − 1; periods begin at multiples of it since the
   * epoch, by the service's clock), over all of the client; default: no limit. A call costs what its
   * `X-Request-Weight` says, else 150 (OHLCV) or 50 (snipers). Streams spread what is left over the period: they leave
   * out polls within an interval first, those at its end last; a call beyond it fails with a `QuotaExceededError`.
   */
  quota?: {
    /** How many units, from 1. */
    units: number;
    /** The length of the period, in ms, 1,000 to 2^31 − 1. */
    per: number;
  };
  /** Every timer and every `now()` comes from it; default `asyncScheduler`. */
  scheduler?: SchedulerLike;
}

/** The options, checked and complete. */
export interface Settings {
  /** Without a slash at its end. */
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly fetch: FetchLike;
  readonly timeout: number;
  readonly retry: RetryRules;
  readonly rateLimit: RateLimit | undefined;
  readonly quota: Quota | undefined;
  readonly scheduler: SchedulerLike;
}

const OPTION_NAMES = namesOf<ClientOptions>({
  baseUrl: true,
  insecure: true,
  apiKey: true,
  fetch: true,
  timeout: true,
  retry: true,
  rateLimit: true,
  quota: true,
  scheduler: true,
});
const MOST_ATTEMPTS = 100;
const MOST_REQUESTS = 10_000;

/** Checks the options of a client; throws an `InvalidInputError`. */
export function checkOptions(options: ClientOptions): Settings {
  if (typeof options !== "object" || options === null) {
    const problem = `is ${withheld(options)}`;
    throw new InvalidInputError("options", "an object with baseUrl and apiKey", problem);
  }
  checkNames(options, OPTION_NAMES);
  const { fetch, timeout = 10_000 } = options;
  if (fetch !== undefined && typeof fetch !== "function") {
    throw new InvalidInputError("fetch", "a function like the global fetch", `is of type ${typeof fetch}`);
  }
  return {
    baseUrl: checkBaseUrl(options.baseUrl, checkFlag("insecure", options.insecure, withheld)),
    apiKey: checkApiKey(options.apiKey),
    timeout: checkNumber("timeout", timeout, { min: 1, max: LONGEST_DELAY }, withheld),
    retry: checkRetry(options.retry),
    rateLimit: checkRateLimit(options.rateLimit),
    quota: checkQuota(options.quota),
    scheduler: checkScheduler(options.scheduler, fetch),
    fetch: fetch ?? keepAliveFetch(),
  };
}

/** What a value is; not a text itself, which may be a key that is out of its place. */
function withheld(value: unknown): string {
  const isShown = value === null || ["object", "number", "boolean", "undefined"].includes(typeof value);
  return isShown ? show(value) : `of type ${typeof value}`;
}

/** Errors do not show the value: it may hold credentials. */
function checkBaseUrl(value: string | URL, insecure: boolean): string {
  const refused = (problem: string) =>
    new InvalidInputError(
      "baseUrl",
      "an https: URL without credentials, query and fragment (http: on loopback, or with insecure: true)",
      problem,
    );
  if (typeof value !== "string" && !(value instanceof URL)) throw refused("is neither a string nor a URL");
  let url: URL;
  try {
    url = new URL(value);
  } catch {
    throw refused("is not an absolute URL");
  }
  if (url.protocol !== "https:" && url.protocol !== "http:") throw refused("is of another protocol");
  if (url.username !== "" || url.password !== "") throw refused("carries credentials");
  if (/[?#]/.test(url.href)) throw refused("carries a query or a fragment");
  if (url.protocol === "http:" && !insecure && !isLoopback(url.hostname)) {
    throw refused("is plain http: to another host, which would show the API key to everyone on the way");
  }
  return url.origin + url.pathname.replace(/\/+$/, "");
}

function isLoopback(hostname: string): boolean {
  return /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
}

function checkApiKey(value: string): string {
  if (typeof value === "string" && /^[\x21-\x7e]+$/.test(value)) return value;
  const problem =
    typeof value !== "string"
      ? `is of type ${typeof value}`
      : value === ""
        ? "is empty"
        : "holds other characters";
  throw new InvalidInputError("apiKey", "visible ASCII characters, no spaces", problem);
}

function checkRetry(retry: ClientOptions["retry"] = {}): RetryRules {
  const {
    attempts = 3,
    baseDelay = 500,
    maxDelay = 8_000,
  } = retry === false ? {} : checkObject("retry", retry, ["attempts", "baseDelay", "maxDelay"]);
  const delays = { min: 0, max: LONGEST_DELAY };
  return Object.freeze({
    attempts:
      retry === false
        ? 1
        : checkNumber("retry.attempts", attempts, { min: 1, max: MOST_ATTEMPTS, integer: true }, withheld),
    baseDelay: checkNumber("retry.baseDelay", baseDelay, delays, withheld),
    maxDelay: checkNumber("retry.maxDelay", maxDelay, delays, withheld),
  });
}

function checkRateLimit(
  rateLimit: ClientOptions["rateLimit"] = { requests: 40, per: 1_000 },
): RateLimit | undefined {
  if (rateLimit === false) return undefined;
  const { requests, per } = checkObject("rateLimit", rateLimit, ["requests", "per"]);
  return {
    requests: checkNumber(
      "rateLimit.requests",
      requests,
      { min: 1, max: MOST_REQUESTS, integer: true },
      withheld,
    ),
    per: checkNumber("rateLimit.per", per, { min: 1, max: LONGEST_DELAY }, withheld),
  };
}

function checkQuota(quota: ClientOptions["quota"]): Quota | undefined {
  if (quota === undefined) return undefined;
  const { units, per } = checkObject("quota", quota, ["units", "per"], "an object with units and per");
  return {
    units: checkNumber("quota.units", units, { min: 1 }, withheld),
    per: checkNumber("quota.per", per, { min: 1_000, max: LONGEST_DELAY }, withheld),
  };
}

function checkObject<T extends object>(
  parameter: string,
  value: T,
  names: readonly (keyof T & string)[],
  allowed = "an object, or false",
): T {
  if (typeof value === "object" && value !== null) {
    checkNames(value, names, `${parameter}.`);
    return value;
  }
  throw new InvalidInputError(parameter, allowed, `is ${withheld(value)}`);
}

function checkScheduler(
  scheduler: SchedulerLike = asyncScheduler,
  fetch: SessionFetch | undefined,
): SchedulerLike {
  if (typeof scheduler?.now === "function" && typeof scheduler.schedule === "function") {
    return fetch?.[SESSION]?.(scheduler) ?? scheduler;
  }
  throw new InvalidInputError("scheduler", "an RxJS scheduler, with now and schedule", "is none");
}
