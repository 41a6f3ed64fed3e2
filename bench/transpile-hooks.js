// What `transpile.js` has Node do with TypeScript.
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { transform } from "esbuild";

const root = new URL("../", import.meta.url);
const { compilerOptions } = JSON.parse(readFileSync(new URL("tsconfig.json", root), "utf8"));

/** Finds our doors, and TypeScript behind the names that it will have once it is compiled. */
export async function resolve(specifier, context, next) {
  const door = compilerOptions.paths[specifier]?.[0];
  if (door !== undefined) return next(new URL(door, root).href, context);
  const isOurs = specifier.startsWith(".") && context.parentURL?.endsWith(".ts");
  return next(isOurs ? specifier.replace(/\.js$/, ".ts") : specifier, context);
}

export async function load(url, context, next) {
  if (!url.endsWith(".ts")) return next(url, context);
  const source = await readFile(new URL(url), "utf8");
  const options = { loader: "ts", format: "esm", target: compilerOptions.target, sourcefile: url };
  const { code } = await transform(source, { ...options, sourcemap: "inline" });
  return { format: "module", source: code, shortCircuit: true };
}
