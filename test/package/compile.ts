import { copyFileSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type ts from "typescript";
import { ROOT } from "./commands.js";

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
 * as an ES module, `.mjs`, and as CommonJS, `.cjs`. Gives where that is; throws what TypeScript finds wrong.
 */
export function compile(compilation: Compilation): string {
  const output = outputOf(compilation);
  const mark = join(output, "compiled");
  // A folder that another Node has used has it already.
  if (existsSync(mark)) return output;
  const problems = tryToCompile(compilation);
  if (problems.length > 0) throw new Error(`TypeScript finds wrong:\n${problems.join("\n")}`);
  writeFileSync(mark, "");
  return output;
}

/** Compiles as `compile` does, and gives what TypeScript finds wrong: one entry a problem. */
export function tryToCompile(compilation: Compilation): string[] {
  const { programs, resolution, typescript = ROOT, names = PAGE } = compilation;
  const { module, endings } = RESOLUTIONS[resolution];
  const output = outputOf(compilation);
  mkdirSync(output, { recursive: true });
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
  const problems = problemsOf(join(typescript, "node_modules/typescript/lib/typescript.js"), output);
  return problems.filter((problem) => !NOT_OURS.test(problem));
}

function outputOf({ folder, resolution, typescript = ROOT }: Compilation): string {
  return join(folder, `${resolution}-${typescript === ROOT ? "new" : "old"}`);
}

const load = createRequire(import.meta.url);
/** What compilers have parsed of packages and of their own libraries: most of what a small program takes. */
const parsed = new Map<string, ts.SourceFile>();

/** Compiles a folder as `tsc` does, in this process, where the next one finds the compiler warm. */
function problemsOf(compiler: string, folder: string): string[] {
  const typescript: typeof ts = load(compiler);
  const configuration = typescript.getParsedCommandLineOfConfigFile(
    join(folder, "tsconfig.json"),
    {},
    {
      ...typescript.sys,
      getCurrentDirectory: () => folder,
      onUnRecoverableConfigFileDiagnostic: ({ messageText }) => {
        throw new Error(typescript.flattenDiagnosticMessageText(messageText, "\n"));
      },
    },
  )!;
  const { options, fileNames, errors } = configuration;
  const host = typescript.createCompilerHost(options);
  host.getCurrentDirectory = () => folder;
  const parse = host.getSourceFile;
  host.getSourceFile = (file, ...more) => {
    // By the kind of modules the same file is parsed otherwise.
    const name = `${compiler} ${options.module} ${file}`;
    const source = parsed.get(name) ?? parse.call(host, file, ...more);
    if (source !== undefined && file.includes("/node_modules/")) parsed.set(name, source);
    return source;
  };
  const program = typescript.createProgram(fileNames, options, host);
  const found = [...errors, ...typescript.getPreEmitDiagnostics(program), ...program.emit().diagnostics];
  return typescript
    .sortAndDeduplicateDiagnostics(found)
    .map((problem) => typescript.formatDiagnostic(problem, host).trimEnd());
}
