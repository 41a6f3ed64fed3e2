// Meters a client with the meter that does nothing, which comes with the API.
import { metrics } from "@opentelemetry/api";
import { createClient } from "pairstream";
import { type MeterOptions, meterClient } from "pairstream/otel";

const client = createClient({ baseUrl: "http://localhost:1", apiKey: "key" });
const options: MeterOptions = { attributes: { key: "a" }, pairs: true };
const metering = meterClient(client, metrics.getMeter("pairstream"), options);

const wasClosed = metering.closed;
metering.unsubscribe();
console.log(JSON.stringify([wasClosed, metering.closed]));
