import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path/posix";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { describe, expect, inject, it } from "vitest";
import { ROOT, run } from "./commands.js";

const { tarball, folders } = inject("shipped");
const installed = join(folders.root, "node_modules/pairstream");
const FILES = filesBelow(installed);

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)));
}

/** The part of a source map that is looked at here. */
interface SourceMap {
  file?: string;
  sources: string[];
  sourcesContent: (string | null)[];
}

describe("the tarball", () => {
  it("holds a module for each of the sources, and besides them what is listed here", () => {
    const sources = filesBelow(join(ROOT, "src")).map((file) => file.replace(/\.ts$/, ".js"));
    const modules = FILES.filter((file) => file.startsWith("dist/esm/"));
    const expected = sources.flatMap((file) => [`dist/esm/${file}`, `dist/esm/${file}.map`]);
    expect(modules.sort()).toEqual(expected.sort());

    // What doors share lies in files whose names are made up from their content; the README leads to the guides.
    const others = FILES.filter((file) => !modules.includes(file));
    const kinds = others.map((file) => file.replace(/[\w-]+-[\w-]{8}(?=\.)/, "shared"));
    expect([...new Set(kinds)].sort()).toMatchInlineSnapshot(`
      [
        "ARCHITECTURE.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "LICENSE",
        "README.md",
        "SECURITY.md",
        "dist/cjs/index.cjs",
        "dist/cjs/index.cjs.map",
        "dist/cjs/nats.cjs",
        "dist/cjs/nats.cjs.map",
        "dist/cjs/service.cjs",
        "dist/cjs/service.cjs.map",
        "dist/cjs/shared.cjs",
        "dist/cjs/shared.cjs.map",
        "dist/cjs/sse.cjs",
        "dist/cjs/sse.cjs.map",
        "dist/types/index.d.cts",
        "dist/types/index.d.ts",
        "dist/types/nats.d.cts",
        "dist/types/nats.d.ts",
        "dist/types/service.d.cts",
        "dist/types/service.d.ts",
        "dist/types/shared.d.cts",
        "dist/types/shared.d.ts",
        "dist/types/sse.d.cts",
        "dist/types/sse.d.ts",
        "docs/bot.md",
        "docs/budget.md",
        "docs/candles.md",
        "docs/indicators.md",
        "docs/migrating.md",
        "docs/nats.md",
        "docs/performance.md",
        "docs/reference.md",
        "docs/replay.md",
        "docs/scaling.md",
        "docs/sse.md",
        "docs/testing.md",
        "package.json",
      ]
    `);
  });

  it("passes publint", async () => {
    const { buffer } = Uint8Array.from(readFileSync(tarball));
    const { messages, pkg } = await publint({ strict: true, pack: { tarball: buffer } });
    expect(messages.map((message) => formatMessage(message, pkg))).toEqual([]);
  });

  it("passes attw, as packages are resolved since Node 16", async () => {
    const attw = join(ROOT, "node_modules/.bin/attw");
    const { status, output } = await run(attw, [tarball, "--profile", "node16"], ROOT);
    expect(status, output).toBe(0);
  });

  it("has no door but those that are tried here", () => {
    const { exports } = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));
    expect(Object.keys(exports)).toEqual([".", "./service", "./sse", "./nats", "./package.json"]);
  });
});

describe("the source maps", () => {
  const maps = FILES.filter((file) => file.endsWith(".map"));

  it("hold the sources, by paths that tell nothing of the machine that built them", () => {
    expect(maps.length).toBeGreaterThan(100);
    for (const path of maps) {
      const map = readMap(path);
      // What was split has itself among its sources, too.
      const own = basename(path, ".map");
      for (const [at, source] of map.sources.entries()) {
        if (source === own) continue;
        const file = relative("/package", join("/package", dirname(path), source));
        expect(file, path).toMatch(/^src\//);
        expect(map.sourcesContent[at], path).toEqual(expect.any(String));
      }
      expect(map.file ?? own, path).toBe(own);
    }
  });

  it.each([
    ["esm/indicators/averages/ema.js", "module", "await import"],
    ["cjs/index.cjs", "commonjs", "require"],
  ])("lead from %s to the line that threw", async (path, type, load) => {
    const code = `(${load}("pairstream")).ema(-1)`;
    const options = ["--enable-source-maps", `--input-type=${type}`, "--eval", code];
    const { output } = await run(process.execPath, options, folders.root);
    const [, line] = /\bema \(.*\/src\/indicators\/averages\/ema\.ts:(\d+):\d+\)/.exec(output) ?? [];
    const map = readMap(`dist/${path}.map`);
    const source = map.sources.findIndex((name) => name.endsWith("indicators/averages/ema.ts"));
    expect(map.sourcesContent[source]!.split("\n")[Number(line) - 1]).toContain("checkPeriod");
  });
});

function readMap(path: string): SourceMap {
  return JSON.parse(readFileSync(join(installed, path), "utf8"));
}
