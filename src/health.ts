import { type Client, coreOf } from "./client/core.js";
import type { RunningPoll } from "./client/metering.js";
import type { AnyPairstreamError } from "./errors.js";

/** How the feeds of a client are. */
export interface Health {
  /** Whether no feed is stalled, and none has been starting for more than 60,000 ms. */
  readonly ok: boolean;
  /** How many feeds there are, by state. Streams that share a poll are one feed. */
  readonly feeds: {
    /** The number of feeds without an answer yet that can be read. */
    readonly starting: number;
    /** The number of feeds that have shown all that was due. */
    readonly live: number;
    /** The number of feeds that lack something that was due. */
    readonly stalled: number;
  };
  /** Why a feed fails: one that is stalled, else one that is starting. Absent if none does. */
  readonly lastError?: AnyPairstreamError;
}

/** How long a feed may be starting, in ms: longer than the retries of a request, and the crowd of a restart. */
const PATIENCE = 60_000;

/**
 * How the feeds of a client are now, for the health check of a process.
 *
 * It sends nothing and sets no timer. A client without streams is well. A stream that has ended is not counted any more:
 * handle its error, or compare `feeds` with what you watch. A pair that is waited for (`whenMissing: "wait"`) is a feed that
 * is starting. A history that is being read is only in `watchFeedStatus`. A new start does not heal the service, so let
 * `ok` raise an alarm, or keep visitors away, rather than restart the process. Throws an `InvalidInputError` if `client` is
 * not a client.
 *
 * ```ts
 * import { createServer } from "node:http";
 * import { createClient, healthOf } from "pairstream";
 *
 * const client = createClient({ baseUrl: "https://api.example.com", apiKey: "…" });
 * createServer((_request, response) => {
 *   const { ok, feeds, lastError } = healthOf(client);
 *   response.writeHead(ok ? 200 : 503, { "content-type": "application/json" });
 *   response.end(JSON.stringify({ ok, feeds, lastError: lastError?.message }));
 * }).listen(8081, "127.0.0.1");
 * ```
 */
export function healthOf(client: Client): Health {
  const { metering, scheduler } = coreOf(client);
  return healthAt(metering.polls, scheduler.now());
}

/** The health of these polls at an instant of the scheduler. */
export function healthAt(polls: Iterable<Omit<RunningPoll, "feed">>, now: number): Health {
  const feeds = { starting: 0, live: 0, stalled: 0 };
  const errors: { [state in RunningPoll["state"]]?: AnyPairstreamError } = {};
  let ok = true;
  for (const { state, begunAt, lastError } of polls) {
    feeds[state] += 1;
    if (lastError !== undefined) errors[state] ??= lastError;
    if (state === "stalled" || (state === "starting" && now - begunAt > PATIENCE)) ok = false;
  }
  const lastError = errors.stalled ?? errors.starting;
  return Object.freeze({
    ok,
    feeds: Object.freeze(feeds),
    ...(lastError === undefined ? {} : { lastError }),
  });
}
