import { join } from "node:path";
import { build } from "esbuild";
import type { Chart } from "klinecharts";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { type Block, markdownBlocks } from "../documents/blocks.js";
import { read, root } from "../documents/files.js";
import { findChromium } from "./chromium.js";
import type { open } from "./klinecharts-page.js";
import { connectToChromium } from "./shared-chromium.js";

const executablePath = findChromium();
const isRequired = process.env.CI === "true";
/** Of no server: what the page shows is given to it. */
const ORIGIN = "http://127.0.0.1:9/";
const DEADLINE = 60_000;

const blocks = markdownBlocks("docs/tradingview.md", read("docs/tradingview.md"));
const codeOf = (isMeant: (block: Block) => boolean) => blocks.find(isMeant)!.code;
const html = codeOf(({ language }) => language === "html");
const program = codeOf(({ language, code }) => language === "ts" && code.includes('from "klinecharts"'));
const [loader, page] = program.split("// The page.\n") as [string, string];

/** What the tests add to a page. */
declare const opened: ReturnType<typeof open>;
declare const shown: { readonly chart: Chart };

async function bundle(text: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: text, loader: "ts", resolveDir: root, sourcefile: "page.ts" },
    bundle: true,
    write: false,
    format: "iife",
    tsconfig: join(root, "tsconfig.json"),
    // What bundlers for pages take of the package.
    alias: { "pairstream/service": join(root, "src/service/browser.ts") },
  });
  return outputFiles[0]!.text;
}

it("has a loader of at most 40 lines", () => {
  const lines = loader.split("\n").filter((line) => line.trim() !== "" && !line.startsWith("import "));
  expect(lines.length).toBeGreaterThan(20);
  expect(lines.length).toBeLessThanOrEqual(40);
});

describe.skipIf(executablePath === undefined && !isRequired)("klinecharts in a real browser", () => {
  let browser: Browser;

  beforeAll(async () => {
    if (executablePath === undefined) throw new Error("No Chromium: install it, or set CHROMIUM_PATH");
    browser = await connectToChromium();
  });
  afterAll(() => browser?.close());

  async function openPage(body: string, script: string): Promise<{ tab: Page; troubles: string[] }> {
    const tab = await browser.newPage();
    onTestFinished(() => tab.close());
    const troubles: string[] = [];
    tab.on("pageerror", ({ message }) => troubles.push(message));
    tab.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) troubles.push(message.text());
    });
    await tab.route("**", (route) =>
      route.fulfill({
        contentType: "text/html",
        body: `<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,">${body}`,
      }),
    );
    await tab.goto(ORIGIN);
    await tab.addScriptTag({ content: script });
    return { tab, troubles };
  }

  it("shows the page of docs/tradingview.md, and switches", async () => {
    const text = `${loader}${page}\nObject.assign(globalThis, { shown: { chart } });`;
    const { tab, troubles } = await openPage(html.replace(/<script.*<\/script>/, ""), await bundle(text));
    const grows = async () => {
      await tab.waitForFunction(() => shown.chart.getDataList().length > 50, null, { timeout: DEADLINE });
      const last = await tab.evaluate(() => shown.chart.getDataList().at(-1)!.timestamp);
      return last;
    };
    const first = await grows();
    await tab.waitForFunction((last) => shown.chart.getDataList().at(-1)!.timestamp > last, first, {
      timeout: DEADLINE,
    });
    const seconds = await tab.evaluate(() => shown.chart.getDataList()[0]!);
    await tab.locator("select").first().selectOption("PAIR 2");
    await tab.waitForFunction(
      (before) => {
        const [now] = shown.chart.getDataList();
        return (
          shown.chart.getSymbol()?.ticker === "PAIR 2" && now !== undefined && now.close !== before.close
        );
      },
      seconds,
      { timeout: DEADLINE },
    );
    await grows();
    await tab.locator("select").last().selectOption("minute");
    await tab.waitForFunction(
      () => {
        const rows = shown.chart.getDataList();
        return rows.length > 50 && rows.every(({ timestamp }) => timestamp % 60_000 === 0);
      },
      null,
      { timeout: DEADLINE },
    );
    expect(await tab.evaluate(() => shown.chart.getSymbol()!.pricePrecision)).toBeGreaterThan(2);
    expect(troubles).toEqual([]);
  });

  it("holds the fold of random events, at most one reset a frame", async () => {
    const text = `import { open } from "./test/browser/klinecharts-page.js"; ${loader}
      Object.assign(globalThis, { opened: open(7, loaderOf) });`;
    const { tab, troubles } = await openPage("", await bundle(text));
    const holds = (ticker: "ONE" | "TWO") =>
      tab.waitForFunction((name) => opened.isFold(name), ticker, { timeout: DEADLINE });
    await holds("ONE");
    const begun = await tab.evaluate(() => opened.length());
    await tab.evaluate(() => opened.play(600));
    await holds("ONE");
    await tab.evaluate(() => opened.scroll());
    await tab.waitForFunction((before) => opened.length() > before + 100, begun, { timeout: DEADLINE });
    await tab.evaluate(() => opened.play(100));
    await holds("ONE");
    // The answer to what was left comes later than that to what is shown.
    await tab.evaluate(() => {
      for (const ticker of ["TWO", "ONE"] as const) opened.show(ticker);
    });
    await tab.waitForFunction(() => opened.pending() === 0, null, { timeout: DEADLINE });
    await holds("ONE");
    await tab.evaluate(async () => {
      for (const ticker of ["TWO", "ONE", "TWO", "ONE", "TWO"] as const) {
        opened.show(ticker);
        await opened.play(3);
      }
    });
    await holds("TWO");
    await tab.evaluate(() => opened.play(300));
    await holds("TWO");
    const { resets, busiest } = await tab.evaluate(() => opened.told());
    expect(resets).toBeGreaterThan(20);
    expect(busiest).toBe(1);
    expect(troubles).toEqual([]);
  });
});
