/**
 * The streams over server-sent events: one program holds the key and polls, and browsers and other programs receive.
 *
 * @module pairstream/sse
 */

export { createEventChannel, type EventChannel } from "./channel.js";
export { type ChannelEvent, isCandleEvent, isFeedStatus, isSniperEvent } from "./events.js";
export { createGateway, type Gateway } from "./gateway/gateway.js";
export type { GatewayOptions, Wanted } from "./gateway/options.js";
export { gatewaySource } from "./gateway-source.js";
export type {
  EventChannelOptions,
  GatewayFetch,
  GatewaySourceOptions,
  ServerSentEventsOptions,
  StreamingFetch,
} from "./options.js";
export { fromServerSentEvents } from "./receiver.js";
