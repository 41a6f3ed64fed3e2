import { mkdirSync, mkdtempSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build, type Plugin } from "esbuild";
import type { TestProject } from "vitest/node";
import { root } from "../documents/files.js";

const BUNDLED = [
  ...[
    "audit",
    "bot",
    "bot-on-nats",
    "check-service",
    "collector",
    "demo",
    "history",
    "indicators",
    "live",
    "snipers",
  ],
  "backtest/run",
];
/** What those load or start by its address. */
const ADDRESSED = ["backtest/strategy", "live-chart/page-builder"];

/** For packages in CommonJS, whose `require` a module has not. */
const REQUIRE =
  'import { createRequire as $createRequire } from "node:module"; const require = $createRequire(import.meta.url);';

declare module "vitest" {
  export interface ProvidedContext {
    /** The bundled file of each such example, by its path in the project. */
    bundles: Readonly<Record<string, string>>;
  }
}

/** Bundles examples once for all tests that run them: a process loads a file sooner than a hundred through tsx. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  // Below node_modules, where packages are found.
  const cache = join(root, "node_modules/.cache");
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "pairstream-examples-"));
  const bundleOf = (name: string) => join(folder, `${name}.mjs`);
  await build({
    absWorkingDir: root,
    entryPoints: [...BUNDLED, ...ADDRESSED].map((name) => `examples/${name}.ts`),
    outbase: "examples",
    outdir: folder,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    splitting: true,
    // The packages, too, which are more files than our own. Not what is found by its place, is no JavaScript, or is
    // CommonJS that Node alone finds the names of.
    external: ["@nats-io/*", "@opentelemetry/*", "esbuild", "libsql", "lightweight-charts", "vite"],
    banner: { js: REQUIRE },
    platform: "node",
    format: "esm",
    target: "node20",
    logLevel: "error",
    plugins: [addresses(bundleOf)],
  });
  const files = BUNDLED.map((name) => [`examples/${name}.ts`, bundleOf(name)]);
  project.provide("bundles", Object.fromEntries(files));
  return () => rm(folder, { recursive: true, force: true });
}

/** Has examples find what lies beside their files: what is bundled by its bundle, all else where it is. */
function addresses(bundleOf: (name: string) => string): Plugin {
  return {
    name: "addresses",
    setup({ onLoad }) {
      onLoad({ filter: /\/examples\/.*\.ts$/ }, async ({ path }) => {
        const own = pathToFileURL(path).href;
        const text = await readFile(path, "utf8");
        const contents = text
          .replace(/new URL\("([^"]+)\.ts", import\.meta\.url\)/g, (given, beside: string) => {
            const name = relative(join(root, "examples"), fileURLToPath(new URL(beside, own)));
            return ADDRESSED.includes(name) ? `new URL("${pathToFileURL(bundleOf(name)).href}")` : given;
          })
          .replaceAll("import.meta.url", JSON.stringify(own));
        return { contents, loader: "ts" };
      });
    },
  };
}
