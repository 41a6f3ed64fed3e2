import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const source = (path: string) => fileURLToPath(new URL(`./src/${path}`, import.meta.url));

export default defineConfig({
  resolve: {
    alias: [
      { find: /^pairstream$/, replacement: source("index.ts") },
      { find: /^pairstream\/service$/, replacement: source("service/index.ts") },
    ],
  },
  test: { include: ["test/**/*.test.ts"] },
});
