import { createHash } from "node:crypto";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { deserialize, serialize } from "node:v8";
import { buildPage, type PageFile } from "../../examples/live-chart/page-files.js";
import { filesBelow, root } from "../documents/files.js";

const FOLDER = join(root, "node_modules/.cache/pairstream-page");

/** The page of the live chart, built once while its sources and packages stay the same. */
export async function keptPage(): Promise<ReadonlyMap<string, PageFile>> {
  const file = join(FOLDER, await digestOfSources());
  const kept = await readFile(file).catch(() => undefined);
  if (kept !== undefined) return deserialize(kept);
  const page = await buildPage();
  await mkdir(FOLDER, { recursive: true });
  // Who looks meanwhile finds nothing, or all of it.
  await writeFile(`${file}-${process.pid}`, serialize(page));
  await rename(`${file}-${process.pid}`, file);
  return page;
}

async function digestOfSources(): Promise<string> {
  const hash = createHash("sha256");
  const sources = ["src", "examples/live-chart", "examples/page"].flatMap((folder) => filesBelow(folder, ""));
  for (const path of ["package-lock.json", "tsconfig.json", ...sources]) {
    hash.update(path).update(await readFile(join(root, path)));
  }
  return hash.digest("hex");
}
