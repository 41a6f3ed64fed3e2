import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";
import type { PlantedFault } from "./planted-faults.js";
import type { runSeed } from "./run-seed.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
/** Below node_modules, where the packages that a bundle imports are found. */
const outputs = join(root, "node_modules/.cache/pairstream-planted");

/** The whole simulation in one file, a fault planted or none; ready to play seeds. */
export async function bundled(fault?: PlantedFault): Promise<typeof runSeed> {
  const target = fault && join(root, "src", fault.file);
  const { outputFiles } = await build({
    entryPoints: [join(root, "test/simulation/run-seed.ts")],
    bundle: true,
    write: false,
    platform: "node",
    format: "esm",
    target: "node20",
    packages: "external",
    plugins: [
      {
        name: "plant",
        setup: ({ onLoad }) => {
          onLoad({ filter: /\/src\/.*\.ts$/ }, async ({ path }) => {
            if (path !== target) return undefined;
            return { contents: planted(await readFile(path, "utf8"), fault!), loader: "ts" };
          });
        },
      },
    ],
  });
  await mkdir(outputs, { recursive: true });
  const name = (fault?.name ?? "as it is").replace(/\W+/g, "-");
  const file = join(outputs, `${name}-${process.pid}.mjs`);
  await writeFile(file, outputFiles[0]!.contents);
  try {
    const bundle = (await import(/* @vite-ignore */ pathToFileURL(file).href)) as { runSeed: typeof runSeed };
    return bundle.runSeed;
  } finally {
    await rm(file);
  }
}

function planted(source: string, { file, find, replace }: PlantedFault): string {
  const [before, after, ...more] = source.split(find);
  if (after === undefined || more.length > 0) {
    throw new Error(`${file} has ${after === undefined ? "no" : "more than one"} place of: ${find}`);
  }
  return before + replace + after;
}
