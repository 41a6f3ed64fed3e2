import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { PrometheusExporter } from "@opentelemetry/exporter-prometheus";
import { MeterProvider } from "@opentelemetry/sdk-metrics";
import { Option } from "commander";
import { type Client, healthOf } from "pairstream";
import { meterClient } from "pairstream/otel";
import { toNumber, UsageError } from "../terminal/command-line.js";

export const metricsOption = new Option(
  "--metrics <port>",
  "serve metrics for Prometheus at http://127.0.0.1:PORT/metrics, and the health of the feeds at /health",
).argParser(toNumber);

/** Serves the metrics and the health of a client on this machine while something runs; without a port it just runs. */
export async function withMetrics(
  port: number | undefined,
  client: Client,
  runs: () => Promise<void>,
): Promise<void> {
  if (port === undefined) return runs();
  if (!Number.isInteger(port) || port < 1 || port > 65_535)
    throw new UsageError("--metrics takes a port, from 1 to 65535");
  const exporter = new PrometheusExporter({ preventServerStart: true });
  const provider = new MeterProvider({ readers: [exporter] });
  const metering = meterClient(client, provider.getMeter("pairstream"));
  const server = createServer((request, response) => {
    if (request.url === "/metrics") exporter.getMetricsRequestHandler(request, response);
    else if (request.url === "/health") tellHealth(client, response);
    else response.writeHead(404).end();
  });
  try {
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
    await runs();
  } finally {
    server.close();
    server.closeAllConnections();
    metering.unsubscribe();
    await provider.shutdown();
  }
}

function tellHealth(client: Client, response: ServerResponse): void {
  const { ok, feeds, lastError } = healthOf(client);
  response.writeHead(ok ? 200 : 503, { "content-type": "application/json" });
  response.end(JSON.stringify({ ok, feeds, lastError: lastError?.message }));
}
