import { Observable } from "rxjs";
import { checkWatch } from "../../candles/options.js";
import { type Client, coreOf } from "../../client/core.js";
import { checkNumber, LONGEST_DELAY } from "../../contract/input.js";
import { checkNames } from "../../contract/names.js";
import { InvalidInputError } from "../../errors.js";
import { checkSniperWatch } from "../../snipers/watch.js";
import { Collector, type CollectorActivity } from "./collector.js";
import type { CollectedWatch } from "./feed-kinds.js";
import type { GroupRules } from "./leases.js";
import type { NatsConnection } from "./nats.js";
import { checkConnection, checkNatsOptions, type StreamOptions } from "./options.js";
import { candleSubjects, type FeedSubjects, sniperSubjects } from "./subjects.js";

/** How collectors share their work; the same for all of a group. */
export interface CollectOptions extends Omit<StreamOptions, "scheduler"> {
  /** The collectors that share one key: 1 to 32 letters, digits, `_` or `-`; default `"default"`. */
  group?: string;
  /**
   * The key's limit, of which each collector gets the part that its slots are of all: at most `requests` (1 to 10,000) in
   * any window of `per` ms, over all collectors; default 40 per 1,000.
   */
  rateLimit?:
    | {
        /** How many requests, a whole number from 1 to 10,000. */
        requests: number;
        /** The length of the window, in ms, 1 to 2^31 − 1. */
        per: number;
      }
    | false;
  /** ms within which others take over the work of a collector that has died, from 1,000; default 15,000. */
  lease?: number;
  /** Into how many parts work and rate limit are cut, from 1 up to `rateLimit.requests`; default 16, or as many as that. */
  slots?: number;
  /** Hands its slots on when it aborts; the stream completes once the others know. Default: none. */
  signal?: AbortSignal;
}

const GROUP = /^[A-Za-z0-9_-]{1,32}$/;
const DEFAULT_LIMIT = { requests: 40, per: 1_000 };
const DEFAULT_SLOTS = 16;

const COLLECT_NAMES = ["replicas", "retention", "group", "rateLimit", "lease", "slots", "signal"];

/**
 * Polls the service and publishes what it finds, together with any number of other collectors of the same group, as long
 * as anyone subscribes: every feed is worked on by exactly one of them, and when one dies the others take over its feeds
 * within `lease` ms, from where it has left them.
 *
 * ```marbles
 * another collector                   ----x---y-----
 * collect(connection, client, feeds)  (ab)(cd)(ab)--
 *
 * x: begins     y: leaves
 * a: started    b: holds 16 slots    c: stopped    d: holds 8 slots
 * ```
 *
 * The work is cut into slots, and the rate limit with it: a collector that holds n of N slots asks at most n/N of what the
 * key allows, whatever the limit of `client` itself, which has to be the key's as well. A slot that changes hands counts
 * for its new holder once a window of the limit has passed and, unless its holder has left, the client's `timeout`: nothing
 * that was sent before counts any more then, so that the sum holds in every moment. All clients need the same `timeout`.
 * Direct calls of the client are counted, but not held back; a `quota` is each client's own, so give each its part.
 *
 * `feeds`: what `watchCandles` and `watchSnipers` take, the same list for all collectors; `since` counts for a series of
 * which nothing is stored yet, and `fillGaps` is the subscriber's affair. All timers are those of the client's scheduler.
 *
 * It errors with a `PairstreamError` where others of the group go by other rules, or where a stream is set up otherwise,
 * and with a `NetworkError` once the connection is closed for good. Leaving hands the slots on, too, but does not tell when
 * that is done: a program that ends aborts `signal` first. Throws an `InvalidInputError` at the call.
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
    throw new InvalidInputError("group", "1 to 32 letters, digits, _ or -", "is no such text");
  }
  if (signal !== undefined && typeof signal?.addEventListener !== "function") {
    throw new InvalidInputError("signal", "an AbortSignal", "is none");
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
  checkNumber("lease", lease, { min: 1_000 });
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
  checkNumber("rateLimit.per", per, { min: 1, max: LONGEST_DELAY });
  const most = { min: 1, max: requests, integer: true };
  return {
    slots: checkNumber("slots", slots ?? Math.min(DEFAULT_SLOTS, requests), most),
    lease,
    limit: { requests, per, timeout },
  };
}

/** By the key of their subjects. */
function checkFeeds(name: string, feeds: readonly CollectedWatch[]) {
  if (!Array.isArray(feeds) || feeds.length === 0) {
    throw new InvalidInputError("feeds", "a list of what watchCandles and watchSnipers take", "is none");
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
  if (isSnipers) return sniperSubjects(name, checkSniperWatch(watch).query);
  const { series, fillGaps } = checkWatch(watch);
  if (fillGaps) {
    throw new InvalidInputError("fillGaps", "false, as gaps are filled where they are looked at", "is true");
  }
  return candleSubjects(name, series);
}
