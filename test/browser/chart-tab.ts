import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, onTestFinished } from "vitest";
import { findChromium } from "./chromium.js";
import { connectToChromium } from "./shared-chromium.js";

/** Of no server: what the page shows is given to it. */
const ORIGIN = "http://127.0.0.1:9/";

/** A tab with `chart-page.ts` in it, as `page`, and what it has thrown. */
export interface ChartTab {
  readonly tab: Page;
  readonly errors: readonly string[];
}

/** Tests in Chromium with the real chart; `openTab` gives each a tab of its own. */
export function describeCharts(name: string, tests: (openTab: () => Promise<ChartTab>) => void): void {
  const executablePath = findChromium();
  const isRequired = process.env.CI === "true";

  describe.skipIf(executablePath === undefined && !isRequired)(name, () => {
    let browser: Browser;
    let bundle: string;

    beforeAll(async () => {
      if (executablePath === undefined) throw new Error("No Chromium: install it, or set CHROMIUM_PATH");
      const { outputFiles } = await build({
        entryPoints: [fileURLToPath(new URL("chart-page.ts", import.meta.url))],
        bundle: true,
        write: false,
        format: "iife",
        globalName: "page",
        // The chart that users have: it checks nothing.
        conditions: ["production"],
      });
      bundle = outputFiles[0]!.text;
      browser = await connectToChromium();
    });
    afterAll(() => browser?.close());

    tests(async () => {
      const tab = await browser.newPage();
      onTestFinished(() => tab.close());
      const errors: string[] = [];
      tab.on("pageerror", ({ message }) => errors.push(message));
      await tab.route("**", (route) => route.fulfill({ contentType: "text/html", body: "<p>A page" }));
      await tab.goto(ORIGIN);
      await tab.addScriptTag({ content: bundle });
      return { tab, errors };
    });
  });
}
