import { relative } from "node:path/posix";
import { build } from "esbuild";
import { beforeAll, describe, expect, it } from "vitest";
import { createVitest } from "vitest/node";
import { filesBelow, read, root } from "../documents/files.js";
import { LONGEST } from "../longest-first.js";

/** What `npm test` runs. */
const QUICK = ["unit", "unit-isolated", "simulation"];

/** The stages of each file, by its path. */
const stagesOf = new Map<string, string[]>();

beforeAll(async () => {
  const vitest = await createVitest("test", { root, watch: false, project: [] });
  try {
    for (const { moduleId, project } of await vitest.globTestSpecifications()) {
      const path = relative(root, moduleId);
      stagesOf.set(path, [...(stagesOf.get(path) ?? []), project.name]);
    }
  } finally {
    await vitest.close();
  }
});

describe("the stages", () => {
  const filesOf = (...stages: string[]) =>
    [...stagesOf].filter(([, [stage]]) => stages.includes(stage!)).map(([path]) => path);

  it("have every file of tests, each in one of them", () => {
    const files = filesBelow("test", ".test.ts");
    expect(files.length).toBeGreaterThan(200);
    expect([...stagesOf.keys()].sort()).toEqual(files.sort());
    expect([...stagesOf].filter(([, stages]) => stages.length > 1)).toEqual([]);
  });

  it("begin with files that exist, each once", () => {
    expect(LONGEST.filter((path) => !stagesOf.has(path))).toEqual([]);
    expect(new Set(LONGEST).size).toBe(LONGEST.length);
  });

  it("isolate the units that replace modules, and no others", () => {
    const replacing = filesOf("unit", "unit-isolated").filter((path) =>
      /\bvi\.(?:do)?(?:mock|unmock|resetModules)\(/i.test(read(path)),
    );
    expect(filesOf("unit-isolated").sort()).toEqual(replacing.sort());
  });

  it("start no process in those of `npm test`", async () => {
    const contents = filesOf(...QUICK)
      .map((path) => `import "./${path}";`)
      .join("\n");
    const { metafile } = await build({
      stdin: { contents, resolveDir: root },
      bundle: true,
      packages: "external",
      platform: "node",
      format: "esm",
      target: "esnext",
      write: false,
      metafile: true,
      logLevel: "error",
    });
    const starters = Object.entries(metafile.inputs)
      .filter(([, { imports }]) =>
        imports.some(({ path }) => /^(?:node:)?child_process$|^playwright/.test(path)),
      )
      .map(([path]) => path);
    expect(starters).toEqual([]);
  });
});

describe("the commands", () => {
  const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
  const stagesIn = (script: string) =>
    [...scripts[script]!.matchAll(/--project (\S+)/g)].map(([, name]) => name!);

  it("run what is quick first, and the rest after it", () => {
    expect(stagesIn("test")).toEqual(QUICK);
    expect([...QUICK, ...stagesIn("test:rest")].sort()).toEqual(
      [...new Set([...stagesOf.values()].flat())].sort(),
    );
    expect(scripts.verify).toMatch(/^npm test && .*npm run test:rest/);
  });
});
