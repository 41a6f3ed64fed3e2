import { execFile, spawnSync } from "node:child_process";
import { promisify } from "node:util";
import { root } from "./documents/files.js";

/** What Prometheus checks its files with; `PROMTOOL` names the program where it is not in the path. */
const PROGRAM = process.env.PROMTOOL || "promtool";

/** Whether it is there; without it on CI the tests fail where they run it. */
export const hasPromtool = process.env.CI === "true" || canRun();

function canRun(): boolean {
  if (spawnSync(PROGRAM, ["--version"]).status === 0) return true;
  console.warn(
    "SKIPPED: promtool is not installed, so nothing is checked as Prometheus reads it (CONTRIBUTING.md)",
  );
  return false;
}

/** Resolves where it ends well; otherwise rejects with all that it says against its input. */
export async function promtool(args: readonly string[], input = ""): Promise<void> {
  const running = promisify(execFile)(PROGRAM, args, { cwd: root });
  // A command that reads nothing may have ended by then.
  running.child.stdin!.on("error", () => {}).end(input);
  await running.catch(({ message, stdout }: Error & { stdout: string }) => {
    throw new Error(`${message}\n${stdout}`);
  });
}
