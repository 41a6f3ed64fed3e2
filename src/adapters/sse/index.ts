/**
 * The streams over server-sent events: one program holds the key and polls, and browsers and other programs receive.
 *
 * @module pairstream/sse
 */

export { createGateway, type Gateway } from "./gateway/gateway.js";
export type { GatewayOptions, Wanted } from "./gateway/options.js";
export { gatewaySource } from "./gateway-source.js";
export type { GatewayFetch, GatewaySourceOptions } from "./options.js";
