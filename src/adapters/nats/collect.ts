import { Observable } from "rxjs";
import { type Client, coreOf } from "../../client/core.js";
import { checkNumber } from "../../contract/input.js";
import { InvalidInputError } from "../../errors.js";
import type { CollectorActivity } from "./activity.js";
import { Collector } from "./collector.js";
import type { CollectedWatch } from "./feed-kinds.js";
import { type CollectedFeed, checkFeed } from "./feed-requests.js";
import type { NatsConnection } from "./nats.js";
import { checkConnection, checkGroup, checkNatsOptions, type StreamOptions } from "./options.js";

/** How collectors stand in for one another. All collectors of a group need the same options, except `signal`. */
export interface CollectOptions extends Omit<StreamOptions, "scheduler"> {
  /** The collectors that stand in for one another: 1 to 32 letters, digits, `_` or `-`; default `"default"`. */
  group?: string;
  /** The time within which another collector takes over from one that has died, in ms, from 1,000; default 15,000. */
  lease?: number;
  /** When it aborts, the collector gives its lease up, and the stream completes once the others know. Default: none. */
  signal?: AbortSignal;
}

const COLLECT_NAMES = ["replicas", "retention", "group", "lease", "signal"];

/**
 * Polls the service and publishes the results while it is subscribed to. Any number of collectors of the same group stand in
 * for one another: one of them leads, and works on all feeds. If it dies, another one takes over within `lease` ms, and goes
 * on where it stopped.
 *
 * ```marbles
 * another collector                   ----x----------
 * collect(connection, client, feeds)  (lb)(ds)-------
 *
 * x: takes the lease over
 * l: leading    b: started    d: stopped    s: standing-by
 * ```
 *
 * A new leader asks for nothing until no request of an earlier one counts any more: for one window of the client's
 * `rateLimit` if that one has left and had waited its own time, otherwise for the client's `timeout` plus one window. So the
 * sum never exceeds the key's limit. All clients need the same `rateLimit` and `timeout`. Direct calls of a client are
 * counted, but do not wait for the lease. A `quota` belongs to one client, so give each client its part.
 *
 * `feeds`: options of `watchCandles` and `watchSnipers`, the same list for all collectors. `addFeed` and
 * `removeFeed` change what a running group collects besides, so the list may be empty. `since` counts only for a series of which
 * nothing is stored yet. `fillGaps` is refused, because only the service's own candles are collected. All
 * timers use the client's scheduler.
 *
 * The stream fails with a `PairstreamError` if others of the group follow different rules or a stream is set up
 * differently, and with a `NetworkError` once the connection is closed for good. Unsubscribing gives the lease up
 * too, but does not say when that is done, so a program that ends should abort `signal` first. Throws an
 * `InvalidInputError` at the call.
 *
 * ```ts
 * import { connect } from "@nats-io/transport-node";
 * import { createClient } from "pairstream";
 * import { collect } from "pairstream/nats";
 *
 * const connection = await connect({ servers: "127.0.0.1:4222", maxReconnectAttempts: -1 });
 * const client = createClient({ baseUrl: "https://api.example.com", apiKey: "…" });
 * const pairAddress = "83v8iPyZihDEjDdY8RdZddyZNyUtXngz69Lgo9Kt5d6d";
 * const minutes = { network: "mainnet", pairAddress, timeframe: "1min", currency: "usd" } as const;
 * collect(connection, client, [{ ...minutes, since: { candles: 500 } }, { pairAddress }]).subscribe(console.log);
 * ```
 */
export function collect(
  connection: NatsConnection,
  client: Client,
  feeds: readonly CollectedWatch[],
  options: CollectOptions = {},
): Observable<CollectorActivity> {
  checkConnection(connection);
  const { scheduler, timeout, rateLimit } = coreOf(client);
  const settings = { ...checkNatsOptions(options, COLLECT_NAMES), scheduler };
  const { signal } = options;
  const group = checkGroup(options.group);
  if (signal !== undefined && typeof signal?.addEventListener !== "function") {
    throw new InvalidInputError("signal", "an AbortSignal", "is not an AbortSignal");
  }
  const lease = checkNumber("lease", options.lease ?? 15_000, { min: 1_000, unit: "ms" });
  const rules = { lease, limit: rateLimit === undefined ? null : { ...rateLimit, timeout } };
  const checked = checkFeeds(settings.name, feeds);
  return new Observable((subscriber) => {
    const setup = { connection, client, settings, group, rules, feeds: checked };
    const collector = new Collector(setup, subscriber);
    const retire = () => void collector.stop().then(() => subscriber.complete());
    collector.start();
    if (signal?.aborted) retire();
    else signal?.addEventListener("abort", retire);
    return () => {
      signal?.removeEventListener("abort", retire);
      void collector.stop();
    };
  });
}

/** Feeds by the key of their subjects. */
function checkFeeds(name: string, feeds: readonly CollectedWatch[]) {
  if (!Array.isArray(feeds)) {
    const allowed = "a list of feeds, each with the options of watchCandles or watchSnipers";
    throw new InvalidInputError("feeds", allowed, "is not such a list");
  }
  const checked = new Map<string, CollectedFeed>();
  for (const watch of feeds as readonly CollectedWatch[]) {
    const one = checkFeed(name, watch);
    const { key } = one.feed;
    if (checked.has(key)) throw new InvalidInputError("feeds", "each feed once", `holds ${key} twice`);
    checked.set(key, one);
  }
  return checked;
}
