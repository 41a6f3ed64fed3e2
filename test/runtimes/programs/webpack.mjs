// Has webpack bundle the page, as it comes.
import { resolve } from "node:path";
import webpack from "webpack";

const output = { path: resolve("out/webpack"), filename: "page.js", clean: true };
webpack({ mode: "production", entry: "./page.mjs", output, performance: false }, (error, stats) => {
  const problems = error ?? (stats.hasErrors() || stats.hasWarnings() ? stats.toString() : undefined);
  if (problems !== undefined) {
    console.error(problems);
    process.exitCode = 1;
  }
});
