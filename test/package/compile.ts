import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT, run } from "./commands.js";

/** How TypeScript looks for the package, with the endings of the files that it then compiles. */
const RESOLUTIONS = {
  node16: { module: "node16", endings: [".mts", ".cts"] },
  bundler: { module: "esnext", endings: [".ts"] },
};

/** What is to be compiled. */
export interface Compilation {
  /** Where the package is installed; the result goes into a folder of its own in it. */
  folder: string;
  /** Names of programs in `test/package/programs`. */
  programs: readonly string[];
  resolution: keyof typeof RESOLUTIONS;
  /** Where TypeScript is installed; default: in the project. */
  typescript?: string;
  /** The names that TypeScript knows besides those of ES2023; default: those of a page. */
  names?: Names;
  /** Default true. */
  exactOptionalPropertyTypes?: boolean;
}

/** Where the names of a platform come from, such as `AbortSignal`. */
interface Names {
  /** Parts of TypeScript's own library. */
  readonly lib?: readonly string[];
  /** Packages whose global types there are. */
  readonly types?: readonly string[];
}

/** Two classes of the NATS client do not implement their interfaces under `exactOptionalPropertyTypes`. */
const NOT_OURS = /^\S*\/node_modules\/@nats-io\/nats-core\/lib\/(?:msg|nats)\.d\.ts\(\S+ error TS2420:/;

const PAGE: Names = { lib: ["dom", "dom.iterable"] };

/**
 * Compiles programs as strictly as TypeScript can, the declarations of the package included; `node16` gives each
 * as an ES module, `.mjs`, and as CommonJS, `.cjs`. Rejects with what TypeScript finds wrong.
 */
export async function compile(compilation: Compilation): Promise<string> {
  const { output, problems } = await tryToCompile(compilation);
  if (problems.length > 0) throw new Error(`TypeScript finds wrong:\n${problems.join("\n")}`);
  return output;
}

/** Compiles as `compile` does, and gives what TypeScript finds wrong, too: one entry a problem. */
export async function tryToCompile(
  compilation: Compilation,
): Promise<{ readonly output: string; readonly problems: readonly string[] }> {
  const { folder, programs, resolution, typescript = ROOT, names = PAGE } = compilation;
  const { module, endings } = RESOLUTIONS[resolution];
  const output = join(folder, `${resolution}-${typescript === ROOT ? "new" : "old"}`);
  mkdirSync(output);
  const files = programs.flatMap((name) => endings.map((ending) => [name, name + ending] as const));
  for (const [name, file] of files) {
    copyFileSync(join(ROOT, "test/package/programs", `${name}.ts`), join(output, file));
  }
  const compilerOptions = {
    target: "es2022",
    lib: ["es2023", ...(names.lib ?? [])],
    module,
    moduleResolution: resolution,
    types: names.types ?? [],
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: compilation.exactOptionalPropertyTypes ?? true,
    skipLibCheck: false,
  };
  const config = { compilerOptions, files: files.map(([, file]) => file) };
  writeFileSync(join(output, "tsconfig.json"), JSON.stringify(config));
  const compiler = join(typescript, "node_modules/typescript/lib/tsc.js");
  const ended = await run(process.execPath, [compiler, "--pretty", "false"], output);
  // What explains a problem follows it, further to the right.
  const told = ended.output.split(/\n(?=\S)/).filter((problem) => problem.trim() !== "");
  if (ended.status !== 0 && told.length === 0) throw new Error(`TypeScript ended with ${ended.status}`);
  return { output, problems: told.filter((problem) => !NOT_OURS.test(problem)) };
}
