import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type { Report } from "./bench.js";
import { BENCHES } from "./benches.js";
import { pageOf, type Saved, sectionsOf } from "./performance-page.js";

const USAGE = `npm run bench -- [NAME …] [--check] [--save] [--rounds N]

  NAME      which benches: ${Object.keys(BENCHES).join(", ")}; default: all
  --check   only compare results, time nothing
  --save    write the tables to docs/performance.md, and every figure to docs/performance/NAME.json
  --rounds  how often every contestant is timed; default 31`;

const PAGE = new URL("../docs/performance.md", import.meta.url);
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    check: { type: "boolean", default: false },
    save: { type: "boolean", default: false },
    rounds: { type: "string", default: "31" },
    help: { type: "boolean", default: false },
  },
});
const names = positionals.length === 0 ? Object.keys(BENCHES) : positionals;
const unknown = names.filter((name) => !Object.hasOwn(BENCHES, name));
const rounds = Number(values.rounds);

if (values.help) {
  console.log(USAGE);
} else if (unknown.length > 0 || !Number.isInteger(rounds) || rounds < 1) {
  console.error(USAGE);
  process.exitCode = 1;
} else {
  for (const name of names) await run(name);
}

async function run(name: string): Promise<void> {
  const bench = await BENCHES[name]!();
  if (values.check) {
    const findings = await bench.check();
    console.log(
      [`${name}: ours is right; of the others:`, ...findings.map((each) => `- ${each}`)].join("\n"),
    );
    return;
  }
  const command = ["npm run bench --", name, "--rounds", rounds].join(" ");
  const report = await bench.measure({ rounds, command });
  console.log(report.markdown);
  if (values.save) save(name, report);
}

/** Writes the figures of a bench, its section, and the table of all goals. */
function save(name: string, { markdown, goals, results }: Report): void {
  mkdirSync(new URL("performance/", PAGE), { recursive: true });
  writeFileSync(figuresOf(name), JSON.stringify({ ...results, goals }));
  const sections = sectionsOf(existsSync(PAGE) ? readFileSync(PAGE, "utf8") : "");
  sections.set(name, markdown.trim());
  const all = Object.keys(BENCHES);
  writeFileSync(PAGE, pageOf(all, sections, all.map(savedOf)));
  const files = [fileURLToPath(figuresOf(name)), fileURLToPath(PAGE)];
  execFileSync("npx", ["biome", "format", "--write", ...files], { stdio: "ignore" });
}

function figuresOf(name: string): URL {
  return new URL(`performance/${name}.json`, PAGE);
}

function savedOf(name: string): Saved {
  const file = figuresOf(name);
  const { goals } = existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Partial<Report>) : {};
  return { name, goals };
}
