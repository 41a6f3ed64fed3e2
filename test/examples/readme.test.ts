import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path/posix";
import { afterEach, expect, it } from "vitest";
import { markdownBlocks, read, root } from "../documents/blocks.js";
import { endAll, run } from "./program.js";

afterEach(endAll);

it("runs the first program of the README as it stands", { timeout: 60_000 }, async () => {
  const [program] = markdownBlocks("README.md", read("README.md")).filter(
    ({ language }) => language === "ts",
  );
  const cache = join(root, ".cache");
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "readme-"));
  try {
    writeFileSync(join(folder, "stream.ts"), program!.code);
    const stream = run(join(folder, "stream.ts"));
    await stream.line((line) => / new open /.test(line));
    const history = stream.lines.filter((line) => / final /.test(line));
    expect(history.length).toBeGreaterThan(0);
    await stream.line((line) => / updated open /.test(line));
    stream.child.kill("SIGINT");
    expect(await stream.ended).toBe("SIGINT");
    expect(stream.errors()).toBe("");
  } finally {
    rmSync(folder, { recursive: true });
  }
});
