export { createEventChannel, type EventChannel } from "./channel.js";
export { type ChannelEvent, isCandleEvent, isFeedStatus, isSniperEvent } from "./events.js";
export type { EventChannelOptions, ServerSentEventsOptions, StreamingFetch } from "./options.js";
export { fromServerSentEvents } from "./receiver.js";
