// One program on every runtime, test runner and bundler that there is as a package: `npm run check:runtimes`.
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { hasServer, startServer } from "../adapters/nats/servers.js";
import { findChromium, launchChromium } from "../browser/chromium.js";
import { ROOT, run } from "../package/commands.js";

const USAGE = `npm run check:runtimes -- [--all] [--only=TEXT] [--write]

  --all        also what is large or slow to install: jest, vitest, webpack and Parcel
  --only=TEXT  the rows whose name holds that
  --write      puts the table into docs/runtimes.md

Needs npm's registry, and Linux on x64 for the several versions of Node.`;

const HERE = fileURLToPath(new URL(".", import.meta.url));
/** What it installs stays there, until the lock changes. Outside of the project, whose tsconfig tools would obey. */
const HOME = join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "pairstream-runtimes");
const PACKAGES = join(HOME, "node_modules");
const TABLE = /(?<=<!-- begin: check:runtimes -->\n)[\s\S]*(?=<!-- end -->)/;

/** What the program gives everywhere. */
const EXPECTED = {
  closes: 67,
  digest: "8b47ad13",
  pending: 0,
  exchanges: 92,
  replay: "the same",
  sse: [1, 2, 3],
  gateway: [39, 5, 0],
};
/** For one run of the program, in ms. */
const DEADLINE = 120_000;
/** Characters of a failure. */
const MOST_TOLD = 2_000;

interface Row {
  readonly name: string;
  /** Only with `--all`. */
  readonly isLarge?: boolean;
  /** What differs from `EXPECTED` here, and is documented. */
  readonly but?: Readonly<Record<string, unknown>>;
  /** What a program of its own gives, in place of all that. */
  readonly only?: Readonly<Record<string, unknown>>;
  /** Gives what the program has said, and for a bundler the size of its bundle. */
  readonly tryIt: () => Promise<{ readonly said: unknown; readonly bytes?: number }>;
}

const node = (version: number) => join(PACKAGES, `node-${version}/bin/node`);
const MAIN = node(24);
const DENO = join(PACKAGES, "@deno/linux-x64-glibc/deno");
const BUN = join(PACKAGES, "@oven/bun-linux-x64/bin/bun");
const esbuild = (...options: readonly string[]) =>
  mustRun(MAIN, [join(PACKAGES, "esbuild/bin/esbuild"), "--bundle", "--log-level=error", ...options]);

async function mustRun(program: string, args: readonly string[]): Promise<string> {
  const { status, output } = await run("timeout", [String(DEADLINE / 1_000), program, ...args], HOME);
  if (status !== 0) throw new Error(`${program} ${args.join(" ")} ended with ${status}:\n${output}`);
  return output;
}

/** What the program has said among what a runtime and its tools say. */
function resultIn(output: string): unknown {
  const [, text] = /RESULT (\{.*\})/.exec(output) ?? [];
  if (text === undefined) throw new Error(`no result:\n${output}`);
  return JSON.parse(text);
}

const saying = async (program: string, args: readonly string[]) => ({
  said: resultIn(await mustRun(program, args)),
});

/** Runs what a bundler has made, `page.js` and its parts, in a page; its address is a secure one, as `crypto` asks for. */
async function bundled(folder: string) {
  const path = findChromium();
  if (path === undefined) throw new Error("No Chromium: install it, or set CHROMIUM_PATH");
  const files = readdirSync(join(HOME, folder)).filter((name) => /\.m?js$/.test(name));
  const scripts = new Map(files.map((name) => [`/${name}`, readFileSync(join(HOME, folder, name))]));
  const browser = await launchChromium(path);
  try {
    const page = await browser.newPage();
    await page.route("https://page.test/**", (route) => {
      const body = scripts.get(new URL(route.request().url()).pathname);
      const html = '<!doctype html><script type="module" src="/page.js"></script>';
      return route.fulfill(
        body === undefined
          ? { contentType: "text/html", body: html }
          : { contentType: "text/javascript", body },
      );
    });
    await page.goto("https://page.test/");
    await page.waitForFunction("globalThis.result");
    const bytes = [...scripts.values()].reduce((sum, text) => sum + gzipSync(text, { level: 9 }).length, 0);
    return { said: await page.evaluate("result()"), bytes };
  } finally {
    await browser.close();
  }
}

const onWorkerd = (flag: string) => async () => {
  await esbuild("worker.mjs", "--format=esm", "--conditions=workerd,worker,browser", "--outfile=worker.js");
  const config = readFileSync(join(HOME, "worker.capnp"), "utf8").replace("FLAGS", flag);
  writeFileSync(join(HOME, "run.capnp"), config);
  return saying(join(PACKAGES, "@cloudflare/workerd-linux-64/bin/workerd"), ["test", "run.capnp"]);
};

/** Viewers of a channel of a Worker, whose `fetch` reaches a service; `site` is its code. */
const onWorkers = (site: string) => async () => {
  writeFileSync(join(HOME, "workers/site.ts"), site);
  const parts = ["site.ts", "market.mjs", "viewers.mjs"].map((name) => join("workers", name));
  await esbuild(...parts, "--format=esm", "--conditions=workerd,worker,browser", "--outdir=workers");
  const config = readFileSync(join(HOME, "workers/config.capnp"), "utf8");
  writeFileSync(join(HOME, "workers/run.capnp"), config);
  return saying(join(PACKAGES, "@cloudflare/workerd-linux-64/bin/workerd"), ["test", "workers/run.capnp"]);
};

/** The Worker of the documents, with a candle every second. */
function documentedWorker(): string {
  const text = readFileSync(join(ROOT, "docs/sse.md"), "utf8");
  const block = text.split("```ts\n// worker.ts\n")[1]?.split("```")[0];
  if (block === undefined) throw new Error("docs/sse.md has no Worker");
  return block.replace('"1min"', '"1s"');
}

/** What the last of four programs reads, each of which adds a candle to one file. */
const FILE_HELD = { held: [1, 2, 3, 4].map((price) => price + 1 / 3), covered: [{ from: 0, to: 240_000 }] };

/** A file that Bun writes, then Node by its own driver, then Node by the project's `libsql`, then Bun again. */
async function onOneFile() {
  rmSync(join(HOME, "out/store"), { recursive: true, force: true });
  mkdirSync(join(HOME, "out/store"), { recursive: true });
  const file = join(HOME, "out/store/candles.db");
  const libsql = createRequire(import.meta.url).resolve("libsql");
  const add = (program: string, driver: string) => saying(program, ["store.mjs", driver, file]);
  await add(BUN, "bun:sqlite");
  await add(MAIN, "node:sqlite");
  await add(node(20), libsql);
  return add(BUN, "bun:sqlite");
}

const inVitest = (environment: string) => () => {
  const vitest = join(PACKAGES, "vitest/vitest.mjs");
  return saying(MAIN, [
    vitest,
    "run",
    "--root=.",
    "--globals",
    `--environment=${environment}`,
    "--dir=tests",
  ]);
};

const inJest = (environment: string) => async () => {
  await esbuild("tests/runner.test.mjs", "--packages=external", "--format=cjs", "--outfile=jest/runner.cjs");
  const jest = join(PACKAGES, "jest/bin/jest.js");
  return saying(MAIN, [jest, `--env=${environment}`, "--rootDir=jest", "--testMatch=**/runner.cjs"]);
};

/** The test that the documents give for a runner, in a file of its own. */
function documented(runner: string, file: string): string {
  const text = readFileSync(join(ROOT, "docs/testing.md"), "utf8");
  const block = text.split(`\n### ${runner}\n`)[1]?.split("```js\n")[1]?.split("```")[0];
  if (block === undefined) throw new Error(`docs/testing.md has no test for ${runner}`);
  const folder = join(HOME, "documented", runner.replace(":", "-"));
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, file), block);
  return folder;
}

/** The documents' tests, each by its runner; that it passes says that its figures are right. */
function documentedRows(): Row[] {
  const jest = join(PACKAGES, "jest/bin/jest.js");
  const of = (runner: string, file: string, program: string, args: (folder: string) => string[]): Row => ({
    name: `docs/testing.md, ${runner}`,
    isLarge: true,
    tryIt: async () => {
      const output = await mustRun(program, args(documented(runner, file)));
      // A runner that finds no test may pass, too.
      if (!/1 pass|pass 1/.test(output)) throw new Error(`no test has passed:\n${output}`);
      return { said: EXPECTED };
    },
  });
  return [
    of("vitest", "bot.test.js", MAIN, (folder) => [
      join(PACKAGES, "vitest/vitest.mjs"),
      "run",
      "--root",
      folder,
    ]),
    of("jest", "bot.test.cjs", MAIN, (folder) => [jest, "--rootDir", folder, "--testMatch=**/bot.test.cjs"]),
    of("node:test", "bot.test.mjs", MAIN, (folder) => ["--test", join(folder, "bot.test.mjs")]),
    of("bun", "bot.test.js", BUN, (folder) => ["test", join(folder, "bot.test.js")]),
    of("deno", "bot.test.mjs", DENO, (folder) => [
      ...["test", "--allow-env", "--no-check", "--node-modules-dir=manual"],
      join(folder, "bot.test.mjs"),
    ]),
  ];
}

function rows(servers: string | undefined): Row[] {
  const more = servers === undefined ? [] : [servers];
  const nats = servers === undefined ? {} : { but: { nats: [1, 2, 3] } };
  const main = ["main.mjs", ...more];
  const asCommonJs = async (version: number) => {
    const options = [
      "--packages=external",
      "--format=cjs",
      "--platform=node",
      "--supported:dynamic-import=false",
    ];
    await esbuild("main.mjs", ...options, "--outfile=main.cjs");
    return saying(node(version), ["main.cjs", ...more]);
  };
  return [
    ...[20, 22, 24, 26].flatMap((version): Row[] => [
      { name: `Node ${version}, ESM`, ...nats, tryIt: () => saying(node(version), main) },
      { name: `Node ${version}, CommonJS`, ...nats, tryIt: () => asCommonJs(version) },
    ]),
    {
      name: "Deno",
      ...nats,
      tryIt: () => saying(DENO, [...["run", "-A", "--node-modules-dir=manual"], ...main]),
    },
    { name: "Bun", ...nats, tryIt: () => saying(BUN, main) },
    { name: "one SQLite file, of Bun and Node", only: FILE_HELD, tryIt: onOneFile },
    { name: "workerd, without Node's names", tryIt: onWorkerd("") },
    { name: "workerd, with nodejs_compat", tryIt: onWorkerd('"nodejs_compat"') },
    {
      name: "workerd, a gateway in a Durable Object",
      only: { sse: [3, 3, 3, 3] },
      tryIt: onWorkers(documentedWorker()),
    },
    {
      name: "Chromium, bundled by esbuild",
      tryIt: async () => {
        await esbuild("page.mjs", "--minify", "--format=esm", "--outfile=out/esbuild/page.js");
        return bundled("out/esbuild");
      },
    },
    {
      name: "Chromium, bundled by Vite",
      tryIt: async () => {
        await mustRun(MAIN, [join(PACKAGES, "vite/bin/vite.js"), "build", "--config=vite.config.mjs"]);
        return bundled("out/vite");
      },
    },
    {
      name: "Chromium, bundled by webpack",
      isLarge: true,
      tryIt: async () => {
        await mustRun(MAIN, ["webpack.mjs"]);
        return bundled("out/webpack");
      },
    },
    {
      name: "Chromium, bundled by Parcel with package exports on",
      isLarge: true,
      tryIt: async () => {
        const parcel = join(PACKAGES, "parcel/lib/bin.js");
        const options = ["--no-cache", "--no-source-maps", "--dist-dir=out/parcel"];
        await mustRun(MAIN, [parcel, "build", "page.mjs", ...options]);
        return bundled("out/parcel");
      },
    },
    ...["node", "jsdom"].flatMap((environment): Row[] => [
      { name: `vitest, ${environment}`, isLarge: true, tryIt: inVitest(environment) },
      {
        name: `jest, ${environment}`,
        isLarge: true,
        ...(environment === "jsdom" ? { but: { sse: "no Response", gateway: "no Response" } } : {}),
        tryIt: inJest(environment),
      },
    ]),
    ...documentedRows(),
  ];
}

/** Installs the runtimes where that has not been done, and the package as it is packed now. */
async function install(isAll: boolean): Promise<void> {
  const lock = readFileSync(join(HERE, "package-lock.json"), "utf8");
  const installed = join(HOME, isAll ? "all.lock" : "some.lock");
  const isThere = [installed, join(HOME, "all.lock")].some((file) => readText(file) === lock);
  mkdirSync(HOME, { recursive: true });
  if (!isThere) {
    for (const file of ["package.json", "package-lock.json"]) cpSync(join(HERE, file), join(HOME, file));
    // The engine of these packages is a Node that is installed with them, and not the one that runs this.
    const options = [
      "--ignore-scripts",
      "--no-audit",
      "--no-fund",
      "--prefer-offline",
      "--engine-strict=false",
    ];
    // As locked; `npm ci` of npm 11 refuses a lock that lacks optional packages of other platforms.
    const ended = await run("npm", ["install", ...options, ...(isAll ? [] : ["--omit=dev"])], HOME);
    if (ended.status !== 0) throw new Error(`npm install:\n${ended.output}`);
    writeFileSync(installed, lock);
  }
  const packed = await run("npm", ["pack", "--pack-destination", HOME], ROOT);
  const tarball = readdirSync(HOME).find((name) => name.endsWith(".tgz"));
  if (packed.status !== 0 || tarball === undefined) throw new Error(`npm pack:\n${packed.output}`);
  const home = join(PACKAGES, "pairstream");
  rmSync(home, { recursive: true, force: true });
  mkdirSync(home);
  await mustRun("tar", ["-xzf", tarball, "-C", home, "--strip-components=1"]);
  rmSync(join(HOME, tarball));
  cpSync(join(HERE, "programs"), HOME, { recursive: true });
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}

async function main(options: readonly string[]): Promise<boolean> {
  const unknown = options.find((option) => !/^--(all|write|only=.+)$/.test(option));
  if (unknown !== undefined) {
    console.log(USAGE);
    return unknown === "--help";
  }
  const isAll = options.includes("--all");
  const only = options.find((option) => option.startsWith("--only="))?.slice(7) ?? "";
  await install(isAll);
  const server = hasServer ? await startServer() : undefined;
  const lines = [
    "| where | closes | replay | SSE | NATS | gzip | seconds |",
    "| --- | --- | --- | --- | --- | --- | --- |",
  ];
  let failures = 0;
  try {
    for (const { name, but, only: expected = { ...EXPECTED, ...but }, isLarge = false, tryIt } of rows(
      server?.url,
    )) {
      if ((isLarge && !isAll) || !name.includes(only)) continue;
      const began = performance.now();
      const { said, bytes } = await tryIt().catch((error: Error) => ({
        said: error.message,
        bytes: undefined,
      }));
      const seconds = ((performance.now() - began) / 1_000).toFixed(1);
      if (sorted(said) === sorted(expected)) {
        const { closes, replay, sse, nats } = said as Record<string, unknown>;
        const cells = [closes, replay, Array.isArray(sse) ? "yes" : sse, nats ? "yes" : "", kilobytes(bytes)];
        lines.push(`| ${[name, ...cells, seconds].join(" | ")} |`);
      } else {
        failures += 1;
        lines.push(`| ${name} | FAILED | | | | | ${seconds} |`);
        console.error(
          `${name}: ${typeof said === "string" ? said.slice(0, MOST_TOLD) : JSON.stringify(said)}`,
        );
      }
      console.log(lines.at(-1));
    }
  } finally {
    await server?.remove();
  }
  console.log(`${lines.length - 2 - failures} passed, ${failures} failed`);
  if (options.includes("--write")) {
    const file = join(ROOT, "docs/runtimes.md");
    const table = lines.filter((line) => !line.startsWith("| docs/"));
    writeFileSync(file, readFileSync(file, "utf8").replace(TABLE, `${table.join("\n")}\n`));
    await run("npx", ["biome", "format", "--write", file], ROOT);
  }
  return failures === 0;
}

function sorted(value: unknown): string {
  return value !== null && typeof value === "object"
    ? JSON.stringify(Object.entries(value).sort())
    : String(value);
}

function kilobytes(bytes: number | undefined): string {
  return bytes === undefined ? "" : `${(bytes / 1_000).toFixed(1)} kB`;
}

process.exitCode = (await main(process.argv.slice(2))) ? 0 : 1;
