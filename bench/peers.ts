import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

/**
 * The folder of a package that is too heavy to come with every checkout: it is installed where git does not look when
 * it is measured for the first time. `undefined` where it cannot be installed.
 */
export function installedPeer(name: string, version: string): string | undefined {
  const place = fileURLToPath(new URL(`../.cache/bench/${name}-${version}/`, import.meta.url));
  const folder = `${place}node_modules/${name}/`;
  try {
    if (!existsSync(folder)) {
      mkdirSync(place, { recursive: true });
      const options = ["--prefix", place, "--ignore-scripts", "--no-audit", "--no-fund"];
      execFileSync("npm", ["install", ...options, `${name}@${version}`], { stdio: "ignore" });
    }
    return folder;
  } catch (error) {
    console.error(`${name} is left out: ${error}`);
    return undefined;
  }
}
