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
    ],
  },
  // Nothing here waits for a fixed time; a busy machine may just be slow.
  test: {
    include: ["test/**/*.test.ts"],
    // Those need a build: `npm run check:package`.
    exclude: ["test/package/**"],
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
