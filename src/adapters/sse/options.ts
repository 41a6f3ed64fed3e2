import { asyncScheduler, isObservable, type Observable, type SchedulerLike } from "rxjs";
import type { CandleEvent } from "../../candles/event.js";
import { checkNumber, LONGEST_DELAY } from "../../contract/input.js";
import { checkNames, namesOf } from "../../contract/names.js";
import { InvalidInputError } from "../../errors.js";
import type { FeedStatus } from "../../feed-status.js";
import type { SniperEvent } from "../../snipers/event.js";

/** The options of `createEventChannel`. At least one of the three streams is needed. */
export interface EventChannelOptions {
  /** Candle events of one series, or of several merged; hot or cold. Default: none. */
  candles?: Observable<CandleEvent>;
  /** Sniper events of one pair, or of several merged; hot or cold. Default: none. */
  snipers?: Observable<SniperEvent>;
  /** The status of the stream of candles or, without candles, of snipers. Default: no status. */
  status?: Observable<FeedStatus>;
  /** How many changes a receiver may miss and still get them on reconnecting, 0 to 100,000; default 1,000. */
  buffer?: number;
  /** How many candles of a series the channel holds, the newest ones, 1 to 100,000; default 5,000. */
  keep?: number;
  /** Time between two heartbeats in ms, 100 to 600,000; default 15,000. */
  heartbeat?: number;
  /** The clock of every timer and every `now()`; default `asyncScheduler`. */
  scheduler?: SchedulerLike;
}

/** The options of a channel, checked and complete. */
export interface ChannelOptions {
  readonly candles: Observable<CandleEvent> | undefined;
  readonly snipers: Observable<SniperEvent> | undefined;
  readonly status: Observable<FeedStatus> | undefined;
  readonly buffer: number;
  readonly keep: number;
  readonly heartbeat: number;
  readonly scheduler: SchedulerLike;
}

/** The part of `fetch` that the receiver uses; its response has a body that can be read as it arrives. */
export type StreamingFetch = (
  url: string,
  init: { headers: Record<string, string>; cache: "no-store"; signal: AbortSignal },
) => Response | Promise<Response>;

/**
 * The part of `fetch` that `gatewaySource` uses. Its responses have bodies that can be read as they arrive. Without
 * `cache`, a browser caches as the answer says.
 */
export type GatewayFetch = (
  url: string,
  init: { headers: Record<string, string>; cache?: "no-store"; signal: AbortSignal },
) => Response | Promise<Response>;

/** The options of `gatewaySource`, besides the address. */
export interface GatewaySourceOptions extends Omit<ServerSentEventsOptions, "fetch"> {
  /** The function that sends requests; default the global `fetch`. */
  fetch?: GatewayFetch;
}

/** The options of `fromServerSentEvents`, besides the address. */
export interface ServerSentEventsOptions {
  /** The function that sends requests; default the global `fetch`. */
  fetch?: StreamingFetch;
  /** Headers of every request, such as `authorization`; default none. */
  headers?: Record<string, string>;
  /**
   * After how many ms without a byte a connection counts as dead, 1 to 2^31 − 1; default two and a half heartbeats of
   * the channel (37,500 until the channel has announced its heartbeat).
   */
  silence?: number;
  /** The clock of every timer and every `now()`; default `asyncScheduler`. */
  scheduler?: SchedulerLike;
}

/** The options of a receiver, checked and complete. */
export interface ReceiverOptions<Fetch extends StreamingFetch = StreamingFetch> {
  readonly url: string;
  readonly fetch: Fetch;
  readonly headers: Readonly<Record<string, string>>;
  /** `undefined`: it follows from the channel's heartbeat. */
  readonly silence: number | undefined;
  readonly scheduler: SchedulerLike;
}

const CHANNEL_NAMES = namesOf<EventChannelOptions>({
  candles: true,
  snipers: true,
  status: true,
  buffer: true,
  keep: true,
  heartbeat: true,
  scheduler: true,
});

/** Throws an `InvalidInputError`. */
export function checkChannelOptions(options: EventChannelOptions): ChannelOptions {
  const allowed = "an object with at least one of candles, snipers and status";
  if (typeof options !== "object" || options === null) throw refused("options", allowed, options);
  checkNames(options, CHANNEL_NAMES);
  const { candles, snipers, status, buffer = 1_000, keep = 5_000, heartbeat = 15_000 } = options;
  const sources = { candles, snipers, status };
  for (const [name, source] of Object.entries(sources)) {
    if (source !== undefined && !isObservable(source)) throw refused(name, "an Observable", source);
  }
  if (Object.values(sources).every((source) => source === undefined)) {
    throw new InvalidInputError("options", allowed, "has no candles, snipers or status");
  }
  return {
    ...sources,
    buffer: checkNumber("buffer", buffer, { min: 0, max: 100_000, integer: true }),
    keep: checkNumber("keep", keep, { min: 1, max: 100_000, integer: true }),
    heartbeat: checkNumber("heartbeat", heartbeat, { min: 100, max: 600_000, unit: "ms" }),
    scheduler: checkScheduler(options.scheduler),
  };
}

/** Throws an `InvalidInputError`. */
export function checkReceiverOptions<Fetch extends StreamingFetch = StreamingFetch>(
  url: string | URL,
  options: Omit<ServerSentEventsOptions, "fetch"> & { fetch?: Fetch },
): ReceiverOptions<Fetch> {
  if (typeof options !== "object" || options === null) throw refused("options", "an object", options);
  checkNames(options, ["fetch", "headers", "silence", "scheduler"]);
  const { fetch = globalFetch as Fetch, silence } = options;
  if (typeof fetch !== "function") throw refused("fetch", "a function like the global fetch", fetch);
  return {
    url: checkUrl(url),
    fetch,
    headers: checkHeaders(options.headers),
    silence:
      silence === undefined
        ? undefined
        : checkNumber("silence", silence, { min: 1, max: LONGEST_DELAY, unit: "ms" }),
    scheduler: checkScheduler(options.scheduler),
  };
}

/** A browser's `fetch` must not be called as a method of another object. */
const globalFetch: StreamingFetch = (url, init) => globalThis.fetch(url, init);

/** Errors do not show the value: it may hold credentials. */
function checkUrl(value: string | URL): string {
  const refusedUrl = (problem: string) =>
    new InvalidInputError(
      "url",
      "an http: or https: URL without credentials; in a page it may be relative",
      problem,
    );
  if (typeof value !== "string" && !(value instanceof URL))
    throw refusedUrl(`is of type ${value === null ? "null" : typeof value}`);
  let url: URL;
  try {
    url = new URL(value, globalThis.location?.href);
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
  throw new InvalidInputError(
    "headers",
    "an object of names and values that HTTP allows",
    "is not such an object",
  );
}

export function checkScheduler(scheduler: SchedulerLike = asyncScheduler): SchedulerLike {
  if (typeof scheduler?.now === "function" && typeof scheduler.schedule === "function") return scheduler;
  throw refused("scheduler", "an RxJS scheduler, with now and schedule", scheduler);
}

function refused(parameter: string, allowed: string, value: unknown): InvalidInputError {
  const kind = value === null ? "null" : typeof value;
  return new InvalidInputError(parameter, allowed, `is of type ${kind}`);
}
