import { asyncScheduler, type SchedulerLike } from "rxjs";
import { checkNumber, LONGEST_DELAY } from "../../contract/input.js";
import { checkNames, checkScheduler } from "../../contract/names.js";
import { InvalidInputError } from "../../errors.js";
import { Outage } from "./outage.js";

/**
 * The part of `fetch` that `gatewaySource` uses. Its responses have bodies that can be read as they arrive. Without
 * `cache`, a browser caches as the answer says.
 */
export type GatewayFetch = (
  url: string,
  init: { headers: Record<string, string>; cache?: "no-store"; signal: AbortSignal },
) => Response | Promise<Response>;

/** The options of `gatewaySource`, besides the address. */
export interface GatewaySourceOptions {
  /** The function that sends requests; default the global `fetch`. */
  fetch?: GatewayFetch;
  /** Headers of every request, such as `authorization`; default none. */
  headers?: Record<string, string>;
  /**
   * After how many ms without a byte a connection counts as dead, 1 to 2^31 − 1; default two and a half heartbeats of
   * the channel (37,500 until the channel has announced its heartbeat).
   */
  silence?: number;
  /** The clock of every timer and every `now()`; default `asyncScheduler`. */
  scheduler?: SchedulerLike;
  /**
   * Gets a message when the gateway cannot be reached, and when it is reached again: once a trouble, for all streams of the
   * source. A stream that was never connected says so at once, another one with the third attempt in a row that fails.
   * `false`: no messages. Default: a warning of the process, or `console.warn` where there is none.
   */
  warn?: ((message: string) => void) | false;
}

/** The options of a receiver, checked and complete. */
export interface ReceiverOptions {
  readonly url: string;
  readonly fetch: GatewayFetch;
  readonly headers: Readonly<Record<string, string>>;
  /** `undefined`: it follows from the channel's heartbeat. */
  readonly silence: number | undefined;
  readonly scheduler: SchedulerLike;
  /** What is said of a gateway that cannot be reached. */
  readonly outage: Outage;
}

/** Throws an `InvalidInputError`. */
export function checkReceiverOptions(url: string | URL, options: GatewaySourceOptions): ReceiverOptions {
  checkNames(options, ["fetch", "headers", "silence", "scheduler", "warn"]);
  const { fetch = globalFetch, silence, scheduler = asyncScheduler, warn } = options;
  if (typeof fetch !== "function") throw refused("fetch", "a function like the global fetch", fetch);
  if (warn !== undefined && warn !== false && typeof warn !== "function") {
    throw refused("warn", "a function, or false", warn);
  }
  checkScheduler(scheduler);
  const checked = checkUrl(url);
  return {
    url: checked,
    fetch,
    headers: checkHeaders(options.headers),
    silence:
      silence === undefined
        ? undefined
        : checkNumber("silence", silence, { min: 1, max: LONGEST_DELAY, unit: "ms" }),
    scheduler,
    outage: new Outage(checked, warn),
  };
}

/** A browser's `fetch` must not be called as a method of another object. */
const globalFetch: GatewayFetch = (url, init) => globalThis.fetch(url, init);

/** Where a relative address leads outside of a page. A server may load it, as it renders a page, but asks nothing there. */
const NOWHERE = "http://relative.invalid";
const ALLOWED_URL = "an http: or https: URL without credentials; in a page also relative";

/** Errors do not show the value: it may hold credentials. */
const refusedUrl = (problem: string) => new InvalidInputError("url", ALLOWED_URL, problem);

/** The address without its query, which may hold secrets. Throws an `InvalidInputError` for a relative one outside of a page. */
export function placeOf(checkedUrl: string): string {
  const { origin, pathname } = new URL(checkedUrl);
  if (origin === NOWHERE) throw refusedUrl("is relative, and this is no page");
  return origin + pathname;
}

function checkUrl(value: string | URL): string {
  if (typeof value !== "string" && !(value instanceof URL)) throw refused("url", ALLOWED_URL, value);
  // A variable that is not set gives it. Who means the page's own address writes `./`.
  if (value === "") throw refusedUrl("is empty");
  let url: URL;
  try {
    url = new URL(value, globalThis.location?.href ?? NOWHERE);
  } catch {
    throw refusedUrl("is not a URL");
  }
  if (url.protocol !== "https:" && url.protocol !== "http:") throw refusedUrl(`begins with ${url.protocol}`);
  if (url.username !== "" || url.password !== "") throw refusedUrl("carries credentials");
  return url.href;
}

/** Errors do not show a value: it may be a secret. */
function checkHeaders(headers: Record<string, string> = {}): Readonly<Record<string, string>> {
  try {
    const checked = Object.fromEntries(new Headers(headers));
    if (typeof headers === "object" && headers !== null) return Object.freeze(checked);
  } catch {}
  const allowed = "an object of names and values that HTTP allows";
  throw new InvalidInputError("headers", allowed, "is not such an object");
}

function refused(parameter: string, allowed: string, value: unknown): InvalidInputError {
  const kind = value === null ? "null" : typeof value;
  return new InvalidInputError(parameter, allowed, `is of type ${kind}`);
}
