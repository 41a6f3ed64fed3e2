import { chmodSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { markdownBlocks } from "../documents/blocks.js";
import { read, root } from "../documents/files.js";

const GUIDE = "docs/deploy.md";
const blocks = markdownBlocks(GUIDE, read(GUIDE));
const blockWith = (beginning: string) => blocks.find(({ code }) => code.startsWith(beginning))!.code;

/** The unit of the guide. */
export const UNIT = blockWith("[Unit]");
/** The container file of the guide. */
export const CONTAINER = blockWith("FROM ");
const PROGRAM = blocks.find(({ language }) => language === "ts")!.code;
/** The service to try it with. */
export const MARKET = blockWith("// market.mjs");

/** What a unit says of a name, in order. */
export const settingsOf = (unit: string, name: string): string[] =>
  [...unit.matchAll(new RegExp(`^${name}=(.*)$`, "gm"))].map(([, value]) => value!);

/** A duration such as `20s`, in ms. */
export const durationOf = (text: string) => Number(/^(\d+)s$/.exec(text)![1]) * 1_000;

/** The program of the guide as one file, in a new folder below node_modules, where packages are found. */
export async function buildProgram(): Promise<string> {
  const cache = join(root, "node_modules/.cache");
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "pairstream-deploy-"));
  // Nobody has to read it.
  chmodSync(folder, 0o755);
  const outfile = join(folder, "bot.cjs");
  await build({
    stdin: { contents: PROGRAM, loader: "ts", resolveDir: root },
    bundle: true,
    platform: "node",
    format: "cjs",
    target: "node20",
    external: ["libsql"],
    outfile,
    logLevel: "error",
  });
  return outfile;
}

/** The unit as a file of a folder, with this Node in place of the system's. */
export function unitFile(folder: string): string {
  const file = join(folder, "pairstream.service");
  writeFileSync(file, UNIT.replaceAll("/usr/bin/node", process.execPath));
  return file;
}
