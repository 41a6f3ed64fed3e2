import { defineConfig } from "tsup";

export default defineConfig({
  entry: {
    index: "src/index.ts",
    service: "src/service/index.ts",
    sse: "src/adapters/sse/index.ts",
    nats: "src/adapters/nats/index.ts",
  },
  format: ["esm", "cjs"],
  target: "es2022",
  platform: "neutral",
  // One copy of every class for all doors, or `instanceof` would fail between them in CommonJS.
  splitting: true,
  dts: true,
  sourcemap: true,
  clean: true,
});
