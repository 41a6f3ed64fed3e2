/**
 * Metrics of a client and its collectors for OpenTelemetry, by the semantic conventions where they have a name.
 *
 * @module pairstream/otel
 */

export { type MeterOptions, meterClient } from "./meter-client.js";
