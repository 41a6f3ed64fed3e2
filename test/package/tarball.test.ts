import { readdirSync, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, normalize, relative } from "node:path/posix";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { describe, expect, inject, it } from "vitest";
import { ROOT, run } from "./commands.js";

const { tarball, folders } = inject("shipped");
const installed = join(folders.root, "node_modules/pairstream");
/** Sources that hold no code. */
const TYPES_ALONE = [
  "adapters/nats/activity.ts",
  "adapters/store/audit-finding.ts",
  "contract/store.ts",
  "indicators/rows.ts",
  "operators/indicator-event.ts",
];
const FILES = filesBelow(installed);

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)));
}

/** The part of a package.json that is looked at here. */
interface Package {
  engines: object;
  exports: Record<string, Target>;
  /** What a bundle for browsers has in place of a file. */
  browser: Record<string, string>;
}
type Target = string | { [condition: string]: Target };

function readPackage(): Package {
  return JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));
}

/** All files that a door may lead to, one for each set of conditions. */
function doorFiles(target: Target): string[] {
  return typeof target === "string" ? [normalize(target)] : Object.values(target).flatMap(doorFiles);
}

/** The files of the package that a file imports, dynamically or not. */
function importsOf(file: string): string[] {
  const text = readFileSync(join(installed, file), "utf8");
  const imports = text.matchAll(/\b(?:from|import|require)\s*\(?\s*["'](\.\.?\/[^"']+)["']/g);
  const [, ending] = /(\.d\.c?ts)$/.exec(file) ?? [];
  return [...imports].map(([, path]) =>
    join(dirname(file), ending === undefined ? path! : path!.replace(/\.c?js$/, ending)),
  );
}

describe("the tarball", () => {
  it("holds a module for each of the sources that has code, and besides them what is listed here", () => {
    const sources = filesBelow(join(ROOT, "src"))
      .filter((file) => !TYPES_ALONE.includes(file))
      .map((file) => file.replace(/\.ts$/, ".js"));
    const modules = FILES.filter((file) => file.startsWith("dist/esm/"));
    expect(modules.sort()).toEqual(sources.map((file) => `dist/esm/${file}`).sort());

    // What doors share lies in files whose names are made up from their content; the README leads to the guides.
    const others = FILES.filter((file) => !modules.includes(file));
    const kinds = others.map((file) => file.replace(/[\w-]+-[\w-]{8}(?=\.)/, "shared"));
    expect([...new Set(kinds)].sort()).toMatchInlineSnapshot(`
      [
        "ARCHITECTURE.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "LICENSE",
        "README.md",
        "SECURITY.md",
        "dist/cjs/backtest.cjs",
        "dist/cjs/index.cjs",
        "dist/cjs/lightweight-charts.cjs",
        "dist/cjs/nats.cjs",
        "dist/cjs/otel.cjs",
        "dist/cjs/react.cjs",
        "dist/cjs/service.browser.cjs",
        "dist/cjs/service.cjs",
        "dist/cjs/shared.cjs",
        "dist/cjs/sse.cjs",
        "dist/cjs/store.cjs",
        "dist/cjs/tradingview.cjs",
        "dist/types/backtest.d.cts",
        "dist/types/backtest.d.ts",
        "dist/types/index.d.cts",
        "dist/types/index.d.ts",
        "dist/types/lightweight-charts.d.cts",
        "dist/types/lightweight-charts.d.ts",
        "dist/types/nats.d.cts",
        "dist/types/nats.d.ts",
        "dist/types/otel.d.cts",
        "dist/types/otel.d.ts",
        "dist/types/react.d.cts",
        "dist/types/react.d.ts",
        "dist/types/service.d.cts",
        "dist/types/service.d.ts",
        "dist/types/shared.d.cts",
        "dist/types/shared.d.ts",
        "dist/types/sse.d.cts",
        "dist/types/sse.d.ts",
        "dist/types/store.d.cts",
        "dist/types/store.d.ts",
        "dist/types/tradingview.d.cts",
        "dist/types/tradingview.d.ts",
        "docs/backtest.md",
        "docs/bot.md",
        "docs/budget.md",
        "docs/candles.md",
        "docs/charts.md",
        "docs/data.md",
        "docs/deploy.md",
        "docs/errors.md",
        "docs/frameworks.md",
        "docs/glossary.md",
        "docs/http.md",
        "docs/indicators.md",
        "docs/migrating.md",
        "docs/nats.md",
        "docs/operations.md",
        "docs/performance.md",
        "docs/promises.md",
        "docs/react.md",
        "docs/reference.md",
        "docs/replay.md",
        "docs/runtimes.md",
        "docs/scaling.md",
        "docs/service.md",
        "docs/snipers.md",
        "docs/sse.md",
        "docs/start.md",
        "docs/testing.md",
        "docs/tradingview.md",
        "package.json",
      ]
    `);
  });

  it("holds no code and no declarations that no door leads to", () => {
    const { exports, browser } = readPackage();
    const replaced = Object.values(browser).map((file) => file.slice("./".length));
    // A thread starts at the last one, by an address that is put together.
    const reached = new Set([...doorFiles(exports), ...replaced, "dist/esm/backtest/sweep-worker.js"]);
    for (const file of reached) for (const next of importsOf(file)) reached.add(next);
    const code = FILES.filter((file) => /\.(?:c?js|d\.c?ts)$/.test(file));
    expect(code.filter((file) => !reached.has(file))).toEqual([]);
    expect([...reached].filter((file) => !FILES.includes(file))).toEqual([]);
  });

  it("asks for the oldest Node that CI tries it on", () => {
    const workflow = readFileSync(join(ROOT, ".github/workflows/ci.yml"), "utf8");
    const [, oldest] = /node: \["([\d.]+)"/.exec(workflow)!;
    expect(readPackage().engines).toEqual({ node: `>=${oldest}` });
  });

  it("passes publint", async () => {
    const { buffer } = Uint8Array.from(readFileSync(tarball));
    const { messages, pkg } = await publint({ strict: true, pack: { tarball: buffer } });
    // By `imports` the sources, too, would lead to what is built of them.
    const others = messages.filter(({ code }) => code !== "USE_EXPORTS_OR_IMPORTS_BROWSER");
    expect(others.map((message) => formatMessage(message, pkg))).toEqual([]);
  });

  it("passes attw, as packages are resolved since Node 16", async () => {
    const attw = join(ROOT, "node_modules/.bin/attw");
    const { status, output } = await run(attw, [tarball, "--profile", "node16"], ROOT);
    expect(status, output).toBe(0);
  });

  it("has no door but those that are tried here", () => {
    const { exports } = readPackage();
    expect(Object.keys(exports)).toEqual([
      ".",
      "./service",
      "./sse",
      "./nats",
      "./lightweight-charts",
      "./store",
      "./react",
      "./tradingview",
      "./otel",
      "./backtest",
      "./package.json",
    ]);
  });
});

describe("the hooks", () => {
  it("say to servers that they are for pages", () => {
    for (const file of ["dist/esm/adapters/react/index.js", "dist/cjs/react.cjs"]) {
      expect(readFileSync(join(installed, file), "utf8"), file).toMatch(/^"use client";/);
    }
  });
});

describe("the classes", () => {
  it("have their own names in CommonJS: Node prints them where nobody has caught an error", () => {
    const root: object = createRequire(import.meta.url)(join(installed, "dist/cjs/index.cjs"));
    const classes = Object.entries(root).filter(([, value]) => String(value).startsWith("class "));
    expect(classes.length).toBeGreaterThan(8);
    expect(classes.map(([, value]) => (value as { name: string }).name)).toEqual(
      classes.map(([name]) => name),
    );
  });
});

describe("the size", () => {
  it("is at most 0.9 MB to download, and 3.5 MB on the disk", () => {
    const bytesOf = (file: string) => statSync(file).size;
    const unpacked = FILES.reduce((sum, file) => sum + bytesOf(join(installed, file)), 0);
    expect(bytesOf(tarball)).toBeLessThanOrEqual(900_000);
    expect(unpacked).toBeLessThanOrEqual(3_500_000);
  });
});
