import { join } from "node:path";
import { build } from "esbuild";
import type { IChartApi, ISeriesApi } from "lightweight-charts";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { markdownBlocks } from "../documents/blocks.js";
import { read, root } from "../documents/files.js";
import { findChromium } from "./chromium.js";
import { connectToChromium } from "./shared-chromium.js";

const executablePath = findChromium();
const isRequired = process.env.CI === "true";
/** Of no server: what the page shows is given to it. */
const ORIGIN = "http://127.0.0.1:9/";
const DEADLINE = 30_000;

/** What the test adds to the page, to see what is drawn. */
declare const drawn: {
  readonly chart: IChartApi;
  readonly candles: ISeriesApi<"Candlestick">;
  readonly lines: Readonly<Record<"volume" | "fast" | "slow" | "strength", ISeriesApi<"Line">>>;
};
const SEEN =
  "Object.assign(globalThis, { drawn: { chart, candles, lines: { volume, fast, slow, strength } } });";

describe.skipIf(executablePath === undefined && !isRequired)("the page of docs/charts.md", () => {
  const blocks = markdownBlocks("docs/charts.md", read("docs/charts.md"));
  const [html, program] = ["html", "ts"].map(
    (name) => blocks.find(({ language }) => language === name)!.code,
  );
  const errors: string[] = [];
  let browser: Browser;
  let page: Page;

  beforeAll(async () => {
    if (executablePath === undefined) throw new Error("No Chromium: install it, or set CHROMIUM_PATH");
    const { outputFiles } = await build({
      stdin: { contents: `${program}\n${SEEN}`, loader: "ts", resolveDir: root, sourcefile: "page.ts" },
      bundle: true,
      write: false,
      format: "esm",
      tsconfig: join(root, "tsconfig.json"),
      // What bundlers for pages take of the package.
      alias: { "pairstream/service": join(root, "src/service/browser.ts") },
    });
    browser = await connectToChromium();
    page = await browser.newPage();
    page.on("pageerror", ({ message }) => errors.push(message));
    await page.route("**", (route) =>
      route.fulfill(
        route.request().url().endsWith(".ts")
          ? { contentType: "text/javascript", body: outputFiles[0]!.text }
          : { contentType: "text/html", body: html! },
      ),
    );
    await page.goto(ORIGIN);
  });
  afterAll(() => browser?.close());

  const shows = (passes: () => boolean) =>
    page.waitForFunction(`"drawn" in globalThis && (${passes})()`, undefined, { timeout: DEADLINE });

  it("has at most forty lines", () => {
    expect(`${html}\n${program}`.split("\n").length).toBeLessThanOrEqual(40);
  });

  it("shows candles, volume, two averages and the strength, and how the stream stands", async () => {
    await shows(
      () => drawn.candles.data().length >= 100 && document.querySelector("output")!.value === "live",
    );
    const lengths = await page.evaluate(() => {
      const { candles, lines } = drawn;
      return [candles, lines.volume, lines.fast, lines.slow, lines.strength].map((one) => one.data().length);
    });
    const [count] = lengths;
    expect(lengths).toEqual([count, count, count! - 8, count! - 20, count! - 14]);
    expect(await page.evaluate(() => drawn.chart.panes().length)).toBe(2);
  });

  it("goes on", async () => {
    const last = await page.evaluate(() => Number(drawn.candles.data().at(-1)!.time));
    await page.waitForFunction((last) => Number(drawn.candles.data().at(-1)!.time) > last, last, {
      timeout: DEADLINE,
    });
  });

  it("shows older candles, and lines over them, as the user scrolls to the left edge", async () => {
    const first = await page.evaluate(() => {
      const scale = drawn.chart.timeScale();
      scale.scrollToPosition(-drawn.candles.data().length + 50, false);
      return Number(drawn.candles.data()[0]!.time);
    });
    const isOlder = (first: number) => {
      const [held, at] = [drawn.candles.data().length, Number(drawn.candles.data()[0]!.time)];
      const warmUps = { volume: 0, fast: 8, slow: 20, strength: 14 };
      const names = Object.keys(warmUps) as (keyof typeof warmUps)[];
      return at < first && names.every((name) => drawn.lines[name].data().length === held - warmUps[name]);
    };
    await page.waitForFunction(isOlder, first, { timeout: DEADLINE });
  });

  it("shows another timeframe, from its newest candle", async () => {
    await page.locator("#timeframe").selectOption("10s");
    await shows(() => {
      const times = drawn.candles.data().map(({ time }) => Number(time));
      return times.length > 50 && times.every((time) => time % 10 === 0);
    });
    await shows(() => drawn.chart.timeScale().scrollPosition() > -1);
  });

  it("shows another pair", async () => {
    const before = await page.evaluate(() => JSON.stringify(drawn.candles.data()[0]));
    await page.locator("#pair").selectOption({ index: 1 });
    await page.waitForFunction(
      (before) => drawn.candles.data().length > 10 && JSON.stringify(drawn.candles.data()[0]) !== before,
      before,
      { timeout: DEADLINE },
    );
    expect(errors).toEqual([]);
  });
});
