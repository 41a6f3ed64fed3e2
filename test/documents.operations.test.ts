import type { Meter } from "@opentelemetry/api";
import { describe, expect, it } from "vitest";
import { ATTRIBUTE_NAMES } from "../src/adapters/otel/attributes.js";
import { instrumentsOf } from "../src/adapters/otel/instruments.js";
import { markdownBlocks, read } from "./documents/blocks.js";

const GUIDE = read("docs/operations.md");
const ALERTS = read("examples/nats/alerts.yml");

interface Made {
  readonly kind: string;
  readonly name: string;
  readonly unit: string;
}

/** Every instrument there is. */
function allInstruments(): readonly Made[] {
  const made: Made[] = [];
  const note =
    (kind: string) =>
    (name: string, { unit }: { unit: string }) => {
      made.push({ kind, name, unit });
    };
  const kinds = ["Counter", "Histogram", "ObservableGauge", "ObservableUpDownCounter"];
  instrumentsOf(Object.fromEntries(kinds.map((kind) => [`create${kind}`, note(kind)])) as unknown as Meter);
  return made;
}

/** What the exporter for Prometheus makes of a name. */
const labelOf = (name: string) => name.replaceAll(/[^a-z0-9_]/g, "_");

function seriesOf({ kind, name }: Made): readonly string[] {
  const label = labelOf(name);
  if (kind === "Counter") return [`${label}_total`];
  return kind === "Histogram" ? ["_bucket", "_count", "_sum"].map((ending) => label + ending) : [label];
}

/** The queries of the guide and the alerts. */
const queries = [
  ...[...GUIDE.matchAll(/^\| [^|]+\? +\| `([^`]+)` +\|$/gm)].map(([, query]) => query!),
  ...[...ALERTS.matchAll(/^ +expr: (.+)$/gm)].map(([, query]) => query!),
];

describe("the guide to operations", () => {
  it("lists every metric with its unit, and no other", () => {
    const rows = [...GUIDE.matchAll(/^\| `([a-z._]+)` +\| `([^`]+)` +\|/gm)].map(([, name, unit]) => ({
      name: name!,
      unit: unit!,
    }));
    expect(rows).toEqual(allInstruments().map(({ name, unit }) => ({ name, unit })));
  });

  it("asks for series and labels that there are", () => {
    expect(queries).toHaveLength(26);
    const series = new Set([...allInstruments().flatMap(seriesOf), "up"]);
    const labels = new Set([...ATTRIBUTE_NAMES.map(labelOf), "le", "instance", "job"]);
    const words = queries.flatMap(
      (query) => query.replaceAll(/"[^"]*"/g, "").match(/[a-z]+_[a-z_]+|\bup\b/g)!,
    );
    const functions = new Set(["histogram_quantile"]);
    expect(words.filter((word) => !series.has(word) && !labels.has(word) && !functions.has(word))).toEqual(
      [],
    );
    expect(words.length).toBeGreaterThan(40);
  });

  it("shows the alerts that the Prometheus of compose.yaml loads, and says what to do about each", () => {
    const [shown] = markdownBlocks("docs/operations.md", GUIDE).filter(({ language }) => language === "yaml");
    expect(`${shown!.code}\n`).toBe(ALERTS);
    const names = [...ALERTS.matchAll(/alert: (\w+)/g)].map(([, name]) => name!);
    const [, table = ""] = GUIDE.split("## What to do\n");
    expect(names.filter((name) => !table.includes(`| \`${name}\``))).toEqual([]);
    expect(read("compose.yaml")).toContain("./examples/nats/alerts.yml:/etc/prometheus/alerts.yml");
    expect(read("examples/nats/prometheus.yml")).toContain("/etc/prometheus/alerts.yml");
  });
});
