import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { BENCHES } from "./benches.js";

const USAGE = `npm run bench -- [NAME …] [--check] [--save] [--rounds N]

  NAME      which benches: ${Object.keys(BENCHES).join(", ")}; default: all
  --check   only compare results, time nothing
  --save    write the table to docs/performance.md, and every figure to docs/performance/NAME.json
  --rounds  how often every contestant is timed; default 31`;

const PAGE = new URL("../docs/performance.md", import.meta.url);
const INTRODUCTION = `# Performance

Ratios, not times, are what to look at: each comes from contestants that ran by turns in one process, and is the
median of its rounds. Beside every table stands a JSON file with all of its figures, in \`performance/\`.
`;

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
    const findings = bench.check();
    console.log(
      [`${name}: ours is right; of the others:`, ...findings.map((each) => `- ${each}`)].join("\n"),
    );
    return;
  }
  const command = ["npm run bench --", name, "--rounds", rounds].join(" ");
  const { markdown, results } = await bench.measure({ rounds, command });
  console.log(markdown);
  if (values.save) save(name, markdown, results);
}

/** Puts a section in its place on the page, which others share; a new one at the end. */
function save(name: string, markdown: string, results: unknown): void {
  mkdirSync(new URL("performance/", PAGE), { recursive: true });
  const figures = fileURLToPath(new URL(`performance/${name}.json`, PAGE));
  writeFileSync(figures, JSON.stringify(results));
  const [begin, end] = [`<!-- begin ${name} -->`, `<!-- end ${name} -->`];
  const page = existsSync(PAGE) ? readFileSync(PAGE, "utf8") : INTRODUCTION;
  const section = `${begin}\n\n${markdown.trim()}\n\n${end}`;
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  const isThere = from >= 0 && to > from;
  const next = isThere
    ? page.slice(0, from) + section + page.slice(to + end.length)
    : `${page.trimEnd()}\n\n${section}\n`;
  writeFileSync(PAGE, next);
  const files = [figures, fileURLToPath(PAGE)];
  execFileSync("npx", ["biome", "format", "--write", ...files], { stdio: "ignore" });
}
