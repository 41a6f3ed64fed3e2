import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import Libsql from "libsql";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { root } from "../documents/files.js";
import { temporaryFolder } from "../examples/files.js";
import { freePort } from "../free-port.js";
import { buildProgram, CONTAINER, MARKET, settingsOf, UNIT, unitFile } from "./guide.js";
import { canConfine, hasSystemd } from "./manager.js";
import { Trial } from "./trial.js";

describe("the unit of docs/deploy.md", () => {
  it.skipIf(!hasSystemd)("is one that systemd takes without a word", async () => {
    const { status, stdout, stderr } = spawnSync(
      "systemd-analyze",
      ["verify", unitFile(await temporaryFolder())],
      {
        encoding: "utf8",
      },
    );
    expect({ status, said: stdout + stderr }).toEqual({ status: 0, said: "" });
  });

  it("keeps a key from the environment, and asks no more with one that is refused", () => {
    expect(settingsOf(UNIT, "Environment").filter((each) => /key/i.test(each))).toEqual([]);
    expect(settingsOf(UNIT, "RestartPreventExitStatus")).toEqual(["2"]);
    expect(CONTAINER).not.toMatch(/API_KEY/);
  });
});

describe.skipIf(!canConfine)("the program of docs/deploy.md, on a root that is read-only", () => {
  async function open(environment = {}, key?: string) {
    const trial = await Trial.open(environment, key);
    onTestFinished(() => trial.end());
    trial.manager.start();
    return trial;
  }
  const well = (trial: Trial) =>
    vi.waitFor(async () => expect((await trial.health())?.status).toBe(200), {
      timeout: 60_000,
      interval: 100,
    });

  it("is killed, comes back by itself, ends at SIGTERM with 0, and its store is right", async () => {
    const trial = await open();
    const { manager } = trial;
    await well(trial);
    expect((await trial.health())!.body).toEqual({ ok: true, feeds: { starting: 0, live: 2, stalled: 0 } });
    await vi.waitFor(() => expect(trial.stored).toBeGreaterThan(200), { timeout: 60_000, interval: 500 });
    manager.kill();
    await vi.waitFor(() => expect(manager.starts).toBe(2), { timeout: 60_000 });
    await well(trial);
    const copy = join(manager.state, "copy.db");
    const running = new Libsql(manager.store);
    running.exec(`VACUUM INTO '${copy}'`);
    running.close();
    await manager.stop();
    expect(manager.ends).toEqual(["SIGKILL", 0]);
    expect(manager.log.map(({ event }) => event).filter((event) => event !== "closed")).toEqual([
      ...["started", "started", "stopped"],
    ]);
    expect(manager.stray).toEqual([]);
    for (const file of [manager.store, copy]) {
      const { findings, candles } = await trial.audit(file);
      expect(findings).toEqual([]);
      expect(candles).toBeGreaterThan(200);
    }
  });

  it.each([
    ["it has no key", { CREDENTIALS_DIRECTORY: "/nowhere" }, "ENOENT"],
    ["a setting is wrong", { BASE_URL: "" }, "InvalidInputError: baseUrl"],
  ])("ends with 2 where %s, says so in its log, and stays down", async (_, environment, why) => {
    const trial = await open(environment);
    await vi.waitFor(() => expect(trial.manager.ends).toEqual([2]), { timeout: 60_000 });
    expect(trial.manager.log.at(-1)).toMatchObject({
      event: "failed",
      message: expect.stringContaining(why),
    });
    expect(trial.manager.starts).toBe(1);
  });

  it("ends with 2 where the key is refused, and stays down", async () => {
    const trial = await open({}, "another-key");
    await vi.waitFor(() => expect(trial.manager.ends).toEqual([2]), { timeout: 60_000 });
    expect(trial.manager.log.at(-1)).toMatchObject({
      event: "stopped",
      why: expect.stringMatching(/^AuthenticationError: .*401/),
    });
    expect(JSON.stringify([trial.manager.log, trial.manager.stray])).not.toContain("another-key");
  });
});

it("the program of docs/deploy.md is tried without a key, by the line that its market prints", async () => {
  const running: ChildProcess[] = [];
  onTestFinished(() => {
    for (const child of running) child.kill("SIGKILL");
  });
  const linesOf = (command: string, args: readonly string[], cwd: string) => {
    const child = spawn(command, args, { cwd, stdio: ["ignore", "pipe", "inherit"] });
    running.push(child);
    let text = "";
    child.stdout.setEncoding("utf8").on("data", (piece: string) => {
      text += piece;
    });
    return { child, lines: () => text.split("\n").slice(0, -1) };
  };
  const soon = { timeout: 60_000, interval: 100 };

  const script = MARKET.replace("port: 8080", "port: 0");
  const market = linesOf(
    process.execPath,
    ["--import", "tsx", "--input-type=module", "--eval", script],
    root,
  );
  await vi.waitFor(() => expect(market.lines()).toHaveLength(1), soon);

  const [port, folder] = [await freePort(), dirname(await buildProgram())];
  writeFileSync(join(folder, "pairstream-key"), "any\n");
  const bot = linesOf(
    "sh",
    ["-c", `export PORT=${port}; ${market.lines()[0]!.replace("node bot", "exec node bot")}`],
    folder,
  );
  await vi.waitFor(async () => {
    const { ok } = (await (await fetch(`http://127.0.0.1:${port}/`)).json()) as { ok: boolean };
    expect(ok).toBe(true);
  }, soon);
  bot.child.kill("SIGINT");
  expect(await once(bot.child, "exit")).toEqual([0, null]);
  expect(bot.lines().map((line) => JSON.parse(line).event)).toEqual(
    expect.arrayContaining(["started", "stopped"]),
  );
});
