import { readFile, writeFile } from "node:fs/promises";
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
// Without maps, which are twice as large as all of the code: that is readable, and a module has the name of its source.
const code: Options = { target: "es2022", platform: "neutral", clean: true };

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
    // Without it classes lose their names, and so do errors that nobody catches. With it modules lose their directives.
    treeshake: true,
    onSuccess: async () => {
      const file = "dist/cjs/react.cjs";
      await writeFile(file, `"use client";\n${await readFile(file, "utf8")}`);
    },
  },
  { entry: doors, format: ["esm", "cjs"], outDir: "dist/types", dts: { only: true }, clean: true },
]);
