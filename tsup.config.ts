import { readFile, writeFile } from "node:fs/promises";
import { basename, isAbsolute } from "node:path";
import { defineConfig, type Options } from "tsup";

const doors = {
  index: "src/index.ts",
  service: "src/service/index.ts",
  sse: "src/adapters/sse/index.ts",
  nats: "src/adapters/nats/index.ts",
  "lightweight-charts": "src/adapters/lightweight-charts/index.ts",
  store: "src/adapters/store/index.ts",
  react: "src/adapters/react/index.ts",
  tradingview: "src/adapters/tradingview/index.ts",
  otel: "src/adapters/otel/index.ts",
  backtest: "src/backtest/index.ts",
};
const code: Options = { target: "es2022", platform: "neutral", sourcemap: true, clean: true };

export default defineConfig([
  {
    ...code,
    // A file for each module: of a bundle, no tool could leave out the schemas, say, that an indicator does not need.
    // Those that are left out are types alone.
    entry: [
      "src/**/*.ts",
      "!src/operators/indicator-event.ts",
      "!src/indicators/rows.ts",
      "!src/contract/store.ts",
      "!src/adapters/store/audit-finding.ts",
      "!src/adapters/nats/activity.ts",
    ],
    format: "esm",
    outDir: "dist/esm",
    splitting: false,
    esbuildPlugins: [
      {
        name: "modules stay apart",
        setup: ({ onResolve }) => {
          onResolve({ filter: /^\.\.?\// }, ({ kind, path }) =>
            kind === "entry-point" ? undefined : { path, external: true },
          );
        },
      },
    ],
  },
  {
    ...code,
    // Few files, which load sooner; in them kernels call no function of another module.
    entry: { ...doors, "service.browser": "src/service/browser.ts" },
    format: "cjs",
    // Where a file lies; a path in place of a URL.
    define: { "import.meta.url": "__filename" },
    outDir: "dist/cjs",
    // One copy of every class for all doors, or `instanceof` would fail between them.
    splitting: true,
    plugins: [
      {
        name: "portable source maps",
        async buildEnd({ writtenFiles }) {
          const maps = writtenFiles.map(({ name }) => name).filter((name) => name.endsWith(".map"));
          await Promise.all(maps.map(makePortable));
        },
      },
    ],
  },
  { entry: doors, format: ["esm", "cjs"], outDir: "dist/types", dts: { only: true }, clean: true },
]);

/** The part of a source map that is looked at here. */
interface SourceMap {
  file?: string;
  sources: string[];
  sourcesContent: (string | null)[];
}

/** A file that was split names itself as a source, by its path on this machine and with all of its text. */
async function makePortable(path: string): Promise<void> {
  const map = JSON.parse(await readFile(path, "utf8")) as SourceMap;
  map.file = basename(path, ".map");
  map.sources.forEach((source, at) => {
    if (!isAbsolute(source)) return;
    map.sources[at] = basename(source);
    map.sourcesContent[at] = null;
  });
  await writeFile(path, JSON.stringify(map));
}
