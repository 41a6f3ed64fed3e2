import { Observable } from "rxjs";
import { checkWatch } from "../../candles/options.js";
import { type Client, coreOf } from "../../client/core.js";
import { checkNumber, LONGEST_DELAY } from "../../contract/input.js";
import { checkNames } from "../../contract/names.js";
import { InvalidInputError } from "../../errors.js";
import { refuseKnown } from "../../snipers/known.js";
import { checkSniperWatch } from "../../snipers/watch.js";
import type { CollectorActivity } from "./activity.js";
import { Collector } from "./collector.js";
import type { CollectedWatch } from "./feed-kinds.js";
import type { GroupRules } from "./leases.js";
import type { NatsConnection } from "./nats.js";
import { checkConnection, checkNatsOptions, type StreamOptions } from "./options.js";
import { candleSubjects, type FeedSubjects, sniperSubjects } from "./subjects.js";

/** How collectors share their work. All collectors of a group need the same options, except `signal`. */
export interface CollectOptions extends Omit<StreamOptions, "scheduler"> {
  /** The collectors that share one key: 1 to 32 letters, digits, `_` or `-`; default `"default"`. */
  group?: string;
  /**
   * The key's limit, shared among the collectors in proportion to their slots: at most `requests` (1 to 10,000) in any
   * window of `per` ms, over all collectors; `false` for no limit; default 40 per 1,000.
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
   * The time within which others take over the work of a collector that has died, in ms, from 1,000; default 15,000. At
   * least 12 times the number of collectors times their round trip to the servers, or living ones lose their work, too.
   */
  lease?: number;
  /**
   * The number of slots into which the work and the rate limit are divided, from 1 to `rateLimit.requests` (without a
   * limit from 1); default 16, or `rateLimit.requests` if that is less.
   */
  slots?: number;
  /**
   * When it aborts, the collector hands its slots over, and the stream completes once the others know. Default: none.
   */
  signal?: AbortSignal;
}

const GROUP = /^[A-Za-z0-9_-]{1,32}$/;
const DEFAULT_LIMIT = { requests: 40, per: 1_000 };
const DEFAULT_SLOTS = 16;

const COLLECT_NAMES = ["replicas", "retention", "group", "rateLimit", "lease", "slots", "signal"];

/**
 * Polls the service and publishes the results while it is subscribed to. Any number of collectors of the same group
 * share the work: exactly one of them works on each feed. If one dies, the others take over its feeds within `lease`
 * ms, and go on where it stopped.
 *
 * ```marbles
 * another collector                   ----x---y-----
 * collect(connection, client, feeds)  (ab)(cd)(ab)--
 *
 * x: begins     y: leaves
 * a: started    b: holds 16 slots    c: stopped    d: holds 8 slots
 * ```
 *
 * The work and the rate limit are divided into slots. A collector that holds n of N slots sends at most n/N of the
 * requests that the key allows. The limit of `client` itself has to be the key's too. When a slot changes hands, its
 * new holder must wait before it may use its part of the limit: one window of the limit if the old holder has left and
 * had waited its own time, otherwise the client's `timeout` plus one window. By then no earlier request counts any more, so the sum never
 * exceeds the key's limit. All clients need the same `timeout`. Direct calls of the client are counted, but never
 * delayed. A `quota` belongs to one client, so give each client its part.
 *
 * `feeds`: options of `watchCandles` and `watchSnipers`, the same list for all collectors. `since` counts only for a
 * series of which nothing is stored yet. `fillGaps` is refused, because only the service's own candles are collected, and
 * a reader cannot fill the gaps either; `publishCandles` publishes a filled stream. All timers use the client's scheduler.
 *
 * The stream fails with a `PairstreamError` if others of the group follow different rules or a stream is set up
 * differently, and with a `NetworkError` once the connection is closed for good. Unsubscribing hands the slots over
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
  const { scheduler, timeout } = coreOf(client);
  const settings = { ...checkNatsOptions(options, COLLECT_NAMES), scheduler };
  const { group = "default", signal } = options;
  if (typeof group !== "string" || !GROUP.test(group)) {
    throw new InvalidInputError("group", "1 to 32 letters, digits, _ or -", "is not such a text");
  }
  if (signal !== undefined && typeof signal?.addEventListener !== "function") {
    throw new InvalidInputError("signal", "an AbortSignal", "is not an AbortSignal");
  }
  const rules = checkRules(options, timeout);
  const checked = checkFeeds(settings.name, feeds);
  return new Observable((subscriber) => {
    const collector = new Collector(
      { connection, client, settings, group, rules, feeds: checked },
      subscriber,
    );
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

function checkRules(
  { rateLimit = DEFAULT_LIMIT, lease = 15_000, slots }: CollectOptions,
  timeout: number,
): GroupRules {
  if (rateLimit !== false && (typeof rateLimit !== "object" || rateLimit === null)) {
    throw new InvalidInputError("rateLimit", "an object, or false", `is ${String(rateLimit)}`);
  }
  checkNumber("lease", lease, { min: 1_000, unit: "ms" });
  if (rateLimit === false) {
    return {
      slots: checkNumber("slots", slots ?? DEFAULT_SLOTS, { min: 1, integer: true }),
      lease,
      limit: null,
    };
  }
  checkNames(rateLimit, ["requests", "per"], "rateLimit.");
  const { requests, per } = rateLimit;
  checkNumber("rateLimit.requests", requests, { min: 1, max: 10_000, integer: true });
  checkNumber("rateLimit.per", per, { min: 1, max: LONGEST_DELAY, unit: "ms" });
  const most = { min: 1, max: requests, integer: true };
  return {
    slots: checkNumber("slots", slots ?? Math.min(DEFAULT_SLOTS, requests), most),
    lease,
    limit: { requests, per, timeout },
  };
}

/** Feeds by the key of their subjects. */
function checkFeeds(name: string, feeds: readonly CollectedWatch[]) {
  if (!Array.isArray(feeds) || feeds.length === 0) {
    throw new InvalidInputError(
      "feeds",
      "a list of at least one feed, with the options of watchCandles or watchSnipers",
      "is not such a list",
    );
  }
  const checked = new Map<string, { feed: FeedSubjects; watch: CollectedWatch }>();
  for (const watch of feeds as readonly CollectedWatch[]) {
    const feed = checkFeed(name, watch);
    if (checked.has(feed.key)) {
      throw new InvalidInputError("feeds", "each feed once", `holds ${feed.key} twice`);
    }
    checked.set(feed.key, { feed, watch });
  }
  return checked;
}

function checkFeed(name: string, watch: CollectedWatch): FeedSubjects {
  const isSnipers = typeof watch === "object" && watch !== null && !("timeframe" in watch);
  if (isSnipers) {
    refuseKnown(watch, "in a feed of a collector");
    return sniperSubjects(name, checkSniperWatch(watch).query);
  }
  const { series, fillGaps } = checkWatch(watch);
  if (fillGaps) {
    const allowed =
      "false, because collectors publish the service's own candles; publishCandles takes a filled stream";
    throw new InvalidInputError("fillGaps", allowed, "is true");
  }
  return candleSubjects(name, series);
}
