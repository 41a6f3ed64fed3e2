import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path/posix";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../..", import.meta.url));

/** The files below a folder of the project, by the end of their names. */
export function filesBelow(folder: string, ending: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(ending))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)));
}

/** A text of the project. */
export const read = (path: string) => readFileSync(join(root, path), "utf8");
