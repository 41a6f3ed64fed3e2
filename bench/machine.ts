import { readFileSync } from "node:fs";
import { cpus } from "node:os";

/** What a run depends on. */
export interface Circumstances {
  date: string;
  machine: string;
  engine: string;
  /** The others, each with its version. */
  versions: string[];
  command: string;
}

export function circumstances(packages: readonly string[], command: string): Circumstances {
  const manifest = readFileSync(new URL("../package.json", import.meta.url), "utf8");
  const { devDependencies } = JSON.parse(manifest) as { devDependencies: Record<string, string> };
  return {
    date: new Date().toISOString().slice(0, 10),
    machine: `${cpus().length} × ${cpus()[0]?.model ?? "an unknown processor"}`,
    engine: `Node ${process.versions.node} (V8 ${process.versions.v8})`,
    versions: packages.map((name) => `${name} ${devDependencies[name]}`),
    command,
  };
}

export function inWords({ date, machine, engine, versions, command }: Circumstances): string {
  return `${date}; ${machine}; ${engine}; ${versions.join(", ")}. \`${command}\``;
}
