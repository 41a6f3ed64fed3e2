import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { read } from "../documents/files.js";
import { buildProgram, CONTAINER } from "./guide.js";
import { KEY, type Trial } from "./trial.js";

const NAME = "pairstream-bot";
const STATE = "pairstream-state";

/** Makes the image of the guide, runs it beside the service of a trial, and ends it; gives what is wrong. */
export async function tryContainer(trial: Trial): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), "pairstream-container-"));
  const run = (program: string, ...args: string[]) =>
    execFileSync(program, args, {
      cwd: folder,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "inherit"],
    }).trim();
  const { devDependencies } = JSON.parse(read("package.json")) as { devDependencies: { libsql: string } };
  const manifest = { name: "bot", private: true, dependencies: { libsql: devDependencies.libsql } };
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
  writeFileSync(join(folder, "Dockerfile"), CONTAINER);
  copyFileSync(await buildProgram(), join(folder, "bot.cjs"));
  mkdirSync(join(folder, "secrets"));
  writeFileSync(join(folder, "secrets/pairstream-key"), KEY);
  run("npm", "install", "--package-lock-only");
  run("docker", "build", "--tag", NAME, ".");
  const options = [
    ...["--detach", "--name", NAME, "--read-only", "--init", "--network", "host", "--stop-timeout", "20"],
    ...["--volume", `${STATE}:/var/lib/pairstream`, "--volume", `${folder}/secrets:/run/secrets:ro`],
    ...Object.entries(trial.given).flatMap(([name, value]) => ["--env", `${name}=${value}`]),
  ];
  run("docker", "run", ...options, NAME);
  try {
    let isWell = false;
    for (const patience = Date.now() + 60_000; !isWell && Date.now() < patience; await wait(250))
      isWell = (await trial.health())?.status === 200;
    run("docker", "stop", NAME);
    const code = run("docker", "inspect", "--format", "{{.State.ExitCode}}", NAME);
    const trouble = [
      isWell ? "" : "it was not well after a minute",
      code === "0" ? "" : `it ended with ${code}`,
    ];
    const said = trouble.filter((text) => text !== "");
    return said.length === 0 ? [] : [...said, run("docker", "logs", NAME)];
  } finally {
    run("docker", "rm", "--force", NAME);
    run("docker", "volume", "rm", "--force", STATE);
  }
}
