import { afterEach, expect, it } from "vitest";
import { read } from "../documents/files.js";
import { endAll, runScript } from "./program.js";

afterEach(endAll);

const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
const examples = Object.values(scripts).flatMap((script) => / (examples\/\S+\.ts)$/.exec(script)?.[1] ?? []);

it.each(examples)("%s starts as its script says", async (example) => {
  const program = runScript(example, ["--help"]);
  expect(await program.ended).toBe(0);
  expect(program.lines[0]).toMatch(/^Usage: /);
});
