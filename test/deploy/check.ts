// Runs the program of docs/deploy.md as its unit says, and ends it over and over: `npm run check:deploy -- --minutes 3`.
// `--container` makes its image instead, and runs that.
import { setTimeout as wait } from "node:timers/promises";
import { parseArgs } from "node:util";
import { tryContainer } from "./container.js";
import { canConfine } from "./manager.js";
import { Trial } from "./trial.js";

const { values } = parseArgs({
  options: { minutes: { type: "string", default: "3" }, container: { type: "boolean", default: false } },
});
const until = Date.now() + Number(values.minutes) * 60_000;
if (!(until > Date.now())) throw new Error("--minutes has to be a number above 0");
if (values.container) {
  const trial = await Trial.open();
  const trouble = await tryContainer(trial);
  await trial.end();
  console.log(trouble.length === 0 ? "the container runs, is well, and ends with 0" : trouble.join("\n"));
  process.exit(trouble.length === 0 ? 0 : 1);
}
if (!canConfine) throw new Error("this machine gives no process a file system of its own: try it as root");

const trial = await Trial.open();
const { manager } = trial;
const trouble: string[] = [];
const memory: number[] = [];
let rounds = 0;

/** Waits until the program says that it is well. */
async function expectWell(): Promise<void> {
  for (const patience = Date.now() + 60_000; Date.now() < patience; await wait(250))
    if ((await trial.health())?.status === 200) return;
  trouble.push(`round ${rounds}: not well after a minute: ${JSON.stringify(await trial.health())}`);
}

manager.start();
for (; Date.now() < until; rounds += 1) {
  await expectWell();
  // Never twice at the same instant of a minute; from seconds to some minutes.
  await wait(Math.min(Math.max(0, until - Date.now()), 7_000 + ((rounds * 37_000) % 150_000)));
  memory.push(manager.memory);
  if (rounds % 2 === 0) {
    manager.kill();
    for (const { starts } = manager; manager.starts === starts; ) await wait(100);
  } else {
    const began = performance.now();
    await manager.stop();
    if (performance.now() - began > 5_000) trouble.push(`round ${rounds}: it took long to stop`);
    if (manager.ends.at(-1) !== 0) trouble.push(`round ${rounds}: it ended with ${manager.ends.at(-1)}`);
    manager.resume();
  }
}
await expectWell();
await manager.stop();
const { findings, candles } = await trial.audit();
await trial.end();
trouble.push(...findings.map((finding) => `in the store: ${JSON.stringify(finding)}`));
trouble.push(...manager.stray.map((text) => `stray: ${text}`));
const closed = manager.log.filter(({ event }) => event === "closed").length;
const [first, most] = [memory[0], Math.max(...memory)].map((size) => `${size?.toFixed(0)} MB`);
console.log(
  `${rounds} rounds, ${manager.starts} starts, ended with ${[...new Set(manager.ends)].join(", ")}; ` +
    `${closed} closes told, ${candles} candles in the store; ${first} at first, ${most} at most`,
);
for (const line of trouble) console.log(line);
if (trouble.length > 0) process.exitCode = 1;
