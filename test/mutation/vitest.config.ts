import { defineConfig, mergeConfig } from "vitest/config";
import project from "../../vitest.config.js";

/** The tests that hold the pure files, without those that run a whole client. */
export default mergeConfig(
  { ...project, test: {} },
  defineConfig({
    test: {
      include: [
        "test/candles/poll-key.test.ts",
        "test/candles/{live,read,view}/*.test.ts",
        "test/client/limits/{budget,places,quota}.test.ts",
        "test/client/service-clock*.test.ts",
        "test/operators/crosses*.test.ts",
        "test/poll/schedule.test.ts",
        "test/snipers/diff*.test.ts",
      ],
      setupFiles: ["test/mutation/setup.ts"],
      testTimeout: 120_000,
    },
  }),
);
