import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const source = (path: string) => fileURLToPath(new URL(`./src/${path}`, import.meta.url));

export default defineConfig({
  resolve: {
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
  },
  // Nothing here waits for a fixed time; a busy machine may just be slow, by ten times and more.
  test: {
    include: ["test/**/*.test.ts"],
    // Those need a build: `npm run check:package`.
    exclude: ["test/package/**"],
    setupFiles: ["test/properties.setup.ts"],
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
