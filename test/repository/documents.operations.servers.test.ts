import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Counter, Histogram, Meter, ObservableGauge } from "@opentelemetry/api";
import { PrometheusSerializer } from "@opentelemetry/exporter-prometheus";
import { describe, expect, it } from "vitest";
import { ATTRIBUTE_NAMES } from "../../src/adapters/otel/attributes.js";
import { instrumentsOf } from "../../src/adapters/otel/instruments.js";
import { openMeter } from "../adapters/otel/reader.js";
import { markdownBlocks } from "../documents/blocks.js";
import { read } from "../documents/files.js";
import { temporaryFolder } from "../examples/files.js";
import { hasPromtool, promtool } from "../promtool.js";

const GUIDE = read("docs/operations.md");
const ALERTS = read("examples/nats/alerts.yml");
const ALERT_TESTS = read("examples/nats/alerts.test.yml");
const BOARD = JSON.parse(read("etc/board.json")) as {
  readonly panels: readonly {
    readonly title: string;
    readonly targets?: readonly { readonly expr: string }[];
  }[];
};

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

const alertNames = [...ALERTS.matchAll(/alert: (\w+)/g)].map(([, name]) => name!);

/** The queries of the guide by their questions, those of the board by their titles, and all, with those of the alerts. */
const asked = [...GUIDE.matchAll(/^\| ([^|]+\?) +\| `([^`]+)` +\|$/gm)].map(([, ...row]) => row);
const shown = BOARD.panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => [title, expr]));
const queries = [
  ...[...asked, ...shown].map(([, query]) => query!),
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

  it("asks for series and labels that there are, and tests the alerts with them", () => {
    expect(queries).toHaveLength(44);
    const tested = [...ALERT_TESTS.matchAll(/series: '?([a-z_]+(\{[^}]+\})?)/g)].map(([, series]) => series!);
    const series = new Set([...allInstruments().flatMap(seriesOf), "up"]);
    const labels = new Set([...ATTRIBUTE_NAMES.map(labelOf), "le", "instance", "job"]);
    const words = [...queries, ...tested].flatMap(
      (query) => query.replaceAll(/"[^"]*"/g, "").match(/[a-z]+_[a-z_]+|\bup\b/g)!,
    );
    const functions = new Set(["histogram_quantile", "max_over_time"]);
    expect(words.filter((word) => !series.has(word) && !labels.has(word) && !functions.has(word))).toEqual(
      [],
    );
    expect(words.length).toBeGreaterThan(100);
  });

  it("shows the alerts that the Prometheus of compose.yaml loads, and says what to do about each", () => {
    const [block] = markdownBlocks("docs/operations.md", GUIDE).filter(({ language }) => language === "yaml");
    expect(`${block!.code}\n`).toBe(ALERTS);
    const [, table = ""] = GUIDE.split("## What to do\n");
    expect(alertNames.filter((name) => !table.includes(`| \`${name}\``))).toEqual([]);
    // The configuration names the alerts as a file beside it.
    for (const file of ["prometheus.yml", "alerts.yml"]) {
      expect(read("compose.yaml")).toContain(`./examples/nats/${file}:/etc/prometheus/${file}:ro`);
    }
  });

  it("has a board that answers each of its questions", () => {
    expect(shown).toEqual(expect.arrayContaining(asked));
    expect(asked).toHaveLength(10);
    expect(GUIDE).toContain("etc/board.json");
  });

  it("has a test of each alert, for its fault", () => {
    const fired = [...ALERT_TESTS.matchAll(/\{alertname="(\w+)"\}', value: 1 \}/g)].map(([, name]) => name!);
    expect([...new Set(fired)].sort()).toEqual([...alertNames].sort());
  });
});

describe.skipIf(!hasPromtool)("Prometheus", () => {
  it("takes the configuration and the alerts as they are", async () => {
    await promtool(["check", "config", "--lint=all", "--lint-fatal", "examples/nats/prometheus.yml"]);
    await promtool(["check", "rules", "--lint=all", "--lint-fatal", "examples/nats/alerts.yml"]);
  });

  it("can read each query of the board", async () => {
    const rules = shown.map(
      ([, expr], at) => `      - record: shown:${at}\n        expr: ${JSON.stringify(expr)}`,
    );
    const text = ["groups:", "  - name: board", "    rules:", ...rules].join("\n");
    const file = join(await temporaryFolder(), "board.yml");
    await writeFile(file, `${text}\n`);
    await promtool(["check", "rules", "--lint=all", "--lint-fatal", file]);
  });

  it("fires each alert for its fault, and none in health", async () => {
    await promtool(["test", "rules", "examples/nats/alerts.test.yml"]);
  });

  it("finds all metrics named and described by its conventions", async () => {
    const { reader, meter } = openMeter();
    for (const instrument of Object.values(instrumentsOf(meter)) as (
      | Counter
      | Histogram
      | ObservableGauge
    )[]) {
      if ("add" in instrument) instrument.add(1);
      else if ("record" in instrument) instrument.record(1);
      else instrument.addCallback((result) => result.observe(1));
    }
    const { resourceMetrics } = await reader.collect();
    const printed = new PrometheusSerializer().serialize(resourceMetrics);
    const series = [...printed.matchAll(/^(\w+)\{otel_scope_name/gm)].map(([, name]) => name!);
    expect([...new Set(series)].sort()).toEqual(allInstruments().flatMap(seriesOf).sort());
    await promtool(["check", "metrics"], printed);
  });
});
