import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { ROOT, run } from "./commands.js";

const SERVICE = ["hono", "@hono/node-server"];
const STORE = ["idb"];
const REACT = ["react"];
const OTEL = ["@opentelemetry/api"];
const NATS = ["@nats-io/transport-node", "@nats-io/jetstream"];

/** What each folder has besides the tarball and rxjs. */
const FOLDERS = {
  root: [],
  service: SERVICE,
  sse: [],
  nats: [...NATS, "@types/node"],
  react: REACT,
  otel: OTEL,
  all: [...SERVICE, ...STORE, ...REACT, ...OTEL, ...NATS, "@types/node", "typescript"],
} satisfies Record<string, readonly string[]>;

/** The other TypeScript that the types are tried with; the first is the project's own. */
const OLDER_TYPESCRIPT = "5.9.3";

/** The package as a user gets it: packed, and installed outside of the project. */
export interface Shipped {
  readonly tarball: string;
  /** Folders in each of which the package is installed, with the optional peers of one door, of none, or of all. */
  readonly folders: Readonly<Record<keyof typeof FOLDERS, string>>;
}

declare module "vitest" {
  export interface ProvidedContext {
    shipped: Shipped;
  }
}

/**
 * Builds, packs and installs once for all of these tests; what it leaves is deleted after them. `TARBALL` names what is
 * packed already; `SHIPPED` names a folder that keeps what is installed and compiled, for the same tests on another Node.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { SHIPPED: kept } = process.env;
  const home = kept || mkdtempSync(join(tmpdir(), "pairstream-package-"));
  mkdirSync(home, { recursive: true });
  const remove = async () => {
    if (!kept) await rm(home, { recursive: true, force: true });
  };
  try {
    project.provide("shipped", await ship(home));
  } catch (error) {
    await remove();
    throw error;
  }
  return remove;
}

async function ship(home: string): Promise<Shipped> {
  const tarball = process.env.TARBALL || (await pack(home));
  const installed = Object.entries(FOLDERS).map(async ([name, packages]) => {
    const folder = join(home, name);
    if (!existsSync(join(folder, "node_modules"))) await install(folder, tarball, packages);
    return [name, folder];
  });
  return { tarball, folders: Object.fromEntries(await Promise.all(installed)) };
}

/** Builds, too. */
async function pack(home: string): Promise<string> {
  await mustRun(
    "The package could not be built and packed",
    "npm",
    ["pack", "--pack-destination", home],
    ROOT,
  );
  return join(home, readdirSync(home).find((name) => name.endsWith(".tgz"))!);
}

async function install(folder: string, tarball: string, packages: readonly string[]): Promise<void> {
  const locked = lockedVersions();
  const dependencies: Record<string, string> = { pairstream: `file:${tarball}` };
  for (const name of ["rxjs", ...packages]) dependencies[name] = locked[name]!;
  if ("typescript" in dependencies) dependencies.typescript = OLDER_TYPESCRIPT;
  for (const name of Object.keys(dependencies)) delete locked[name];
  mkdirSync(folder, { recursive: true });
  // What the packages depend on comes in the versions of the lock, too.
  writeFileSync(
    join(folder, "package.json"),
    JSON.stringify({ private: true, dependencies, overrides: locked }),
  );
  await mustRun(
    "The package could not be installed; that needs npm's registry, or a cache of it",
    "npm",
    ["install", "--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1"],
    folder,
  );
}

/** The version of each package at the top of `node_modules`. */
function lockedVersions(): Record<string, string> {
  const { packages } = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8")) as {
    packages: Record<string, { version: string }>;
  };
  const top = Object.entries(packages).flatMap(([path, { version }]) => {
    const [, name] = /^node_modules\/((?:@[^/]+\/)?[^/]+)$/.exec(path) ?? [];
    return name === undefined ? [] : [[name, version]];
  });
  return Object.fromEntries(top);
}

async function mustRun(
  problem: string,
  program: string,
  args: readonly string[],
  cwd: string,
): Promise<void> {
  const { status, output } = await run(program, args, cwd);
  if (status !== 0) throw new Error(`${problem}:\n${output}`);
}
