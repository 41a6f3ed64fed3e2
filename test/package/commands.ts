import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** The project's folder. */
export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** How a program ended. */
export interface Ended {
  /** Its exit code; `null` where a signal ended it. */
  readonly status: number | null;
  readonly stdout: string;
  /** All that it wrote, to stdout and stderr. */
  readonly output: string;
}

/** Runs a program to its end, without a shell. */
export async function run(program: string, args: readonly string[], cwd: string): Promise<Ended> {
  const child = spawn(program, args, { cwd, stdio: ["ignore", "pipe", "pipe"] });
  let stdout = "";
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
    output += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  const [status] = (await once(child, "close")) as [number | null];
  return { status, stdout, output };
}
