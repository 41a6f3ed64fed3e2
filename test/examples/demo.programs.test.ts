import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it, onTestFinished } from "vitest";
import { endAll, run } from "./program.js";

const EXAMPLE = "examples/demo.ts";

afterEach(endAll);

describe("npm run example:demo", () => {
  it("writes one file, and says how large it is and where", async () => {
    const folder = await mkdtemp(join(tmpdir(), "demo-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const file = join(folder, "page.html");
    const program = run(EXAMPLE, ["--out", file]);
    expect(await program.ended).toBe(0);
    const page = await readFile(file);
    expect(program.lines[0]).toBe(`Wrote ${(page.length / 1_000).toFixed(0)} kB to ${file}`);
    expect(program.lines[1]).toMatch(/^Open file:\/\/.*page\.html$/);
    expect(page.toString()).toMatch(/^<!doctype html>/);
  });

  it("refuses what it does not know", async () => {
    const program = run(EXAMPLE, ["--nothing"]);
    expect(await program.ended).toBe(2);
    expect(program.errors()).toMatch(/^error: unknown option '--nothing'/);
  });
});
