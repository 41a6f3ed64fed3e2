/**
 * A local service for demonstrations and tests. It answers as the real one does, from recorded or simulated swaps, and can
 * have the faults of real services.
 *
 * @module pairstream/service
 */

export * from "./everywhere.js";
export type { Listening, ListenOptions } from "./listen.js";
export { listen } from "./listen.js";
