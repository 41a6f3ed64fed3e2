import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path/posix";
import { runInNewContext } from "node:vm";
import { CompilerState, Extractor, ExtractorConfig, ExtractorLogLevel } from "@microsoft/api-extractor";
import { build } from "esbuild";
import ts from "typescript";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { root } from "../documents/files.js";

/** Every door, and the file behind it. */
const DOORS = {
  pairstream: "src/index",
  "pairstream/backtest": "src/backtest/index",
  "pairstream/lightweight-charts": "src/adapters/lightweight-charts/index",
  "pairstream/nats": "src/adapters/nats/index",
  "pairstream/otel": "src/adapters/otel/index",
  "pairstream/react": "src/adapters/react/index",
  "pairstream/service": "src/service/index",
  "pairstream/sse": "src/adapters/sse/index",
  "pairstream/store": "src/adapters/store/index",
  "pairstream/tradingview": "src/adapters/tradingview/index",
};

const NOT_IN_JSDOM = [
  ...["fetch", "Request", "Response", "ReadableStream", "TextEncoder", "TextDecoder"],
  ...["MessageChannel", "setImmediate", "structuredClone"],
];

let program: ts.Program;
/** Where the declarations are, from which packages are found as they are from the project. */
let folder: string;

beforeAll(() => {
  const cache = join(root, ".cache");
  mkdirSync(cache, { recursive: true });
  folder = mkdtempSync(join(cache, "declarations-"));
  const file = join(root, "etc/tsconfig.json");
  const { options } = ts.parseJsonConfigFileContent(
    ts.readConfigFile(file, ts.sys.readFile).config,
    ts.sys,
    join(root, "etc"),
  );
  program = ts.createProgram(
    Object.values(DOORS).map((path) => join(root, `${path}.ts`)),
    {
      ...options,
      noEmit: false,
      declaration: true,
      emitDeclarationOnly: true,
      rootDir: root,
      outDir: folder,
    },
  );
  program.emit();
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The exported names of a door and what each of them is. */
function namesOf(path: string): { name: string; kind: string }[] {
  const checker = program.getTypeChecker();
  const door = checker.getSymbolAtLocation(program.getSourceFile(join(root, `${path}.ts`))!)!;
  const names = checker.getExportsOfModule(door).map((symbol) => {
    const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
    return { name: symbol.name, kind: kindOf(target) };
  });
  return names.sort((a, b) => (a.kind + a.name < b.kind + b.name ? -1 : 1));
}

function kindOf({ flags, name }: ts.Symbol): string {
  if (flags & ts.SymbolFlags.Class) return "class";
  if (flags & ts.SymbolFlags.Function) return "function";
  if (flags & ts.SymbolFlags.Variable) return "const";
  if (flags & ts.SymbolFlags.Interface) return "interface";
  if (flags & ts.SymbolFlags.TypeAlias) return "type";
  throw new Error(`${name} is none of what a door exports`);
}

/** What API Extractor says of each door. */
function apiReports(): Map<string, string> {
  const configs = Object.entries(DOORS).map(([door, path]) => [door, extraction(door, path)] as const);
  const [[, first], ...others] = configs as [(typeof configs)[0], ...typeof configs];
  const compilerState = CompilerState.create(first, {
    additionalEntryPoints: others.map(([, { mainEntryPointFilePath }]) => mainEntryPointFilePath),
  });
  return new Map(
    configs.map(([door, config]) => {
      Extractor.invoke(config, {
        compilerState,
        localBuild: true,
        messageCallback: (message) => {
          // That a report is new.
          if (message.category === "console") message.logLevel = ExtractorLogLevel.None;
        },
      });
      return [door, readFileSync(config.reportFilePath, "utf8")];
    }),
  );
}

function extraction(door: string, path: string): ExtractorConfig {
  const none = { default: { logLevel: ExtractorLogLevel.None } };
  const reports = join(folder, "reports");
  mkdirSync(reports, { recursive: true });
  return ExtractorConfig.prepare({
    configObject: {
      projectFolder: root,
      mainEntryPointFilePath: join(folder, `${path}.d.ts`),
      compiler: {
        overrideTsconfig: {
          compilerOptions: { ...compilerOptions, skipLibCheck: true },
          files: Object.values(DOORS).map((each) => join(folder, `${each}.d.ts`)),
        },
      },
      apiReport: {
        enabled: true,
        reportFileName: fileNameOf(door),
        reportFolder: reports,
        reportTempFolder: join(folder, "temporary"),
      },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      newlineKind: "lf",
      messages: {
        compilerMessageReporting: { default: { logLevel: ExtractorLogLevel.Error } },
        extractorMessageReporting: none,
        tsdocMessageReporting: none,
      },
    },
    configObjectFullPath: undefined,
    packageJsonFullPath: join(root, "package.json"),
  });
}

const compilerOptions = {
  target: "ES2022",
  lib: ["ES2023", "DOM", "DOM.Iterable", "DOM.AsyncIterable"],
  module: "ESNext",
  moduleResolution: "bundler",
  types: ["node"],
  strict: true,
};

const fileNameOf = (door: string) => `${door.replace("/", "-")}.api.md`;

/** `vitest run test/repository/exports.test.ts -u` takes a change over into etc/, where a review sees it. */
describe("what the doors export", () => {
  it("has these names", async () => {
    const text = Object.entries(DOORS).map(([door, path]) =>
      [door, ...namesOf(path).map(({ name, kind }) => `  ${kind} ${name}`), ""].join("\n"),
    );
    await expect(text.join("\n")).toMatchFileSnapshot("../../etc/exports.txt");
  });

  it("is imported where much is missing, as in the jsdom of jest", async () => {
    onTestFinished(() => {
      vi.unstubAllGlobals();
      vi.resetModules();
    });
    vi.resetModules();
    for (const name of NOT_IN_JSDOM) vi.stubGlobal(name, undefined);
    for (const path of Object.values(DOORS)) {
      expect(Object.keys(await import(join(root, `${path}.ts`))).length, path).toBeGreaterThan(0);
    }
  });

  it("is the same in bundles for browsers", async () => {
    const [everywhere, browser] = await Promise.all([
      import("../../src/service/index.js"),
      import("../../src/service/browser.js"),
    ]);
    expect(Object.keys(browser)).toEqual(Object.keys(everywhere));
    const { listen } = browser;
    await expect(listen()).rejects.toThrow("listen needs Node");
  });

  it.each(Object.entries(DOORS))("is there at run time: %s", async (_, path) => {
    const values = namesOf(path).filter(({ kind }) => ["class", "const", "function"].includes(kind));
    const door: object = await import(join(root, `${path}.ts`));
    expect(Object.keys(door).sort()).toEqual(values.map(({ name }) => name).sort());
  });

  it("has its errors under their own names in ES modules: Node prints those of their classes", async () => {
    const { outputFiles } = await build({
      ...{ entryPoints: [join(root, "src/errors.ts")], bundle: true, write: false, target: "es2022" },
      ...{ format: "iife", globalName: "errors" },
    });
    const errors: Record<string, unknown> = runInNewContext(`${outputFiles[0]!.text}; errors`);
    const built = Object.entries(errors).filter(([name]) => name.endsWith("Error") && !name.startsWith("is"));
    expect(built.length).toBeGreaterThan(8);
    expect(built.map(([, error]) => (error as { name: string }).name)).toEqual(built.map(([name]) => name));
  });

  it("is for await using, whatever has a close", () => {
    const checker = program.getTypeChecker();
    const closeable = Object.values(DOORS).flatMap((path) => {
      const door = checker.getSymbolAtLocation(program.getSourceFile(join(root, `${path}.ts`))!)!;
      return checker.getExportsOfModule(door).flatMap((symbol) => {
        const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
        if (!(target.flags & (ts.SymbolFlags.Type | ts.SymbolFlags.Class))) return [];
        const type = checker.getDeclaredTypeOfSymbol(target);
        const close = type.getProperty("close");
        if (close === undefined || checker.getTypeOfSymbol(close).getCallSignatures().length === 0) return [];
        const names = type.getProperties().map(({ escapedName }) => String(escapedName));
        return [[symbol.name, names.some((name) => name.startsWith("__@asyncDispose"))]];
      });
    });
    expect(closeable).toEqual([
      ["Listening", true],
      ["Gateway", true],
    ]);
  });

  it("has these shapes", async () => {
    for (const [door, report] of apiReports()) {
      await expect(report).toMatchFileSnapshot(`../../etc/${fileNameOf(door)}`);
    }
  });
});
