import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import Libsql from "libsql";
import { sqliteStore } from "pairstream/store";
import { beforeAll, expect, it } from "vitest";
import { MINUTE } from "./conformance-data.js";
import { newPath } from "./drivers.js";
import { knownOf, WRITTEN_INTERVALS, WRITTEN_KEYS } from "./written.js";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const KILLS = Number(process.env.KILLS ?? 30);
/** ms after its first write within which a process is killed. */
const LONGEST_LIFE = 80;
const ALL = { from: 0, to: WRITTEN_INTERVALS * MINUTE };
let program: string;

beforeAll(async () => {
  const folder = join(ROOT, ".cache");
  mkdirSync(folder, { recursive: true });
  program = join(folder, "store-writer.cjs");
  await build({
    entryPoints: [fileURLToPath(new URL("writer-process.ts", import.meta.url))],
    bundle: true,
    platform: "node",
    format: "cjs",
    external: ["libsql", "idb"],
    outfile: program,
  });
});

/** Lets a process write until it is killed, or has ended by itself. */
async function write(path: string, seed: number, life: number, limit?: string): Promise<void> {
  const command = [process.execPath, program, path, `${seed}`];
  const child: ChildProcess =
    limit === undefined
      ? spawn(command[0]!, command.slice(1), { stdio: ["ignore", "pipe", "ignore"] })
      : spawn("sh", ["-c", `${limit}; exec "$@"`, "sh", ...command], { stdio: ["ignore", "pipe", "ignore"] });
  const ended = once(child, "exit");
  await Promise.race([once(child.stdout!, "data"), ended]);
  const timer = setTimeout(() => child.kill("SIGKILL"), life);
  await ended;
  clearTimeout(timer);
}

/** Holds all that a file says to what is true; gives how many intervals it covers. */
async function check(path: string): Promise<number> {
  const database = new Libsql(path);
  const integrity = database.prepare("PRAGMA integrity_check").all() as { integrity_check: string }[];
  expect(integrity.map((row) => row.integrity_check)).toEqual(["ok"]);
  const store = sqliteStore(database);
  let covered = 0;
  for (const key of WRITTEN_KEYS) {
    const held = await store.read(key, ALL);
    const expected = held.covered.flatMap(({ from, to }) => knownOf(from / MINUTE, to / MINUTE).candles);
    expect(held.candles).toEqual(expected);
    covered += held.covered.reduce((sum, { from, to }) => sum + (to - from) / MINUTE, 0);
  }
  store.close();
  return covered;
}

it(
  `holds nothing but what is true after ${KILLS} kills, and each next process goes on`,
  async () => {
    const path = newPath();
    let most = 0;
    for (let kill = 0; kill < KILLS; kill++) {
      await write(path, kill + 1, Math.random() * LONGEST_LIFE);
      // Reading all of it each time would take most of the time.
      if (kill % 10 === 9 || kill === KILLS - 1) most = Math.max(most, await check(path));
    }
    expect(most).toBeGreaterThan(0);
  },
  600_000 + KILLS * 2_000,
);

it("holds nothing but what is true while two processes write to it at once, of which one is killed again and again", async () => {
  const path = newPath();
  const steady = write(path, 1, 4_000);
  const lives = [150, 400, 50, 700, 300];
  for (const [kill, life] of lives.entries()) await write(path, kill + 2, life);
  await steady;
  expect(await check(path)).toBeGreaterThan(0);
});

it("holds nothing but what is true after files were allowed to grow no more, and goes on", async () => {
  const path = newPath();
  // In blocks of 512 or of 1,024 bytes.
  await write(path, 1, 1_500, "ulimit -f 200");
  const before = await check(path);
  await write(path, 2, 300);
  expect(await check(path)).toBeGreaterThan(Math.min(before, WRITTEN_INTERVALS));
});
