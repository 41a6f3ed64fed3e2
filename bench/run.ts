import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type { Report } from "./bench.js";
import { BENCHES, LONG } from "./benches.js";
import { chartOf } from "./chart.js";
import { driftsOf, ratiosIn, TOLERANCE } from "./drift.js";
import { comparisonsOf } from "./expectations.js";
import type { Circumstances } from "./machine.js";
import { goalPageOf, pageOf, type Saved, sectionsOf } from "./performance-page.js";

const USAGE = `npm run bench -- [NAME …] [--results | --check | --save] [--rounds N]

  NAME      which benches: ${Object.keys(BENCHES).join(", ")}; default: all but ${LONG.join(", ")}
  --results only compare what the contestants give, time nothing
  --check   compare the ratios with the saved ones: fails where one is ${Math.round(100 * (TOLERANCE - 1))} % worse, twice
  --save    write the tables to docs/performance.md and bench/goals.md, every figure to docs/performance/NAME.json,
            and the chart
  --rounds  how often every contestant is timed; default 31`;

const PAGE = new URL("../docs/performance.md", import.meta.url);
const GOALS = new URL("goals.md", import.meta.url);
const CHART = new URL("pictures/performance.svg", PAGE);
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    results: { type: "boolean", default: false },
    check: { type: "boolean", default: false },
    save: { type: "boolean", default: false },
    rounds: { type: "string", default: "31" },
    help: { type: "boolean", default: false },
  },
});
const names =
  positionals.length === 0 ? Object.keys(BENCHES).filter((name) => !LONG.includes(name)) : positionals;
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
  if (values.results) {
    const findings = await bench.check();
    console.log(
      [`${name}: ours is right; of the others:`, ...findings.map((each) => `- ${each}`)].join("\n"),
    );
    return;
  }
  const command = ["npm run bench --", name, "--rounds", rounds].join(" ");
  if (values.check) {
    await check(name, () => bench.measure({ rounds, command }));
    return;
  }
  const report = await bench.measure({ rounds, command });
  console.log(report.markdown);
  if (values.save) save(name, report);
}

/** Compares the ratios with the saved ones; those that are worse are taken again, and count if they are so again. */
async function check(name: string, measure: () => Report | Promise<Report>): Promise<void> {
  const saved = savedFigures(name);
  const known = saved === undefined ? [] : ratiosIn(saved);
  if (saved === undefined || known.length === 0) {
    console.log(`${name}: no ratios are saved`);
    return;
  }
  const worse = async () => {
    const { results } = await measure();
    return { results, drifts: driftsOf(known, ratiosIn(results)) };
  };
  const first = await worse();
  const again = first.drifts.length === 0 ? first : await worse();
  const drifts = again.drifts.filter((each) => first.drifts.some((before) => before.name === each.name));
  console.log(`${name}: ${known.length} ratios, ${drifts.length} of them worse than saved`);
  for (const each of drifts) {
    const percent = Math.round(100 * (each.slower - 1));
    console.log(`- ${each.name}: ${each.is.toFixed(2)}, was ${each.was.toFixed(2)}: ${percent} % slower`);
  }
  if (drifts.length > 0) process.exitCode = 1;
  const [here, there] = [first.results, saved].map(({ machine, engine }: Partial<Circumstances>) => {
    return `${machine}, ${engine}`;
  });
  if (here === there) return;
  const advice = drifts.length === 0 ? "" : " Save here first, with the code of the release before.";
  console.log(`  saved on ${there}; this is ${here}.${advice}`);
}

/** Writes the figures of a bench, its section, and the tables of what to expect and of all goals. */
function save(name: string, { markdown, goals, results }: Report): void {
  mkdirSync(new URL("performance/", PAGE), { recursive: true });
  writeFileSync(figuresOf(name), JSON.stringify({ ...results, goals, before: savedFigures(name)?.goals }));
  const pages = [PAGE, GOALS].filter((file) => existsSync(file)).map((file) => readFileSync(file, "utf8"));
  const sections = sectionsOf(pages.join("\n"));
  sections.set(name, markdown.trim());
  const all = Object.keys(BENCHES);
  const figures = Object.fromEntries(all.map((each) => [each, savedFigures(each)]));
  writeFileSync(PAGE, pageOf(all, sections, figures));
  writeFileSync(GOALS, goalPageOf(all, sections, all.map(savedOf)));
  writeFileSync(CHART, chartOf(comparisonsOf(figures)));
  const files = [figuresOf(name), PAGE, GOALS].map((file) => fileURLToPath(file));
  execFileSync("npx", ["biome", "format", "--write", ...files], { stdio: "ignore" });
}

function figuresOf(name: string): URL {
  return new URL(`performance/${name}.json`, PAGE);
}

function savedOf(name: string): Saved {
  const { goals, before } = savedFigures(name) ?? {};
  return { name, goals, before };
}

function savedFigures(name: string): (Partial<Saved> & Partial<Circumstances>) | undefined {
  const file = figuresOf(name);
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined;
}
