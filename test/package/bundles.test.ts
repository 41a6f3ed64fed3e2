import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { type BuildOptions, build } from "esbuild";
import type * as Backtest from "pairstream/backtest";
import { describe, expect, inject, it } from "vitest";
import { ROOT } from "./commands.js";

const { folders } = inject("shipped");

/** An entry of size-limit's configuration. */
interface SizeLimit {
  readonly name: string;
  readonly path: string;
  readonly import: string;
  readonly ignore: readonly string[];
  readonly limit: string;
}

/** The door that is built from a source file. */
const DOORS: Record<string, string> = {
  "src/index.ts": "pairstream",
  "src/service/index.ts": "pairstream/service",
  "src/adapters/sse/index.ts": "pairstream/sse",
  "src/adapters/nats/index.ts": "pairstream/nats",
  "src/adapters/lightweight-charts/index.ts": "pairstream/lightweight-charts",
  "src/adapters/store/index.ts": "pairstream/store",
  "src/adapters/react/index.ts": "pairstream/react",
  "src/adapters/tradingview/index.ts": "pairstream/tradingview",
  "src/adapters/otel/index.ts": "pairstream/otel",
  "src/backtest/index.ts": "pairstream/backtest",
};
/** What only Node can run. */
const NODE_PACKAGES = ["@hono/node-server", "@nats-io/*"];
const LIMITS = JSON.parse(readFileSync(join(ROOT, ".size-limit.json"), "utf8")) as SizeLimit[];

/** What a bundler takes for the platform of its code. */
type Conditions = Pick<BuildOptions, "platform" | "conditions" | "format">;

/**
 * What a bundler makes of some code, for a browser unless told otherwise, and of which packages and modules of this one
 * it takes something.
 */
async function bundle(code: string, external: readonly string[] = [], options: Conditions = {}) {
  const { outputFiles, metafile, warnings } = await build({
    stdin: { contents: code, resolveDir: folders.all },
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    outdir: folders.all,
    platform: "browser",
    format: "esm",
    ...options,
    target: "es2022",
    external: [...external],
    logLevel: "silent",
  });
  const { text } = outputFiles[0]!;
  const [output] = Object.values(metafile.outputs);
  const inputs = Object.entries(output!.inputs).filter(([, { bytesInOutput }]) => bytesInOutput > 0);
  const packages = inputs.flatMap(([path]) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? []);
  const modules = inputs.flatMap(([path]) => path.split("node_modules/pairstream/dist/esm/")[1] ?? []);
  const size = gzipSync(text, { level: 9 }).length;
  return {
    text,
    size,
    packages: [...new Set(packages)],
    modules,
    warnings: warnings.map(({ text }) => text),
  };
}

describe("a bundle", () => {
  it.each([
    'import * as all from "pairstream"; console.log(all);',
    'import * as all from "pairstream/service"; console.log(all);',
    'import * as all from "pairstream/sse"; console.log(all);',
    'import * as all from "pairstream/lightweight-charts"; console.log(all);',
    'import * as all from "pairstream/store"; console.log(all);',
    'import * as all from "pairstream/tradingview"; console.log(all);',
    'import * as all from "pairstream/otel"; console.log(all);',
    'import * as all from "pairstream/backtest"; console.log(all);',
    'console.log(require("pairstream"));',
    'console.log(require("pairstream/service"));',
    'console.log(require("pairstream/sse"));',
  ])("for browsers takes nothing from Node: %s", async (code) => {
    // A module of Node's that it imports would be an error of the bundler.
    const { text, packages } = await bundle(code);
    expect(packages).toContain("pairstream");
    expect(/(?:\bimport|\bfrom|\brequire|__require)\s*\(?\s*["'`]node:/.exec(text)?.[0]).toBeUndefined();
  });

  it.each(Object.values(DOORS))("as a plain script of %s has no warning", async (door) => {
    const code = `import * as all from ${JSON.stringify(door)}; console.log(all);`;
    const { warnings } = await bundle(code, NODE_PACKAGES, { format: "iife" });
    expect(warnings).toEqual([]);
  });

  it("of a sweep for browsers has no workers, and says so", async () => {
    const { text, modules } = await bundle('export { sweep } from "pairstream/backtest";');
    expect(modules.filter((path) => /sweep-.*worker/.test(path))).toEqual(["backtest/sweep-no-workers.js"]);
    const { sweep } = (await import(`data:text/javascript,${encodeURIComponent(text)}`)) as typeof Backtest;
    const candle = { timestamp: 0, open: 1, high: 1, low: 1, close: 1, volume: 1, swaps: 1 };
    const series = { network: "mainnet", pairAddress: "pair", timeframe: "1min", currency: "usd" } as const;
    const strategy = new URL("https://page.example/strategy.js");
    const swept = sweep({ feeds: [{ series, candles: [candle] }], strategy, parameters: [1] });
    await expect(swept).rejects.toThrow("needs the worker threads of Node");
  });

  it.each(['import * as all from "pairstream/service"', 'const all = require("pairstream/service")'])(
    "for workers takes no server, whatever tells the bundler what it is for: %s",
    async (code) => {
      for (const conditions of [["workerd", "worker", "browser"], ["edge-light", "worker"], ["worker"]]) {
        const options = { platform: "neutral", conditions } as const;
        const { packages } = await bundle(`${code}; console.log(all);`, [], options);
        expect(packages).toContain("pairstream");
        expect(packages.filter((name) => /hono/.test(name))).toEqual([]);
      }
    },
  );

  it.each(Object.values(DOORS))("of nothing of %s is empty", async (door) => {
    const { text, packages, modules } = await bundle(`import ${JSON.stringify(door)};`, NODE_PACKAGES);
    expect({ length: text.length, packages, modules }).toEqual({ length: 0, packages: [], modules: [] });
  });

  it("of one indicator holds that, and little else of the package", async () => {
    const { packages, modules } = await bundle('export { ema } from "pairstream";');
    expect(packages).toEqual(["pairstream"]);
    const others = modules.filter(
      (path) => !/^(?:errors|contract\/input|indicators\/(?!\w+\/)[\w-]+)\.js$/.test(path),
    );
    expect(others).toEqual(["indicators/averages/ema.js"]);
  });

  it("of a program without a store takes nothing of a store", async () => {
    const code = 'import { createClient, fetchCandles, watchCandles, clientSource } from "pairstream";';
    const { modules } = await bundle(
      `${code} console.log(createClient, fetchCandles, watchCandles, clientSource);`,
    );
    expect(modules).toContain("candles/read/past.js");
    expect(modules.filter((path) => /adapters|contract\/store/.test(path))).toEqual([]);
  });

  it.each([
    ["pairstream/service", "swapTape", /faults|simulat|demo|listen|ohlcv/],
    ["pairstream/sse", "gatewaySource", /channel|gateway\/|feed\.js$/],
    ["pairstream/nats", "natsSource", /publish|collect|lease/],
  ])("of one name of %s leaves out the rest: %s", async (door, name, rest) => {
    const { modules } = await bundle(`export { ${name} } from ${JSON.stringify(door)};`, NODE_PACKAGES);
    expect(modules).not.toEqual([]);
    expect(modules.filter((path) => rest.test(path))).toEqual([]);
  });

  it.each(LIMITS)("is no larger than size-limit allows: $name", async (entry) => {
    const [names, use] = entry.import === "*" ? ["* as all", "all"] : [entry.import, entry.import];
    const code = `import ${names} from ${JSON.stringify(DOORS[entry.path])};`;
    const { size } = await bundle(`${code} console.log(${use});`, entry.ignore);
    expect(size).toBeLessThanOrEqual(Number.parseFloat(entry.limit) * 1_000);
  });
});
