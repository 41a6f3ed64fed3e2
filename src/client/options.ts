import { asyncScheduler, type SchedulerLike } from "rxjs";
import { checkFlag, checkNumber, LONGEST_DELAY, show } from "../contract/input.js";
import type { Series } from "../contract/model.js";
import { checkNames, checkScheduler, namesOf } from "../contract/names.js";
import { type AnyPairstreamError, InvalidInputError } from "../errors.js";
import { type ClientStore, SERVE, type ServableStore } from "./client-store.js";
import type { RetryRules } from "./core.js";
import type { RateLimit } from "./limits/places.js";
import type { Quota } from "./limits/quota.js";
import { checkApiKey, type KeyFunction } from "./send/keys.js";
import { type FetchLike, keepAliveFetch, SESSION, type SessionFetch } from "./send/transport.js";

/** What `createClient` takes. */
export interface ClientOptions {
  /**
   * The address of the service: `https:`, without credentials, query or fragment; a path prefix is allowed. Plain
   * `http:` only on loopback.
   */
  baseUrl: string | URL;
  /** Allows plain `http:` to other hosts, which shows the key to everyone on the network; default `false`. */
  insecure?: boolean;
  /**
   * The key of the service, in visible ASCII, or a function that gives it. It is sent as `X-API-Key`, to the origin of `baseUrl`
   * and nowhere else. The function is called before each request, within its `timeout`; so it should keep a key until that has
   * run out. Where it fails or gives no key in time, the request has failed. After a 401 it is called once more for the same
   * request; requests that were refused at the same time share the new key.
   */
  apiKey: string | (() => string | Promise<string>);
  /** The function that sends requests; default: cross-fetch, which keeps connections alive on Node. */
  fetch?: FetchLike;
  /** The time limit of one attempt, body included, in ms, 1 to 2^31 − 1; default 10,000. */
  timeout?: number;
  /**
   * How often a call is attempted (default 3 times), and how long it waits in between. The wait begins at `baseDelay`
   * (default 500 ms) and doubles each time, up to `maxDelay` (default 8,000 ms). If the service requests a longer wait, that
   * one counts. If it requests more than `maxDelay`, the call fails. `false`: one attempt.
   */
  retry?:
    | {
        /** How many attempts a call has, the first included, 1 to 100; default 3. */
        attempts?: number;
        /** The wait before the second attempt, in ms, 0 to 2^31 − 1; default 500. */
        baseDelay?: number;
        /** The longest wait, in ms, 0 to 2^31 − 1; default 8,000. */
        maxDelay?: number;
      }
    | false;
  /**
   * At most `requests` (1 to 10,000) arrive at the service in any window of `per` ms, for the whole client; default 40 per
   * 1,000. A request counts until `per` ms after its answer has begun, so the rate is `requests / (per + round trip)`.
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
   * At most `units` (from 1) in each period of `per` ms (1,000 to 2^31 − 1), for the whole client; default: no limit. Periods
   * begin at multiples of `per` since the epoch, by the service's clock. A call costs what its `X-Request-Weight` says, else
   * 150 (OHLCV) or 50 (snipers). Streams spread the remaining units over the period: they leave out polls within an interval
   * first, and those at its end last. A call beyond the quota fails with a `QuotaExceededError`.
   */
  quota?: {
    /** How many units, from 1. */
    units: number;
    /** The length of the period, in ms, 1,000 to 2^31 − 1. */
    per: number;
  };
  /** The source of every timer and every `now()`; default `asyncScheduler`. */
  scheduler?: SchedulerLike;
  /**
   * Keeps final candles, such as `sqliteStore` of `pairstream/store`, or a store of your own in `candleStore`. Histories are
   * read from it as far as it reaches, and candles that become final are written to it. Its errors are in `activity`.
   * Default: none. It cannot be combined with a `fetch` that records or replays.
   */
  store?: ClientStore;
  /**
   * Gets a message, on one line and without the key, when a stream is in trouble, and when it is well again: once a trouble,
   * and once for all who share its poll. A stream that has not begun is in trouble with its first attempt that fails, or
   * after 10 s without an answer; later a minute counts. It also says that polls wait for `rateLimit`, and that a `quota`
   * does not pay for all closes. `false`: no messages. Default: a warning of the process, at most ten a minute, or
   * `console.warn` where there is none. A replay is silent. See the document about errors.
   */
  warn?:
    | ((
        message: string,
        trouble: {
          /** The candles that are watched; absent for snipers, and where the whole client is in trouble. */
          readonly series?: Series;
          /** The pair that is watched; absent where the whole client is in trouble, such as with its store. */
          readonly pairAddress?: string;
          /** What went wrong; absent where nothing failed, such as when it is well again. */
          readonly error?: AnyPairstreamError;
          /** Failures in a row, what is under way included; 0 where there are none. */
          readonly failures: number;
        },
      ) => void)
    | false;
}

/** The options, checked and complete. */
export interface Settings {
  /** Without a slash at its end. */
  readonly baseUrl: string;
  readonly apiKey: string | KeyFunction;
  readonly fetch: FetchLike;
  readonly timeout: number;
  readonly retry: RetryRules;
  readonly rateLimit: RateLimit | undefined;
  readonly quota: Quota | undefined;
  readonly scheduler: SchedulerLike;
  readonly store: ServableStore | undefined;
  /** As in the options; `false` for a replay. */
  readonly warn: ClientOptions["warn"];
  /** The scheduler of the options, also where a session has one of its own. */
  readonly clock: SchedulerLike;
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
  store: true,
  warn: true,
});

/** What a `fetch` that records or replays does for its client. */
type Session = SessionFetch[typeof SESSION];

/** What a number may be, and what it is where it is left out. */
type NumberRule = Parameters<typeof checkNumber>[2] & { readonly standard?: number };

const RETRY = {
  attempts: { min: 1, max: 100, integer: true, standard: 3 },
  baseDelay: { min: 0, max: LONGEST_DELAY, unit: "ms", standard: 500 },
  maxDelay: { min: 0, max: LONGEST_DELAY, unit: "ms", standard: 8_000 },
};
const RATE_LIMIT = {
  requests: { min: 1, max: 10_000, integer: true },
  per: { min: 1, max: LONGEST_DELAY, unit: "ms" },
};
const QUOTA = { units: { min: 1 }, per: { min: 1_000, max: LONGEST_DELAY, unit: "ms" } };

/** Checks the options of a client; throws an `InvalidInputError`. */
export function checkOptions(options: ClientOptions): Settings {
  if (typeof options !== "object" || options === null) {
    const problem = `is ${withheld(options)}`;
    throw new InvalidInputError("options", "an object with baseUrl and apiKey", problem);
  }
  checkNames(options, OPTION_NAMES);
  const { fetch, timeout = 10_000, rateLimit = { requests: 40, per: 1_000 }, quota, retry = {} } = options;
  const { scheduler = asyncScheduler } = options;
  if (fetch !== undefined && typeof fetch !== "function") {
    throw new InvalidInputError("fetch", "a function like the global fetch", `is of type ${typeof fetch}`);
  }
  checkScheduler(scheduler);
  const session = (fetch as SessionFetch | undefined)?.[SESSION];
  return {
    baseUrl: checkBaseUrl(options.baseUrl, checkFlag("insecure", options.insecure, withheld)),
    apiKey: typeof options.apiKey === "function" ? options.apiKey : checkApiKey(options.apiKey),
    timeout: checkNumber("timeout", timeout, { min: 1, max: LONGEST_DELAY, unit: "ms" }, withheld),
    retry: checkNumbers("retry", retry === false ? { attempts: 1 } : retry, RETRY),
    rateLimit: rateLimit === false ? undefined : checkNumbers("rateLimit", rateLimit, RATE_LIMIT),
    quota: quota === undefined ? undefined : checkNumbers("quota", quota, QUOTA, ""),
    clock: scheduler,
    scheduler: session?.(scheduler) ?? scheduler,
    fetch: fetch ?? keepAliveFetch(),
    store: checkStore(options.store, session),
    warn: checkWarn(options.warn, session),
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
      "an https: URL without credentials, query or fragment (http: on loopback, or with insecure: true)",
      problem,
    );
  if (typeof value !== "string" && !(value instanceof URL)) throw refused(`is ${withheld(value)}`);
  let url: URL;
  try {
    url = new URL(value);
  } catch {
    throw refused("is not an absolute URL, which begins with https://");
  }
  if (url.protocol !== "https:" && url.protocol !== "http:")
    throw refused("begins with neither https: nor http:");
  if (url.username !== "" || url.password !== "") throw refused("carries credentials");
  if (/[?#]/.test(url.href)) throw refused("carries a query or a fragment");
  if (url.protocol === "http:" && !insecure && !isLoopback(url.hostname)) {
    throw refused("is plain http: to another host, where anyone on the way could read the API key");
  }
  return url.origin + url.pathname.replace(/\/+$/, "");
}

function isLoopback(hostname: string): boolean {
  return /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
}

/** Checks an option that is an object of numbers. */
function checkNumbers<Name extends string>(
  parameter: string,
  value: { readonly [name in Name]?: number },
  rules: Readonly<Record<Name, NumberRule>>,
  other = ", or false",
): Readonly<Record<Name, number>> {
  const names = Object.keys(rules) as Name[];
  if (typeof value !== "object" || value === null) {
    const allowed = `an object of ${names.join(", ")}${other}`;
    throw new InvalidInputError(parameter, allowed, `is ${withheld(value)}`);
  }
  checkNames(value, names, `${parameter}.`);
  const checked = names.map((name) => {
    const { [name]: given = rules[name].standard } = value;
    return [name, checkNumber(`${parameter}.${name}`, given!, rules[name], withheld)];
  });
  return Object.freeze(Object.fromEntries(checked));
}

function checkStore(store: ClientStore | undefined, session: Session): ServableStore | undefined {
  if (store === undefined) return undefined;
  if (typeof store?.[SERVE] !== "function") {
    const allowed = "a store of pairstream/store, or candleStore(own) around one of your own";
    throw new InvalidInputError("store", allowed, `is ${withheld(store)}`);
  }
  if (session === undefined) return store as ServableStore;
  const problem = "is set, and a recording does not hold what comes from it";
  throw new InvalidInputError("store", "no store where fetch records or replays", problem);
}

function checkWarn(warn: ClientOptions["warn"], session: Session): ClientOptions["warn"] {
  if (warn !== undefined && warn !== false && typeof warn !== "function") {
    throw new InvalidInputError("warn", "a function, or false", `is ${withheld(warn)}`);
  }
  return session?.isReplay ? false : warn;
}
