import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";
import type { runNatsSeed } from "./nats/run-seed.js";
import type { PlantedFault } from "./planted-faults.js";
import type { replaySeed } from "./replayed.js";
import type { runSeed } from "./run-seed.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
/** Below node_modules, where the packages that a bundle imports are found. */
const outputs = join(root, "node_modules/.cache/pairstream-planted");

/** The whole simulation in one file, a fault planted or none; ready to play seeds. */
export async function bundled(fault?: PlantedFault): Promise<typeof runSeed> {
  const { runSeed: run } = await bundledFrom<{ runSeed: typeof runSeed }>("run-seed.ts", fault);
  return run;
}

/** The same of the simulation of collectors. */
export async function bundledNats(fault?: PlantedFault): Promise<typeof runNatsSeed> {
  const { runNatsSeed: run } = await bundledFrom<{ runNatsSeed: typeof runNatsSeed }>(
    "nats/run-seed.ts",
    fault,
  );
  return run;
}

/** Plays each world once, and gives its outcome to all who ask for it: many faults are caught in the same. */
export function playedOnce<World extends readonly unknown[], Outcome>(
  play: (...world: World) => Promise<Outcome>,
): (...world: World) => Promise<Outcome> {
  const outcomes = new Map<string, Promise<Outcome>>();
  return (...world) => {
    const name = JSON.stringify(world);
    const outcome = outcomes.get(name) ?? play(...world);
    outcomes.set(name, outcome);
    return outcome;
  };
}

/** The same of what is recorded and replayed. */
export async function bundledReplay(fault?: PlantedFault): Promise<typeof replaySeed> {
  const { replaySeed: run } = await bundledFrom<{ replaySeed: typeof replaySeed }>("replayed.ts", fault);
  return run;
}

async function bundledFrom<T>(entry: string, fault: PlantedFault | undefined): Promise<T> {
  const target = fault && join(root, "src", fault.file);
  const { outputFiles } = await build({
    entryPoints: [join(root, "test/simulation", entry)],
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
  const name = `${entry} ${fault?.name ?? "as it is"}`.replace(/\W+/g, "-");
  const file = join(outputs, `${name}-${process.pid}.mjs`);
  await writeFile(file, outputFiles[0]!.contents);
  try {
    return (await import(/* @vite-ignore */ pathToFileURL(file).href)) as T;
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
