import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const root = fileURLToPath(new URL(".", import.meta.url));
const FOLDERS = ["monitors", "economy"];
const FILES = ["calendar.ts", "check.ts", "coverage.ts", "reads.ts", "reports.ts", "truth.ts"];

/** What judges a run. */
const judges = [
  ...FILES,
  ...FOLDERS.flatMap((folder) => readdirSync(`${root}${folder}`).map((file) => `${folder}/${file}`)),
].filter((file) => !file.endsWith(".test.ts"));

it.each(judges)("%s uses no code of src, only its types", (file) => {
  const imports = readFileSync(root + file, "utf8").match(/^import [^;]*;/gm) ?? [];
  const ofSource = imports.filter((text) => /"[./]+\/src\//.test(text));
  expect(ofSource.filter((text) => !text.startsWith("import type "))).toEqual([]);
});
