import { fork } from "node:child_process";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { bundled } from "./bundle.js";
import { unknownOf } from "./known.js";
import { NOTHING, type Outcome, runSeed, type Selection, sum } from "./run-seed.js";
import { openSeedLog, usualHours } from "./seed-log.js";
import { describeFailure, shrink } from "./shrink.js";

const USAGE = `npm run simulate -- [options]
  --seeds <n>       how many seeds to play (default 1,000)
  --from <seed>     the first of them (default 1)
  --hours <h>       simulated hours a seed (default 6; 12 for every tenth seed, 24 for every fortieth)
  --log <file>      keeps what each seed has come to, a line a seed: a later call with the same file plays what of its
                    seeds is missing, and the totals are those of all that are in it. For other hours or other sources
                    take another file
  --jobs <n>        processes (default: one a core)
  --seed <seed>     plays one seed only
  --faults <list>   of that seed only these faults, by number, or none
  --watchers <list> of that seed only these watchers, by number
  --replay          records and replays every seed, in one process: both must give the same
  --idle            a million polls of a pair that does not change: the heap must stay flat`;

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "1000" },
    from: { type: "string", default: "1" },
    hours: { type: "string" },
    log: { type: "string" },
    jobs: { type: "string", default: String(availableParallelism()) },
    seed: { type: "string" },
    faults: { type: "string" },
    watchers: { type: "string" },
    replay: { type: "boolean", default: false },
    idle: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
const hoursOf = (seed: number) => (values.hours === undefined ? usualHours(seed) : Number(values.hours));

/** Failing seeds that are told of at length. */
const MOST_TOLD = 5;

if (process.send !== undefined) await work();
else if (values.help) console.log(USAGE);
else if (values.idle) await (await import("./idle.js")).proveFlat();
else if (values.replay) await replaySeeds();
else if (values.seed !== undefined) await playOne(Number(values.seed));
else await playAll(Number(values.from), Number(values.seeds), Number(values.jobs));

/** In a child: plays the seeds that it is sent, one after another. */
async function work() {
  // Bundled it runs faster than through the loader that reads TypeScript.
  const runSeed = await bundled();
  process.on("disconnect", () => process.exit());
  process.on("message", async (seed: number) => {
    const outcome = await runSeed(seed, hoursOf(seed)).catch((error) => ({
      seed,
      crash: String(error?.stack ?? error),
    }));
    process.send!(outcome);
  });
}

async function playAll(from: number, seeds: number, jobs: number) {
  const began = performance.now();
  const log = openLog();
  if (log === undefined) return;
  const missing = Array.from({ length: seeds }, (_, at) => from + at).filter((seed) => !log.has(seed));
  if (missing.length < seeds) console.error(`${seeds - missing.length} of ${seeds} seeds were played before`);
  let reported = began;
  let hours = 0;
  const failed: Outcome[] = [];
  const crashed: { seed: number; crash: string }[] = [];
  const waiting = missing.values();
  const children = Array.from({ length: Math.min(jobs, missing.length) }, () =>
    fork(fileURLToPath(import.meta.url), process.argv.slice(2)),
  );
  await Promise.all(
    children.map(
      (child) =>
        new Promise<void>((resolve, reject) => {
          const feed = () => {
            const { done, value: seed } = waiting.next();
            if (!done) child.send(seed);
            else {
              child.disconnect();
              resolve();
            }
          };
          child.on("error", reject);
          child.on("exit", (code) => code && reject(new Error(`a process ended with ${code}`)));
          child.on("message", (outcome: Outcome | { seed: number; crash: string }) => {
            if ("crash" in outcome) crashed.push(outcome);
            else {
              log.add(outcome);
              hours += outcome.counts.hours;
              if (isFailed(outcome)) {
                failed.push(outcome);
                tellFirst(outcome);
              }
            }
            const now = performance.now();
            if (now - reported > 1_000) {
              reported = now;
              const { runs, hours } = totalsOf(log.outcomes);
              console.error(`${runs} seeds, ${Math.round(hours)} hours, ${failed.length} failed`);
            }
            feed();
          });
          feed();
        }),
    ),
  );
  const seconds = (performance.now() - began) / 1_000;
  tellTotals(log.outcomes);
  console.log(
    `wall time ${seconds.toFixed(1)} s, ${Math.round((hours / seconds) * 60)} simulated hours a minute`,
  );
  for (const { seed, crash } of crashed) console.log(`seed ${seed} crashed: ${crash}`);
  failed.sort((a, b) => a.seed - b.seed);
  for (const { seed, breaches } of failed.slice(0, MOST_TOLD)) await tell(seed, breaches[0]!.promise);
  const failing = log.outcomes.filter(isFailed);
  for (const outcome of failing) if (!failed.some(({ seed }) => seed === outcome.seed)) tellFirst(outcome);
  const numbers = failing.map(({ seed }) => seed).sort((a, b) => a - b);
  if (failing.length > 0) console.log(`${failing.length} failing seeds: ${numbers.join(" ")}`);
  tellMonitors(failing);
  const known = log.outcomes.filter((outcome) => outcome.breaches.length > 0 && !isFailed(outcome));
  if (known.length > 0) console.log(`${known.length} more fail by what is known (test/simulation/known.ts)`);
  process.exitCode = failing.length + crashed.length > 0 ? 1 : 0;
}

/** Whether a run breaks more than is known. */
function isFailed({ seed, breaches }: Outcome): boolean {
  return unknownOf({ seed, hours: hoursOf(seed), breaches }).length > 0;
}

/** Which monitors have told, and in which seeds. */
function tellMonitors(failing: readonly Outcome[]) {
  const seeds = new Map<string, Set<number>>();
  for (const { seed, breaches } of failing) {
    for (const { promise, monitor } of breaches) {
      const name = `promise ${promise} (${monitor})`;
      seeds.set(name, (seeds.get(name) ?? new Set()).add(seed));
    }
  }
  for (const [name, own] of [...seeds].sort(([, a], [, b]) => b.size - a.size))
    console.log(
      `${name}: ${own.size} seeds: ${[...own]
        .sort((a, b) => a - b)
        .slice(0, 20)
        .join(" ")}`,
    );
}

function openLog() {
  try {
    return openSeedLog(values.log, hoursOf);
  } catch (error) {
    console.error((error as Error).message);
    process.exitCode = 2;
    return undefined;
  }
}

function totalsOf(outcomes: readonly Outcome[]) {
  return outcomes.reduce((total, { counts }) => sum(total, counts), NOTHING);
}

function tellTotals(outcomes: readonly Outcome[]) {
  const { runs, hours, polls, requests, mostRequests, aClosing, events, faults, compared } =
    totalsOf(outcomes);
  console.log(`runs ${runs}, simulated hours ${Math.round(hours)}, polls ${polls}, events ${events}`);
  console.log(`requests ${requests} of at most ${mostRequests}`);
  const ascending = [...aClosing].sort((a, b) => a - b);
  const at = (share: number) => ascending[Math.ceil(share * ascending.length) - 1]?.toFixed(3);
  if (ascending.length > 0)
    console.log(
      `requests a closed candle in good health: median ${at(0.5)}, p99 ${at(0.99)} of ${ascending.length} seeds`,
    );
  const kinds = Object.entries(faults).sort(([a], [b]) => (a < b ? -1 : 1));
  console.log(`faults ${kinds.map(([kind, count]) => `${kind} ${count}`).join(", ")}`);
  tellCompared(compared);
}

function tellCompared(compared: Outcome["counts"]["compared"]) {
  const row = (name: string, stays: number, share: number) =>
    console.log(`${name.padEnd(9)} ${String(stays).padStart(6)} ${String(share).padStart(9)}`);
  console.log("timeframe  stays  compared with the truth");
  let [all, done] = [0, 0];
  for (const [timeframe, { stays, compared: own }] of Object.entries(compared)) {
    row(timeframe, stays, own);
    all += stays;
    done += own;
  }
  row("all", all, done);
  if (all > 0) console.log(`${((100 * done) / all).toFixed(1)} % of the stays were compared`);
}

function tellFirst({ seed, breaches }: Outcome) {
  const { promise, what } = unknownOf({ seed, hours: hoursOf(seed), breaches })[0]!;
  console.error(`seed ${seed} of ${hoursOf(seed)} hours breaks promise ${promise}: ${what}`);
}

async function replaySeeds() {
  const { replayAll } = await import("./replayed.js");
  const { seed, from, seeds } = values;
  const differing = await replayAll(Number(seed ?? from), seed === undefined ? Number(seeds) : 1, hoursOf);
  process.exitCode = differing > 0 ? 1 : 0;
}

async function playOne(seed: number) {
  const list = (text: string | undefined) =>
    text === undefined ? undefined : text === "none" ? [] : text.split(",").map(Number);
  const faults = list(values.faults);
  const watchers = list(values.watchers);
  const selection: Selection = { ...(faults && { faults }), ...(watchers && { watchers }) };
  const { breaches, counts } = await runSeed(seed, hoursOf(seed), selection);
  console.log(JSON.stringify(counts));
  for (const { promise, monitor, what, at } of breaches)
    console.log(`${promise} (${monitor}) at ${at} ms: ${what}`);
  if (!isFailed({ seed, breaches, counts })) return;
  process.exitCode = 1;
  if (faults === undefined && watchers === undefined) await tell(seed, breaches[0]!.promise);
}

async function tell(seed: number, promise: number) {
  const hours = hoursOf(seed);
  console.log(describeFailure(seed, hours, await shrink(seed, hours, promise)));
}
