import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import { openMarket } from "../../examples/backtest/market.js";
import { readOptions } from "../../examples/backtest/options.js";
import type { PageData } from "../../examples/backtest/page/data.js";
import { loadStrategy } from "../../examples/backtest/trading.js";
import { UsageError } from "../../examples/terminal/command-line.js";
import { swapLine, tapeOf, temporaryFolder } from "./files.js";
import { endAll, expectRefusal, run } from "./program.js";

const EXAMPLE = "examples/backtest/run.ts";
const EAGER = "test/examples/backtest/eager-strategy.ts";
const TIMEOUT = 60_000;

afterEach(endAll);

const dataOf = (page: string): PageData =>
  JSON.parse(/<script id="data" type="application\/json">(.*)<\/script>/.exec(page)![1]!);

describe("without arguments but for the page", { timeout: TIMEOUT }, () => {
  it("reports, and writes a page that holds all that it needs", async () => {
    const file = join(await temporaryFolder(), "new", "backtest.html");
    const program = run(EXAMPLE, ["--page", file]);
    expect(await program.ended).toBe(0);
    expect(program.errors()).toBe("");
    const { lines } = program;
    expect(lines[0]).toBe("EMA 9/21 cross, bought below an RSI of 70");
    expect(lines[2]).toMatch(
      /^672 candles from 2025-01-08 00:00:00 to 2025-01-21 23:30:00 UTC, 14\.0 days; /,
    );
    for (const name of ["return", "max drawdown", "Sharpe", "exposure", "trades", "fees paid"]) {
      expect(lines.filter((line) => line.startsWith(name))).toHaveLength(1);
    }
    expect(lines.join("\n")).toContain("risk-free rate 0");
    expect(lines.at(-1)).toBe(`The page: ${pathToFileURL(file)}`);

    const page = await readFile(file, "utf8");
    const { candles, equity, held, drawdown, fills } = dataOf(page);
    expect(candles).toHaveLength(672);
    for (const curve of [equity, held, drawdown]) expect(curve).toHaveLength(672);
    expect(fills.length).toBeGreaterThan(2);
    // Nothing is loaded from anywhere, and the charts' makers are named.
    expect(page).not.toMatch(/<(script|link|img|iframe)[^>]*\s(src|href)=/);
    expect(page).toContain("default-src 'none'");
    expect(page).toContain('href="https://www.tradingview.com/"');
    expect(page).toContain("Apache License");
    expect(page).toContain("@license");
  });
});

describe("--tape", { timeout: TIMEOUT }, () => {
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
    expect(program.lines[1]).toBe("1min candles of taped-pair in usd, from a tape of 360 swaps");
    expect(program.lines[2]).toMatch(/^55 candles from 2021-05-06 00:05:00 to 2021-05-06 00:59:00 UTC/);
    expect(program.lines.join("\n")).toContain("500.00 usd at the start");
    expect(program.lines.join("\n")).toContain("0.00 % worse (slippage); each fill costs 0.50 % of it (fee)");
    const { candles } = dataOf(await readFile(file, "utf8"));
    expect(Math.max(...candles.map(([, , high]) => high))).toBeLessThan(4);
  });
});

describe("--strategy", { timeout: TIMEOUT }, () => {
  it("runs another one over the past", async () => {
    const file = join(await temporaryFolder(), "page.html");
    const program = run(EXAMPLE, ["--strategy", EAGER, "--to", "2025-01-09", "--page", file]);
    expect(await program.ended).toBe(0);
    expect(program.lines[0]).toBe("Eager");
    // An order at each of 48 closes, the last one of which finds no candle any more.
    expect(dataOf(await readFile(file, "utf8")).fills).toHaveLength(47);
  });

  it("runs the same one live, on paper, and tells orders and fills, in words or as JSON", async () => {
    const args = ["--no-page", "--strategy", EAGER, "--timeframe", "1s", "--every", "500"];
    const [inWords, asJson] = [run("examples/live.ts", args), run("examples/live.ts", [...args, "--json"])];
    await inWords.line((line) => /paper {3}order buy at the next open; last close [\d.]+$/.test(line));
    await inWords.line((line) =>
      /paper {3}fill {2}bought .* at [\d.]+, fee \$29\.91; equity \$9,9/.test(line),
    );
    await inWords.line((line) => /paper {3}fill {2}sold /.test(line));
    const fill = await asJson.line((line) => line.includes('"stream":"paper","type":"fill"'));
    expect(JSON.parse(fill)).toMatchObject({ fill: { order: { side: "buy" } }, equity: expect.any(Number) });
    for (const { child } of [inWords, asJson]) child.kill("SIGINT");
    expect(await Promise.all([inWords.ended, asJson.ended])).toEqual([0, 0]);
    expect(inWords.errors()).toBe("");
  });

  it.each([
    ["of a file that is none", "examples/backtest/report.ts", /lacks one of them/],
    ["of a file that is not there", "examples/no-such-file.ts", /cannot be loaded: Cannot find module/],
  ])("%s is refused", async (_, file, message) => {
    await expect(loadStrategy(pathToFileURL(file).href)).rejects.toMatchObject({
      name: "InvalidInputError",
      parameter: "strategy",
      message: expect.stringMatching(message),
    });
  });

  it.each([EXAMPLE, "examples/live.ts"])("that is refused ends %s with one line", async (example) => {
    await expectRefusal(run(example, ["--strategy", "examples/backtest/report.ts"]), /lacks one of them/);
  });
});

describe("options that cannot be taken", { timeout: TIMEOUT }, () => {
  it.each([
    [["--minimum-usd", "1"], /needs --tape$/],
    [["--from", "yesterday"], /an instant with a zone/],
    [["--fee", "much"], /has to be a number/],
    [["--seed", "1", "--tape", "file"], /cannot be used with/],
    [["--no-such-option"], /unknown option '--no-such-option'$/],
  ])("%j are refused", (args, message) => {
    expect(() => readOptions(args)).toThrow(
      expect.objectContaining({ constructor: UsageError, message: expect.stringMatching(message) }),
    );
  });

  it("end with exit code 2 and one line", async () => {
    await expectRefusal(run(EXAMPLE, ["--timeframe", "7min"]), /allowed: 1s, 10s/);
    await expectRefusal(run(EXAMPLE, ["--fee", "100"]), /fee .*allowed: a share from 0 to below 1/);
  });

  it.each([
    [["--tape", "no-such-file"], /^--tape cannot be read: ENOENT/],
    [
      ["--from", "2025-01-09", "--to", "2025-01-08"],
      /nothing from 2025-01-09 00:00:00 to 2025-01-08 00:00:00$/,
    ],
  ])("%j name no market", async (args, message) => {
    await expect(openMarket(readOptions(args).market)).rejects.toMatchObject({
      constructor: UsageError,
      message: expect.stringMatching(message),
    });
  });

  it("--help names them", async () => {
    const program = run(EXAMPLE, ["--help"]);
    expect(await program.ended).toBe(0);
    const text = program.lines.join("\n");
    for (const name of [
      "tape",
      "minimum-usd",
      "timeframe",
      "from",
      "to",
      "fee",
      "slippage",
      "strategy",
      "page",
    ]) {
      expect(text).toContain(`--${name}`);
    }
  });
});
