import type { Series, SniperQuery } from "../../contract/model.js";
import { PairstreamError } from "../../errors.js";
import { PlainNetworkError } from "../wire/error.js";
import type { CollectedWatch } from "./feed-kinds.js";
import { checkFeed, type FeedRequest, readAnswer, withVersion } from "./feed-requests.js";
import type { NatsConnection } from "./nats.js";
import { checkConnection, checkGroup, checkNatsOptions } from "./options.js";
import { failureOver, Store } from "./store.js";
import { feedsSubject, subjectsOf } from "./subjects.js";

/** Which collectors are asked. */
export interface FeedRequestOptions {
  /** The beginning of all names of subjects, streams and buckets; default `"pairstream"`. */
  name?: string;
  /** The group of the collectors; default `"default"`. */
  group?: string;
}

/** How long the leader of a group may take to answer, in ms: it has to reach the servers in its turn. */
const ANSWER_TIMEOUT = 5_000;

/**
 * Has a running group of collectors collect one more feed, without a restart: all of its collectors know it from then on, also those
 * that begin later. Resolves with whether it is new; if the group collects the feed already, that goes on as it was.
 *
 * Whether the service knows the pair shows in the status of `natsSource`. To ask again does no harm. Rejects with an
 * `InvalidInputError` for options that `collect` refuses, with a `NetworkError` if no collector leads the group or none answers,
 * and with a `PairstreamError` that says why if the leader refuses.
 *
 * ```ts
 * import { connect } from "@nats-io/transport-node";
 * import { addFeed } from "pairstream/nats";
 *
 * const connection = await connect({ servers: "127.0.0.1:4222" });
 * const pairAddress = "83v8iPyZihDEjDdY8RdZddyZNyUtXngz69Lgo9Kt5d6d";
 * const minutes = { network: "mainnet", pairAddress, timeframe: "1min", currency: "usd" } as const;
 * console.log(await addFeed(connection, { ...minutes, since: { candles: 500 } }));
 * await connection.close();
 * ```
 */
export async function addFeed(
  connection: NatsConnection,
  feed: CollectedWatch,
  options: FeedRequestOptions = {},
): Promise<boolean> {
  const place = checkPlace(connection, options);
  checkFeed(place.name, feed);
  return ask(connection, place, { add: feed });
}

/**
 * Has a running group of collectors leave a feed that it was asked for by `addFeed`. Resolves with whether it collected it. Who reads
 * it is told by its status, `stalled`; what is stored stays. A feed of the collectors' own list is refused. Rejects as `addFeed` does.
 *
 * ```ts
 * import { connect } from "@nats-io/transport-node";
 * import { removeFeed } from "pairstream/nats";
 *
 * const connection = await connect({ servers: "127.0.0.1:4222" });
 * const pairAddress = "83v8iPyZihDEjDdY8RdZddyZNyUtXngz69Lgo9Kt5d6d";
 * await removeFeed(connection, { network: "mainnet", pairAddress, timeframe: "1min", currency: "usd" });
 * await connection.close();
 * ```
 */
export async function removeFeed(
  connection: NatsConnection,
  feed: Series | SniperQuery,
  options: FeedRequestOptions = {},
): Promise<boolean> {
  const place = checkPlace(connection, options);
  return ask(connection, place, { remove: subjectsOf(place.name, feed).key });
}

function checkPlace(connection: NatsConnection, options: FeedRequestOptions) {
  checkConnection(connection);
  const { name } = checkNatsOptions(options, ["group"]);
  return { name, group: checkGroup(options.group) };
}

async function ask(
  connection: NatsConnection,
  { name, group }: ReturnType<typeof checkPlace>,
  asked: FeedRequest,
): Promise<boolean> {
  const store = await Store.open(connection);
  const whom = `the group ${group} of ${name}`;
  try {
    const subject = feedsSubject(name, group);
    const { data } = await connection.request(subject, withVersion(asked), { timeout: ANSWER_TIMEOUT });
    const { changed, refusal } = readAnswer(new TextDecoder().decode(data));
    if (refusal !== undefined) throw new PairstreamError(`The leader of ${whom} refuses: ${refusal}`);
    return changed;
  } catch (cause) {
    if (store.isUnanswered(cause)) throw new PlainNetworkError(`No collector leads ${whom}`, { cause });
    if (store.isPassing(cause))
      throw new PlainNetworkError(`The leader of ${whom} does not answer`, { cause });
    throw failureOver(connection, `The leader of ${whom} cannot be asked`, cause);
  }
}
