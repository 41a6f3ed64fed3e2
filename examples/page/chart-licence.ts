import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

/** The text that a page has to bring with the chart in it. */
export async function chartLicence(): Promise<string> {
  const charts = dirname(createRequire(import.meta.url).resolve("lightweight-charts/package.json"));
  return readFile(join(charts, "LICENSE"), "utf8");
}
