import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config";
import { LongestFirst } from "./test/longest-first.js";

const source = (path: string) => fileURLToPath(new URL(`./src/${path}`, import.meta.url));

/** Each door as it is in the sources. */
const resolve = {
  alias: [
    { find: /^pairstream$/, replacement: source("index.ts") },
    { find: /^pairstream\/service$/, replacement: source("service/index.ts") },
    { find: /^pairstream\/sse$/, replacement: source("adapters/sse/index.ts") },
    { find: /^pairstream\/nats$/, replacement: source("adapters/nats/index.ts") },
    {
      find: /^pairstream\/lightweight-charts$/,
      replacement: source("adapters/lightweight-charts/index.ts"),
    },
    { find: /^pairstream\/store$/, replacement: source("adapters/store/index.ts") },
    { find: /^pairstream\/react$/, replacement: source("adapters/react/index.ts") },
    { find: /^pairstream\/tradingview$/, replacement: source("adapters/tradingview/index.ts") },
    { find: /^pairstream\/otel$/, replacement: source("adapters/otel/index.ts") },
    { find: /^pairstream\/backtest$/, replacement: source("backtest/index.ts") },
  ],
};

/*
 * A stage of tests is a folder, or the word before `.test.ts`; test/README.md says what each is for. All the rest is
 * `unit`, whose files share their modules and globals with each other.
 */
const ALL = ["test/**/*.test.ts"];
const LONG = "test/**/*.long.test.ts";
const PROGRAMS = "test/**/*.programs.test.ts";
const SERVERS = "test/**/*.servers.test.ts";
const ELSEWHERE = ["test/{browser,package,repository,simulation}/**", LONG, PROGRAMS, SERVERS];

/** Units that replace a module, which others would then get, too. */
const REPLACES_MODULES = [
  "test/adapters/nats/{histories,schedulers}.test.ts",
  "test/errors.test.ts",
  "test/examples/store-file.test.ts",
  "test/free-port.test.ts",
  "test/service/listen.missing.test.ts",
];

const PROPERTIES = "test/properties.setup.ts";
const EXAMPLES = "test/examples/bundles.setup.ts";

/** In ms. Nothing waits for a fixed time; a busy machine may just be slow, by ten times and more. */
const PATIENCE = 300_000;

/** Where many wait, for a server or a page, more workers than cores keep the cores busy. */
const WAITING = { maxWorkers: Math.ceil(1.5 * availableParallelism()), sequence: { groupOrder: 1 } };

/** Files that share their modules and globals. */
const SHARING = { isolate: false, setupFiles: [PROPERTIES, "test/shared-globals.setup.ts"] };

type Stage = NonNullable<TestProjectInlineConfiguration["test"]> & { readonly include: string[] };

function stage(name: string, test: Stage): TestProjectInlineConfiguration {
  return {
    resolve,
    test: {
      name,
      setupFiles: [PROPERTIES],
      testTimeout: PATIENCE,
      hookTimeout: PATIENCE,
      ...test,
    },
  };
}

/** Vitest shuffles files only where nothing else orders them. */
const isShuffled = process.argv.some((argument) => argument.startsWith("--sequence.shuffle"));

export default defineConfig({
  resolve,
  test: {
    // Left alone, one core stays free; of two that is half of the time.
    maxWorkers: "100%",
    ...(isShuffled ? {} : { sequence: { sequencer: LongestFirst } }),
    projects: [
      stage("unit", {
        include: ALL,
        exclude: [...ELSEWHERE, ...REPLACES_MODULES],
        testTimeout: 30_000,
        ...SHARING,
      }),
      stage("unit-isolated", { include: REPLACES_MODULES, testTimeout: 30_000 }),
      stage("simulation", {
        include: ["test/simulation/**/*.test.ts"],
        exclude: [PROGRAMS, SERVERS, LONG],
        ...SHARING,
      }),
      stage("simulation-long", { include: [LONG], ...WAITING }),
      stage("programs", { include: [PROGRAMS], globalSetup: EXAMPLES, ...WAITING }),
      stage("browser", {
        include: ["test/browser/**/*.test.ts"],
        globalSetup: "test/browser/chromium.setup.ts",
        ...WAITING,
      }),
      stage("servers", { include: [SERVERS], globalSetup: EXAMPLES, ...WAITING }),
      stage("repository", { include: ["test/repository/**/*.test.ts"], exclude: [SERVERS], ...WAITING }),
      // It resolves nothing: here `pairstream` is what was packed, or nothing at all.
      {
        test: {
          name: "package",
          include: ["test/package/**/*.test.ts"],
          globalSetup: "test/package/setup.ts",
          testTimeout: PATIENCE,
          hookTimeout: PATIENCE,
          ...WAITING,
        },
      },
    ],
  },
});
