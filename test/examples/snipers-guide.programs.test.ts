import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path/posix";
import { createPairService, listen, type Swap } from "pairstream/service";
import { afterEach, describe, expect, it, onTestFinished } from "vitest";
import { markdownBlocks } from "../documents/blocks.js";
import { read, root } from "../documents/files.js";
import { endAll, run } from "./program.js";

afterEach(endAll);

const PAIR = "pair1";
const CREATED = Date.now() - 3_600_000;
const RESTARTS = 5;
const [block] = markdownBlocks("docs/snipers.md", read("docs/snipers.md")).filter(
  ({ language }) => language === "ts",
);

/** A service of this process: ten wallets buy in the first block; the first of them sells at once. */
async function market() {
  const swaps: Swap[] = [];
  const swap = (walletAddress: string, side: Swap["side"], tokenAmount: number) => {
    const timestamp = CREATED + swaps.length * 400;
    const transactionHash = `hash${swaps.length}`;
    const blockNumber = side === "buy" ? 100 : 100 + swaps.length;
    const usdAmount = 10 * tokenAmount;
    swaps.push({
      ...{ walletAddress, side, tokenAmount, usdAmount, nativeAmount: usdAmount },
      ...{ timestamp, transactionHash, blockNumber },
    });
    return `made ${side === "buy" ? "snipe" : "sell"} ${walletAddress} ${transactionHash}`;
  };
  const bought = Array.from({ length: 10 }, (_, at) => swap(`wallet${at}`, "buy", 100));
  swap("wallet0", "sell", 1);
  const service = createPairService({
    source: {
      pair: () => ({
        tokenAddress: "token",
        createdAt: CREATED,
        swaps: ({ from, to, asOf }) =>
          swaps.filter(({ timestamp }) => timestamp >= from && timestamp < to && timestamp <= asOf),
      }),
    },
  });
  const { url, close } = await listen(service, { port: 0 });
  onTestFinished(close);
  return { url, swap, bought };
}

/** The program of the guide with another service and pair, saved in a folder of the clone as a reader would save it. */
function saved(url: string): string {
  const cache = join(root, ".cache");
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "snipers-guide-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const replaced = block!.code
    .replace(/^const createdAt = .*\n/m, "")
    .replace(
      /demoService\(.*\)/,
      JSON.stringify({ pairs: [PAIR], clientOptions: { baseUrl: url, apiKey: "any" } }),
    )
    .replace(/^import .*service";\n/m, "")
    .replace("every: 5_000", "every: 250")
    .replace("`snipers-", `\`${folder}/snipers-`);
  const program = join(folder, "snipers.ts");
  writeFileSync(program, replaced);
  return program;
}

describe("the program of the guide to snipers", () => {
  it("has at most forty lines", () => {
    expect(block!.code.split("\n").length).toBeLessThanOrEqual(40);
  });

  it(`misses no trade and repeats none over ${RESTARTS} clean restarts, while it runs or is away`, async () => {
    const place = await market();
    const program = saved(place.url);
    const expected: string[] = [];
    const told: string[] = [];
    /** A wallet sells some: the first time it is listed, and its snipe is told, too. */
    const sell = (number: number, tokens: number) => {
      if (!expected.some((line) => line.includes(`wallet${number} `)) && number > 0)
        expected.push(place.bought[number]!);
      const line = place.swap(`wallet${number}`, "sell", tokens);
      expected.push(line);
      return line;
    };
    for (let start = 0; start <= RESTARTS; start++) {
      const running = run(program);
      await running.line((line) => / snipers: /.test(line));
      const last = start % 2 === 0 ? sell(start + 1, 100) : sell(start, 5);
      sell(0, 1);
      const end = sell(0, 2);
      for (const text of [last, end]) await running.line((line) => line.startsWith(`${text} `));
      running.child.kill("SIGINT");
      expect(await running.ended).toBe(0);
      expect(running.errors()).toBe("");
      told.push(...running.lines);
      // What the next start has to tell.
      if (start < RESTARTS) {
        sell(0, 3);
        sell(start + 3, 7);
      }
    }
    const trades = told.flatMap((line) => /^made \w+ \w+ \w+/.exec(line)?.[0] ?? []);
    expect(trades.sort()).toEqual(expected.sort());
    expect(expected.length).toBeGreaterThan(6 * RESTARTS);
    expect(told.filter((line) => line.startsWith("sold-out "))).toEqual([
      "sold-out wallet1",
      "sold-out wallet3",
      "sold-out wallet5",
    ]);
  });
});
