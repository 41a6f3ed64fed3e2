import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
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
};
/** What only Node can run. */
const NODE_PACKAGES = ["@hono/node-server", "@nats-io/*"];
const LIMITS = JSON.parse(readFileSync(join(ROOT, ".size-limit.json"), "utf8")) as SizeLimit[];

/** What a bundler makes of some code for a browser, and of which packages and modules of this one it takes something. */
async function bundle(code: string, external: readonly string[] = []) {
  const { outputFiles, metafile } = await build({
    stdin: { contents: code, resolveDir: folders.all },
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    outdir: folders.all,
    platform: "browser",
    format: "esm",
    target: "es2022",
    external: [...external],
    logLevel: "silent",
  });
  const { text } = outputFiles[0]!;
  const [output] = Object.values(metafile.outputs);
  const inputs = Object.entries(output!.inputs).filter(([, { bytesInOutput }]) => bytesInOutput > 0);
  const packages = inputs.flatMap(([path]) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? []);
  const modules = inputs.flatMap(([path]) => path.split("node_modules/pairstream/dist/esm/")[1] ?? []);
  return { text, size: gzipSync(text, { level: 9 }).length, packages: [...new Set(packages)], modules };
}

describe("a bundle", () => {
  it.each([
    'import * as all from "pairstream"; console.log(all);',
    'import * as all from "pairstream/sse"; console.log(all);',
    'console.log(require("pairstream"));',
    'console.log(require("pairstream/sse"));',
  ])("for browsers takes nothing from Node: %s", async (code) => {
    // A module of Node's that it imports would be an error of the bundler.
    const { text, packages } = await bundle(code);
    expect(packages).toContain("pairstream");
    expect(/(?:\bimport|\bfrom|\brequire|__require)\s*\(?\s*["'`]node:/.exec(text)?.[0]).toBeUndefined();
  });

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

  it.each(LIMITS)("is no larger than size-limit allows: $name", async (entry) => {
    const [names, use] = entry.import === "*" ? ["* as all", "all"] : [entry.import, entry.import];
    const code = `import ${names} from ${JSON.stringify(DOORS[entry.path])};`;
    const { size } = await bundle(`${code} console.log(${use});`, entry.ignore);
    expect(size).toBeLessThanOrEqual(Number.parseFloat(entry.limit) * 1_000);
  });
});
