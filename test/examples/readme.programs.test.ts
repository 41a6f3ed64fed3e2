import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path/posix";
import { afterEach, describe, expect, it } from "vitest";
import { markdownBlocks } from "../documents/blocks.js";
import { read, root } from "../documents/files.js";
import { endAll, type Program, run } from "./program.js";

afterEach(endAll);

/** Runs a program of the README as a reader would who has saved it in a folder of the clone. */
async function runSaved(name: string, code: string, look: (program: Program) => Promise<void>) {
  const cache = join(root, ".cache");
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "readme-"));
  try {
    writeFileSync(join(folder, name), code);
    await look(run(join(folder, name)));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe("the programs of the README", () => {
  const programs = markdownBlocks("README.md", read("README.md"))
    .filter(({ language }) => language === "ts")
    .map(({ code }) => code);
  const programWith = (text: string) => programs.find((code) => code.includes(text))!;

  it.each(["ts", "mjs"])("begin with one that runs as it stands, as .%s", (ending) =>
    runSaved(`stream.${ending}`, programs[0]!, async (stream) => {
      await stream.line((line) => / new open /.test(line));
      const history = stream.lines.filter((line) => / final /.test(line));
      expect(history.length).toBeGreaterThan(0);
      // Between two closings there may be no swap.
      await stream.line((line) => / updated (open|closed) /.test(line));
      stream.child.kill("SIGINT");
      expect(await stream.ended).toBe("SIGINT");
      expect(stream.errors()).toBe("");
    }),
  );

  it("have one that sums snipers up and prints their trades", () =>
    runSaved("snipers.ts", programWith("summarizeSnipers"), async (snipers) => {
      await snipers.line((line) => /^[1-9]\d* snipers, \d+ still hold, made -?\d+\.\d\d USD$/.test(line));
      await snipers.line((line) => /^sell \w{40,}$/.test(line));
      snipers.child.kill("SIGINT");
      expect(await snipers.ended).toBe("SIGINT");
      expect(snipers.errors()).toBe("");
    }));

  it("have one that lets an hour pass and prints its closes", () =>
    runSaved("hour.ts", programWith("VirtualClock"), async (hour) => {
      expect(await hour.ended).toBe(0);
      expect(hour.errors()).toBe("");
      expect(hour.lines.length).toBeGreaterThan(20);
      expect(hour.lines.every((line) => Number(line) > 0)).toBe(true);
    }));

  it("have one that trades a strategy over a file of candles", () => {
    const candles = Array.from({ length: 10 }, (_, at) => {
      const price = 100 + at;
      const prices = { open: price, high: price, low: price, close: price };
      return JSON.stringify({ timestamp: at * 60_000, ...prices, volume: 1, swaps: 1 });
    });
    const bought = `const strategy: Strategy = (events) => events.pipe(take(1), map(({ series }) =>
      ({ type: "market", side: "buy", series, size: { equity: 1 } }) as const));`;
    const code = programWith("await backtest(")
      .replace(/^declare const strategy.*$/m, bought)
      .replace("open(", "readable(");
    const around = [
      'import { map, take } from "rxjs";',
      `const readable = async (_name: string) => ({ readLines: () => ${JSON.stringify(candles)} });`,
    ];
    return runSaved("past.ts", [...around, code].join("\n"), async (past) => {
      const [strategy, held] = (await past.line((line) => /^\S+ \S+$/.test(line))).split(" ").map(Number);
      expect(await past.ended).toBe(0);
      expect(strategy).toBeGreaterThan(0);
      expect(held).toBeGreaterThan(0);
    });
  });
});
