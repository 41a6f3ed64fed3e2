import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { demoFile } from "../../examples/live-chart/demo-file.js";
import type {} from "../../examples/live-chart/page/live-page.js";
import { findChromium } from "./chromium.js";
import { connectToChromium } from "./shared-chromium.js";

const executablePath = findChromium();
const isRequired = process.env.CI === "true";
const MOST = 220_000;
const DEADLINE = 55_000;

describe("the live page as one file", () => {
  let html: string;
  let folder: string;
  let browser: Browser | undefined;

  beforeAll(async () => {
    html = await demoFile();
    folder = await mkdtemp(join(tmpdir(), "demo-"));
    if (executablePath !== undefined) browser = await connectToChromium();
  });
  afterAll(async () => {
    await browser?.close();
    await rm(folder, { recursive: true });
  });

  it("is small, and brings the licence of the chart", () => {
    expect(Buffer.byteLength(html)).toBeLessThan(MOST);
    expect(html).toContain("Apache License");
  });

  it.skipIf(executablePath === undefined && !isRequired)(
    "shows a market that moves, of several pairs, and asks nobody for anything",
    async () => {
      const file = join(folder, "demo.html");
      await writeFile(file, html);
      const page = await browser!.newPage();
      // A machine may be slow; the deadline of Playwright is 30 s.
      page.setDefaultTimeout(DEADLINE);
      const told: string[] = [];
      const asked: string[] = [];
      page.on("pageerror", (error) => told.push(error.message));
      page.on("console", (message) => told.push(message.text()));
      page.on("request", (request) => asked.push(request.url()));
      const url = pathToFileURL(file).href;
      await page.goto(url);
      await page.waitForFunction(() => {
        // The code is unpacked first.
        if (window.__pairstream === undefined) return false;
        const { drawn, status } = window.__pairstream;
        return drawn.candles.length > 100 && drawn.fast.length > 100 && status?.state === "live";
      });
      const newest = await page.evaluate(() => window.__pairstream.candles.at(-1)!);
      await page.waitForFunction((before) => {
        const now = window.__pairstream.candles.at(-1)!;
        return JSON.stringify(now) !== before;
      }, JSON.stringify(newest));
      await page.waitForFunction(() => document.querySelectorAll("#snipers tbody tr").length > 3);
      const price = await page.locator("#price-spoken").textContent();
      await page.keyboard.press("p");
      await page.waitForFunction((before) => {
        const now = document.querySelector("#price-spoken")?.textContent;
        return now?.startsWith("$") && now !== before && window.__pairstream.drawn.candles.length > 100;
      }, price);
      expect(told).toEqual([]);
      expect(asked.filter((one) => one !== url && !one.startsWith("data:"))).toEqual([]);
      await page.close();
    },
  );
});
