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
  /** Packages whose global types there are; default none. */
  types?: readonly string[];
}

/**
 * Compiles programs as strictly as TypeScript can, the declarations of the package included; `node16` gives each
 * as an ES module, `.mjs`, and as CommonJS, `.cjs`. Rejects with what TypeScript finds wrong.
 */
export async function compile(compilation: Compilation): Promise<string> {
  const { folder, programs, resolution, typescript = ROOT, types = [] } = compilation;
  const { module, endings } = RESOLUTIONS[resolution];
  const output = join(folder, `${resolution}-${typescript === ROOT ? "new" : "old"}`);
  mkdirSync(output);
  const files = programs.flatMap((name) => endings.map((ending) => [name, name + ending] as const));
  for (const [name, file] of files) {
    copyFileSync(join(ROOT, "test/package/programs", `${name}.ts`), join(output, file));
  }
  const compilerOptions = {
    target: "es2022",
    lib: ["es2023", "dom", "dom.iterable"],
    module,
    moduleResolution: resolution,
    types,
    strict: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: false,
  };
  const config = { compilerOptions, files: files.map(([, file]) => file) };
  writeFileSync(join(output, "tsconfig.json"), JSON.stringify(config));
  const compiler = join(typescript, "node_modules/typescript/lib/tsc.js");
  const { status, output: problems } = await run(process.execPath, [compiler, "--pretty", "false"], output);
  if (status !== 0) throw new Error(`TypeScript finds wrong:\n${problems}`);
  return output;
}
