import { fileURLToPath } from "node:url";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { demoFile } from "../../examples/live-chart/demo-file.js";
import { findChromium } from "./chromium.js";
import type {} from "./long-day-page.js";
import { connectToChromium } from "./shared-chromium.js";

const executablePath = findChromium();
const isRequired = process.env.CI === "true";
const HOUR = 3_600_000;
/** What 1,440 more candles and their lines may take, and the dust of a browser. */
const MOST_GROWTH = 5_000_000;

describe.skipIf(executablePath === undefined && !isRequired)("eight hours of the live page", () => {
  let browser: Browser | undefined;

  beforeAll(async () => {
    if (executablePath === undefined) throw new Error("No Chromium: install it, or set CHROMIUM_PATH");
    browser = await connectToChromium();
  });
  afterAll(() => browser?.close());

  it("draw at most once a frame, and keep no more than their candles", async () => {
    const html = await demoFile(fileURLToPath(new URL("long-day-page.ts", import.meta.url)));
    const page = await browser!.newPage();
    const errors: Error[] = [];
    page.on("pageerror", (error) => errors.push(error));
    await page.setContent(html);
    const session = await page.context().newCDPSession(page);
    const heap = async () => {
      await session.send("HeapProfiler.collectGarbage");
      return (await session.send("Runtime.getHeapUsage")).usedSize;
    };
    await page.evaluate((ms) => window.pass(ms), 4 * HOUR);
    const before = await heap();
    const drawnBefore = await page.evaluate(() => window.__pairstream.frames);
    const most = await page.evaluate((ms) => window.pass(ms), 4 * HOUR);
    const after = await heap();
    const { drawn, candles } = await page.evaluate(() => {
      const { frames, candles } = window.__pairstream;
      return { drawn: frames, candles: candles.length };
    });
    console.log(
      `heap ${(before / 1e6).toFixed(1)} MB after 4 h, ${(after / 1e6).toFixed(1)} MB after 8 h; ` +
        `${drawn - drawnBefore} drawings, at most ${most} a frame; ${candles} candles`,
    );
    expect(most).toBe(1);
    expect(candles).toBeGreaterThan(2_000);
    expect(candles).toBeLessThanOrEqual(4_000);
    expect(after - before).toBeLessThan(MOST_GROWTH);
    expect(errors).toEqual([]);
    await page.close();
  });
});
