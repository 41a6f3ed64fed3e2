import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, describe, expect, it, onTestFinished } from "vitest";
import { readOptions } from "../../examples/backtest/options.js";
import type { PageData } from "../../examples/backtest/page/data.js";
import { openPast } from "../../examples/backtest/past.js";
import { loadStrategy } from "../../examples/backtest/strategy-file.js";
import { UsageError } from "../../examples/terminal/command-line.js";
import { markdownBlocks } from "../documents/blocks.js";
import { read, root } from "../documents/files.js";
import { swapLine, tapeOf, temporaryFolder } from "./files.js";
import { FROM, KEY, serve, TO } from "./past.js";
import { endAll, expectRefusal, type Program, run } from "./program.js";

const EXAMPLE = "examples/backtest/run.ts";
const EAGER = "test/examples/backtest/eager-strategy.ts";

afterEach(endAll);

const dataOf = (page: string): PageData =>
  JSON.parse(/<script id="data" type="application\/json">(.*)<\/script>/.exec(page)![1]!);

/** What `--json` prints. */
interface Told {
  readonly past: { readonly series: readonly { readonly pairAddress: string; readonly timeframe: string }[] };
  readonly statistics: { readonly totalReturn: number; readonly fees: number; readonly trades: number };
  readonly trades: readonly object[];
}

async function toldBy(program: Program): Promise<Told> {
  expect(await program.ended, program.errors()).toBe(0);
  return JSON.parse(program.lines.join("\n"));
}

const json = (args: readonly string[], environment: NodeJS.ProcessEnv = {}) =>
  toldBy(run(EXAMPLE, ["--json", "--no-page", ...args], environment));

describe("without arguments but for the page", () => {
  it("says first what came of it and why, and writes a page that holds all that it needs", async () => {
    const file = join(await temporaryFolder(), "new", "backtest.html");
    const program = run(EXAMPLE, ["--page", file]);
    expect(await program.ended).toBe(0);
    expect(program.errors()).toBe("");
    const { lines } = program;
    expect(lines.slice(0, 2)).toEqual(["EMA cross with a stop", "fast 9, slow 21, size 1, stop 0.05"]);
    expect(lines[3]).toBe("2025-01-01 00:00 to 2025-07-01 00:00 UTC, 4,344 candles, 0 of them without swaps");
    expect(lines[5]).toMatch(
      /^In 181 d the strategy returned \+\d\d\.\d\d %, and buy and hold \+\d\d\.\d\d %\. The deepest fall was .* The costs were [\d,.]+ usd\.$/,
    );
    expect(lines[6]).toMatch(/^! This market is simulated: it rises or falls for 5 to 12 days at a time/);
    const row = (name: string) => lines.find((line) => line.startsWith(`${name} `));
    for (const name of ["return", "max drawdown", "Sharpe", "Sortino", "exposure", "win rate", "fees"]) {
      expect(row(name), name).toMatch(/\d/);
    }
    expect(row("CAGR")).toMatch(/– \(181 of 365 days\) +– \(181 of 365 days\)$/);
    expect(lines.filter((line) => /^2025-0[1-6] /.test(line))).toHaveLength(6);
    expect(lines.at(-1)).toBe(`The page: ${pathToFileURL(file)}`);

    const page = await readFile(file, "utf8");
    const { pairs, curve, trades } = dataOf(page);
    expect(pairs[0]!.candles).toHaveLength(4_344);
    expect(curve.length).toBeGreaterThan(40_000);
    expect(trades.length).toBeGreaterThan(40);
    // Nothing is loaded from anywhere, and the charts' makers are named.
    expect(page).not.toMatch(/<(script|link|img|iframe)[^>]*\s(src|href)=/);
    expect(page).toContain("default-src 'none'");
    expect(page).toContain('href="https://www.tradingview.com/"');
    expect(page).toContain("Apache License");
    expect(page).toContain("@license");
  });

  it("prints all of it as JSON, or the trades as CSV, and nothing else", async () => {
    const range = ["--from", "2025-01-01", "--to", "2025-02-01"];
    const page = join(await temporaryFolder(), "page.html");
    const [inJson, inCsv] = [["--json"], ["--csv"]].map((how) =>
      run(EXAMPLE, [...how, ...range, "--page", page]),
    );
    const { statistics, trades } = await toldBy(inJson!);
    expect(statistics.trades).toBeGreaterThan(3);
    expect(inJson!.errors()).toMatch(/^The page: file:/);
    expect(await inCsv!.ended).toBe(0);
    const [header, ...lines] = inCsv!.lines;
    expect(header).toBe("pair,side,opened,closed,quantity,entry,exit,fees,borrowed,profit,gain");
    expect(lines).toHaveLength(trades.length);
    expect(lines[0]).toMatch(/^made-up,long,2025-01-0\dT\d\d:00:00.000Z,2025-01-/);
  });
});

describe("--candles", () => {
  it("takes what example:history writes, whatever its format", async () => {
    const folder = await temporaryFolder();
    const files = ["ndjson", "csv", "parquet", "db"].map((ending) => join(folder, `candles.${ending}`));
    const range = ["--from", "2025-01-01", "--to", "2025-01-02"];
    for (const output of files) {
      expect(await run("examples/history.ts", [...range, "--output", output]).ended).toBe(0);
    }
    const told = await Promise.all(files.map((file) => json(["--candles", file])));
    expect(told[0]!.trades.length).toBeGreaterThan(5);
    for (const { statistics, past } of told) {
      expect(statistics).toEqual(told[0]!.statistics);
      expect(past.series[0]!.timeframe).toBe("1min");
    }
    // Lines do not say of which pair they are.
    expect(told.map(({ past }) => past.series[0]!.pairAddress)).toEqual([
      ...["candles", "candles"],
      ...[told[2]!.past.series[0]!.pairAddress, told[2]!.past.series[0]!.pairAddress],
    ]);
    expect(told[2]!.past.series[0]!.pairAddress.length).toBeGreaterThan(20);
    const longer = await json(["--candles", files[2]!, "--timeframe", "10min", "--set", "fast=3", "slow=5"]);
    expect(longer.past).toMatchObject({ within: "1min", series: [{ timeframe: "10min" }] });
    expect(longer.trades.length).toBeGreaterThan(0);
  });

  it("trades several pairs in one account, by name", async () => {
    const folder = await temporaryFolder();
    const files = [1, 2].map((number) => join(folder, `${number}.ndjson`));
    for (const [at, file] of files.entries()) {
      const lines = Array.from({ length: 300 }, (_, minute) => {
        const price = 10 + Math.sin(minute / 20 + at * 2);
        const prices = { open: price, high: price, low: price, close: price };
        return JSON.stringify({ timestamp: minute * 60_000, ...prices, volume: 100, swaps: 1 });
      });
      await writeFile(file, `${lines.join("\n")}\n`);
    }
    const page = join(folder, "page.html");
    const args = ["--candles", ...files, "--pair", "one", "two", "--set", "size=0.4", "--page", page];
    const told = await toldBy(run(EXAMPLE, ["--json", ...args]));
    expect(told.past.series.map(({ pairAddress }) => pairAddress)).toEqual(["one", "two"]);
    const traded = told.trades.map((trade) => (trade as { series: { pairAddress: string } }).series);
    expect(new Set(traded.map(({ pairAddress }) => pairAddress))).toEqual(new Set(["one", "two"]));
    const text = await readFile(page, "utf8");
    expect(dataOf(text).pairs).toHaveLength(2);
    expect(text).toContain('<option value="1">two</option>');
  });
});

describe("--base-url and --store", () => {
  it("tell the cost, fill the store, and need nobody for what it holds", async () => {
    const { url, requests } = await serve();
    const store = join(await temporaryFolder(), "candles.db");
    const range = ["--from", new Date(FROM).toISOString(), "--to", new Date(TO).toISOString()];
    const ask = ["--base-url", url, "--pair", "pair1", "--timeframe", "1min", "--within", "10s", ...range];
    const environment = { PAIRSTREAM_API_KEY: KEY };
    const first = run(EXAMPLE, ["--json", "--no-page", "--store", store, ...ask], environment);
    const told = await toldBy(first);
    const [before, after] = first.errors().split("\n");
    expect(before).toMatch(/^at most \d+ requests, [\d,]+ units$/);
    expect(after).toBe(`it took ${requests()} requests, ${(requests() * 150).toLocaleString("en-US")} units`);
    expect(Number(/\d+/.exec(before!)![0])).toBeGreaterThanOrEqual(requests());
    const asked = requests();
    const again = run(EXAMPLE, ["--json", "--no-page", "--store", store, ...ask], environment);
    expect((await toldBy(again)).statistics).toEqual(told.statistics);
    expect(again.errors()).toMatch(/^at most 0 requests, 0 units\nit took 0 requests, 0 units\n/);
    expect(requests()).toBe(asked);
    const offline = await json(["--store", store, "--timeframe", "1min"]);
    expect(offline.statistics).toEqual(told.statistics);
    expect(offline.past).toMatchObject({ within: "10s" });
  });
});

describe("--tape", () => {
  it("runs over swaps of one's own, dust left out, within a range", async () => {
    const from = Date.UTC(2021, 4, 6);
    // An hour of swaps, one in ten seconds; a speck of dust at a mad price among them.
    const swaps = Array.from({ length: 360 }, (_, at) =>
      swapLine(from + at * 10_000, at, 2 + Math.sin(at / 40)),
    );
    swaps.splice(100, 0, swapLine(from + 995_000, 1_000, 2_000_000, 1e-10));
    const [tape, file] = [await tapeOf(swaps), join(await temporaryFolder(), "page.html")];
    const program = run(EXAMPLE, [
      ...["--tape", tape, "--minimum-usd", "1", "--timeframe", "1min", "--page", file],
      ...["--from", "2021-05-06T00:05:00Z", "--fee", "0.5", "--slippage", "0", "--cash", "500"],
    ]);
    expect(await program.ended).toBe(0);
    expect(program.lines[2]).toBe("a tape of 360 swaps: taped-pair 1min, in usd");
    expect(program.lines[3]).toMatch(/^2021-05-06 00:05 to 2021-05-06 01:00 UTC, 55 candles/);
    const text = program.lines.join("\n");
    expect(text).toContain("The account begins with 500.00 usd.");
    expect(text).toContain("Slippage makes prices 0.00 % worse. Each fill costs a fee of 0.50 %");
    expect(text).toMatch(/! There (is|are) only \d closed trades?: the mean of fewer than 30 says little/);
    expect(text).toContain("! The time span is only 55 min: less than 30 days show one kind of market.");
    const [pair] = dataOf(await readFile(file, "utf8")).pairs;
    expect(Math.max(...pair!.candles.map(([, , high]) => high))).toBeLessThan(4);
  });
});

describe("--strategy", () => {
  it("runs another one over the past", async () => {
    const { trades } = await json(["--strategy", EAGER, "--to", "2025-01-03"]);
    // An order at each of 48 closes, the last one of which finds no candle any more.
    expect(trades).toHaveLength(24);
  });

  it("runs the one of docs/backtest.md, with parameters", async () => {
    const [block] = markdownBlocks("docs/backtest.md", read("docs/backtest.md")).filter(({ code }) =>
      code.includes("export default"),
    );
    const cache = join(root, ".cache");
    await mkdir(cache, { recursive: true });
    // Where packages are found.
    const file = join(await mkdtemp(join(cache, "strategy-")), "channel.ts");
    onTestFinished(() => rm(dirname(file), { recursive: true }));
    await writeFile(file, block!.code);
    const range = ["--to", "2025-02-01"];
    const told = await Promise.all(
      [[], ["--set", "length=40", "risk=0.02"]].map((set) => json(["--strategy", file, ...range, ...set])),
    );
    for (const { statistics } of told) expect(statistics.trades).toBeGreaterThan(2);
    expect(told[0]!.statistics.totalReturn).not.toBe(told[1]!.statistics.totalReturn);
  });

  it("takes parameters, and names those that there are", async () => {
    const range = ["--to", "2025-02-01"];
    const [usual, other] = await Promise.all(
      [[], ["--set", "fast=5", "stop=0"]].map((set) => json([...range, ...set])),
    );
    expect(other!.statistics.totalReturn).not.toBe(usual!.statistics.totalReturn);
    await expectRefusal(run(EXAMPLE, ["--set", "quick=1"]), /allowed: one of fast, slow, size, stop/);
    await expectRefusal(run(EXAMPLE, ["--set", "fast"]), /error: .*number/);
    await expectRefusal(
      run(EXAMPLE, [...range, "--set", "fast=0"]),
      /^error: n is 0; allowed: a whole number/,
    );
  });

  it("runs the same one live, on paper, and tells orders and fills, in words or as JSON", async () => {
    const args = ["--no-page", "--strategy", EAGER, "--timeframe", "1s", "--every", "500"];
    const [inWords, asJson] = [run("examples/live.ts", args), run("examples/live.ts", [...args, "--json"])];
    await inWords.line((line) => /paper {3}order buy at the next open$/.test(line));
    await inWords.line((line) => /paper {3}fill {2}bought .* at .*, fee \$29\.91; equity \$9,9/.test(line));
    await inWords.line((line) => /paper {3}fill {2}sold /.test(line));
    const fill = await asJson.line(
      (line) => line.includes('"stream":"paper"') && line.includes('"type":"fill"'),
    );
    expect(JSON.parse(fill)).toMatchObject({ fill: { side: "buy" }, equity: expect.any(Number) });
    for (const { child } of [inWords, asJson]) child.kill("SIGINT");
    expect(await Promise.all([inWords.ended, asJson.ended])).toEqual([0, 0]);
    expect(inWords.errors()).toBe("");
  });

  it.each([
    ["of a file that is none", "examples/backtest/report.ts", /has no such default export/],
    ["of a file that is not there", "examples/no-such-file.ts", /cannot be loaded: Cannot find module/],
  ])("%s is refused", async (_, file, message) => {
    await expect(loadStrategy(pathToFileURL(file).href)).rejects.toMatchObject({
      name: "InvalidInputError",
      parameter: "strategy",
      message: expect.stringMatching(message),
    });
  });

  it.each([EXAMPLE, "examples/live.ts"])("that is refused ends %s with one line", async (example) => {
    await expectRefusal(
      run(example, ["--strategy", "examples/backtest/report.ts"]),
      /has no such default export/,
    );
  });
});

describe("options that cannot be taken", () => {
  it.each([
    [["--minimum-usd", "1"], /^--minimum-usd needs --tape, /],
    [["--from", "yesterday"], /an instant with a zone/],
    [["--from", "2025-01-09", "--to", "2025-01-08"], /--from has to be before --to/],
    [["--fee", "much"], /has to be a number/],
    [["--seed", "1", "--tape", "file"], /cannot be used with/],
    [["--candles", "a.csv", "--store", "a.db"], /cannot be used with/],
    [["--json", "--csv"], /cannot be used with/],
    [["--pair", "one"], /--pair needs --base-url, --store or --candles/],
    [["--base-url", "https://x.test", "--pair", "one"], /needs a key/],
    [["--no-such-option"], /unknown option '--no-such-option'$/],
  ])("%j are refused", (args, message) => {
    expect(() => readOptions(args, {})).toThrow(
      expect.objectContaining({ constructor: UsageError, message: expect.stringMatching(message) }),
    );
  });

  it("end with exit code 2 and one line", async () => {
    await expectRefusal(
      run(EXAMPLE, ["--to", "2025-01-03", "--fee", "100"]),
      /fees.*allowed: a number from 0 to below 1/,
    );
  });

  it.each([
    [["--tape", "no-such-file"], /^--tape cannot be read: ENOENT/],
    [["--candles", "no-such-file.ndjson"], /no-such-file\.ndjson/],
    [["--candles", "package.json"], /has to end in \.ndjson, \.csv, \.parquet or \.db/],
    [["--store", "no-such-file.db"], /no-such-file\.db/],
    [["--timeframe", "10s"], /--timeframe 10s is shorter than the candles of .*; allowed: 1min or longer/],
    [["--within", "10s"], /--within has to be 1min/],
    [["--from", "2024-01-01", "--to", "2024-01-02"], /holds no candles of made-up to trade/],
  ])("%j name no candles", async (args, message) => {
    await expect(openPast(readOptions(args, {}).past, () => {})).rejects.toMatchObject({
      constructor: UsageError,
      message: expect.stringMatching(message),
    });
  });
});
