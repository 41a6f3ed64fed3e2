import { fork } from "node:child_process";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { bundledNats } from "../bundle.js";
import { type NatsOutcome, type NatsSelection, NOTHING, runNatsSeed, sum } from "./run-seed.js";
import { describeNatsFailure, shrinkNats } from "./shrink.js";

const USAGE = `npm run simulate:nats -- [options]
  --seeds <n>          how many seeds to play (default 1,000)
  --from <seed>        the first of them (default 1)
  --jobs <n>           processes (default: one a core)
  --seed <seed>        plays one seed only
  --faults <list>      of that seed only these faults, by number, or none
  --subscribers <list> of that seed only these subscribers, by number, or none`;

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "1000" },
    from: { type: "string", default: "1" },
    jobs: { type: "string", default: String(availableParallelism()) },
    seed: { type: "string" },
    faults: { type: "string" },
    subscribers: { type: "string" },
    help: { type: "boolean", default: false },
  },
});
/** Failing seeds that are made smaller and told of at length. */
const MOST_TOLD = 5;

if (process.send !== undefined) await work();
else if (values.help) console.log(USAGE);
else if (values.seed !== undefined) await playOne(Number(values.seed));
else await playAll(Number(values.from), Number(values.seeds), Number(values.jobs));

/** In a child: plays the seeds that it is sent, one after another. */
async function work() {
  // Bundled it runs faster than through the loader that reads TypeScript.
  const run = await bundledNats();
  process.on("disconnect", () => process.exit());
  process.on("message", async (seed: number) => {
    process.send!(await run(seed).catch((error) => ({ seed, crash: String(error?.stack ?? error) })));
  });
}

async function playAll(from: number, seeds: number, jobs: number) {
  const began = performance.now();
  const waiting = Array.from({ length: seeds }, (_, at) => from + at).values();
  const failed: NatsOutcome[] = [];
  const crashed: { seed: number; crash: string }[] = [];
  let total = NOTHING;
  let reported = began;
  const children = Array.from({ length: Math.min(jobs, seeds) }, () =>
    fork(fileURLToPath(import.meta.url), process.argv.slice(2)),
  );
  const playWith = (child: (typeof children)[number]) =>
    new Promise<void>((resolve, reject) => {
      const feed = () => {
        const { done, value } = waiting.next();
        if (!done) child.send(value);
        else {
          child.disconnect();
          resolve();
        }
      };
      child.on("error", reject);
      child.on("exit", (code) => code && reject(new Error(`a process ended with ${code}`)));
      child.on("message", (outcome: NatsOutcome | { seed: number; crash: string }) => {
        if ("crash" in outcome) crashed.push(outcome);
        else {
          total = sum(total, outcome.counts);
          if (outcome.breaches.length > 0) {
            failed.push(outcome);
            const { monitor, what, at } = outcome.breaches[0]!;
            console.error(`seed ${outcome.seed}: ${monitor} at ${at} ms: ${what}`);
          }
        }
        if (performance.now() - reported > 5_000) {
          reported = performance.now();
          console.error(`${total.runs} seeds, ${failed.length} failed`);
        }
        feed();
      });
      feed();
    });
  await Promise.all(children.map(playWith));
  const { runs, seconds, requests, messages, events, handOvers, fullWindows, faults, worlds } = total;
  console.log(`runs ${runs}, simulated hours ${(seconds / 3_600).toFixed(1)}, requests ${requests}`);
  console.log(`messages ${messages}, events ${events}, hand-overs ${handOvers}, full windows ${fullWindows}`);
  const listed = (counts: Readonly<Record<string, number>>) => {
    const kinds = Object.entries(counts).sort(([a], [b]) => (a < b ? -1 : 1));
    return kinds.map(([kind, count]) => `${kind} ${count}`).join(", ");
  };
  console.log(`faults ${listed(faults)}`);
  console.log(`worlds ${listed(worlds)}`);
  console.log(`wall time ${((performance.now() - began) / 1_000).toFixed(1)} s`);
  for (const { seed, crash } of crashed) console.log(`seed ${seed} crashed: ${crash}`);
  failed.sort((a, b) => a.seed - b.seed);
  for (const { seed, breaches } of failed.slice(0, MOST_TOLD)) await tell(seed, breaches[0]!.monitor);
  if (failed.length > 0) console.log(`failing seeds: ${failed.map(({ seed }) => seed).join(" ")}`);
  process.exitCode = failed.length + crashed.length > 0 ? 1 : 0;
}

async function playOne(seed: number) {
  const list = (text: string | undefined) =>
    text === undefined ? undefined : text === "none" ? [] : text.split(",").map(Number);
  const faults = list(values.faults);
  const subscribers = list(values.subscribers);
  const selection: NatsSelection = { ...(faults && { faults }), ...(subscribers && { subscribers }) };
  const { breaches, counts } = await runNatsSeed(seed, selection);
  console.log(JSON.stringify(counts));
  for (const { monitor, what, at } of breaches) console.log(`${monitor} at ${at} ms: ${what}`);
  if (breaches.length === 0) return;
  process.exitCode = 1;
  if (faults === undefined && subscribers === undefined) await tell(seed, breaches[0]!.monitor);
}

async function tell(seed: number, monitor: string) {
  console.log(describeNatsFailure(seed, await shrinkNats(seed, monitor)));
}
