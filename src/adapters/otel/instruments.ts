import type { Meter } from "@opentelemetry/api";

/** The bounds that the semantic conventions recommend for durations of HTTP requests, in s. */
const DURATION_BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
/** In bytes: from an answer without rows to the largest body that a client reads. */
const SIZE_BOUNDS = [256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 8_388_608];
/** In s: from a poll in time to an outage of an hour. */
const LATENESS_BOUNDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600];

export type Instruments = ReturnType<typeof instrumentsOf>;

/** All instruments of a client and its collectors. Units are those of UCUM; what is counted stands in braces. */
export function instrumentsOf(meter: Meter) {
  const counter = (name: string, unit: string, description: string) =>
    meter.createCounter(name, { unit, description });
  const histogram = (name: string, unit: string, bounds: number[], description: string) =>
    meter.createHistogram(name, { unit, description, advice: { explicitBucketBoundaries: bounds } });
  return {
    duration: histogram(
      "http.client.request.duration",
      "s",
      DURATION_BOUNDS,
      "Duration of HTTP client requests.",
    ),
    bodySize: histogram(
      "http.client.response.body.size",
      "By",
      SIZE_BOUNDS,
      "Size of HTTP client response bodies, unpacked.",
    ),
    units: counter("pairstream.client.units", "{unit}", "Units that requests have cost."),
    retries: counter("pairstream.client.retries", "{retry}", "Attempts that failed and were made again."),
    throttlings: counter("pairstream.client.throttlings", "{throttling}", "Times that requests had to wait."),
    clockJumps: counter("pairstream.client.clock_jumps", "{jump}", "Jumps of the service's clock."),
    droppedRows: counter("pairstream.client.dropped_rows", "{row}", "Rows of answers that were left out."),
    storeFailures: counter("pairstream.store.failures", "{failure}", "Failures of the client's store."),
    quotaLimit: meter.createObservableGauge("pairstream.quota.limit", {
      unit: "{unit}",
      description: "Units of the client's quota in a period.",
    }),
    quotaRemaining: meter.createObservableGauge("pairstream.quota.remaining", {
      unit: "{unit}",
      description: "Units of the client's quota that are left in this period.",
    }),
    feeds: meter.createObservableUpDownCounter("pairstream.feeds", {
      unit: "{feed}",
      description: "Polls that run, by state.",
    }),
    candles: counter("pairstream.candles", "{candle}", "Changes of candles that polls have found."),
    lateness: histogram(
      "pairstream.candle.close.lateness",
      "s",
      LATENESS_BOUNDS,
      "Time from when a candle was due to close until it was seen closed.",
    ),
    leading: meter.createObservableUpDownCounter("pairstream.collector.leading", {
      unit: "{collector}",
      description: "Collectors of this client that lead their group.",
    }),
    handOvers: counter("pairstream.collector.handovers", "{lease}", "Leases taken over or given up."),
    messages: counter("pairstream.collector.messages", "{message}", "Messages of collectors, by outcome."),
    troubles: counter("pairstream.collector.troubles", "{trouble}", "Troubles of collectors."),
  };
}
