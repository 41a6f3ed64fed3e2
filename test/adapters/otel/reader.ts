import type { Attributes } from "@opentelemetry/api";
import { DataPointType, MeterProvider, type MetricData, MetricReader } from "@opentelemetry/sdk-metrics";

/** Reads the metrics of this process when asked to. */
class Reader extends MetricReader {
  protected override async onShutdown(): Promise<void> {}
  protected override async onForceFlush(): Promise<void> {}

  /** All metrics that have a value, by name. */
  async read(): Promise<Map<string, MetricData>> {
    const { resourceMetrics, errors } = await this.collect();
    if (errors.length > 0) throw new AggregateError(errors);
    const metrics = resourceMetrics.scopeMetrics.flatMap(({ metrics }) => metrics);
    return new Map(metrics.map((metric) => [metric.descriptor.name, metric]));
  }

  /** The points of one metric: its attributes, and its number, or how many there were and their sum. */
  async points(name: string): Promise<readonly (readonly [Attributes, number | Counted])[]> {
    const metric = (await this.read()).get(name);
    if (metric === undefined) return [];
    if (metric.dataPointType === DataPointType.HISTOGRAM) {
      return metric.dataPoints.map(({ attributes, value }) => {
        return [attributes, { count: value.count, sum: value.sum ?? Number.NaN }] as const;
      });
    }
    return metric.dataPoints.map(({ attributes, value }) => [attributes, value as number] as const);
  }
}

interface Counted {
  readonly count: number;
  readonly sum: number;
}

/** A meter, and the reader of what it measures. */
export function openMeter() {
  const reader = new Reader();
  const provider = new MeterProvider({ readers: [reader] });
  return { reader, meter: provider.getMeter("pairstream") };
}
