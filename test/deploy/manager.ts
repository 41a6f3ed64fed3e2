import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { durationOf, settingsOf, UNIT } from "./guide.js";

/** How a process has ended: with a code, or by a signal. */
export type End = number | NodeJS.Signals;

/** A line of the program's log. */
export type Logged = Readonly<Record<string, unknown>> & { readonly event: string };

const isRoot = process.getuid?.() === 0;
/** Nobody. */
const USER = 65_534;

/** Makes all read-only but the folder, and then becomes nobody where it may, as `DynamicUser` does. */
const CONFINED = [
  "mount --make-rprivate /",
  'mount --bind "$STATE_DIRECTORY" "$STATE_DIRECTORY"',
  "mount --bind / / && mount -o remount,ro,bind /",
  'cd "$STATE_DIRECTORY"',
  isRoot ? `exec setpriv --reuid=${USER} --regid=${USER} --clear-groups --no-new-privs "$@"` : 'exec "$@"',
].join(" && ");

/** Does with the program of the guide what systemd does with its unit. */
export class Manager {
  readonly state: string;
  readonly log: Logged[] = [];
  /** What is in the log and is no JSON, and what came on stderr. */
  readonly stray: string[] = [];
  readonly ends: End[] = [];
  starts = 0;
  readonly #home: string;
  readonly #program: string;
  readonly #environment: NodeJS.ProcessEnv;
  #child: ChildProcess | undefined;
  #isStopping = false;
  #restart: NodeJS.Timeout | undefined;

  constructor(program: string, key: string, environment: Readonly<Record<string, string>>) {
    this.#home = mkdtempSync(join(tmpdir(), "pairstream-deploy-"));
    const credentials = join(this.#home, "credentials");
    this.state = join(this.#home, "state");
    mkdirSync(this.state);
    mkdirSync(credentials);
    writeFileSync(join(credentials, "pairstream-key"), `${key}\n`);
    for (const path of [this.#home, this.state, credentials]) chmodSync(path, 0o777);
    this.#program = program;
    const given = settingsOf(UNIT, "Environment").map((each) => each.split(/=(.*)/, 2) as [string, string]);
    this.#environment = {
      ...{ PATH: process.env.PATH, STATE_DIRECTORY: this.state, CREDENTIALS_DIRECTORY: credentials },
      ...Object.fromEntries(given),
      ...environment,
    };
  }

  /** The file of the program's store. */
  get store(): string {
    return join(this.state, "candles.db");
  }

  /** The memory that the process has, in MB. */
  get memory(): number {
    const status = readFileSync(`/proc/${this.#child!.pid}/status`, "utf8");
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)![1]) / 1_024;
  }

  start(): void {
    const [command] = settingsOf(UNIT, "ExecStart");
    const args = command!.split(" ").slice(1, -1);
    const confined = [
      ...["--mount", ...(isRoot ? [] : ["--map-root-user"])],
      ...["sh", "-c", CONFINED, "sh", process.execPath, ...args, this.#program],
    ];
    const child = spawn("unshare", confined, { env: this.#environment, stdio: ["ignore", "pipe", "pipe"] });
    this.#child = child;
    this.starts += 1;
    let rest = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop()!;
      for (const line of lines) this.#take(line);
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => this.stray.push(text));
    child.once("close", (code, signal) => this.#ended((signal ?? code) as End));
  }

  /** Stops it as `systemctl stop` does; the last end says how. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    clearTimeout(this.#restart);
    const child = this.#child;
    if (child === undefined) return;
    const closed = once(child, "close");
    child.kill(settingsOf(UNIT, "KillSignal")[0] as NodeJS.Signals);
    const patience = setTimeout(
      () => child.kill("SIGKILL"),
      durationOf(settingsOf(UNIT, "TimeoutStopSec")[0]!),
    );
    await closed;
    clearTimeout(patience);
  }

  /** Starts it again after a `stop`. */
  resume(): void {
    this.#isStopping = false;
    this.start();
  }

  /** Ends it without a word, as the kernel does that has no memory left; it comes back by itself. */
  kill(): void {
    this.#child?.kill("SIGKILL");
  }

  /** Removes what it has made, the program too; it has to be stopped. */
  clear(): void {
    for (const folder of [this.#home, dirname(this.#program)]) rmSync(folder, { recursive: true });
  }

  #take(line: string): void {
    try {
      this.log.push(JSON.parse(line));
    } catch {
      this.stray.push(line);
    }
  }

  #ended(end: End): void {
    this.#child = undefined;
    this.ends.push(end);
    const prevented = settingsOf(UNIT, "RestartPreventExitStatus").map(Number);
    if (this.#isStopping || end === 0 || prevented.includes(end as number)) return;
    this.#restart = setTimeout(() => this.start(), durationOf(settingsOf(UNIT, "RestartSec")[0]!));
  }
}

/** Whether this machine gives a process a file system of its own; on CI the tests fail where it does not. */
export const canConfine = process.env.CI === "true" || tryToConfine();

function tryToConfine(): boolean {
  const args = ["--mount", ...(isRoot ? [] : ["--map-root-user"]), "sh", "-c"];
  const { status } = spawnSync("unshare", [...args, "mount --make-rprivate / && mount --bind / /"]);
  if (status === 0) return true;
  console.warn("SKIPPED: a process gets no file system of its own here, so nothing runs as its unit says");
  return false;
}

/** Whether systemd can look at a unit; on CI the tests fail where it is not there. */
export const hasSystemd = process.env.CI === "true" || findSystemd();

function findSystemd(): boolean {
  if (spawnSync("systemd-analyze", ["--version"]).status === 0) return true;
  console.warn("SKIPPED: systemd-analyze is not installed, so nobody verifies the unit");
  return false;
}
