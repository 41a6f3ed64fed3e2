import { execFileSync, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Bench, MeasureOptions, Report } from "./bench.js";
import { circumstances, inWords } from "./machine.js";
import { elapsedTime } from "./rounds.js";
import { type Contestant, inUnitsOf, ratioGoal, sideBySide, tableOf } from "./side-by-side.js";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const BUILT = `${ROOT}dist/esm/index.js`;
const MILLISECOND = 1e6;
const MOST = 1.5;
const DEPENDENCIES = ["rxjs", "cross-fetch", "zod/mini"];
const FLOOR = "a process that loads its dependencies alone";

/** A process that loads the package, and what it would take without. */
export const coldImport: Bench = { check, measure };

/** That the package loads, as it was built last. */
function check(): readonly string[] {
  if (!existsSync(BUILT)) build();
  const { status, stderr } = load([pathToFileURL(BUILT).href], "if (!module0.createClient) process.exit(1)");
  if (status !== 0) throw new Error(`the package does not load: ${stderr}`);
  return [];
}

function build(): void {
  execFileSync("npm", ["run", "build"], { cwd: ROOT, stdio: "ignore" });
}

async function measure({ rounds, command }: MeasureOptions): Promise<Report> {
  build();
  check();
  const loading = (modules: readonly string[]) => {
    const run = () => load(modules);
    return { calls: 1, run, warmUp: run };
  };
  const contestants: Contestant[] = [
    { name: "pairstream, as modules", work: loading([pathToFileURL(BUILT).href]) },
    { name: FLOOR, work: loading(DEPENDENCIES), isFloor: true },
    { name: "a process that loads rxjs alone", work: loading(["rxjs"]), isFloor: true },
    { name: "a process that loads nothing", work: loading([]), isFloor: true },
  ];
  const timed = await sideBySide(contestants, rounds, elapsedTime);
  const about = circumstances(["rxjs"], command);
  const { ratio } = timed.find(({ name }) => name === FLOOR)!;
  return {
    goals: [ratioGoal('a cold `import "pairstream"` on Node', ratio, { most: MOST }, FLOOR)],
    markdown: `## A cold import

What a program pays that starts anew for every request: a whole process of Node, from its start to its end. Each number
is the median of ${rounds} rounds, and the brackets hold the middle half of them; all ran by turns.

${tableOf(timed, "ms", inUnitsOf(MILLISECOND))}

${inWords(about)}`,
    results: { ...about, unit: "nanoseconds", timed },
  };
}

/** Loads modules, `module0` and so on, in a process of their own, and does something there. */
function load(modules: readonly string[], then = "") {
  const imports = modules.map((name, at) => `import * as module${at} from ${JSON.stringify(name)};`);
  const script = [...imports, ...modules.map((_, at) => `void module${at};`), then].join("\n");
  return spawnSync(process.execPath, ["--input-type=module", "--eval", script], {
    cwd: ROOT,
    encoding: "utf8",
  });
}
