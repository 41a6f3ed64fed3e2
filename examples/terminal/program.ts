import { InvalidInputError } from "pairstream";
import { type Observable, ReplaySubject } from "rxjs";
import { HelpShown, UsageError } from "./command-line.js";

/** Ends a program with 0, with 2 where the options cannot be taken, and else with 1; an error is one line. */
export async function runProgram(main: (args: readonly string[]) => Promise<void>): Promise<void> {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      // Whoever read has left, as `head` does.
      if (error.code !== "EPIPE") process.exitCode = 1;
    });
  }
  try {
    await main(process.argv.slice(2));
  } catch (error) {
    if (error instanceof HelpShown) return;
    process.exitCode = error instanceof UsageError || error instanceof InvalidInputError ? 2 : 1;
    process.stderr.write(`error: ${error instanceof Error ? error.message : String(error)}\n`);
  }
}

/** Calls back at Ctrl-C and SIGTERM, each time: npm passes on a Ctrl-C that the terminal has sent already. */
export function onSignal(stop: (signal: "SIGINT" | "SIGTERM") => void): void {
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => stop(signal));
}

/** Emits once the program is to end: at Ctrl-C and SIGTERM, and when nobody reads what it prints. */
export function untilStopped(): Observable<void> {
  const stopped = new ReplaySubject<void>(1);
  onSignal(() => stopped.next());
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => stopped.next());
  return stopped;
}
