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

export interface TabOptions {
  /** Whether the tab is closed after the test, as what it changes stays with a tab. */
  readonly isOwn?: boolean;
}

/** Tests in Chromium with the real chart; `openTab` gives each a page of its own. */
export function describeCharts(
  name: string,
  tests: (openTab: (options?: TabOptions) => Promise<ChartTab>) => void,
): void {
  const executablePath = findChromium();
  const isRequired = process.env.CI === "true";

  describe.skipIf(executablePath === undefined && !isRequired)(name, () => {
    let browser: Browser;
    let bundle: string;
    /** A new page in a tab that is there costs a tenth of one in a new tab. */
    let shared: Page;

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
      shared = await newTab();
    });
    afterAll(() => browser?.close());

    async function newTab(): Promise<Page> {
      const tab = await browser.newPage();
      await tab.route("**", (route) => route.fulfill({ contentType: "text/html", body: "<p>A page" }));
      return tab;
    }

    tests(async ({ isOwn = false } = {}) => {
      const tab = isOwn ? await newTab() : shared;
      const errors: string[] = [];
      const note = ({ message }: Error) => errors.push(message);
      tab.on("pageerror", note);
      onTestFinished(() => {
        if (isOwn) return tab.close();
        tab.off("pageerror", note);
      });
      await tab.goto(ORIGIN);
      await tab.addScriptTag({ content: bundle });
      return { tab, errors };
    });
  });
}
