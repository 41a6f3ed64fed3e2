/**
 * The streams over NATS: collectors stand in for one another, and any number of programs on any number of
 * machines watch what they publish.
 *
 * @module pairstream/nats
 */

export type { CollectorActivity } from "./activity.js";
export { addFeed, type FeedRequestOptions, removeFeed } from "./ask.js";
export { type CollectOptions, collect } from "./collect.js";
export type { CollectedWatch } from "./feed-kinds.js";
export type { NatsOptions, StreamOptions } from "./options.js";
export { type NatsSourceOptions, natsSource } from "./source.js";
