import { PrometheusExporter } from "@opentelemetry/exporter-prometheus";
import { MeterProvider } from "@opentelemetry/sdk-metrics";
import { Option } from "commander";
import type { Client } from "pairstream";
import { meterClient } from "pairstream/otel";
import { toNumber, UsageError } from "../terminal/command-line.js";

export const metricsOption = new Option(
  "--metrics <port>",
  "serve metrics for Prometheus at http://127.0.0.1:PORT/metrics",
).argParser(toNumber);

/** Serves the metrics of a client on this machine while something runs; without a port it just runs. */
export async function withMetrics(
  port: number | undefined,
  client: Client,
  runs: () => Promise<void>,
): Promise<void> {
  if (port === undefined) return runs();
  if (!Number.isInteger(port) || port < 1 || port > 65_535)
    throw new UsageError("--metrics takes a port, from 1 to 65535");
  const exporter = new PrometheusExporter({ host: "127.0.0.1", port, preventServerStart: true });
  const provider = new MeterProvider({ readers: [exporter] });
  const metering = meterClient(client, provider.getMeter("pairstream"));
  try {
    await exporter.startServer();
    await runs();
  } finally {
    metering.unsubscribe();
    await provider.shutdown();
  }
}
