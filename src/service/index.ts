/**
 * A local service that answers as the real one does, from recorded or simulated swaps, with the faults of real
 * services; for demonstrations and tests.
 *
 * @module pairstream/service
 */

export * from "./everywhere.js";
export type { Listening, ListenOptions } from "./listen.js";
export { listen } from "./listen.js";
