import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Bench, MeasureOptions, Report } from "./bench.js";
import { row } from "./indicators/figures.js";
import { circumstances, inWords } from "./machine.js";

/** What a bundle may weigh, kB, by the names in `.size-limit.json`. */
const MOST: Readonly<Record<string, number>> = {
  "own code of createClient and watchCandles": 26,
  "the same with zod and cross-fetch": 36,
  "own code of all of pairstream": 72,
  "one indicator": 1.75,
};
const ROOT = fileURLToPath(new URL("../", import.meta.url));

interface Bundle {
  readonly name: string;
  /** In bytes, compressed. */
  readonly size: number;
}

/** What a browser has to load: the bundles of size-limit. */
export const download: Bench = { check, measure };

/** That all of them are weighed; what they may weigh at most is for size-limit to check. */
function check(): readonly string[] {
  const listed = JSON.parse(readFileSync(`${ROOT}.size-limit.json`, "utf8")) as { name: string }[];
  const names = listed.map(({ name }) => name);
  const missing = Object.keys(MOST).filter((name) => !names.includes(name));
  if (missing.length > 0) throw new Error(`.size-limit.json does not list ${missing.join(", ")}`);
  return [];
}

function measure({ command }: MeasureOptions): Report {
  check();
  const bundles = weighed();
  const goals = Object.entries(MOST).map(([name, most]) => {
    const { size } = bundles.find((each) => each.name === name)!;
    return {
      row: `download: ${name}`,
      goal: `at most ${most} kB, compressed`,
      figure: `${kilobytes(size)} kB`,
      met: size <= most * 1_000,
    };
  });
  const about = circumstances(["size-limit", "esbuild"], command);
  return {
    goals,
    markdown: `## Download

What a bundler makes of it, minified and compressed with gzip.

${[row(["", "kB"]), "|---|---:|", ...bundles.map(({ name, size }) => row([name, kilobytes(size)]))].join("\n")}

${inWords(about)}`,
    results: { ...about, unit: "bytes, compressed", bundles },
  };
}

function weighed(): Bundle[] {
  const bundles = weighedJson();
  return (JSON.parse(bundles) as Bundle[]).map(({ name, size }) => ({ name, size }));
}

/** What size-limit says; it fails where a bundle is above its limit, and says it all the same. */
function weighedJson(): string {
  try {
    return execFileSync("npx", ["size-limit", "--json"], {
      cwd: ROOT,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
  } catch (error) {
    return (error as { stdout: string }).stdout;
  }
}

function kilobytes(bytes: number): string {
  return (bytes / 1_000).toFixed(2);
}
