import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";

/** What makes a program run as the package is shipped. */
const TRANSPILE = new URL("../transpile.js", import.meta.url).href;

/** Starts a program of this folder, such as `"./service.ts"`, and waits for what it tells first. */
export async function start<T>(
  source: string,
  options: object = {},
): Promise<[told: T, process: ChildProcess]> {
  const child = fork(new URL(source, import.meta.url), [JSON.stringify(options)], {
    execArgv: ["--expose-gc", "--import", TRANSPILE],
  });
  const told = once(child, "message").then(([message]) => message as T);
  const end = once(child, "exit").then(([code]): never => {
    throw new Error(`${source} has ended with ${code}`);
  });
  end.catch(() => {});
  return [await Promise.race([told, end]), child];
}

/** What a program with these options finds out before it ends. */
export async function ask<T>(source: string, options: object): Promise<T> {
  const [told, child] = await start<T>(source, options);
  child.disconnect();
  return told;
}

/** The options that this program was started with. */
export function givenOptions<T>(): T {
  return JSON.parse(process.argv[2] ?? "{}") as T;
}

/** Tells the one who has started this program, and ends with that one. */
export function tell(message: object): void {
  process.on("disconnect", () => process.exit());
  process.send!(message);
}
