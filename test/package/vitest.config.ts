import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

// Without the aliases of the other tests: here `pairstream` is what was packed, or nothing at all.
export default defineConfig({
  root: fileURLToPath(new URL("../..", import.meta.url)),
  test: {
    include: ["test/package/**/*.test.ts"],
    globalSetup: "test/package/setup.ts",
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
