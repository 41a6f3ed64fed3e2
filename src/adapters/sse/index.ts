/**
 * The streams over server-sent events: one program has the key and polls, browsers and other programs receive.
 *
 * @module pairstream/sse
 */

export { createEventChannel, type EventChannel } from "./channel.js";
export { type ChannelEvent, isCandleEvent, isFeedStatus, isSniperEvent } from "./events.js";
export type { EventChannelOptions, ServerSentEventsOptions, StreamingFetch } from "./options.js";
export { fromServerSentEvents } from "./receiver.js";
