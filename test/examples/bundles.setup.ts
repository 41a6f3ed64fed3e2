import { mkdirSync, mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { build } from "esbuild";
import type { TestProject } from "vitest/node";
import { root } from "../documents/blocks.js";

/** Examples that read nothing from beside their files, so that they may be elsewhere. */
const BUNDLED = ["audit", "bot", "bot-on-nats", "collector", "history", "indicators", "snipers"];

declare module "vitest" {
  export interface ProvidedContext {
    /** The bundled file of each such example, by its path in the project. */
    bundles: Readonly<Record<string, string>>;
  }
}

/** Bundles examples once for all tests that run them: a process loads a file sooner than a hundred through tsx. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  // Below node_modules, where the packages that a bundle imports are found.
  const cache = join(root, "node_modules/.cache");
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "pairstream-examples-"));
  await build({
    absWorkingDir: root,
    entryPoints: BUNDLED.map((name) => `examples/${name}.ts`),
    outdir: folder,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    splitting: true,
    packages: "external",
    platform: "node",
    format: "esm",
    target: "node20",
    logLevel: "error",
  });
  const files = BUNDLED.map((name) => [`examples/${name}.ts`, join(folder, `${name}.mjs`)]);
  project.provide("bundles", Object.fromEntries(files));
  return () => rm(folder, { recursive: true, force: true });
}
