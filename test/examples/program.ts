import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { expect, inject } from "vitest";
import { read, root } from "../documents/files.js";

/** A running example. */
export interface Program {
  readonly child: ChildProcess;
  /** Lines of stdout so far, the last one only once it is whole. */
  readonly lines: string[];
  /** All of stderr so far, but for what some versions of Node say of their driver for SQLite. */
  errors(): string;
  /** The first line that passes; rejects when the program ends, or the deadline passes, without one. */
  line(passes: (line: string) => boolean): Promise<string>;
  /** Exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals>;
}

const { scripts } = JSON.parse(read("package.json")) as {
  readonly scripts: Readonly<Record<string, string>>;
};
const DEADLINE = 20_000;
const YOUNG_DRIVER = /^\(node:\d+\) ExperimentalWarning: SQLite .*\n\(Use `node.*\n/m;
const running = new Set<ChildProcess>();

/** With these an example loads TypeScript, as its script can. */
const LOADING = ["--strategy", "--sweep"];

/** Runs an example, bundled where that is the same. */
export function run(
  example: string,
  args: readonly string[] = [],
  environment: NodeJS.ProcessEnv = {},
): Program {
  const isLoading = args.some((arg) => LOADING.includes(arg));
  const bundle = isLoading ? undefined : inject("bundles")[example];
  return start(bundle === undefined ? commandOf(example) : [bundle], args, environment);
}

/** Runs an example as `npm start` does, without a shell between. */
export const runScript = (example: string, args: readonly string[]): Program =>
  start(commandOf(example), args, {});

function start(command: readonly string[], args: readonly string[], environment: NodeJS.ProcessEnv): Program {
  const { PAIRSTREAM_API_KEY: _key, PAIRSTREAM_BASE_URL: _url, ...inherited } = process.env;
  const child = spawn(process.execPath, [...command, ...args], {
    cwd: root,
    env: { ...inherited, NO_COLOR: "1", ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  running.add(child);
  const lines: string[] = [];
  let errors = "";
  let rest = "";
  let hasEnded = false;
  const watchers = new Set<() => void>();
  const look = () => {
    for (const watcher of watchers) watcher();
  };
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    const parts = (rest + text).split("\n");
    rest = parts.pop() ?? "";
    lines.push(...parts);
    look();
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  const ended = once(child, "close").then(([code, signal]) => {
    running.delete(child);
    hasEnded = true;
    look();
    return (code ?? signal) as number | NodeJS.Signals;
  });

  const line = (passes: (line: string) => boolean) =>
    new Promise<string>((resolve, reject) => {
      let seen = 0;
      const settle = (end: () => void) => {
        watchers.delete(check);
        clearTimeout(timer);
        end();
      };
      const fail = (reason: string) =>
        settle(() => reject(new Error(`${reason}; stdout:\n${lines.join("\n")}\nstderr:\n${errors}`)));
      const check = () => {
        for (; seen < lines.length; seen += 1) {
          const found = lines[seen]!;
          if (passes(found)) {
            settle(() => resolve(found));
            return;
          }
        }
        if (hasEnded) fail("The program ended without the line");
      };
      const timer = setTimeout(() => fail("The line did not come in time"), DEADLINE);
      watchers.add(check);
      check();
    });

  return { child, lines, errors: () => errors.replace(YOUNG_DRIVER, ""), line, ended };
}

/** What follows `exec node` in the script that runs it. */
function commandOf(example: string): readonly string[] {
  const script = Object.values(scripts).find((each) => each.endsWith(` ${example}`));
  return script?.split(" ").slice(2) ?? ["--import", "tsx", example];
}

/** Expects a program to end at once with exit code 2, and to say why in one line that passes. */
export async function expectRefusal({ ended, lines, errors }: Program, message: RegExp): Promise<void> {
  expect(await ended).toBe(2);
  expect(lines).toEqual([]);
  const [line, ...rest] = errors().split("\n");
  expect(line).toMatch(/^error: /);
  expect(line).toMatch(message);
  expect(rest).toEqual([""]);
}

/** Ends what a test has left running. */
export async function endAll(): Promise<void> {
  const endings = [...running].map((child) => once(child, "close"));
  for (const child of running) child.kill("SIGKILL");
  await Promise.all(endings);
}
