import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { PageFile } from "./page-files.js";

/** The files of the page, built in a process of its own. */
export interface ForkedBuild {
  readonly files: Promise<ReadonlyMap<string, PageFile>>;
  /** Ends the process, if it still runs. */
  stop(): void;
}

/** Begins a build that holds up nothing here, can be stopped at any point, and leaves no bundler in memory. */
export function forkBuild(): ForkedBuild {
  const child = fork(fileURLToPath(new URL("page-builder.ts", import.meta.url)), {
    // Maps and bytes arrive as such.
    serialization: "advanced",
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
  return { files: filesFrom(child), stop: () => child.kill("SIGKILL") };
}

function filesFrom(child: ChildProcess): Promise<ReadonlyMap<string, PageFile>> {
  let errors = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  return new Promise((resolve, reject) => {
    child.once("message", (files) => resolve(files as unknown as ReadonlyMap<string, PageFile>));
    child.once("error", reject);
    child.once("close", (code, signal) =>
      reject(new Error(errors.trim() || `the build of the page ended with ${code ?? signal}`)),
    );
  });
}
