// Writes the live page as one HTML file that needs no server: `npm run example:demo`, `npm run example:demo -- --out FILE`.
import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { Command } from "commander";
import { demoFile } from "./live-chart/demo-file.js";
import { parseArguments } from "./terminal/command-line.js";
import { runProgram } from "./terminal/program.js";

await runProgram(async (args) => {
  const { out } = parseArguments<{ out: string }>(command(), args);
  const html = await demoFile();
  await writeFile(out, html);
  const size = (Buffer.byteLength(html) / 1_000).toFixed(0);
  process.stdout.write(`Wrote ${size} kB to ${out}\nOpen ${pathToFileURL(resolve(out)).href}\n`);
});

function command(): Command {
  return new Command("npm run example:demo --")
    .description("Writes the live page as one HTML file: a simulated market, its service and the chart.")
    .option("--out <file>", "the file to write", "demo.html");
}
