import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
const MADE =
  /new (?:InvalidInput|Pairstream|Http|Authentication|QuotaExceeded|RateLimit|Timeout|Network|Contract|Sweep)Error\(/;

/** Where `src` makes errors: `src/client/core.ts:185`. */
export function sitesOfErrors(): string[] {
  const files = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" });
  return files
    .filter((file) => file.endsWith(".ts"))
    .flatMap((file) =>
      readFileSync(join(root, "src", file), "utf8")
        .split("\n")
        .flatMap((line, at) =>
          MADE.test(line) && !line.trim().startsWith("*") ? [`src/${file}:${at + 1}`] : [],
        ),
    );
}

/** Where an error was made, by its stack; `undefined` if that was not in `src`. */
export function siteOf({ stack = "" }: Error): string | undefined {
  const [, file, line] =
    /\(?(?:file:\/\/)?(\/[^\s():]*\/src\/[^\s():]+\.ts)(?:\?[^:]*)?:(\d+):\d+/.exec(stack) ?? [];
  return file === undefined ? undefined : `${relative(root, file)}:${line}`;
}
