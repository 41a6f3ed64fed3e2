import { cpSync } from "node:fs";
import { join } from "node:path";
import { build, preview } from "vite";
import { beforeAll, describe, expect, inject, it, onTestFinished } from "vitest";
import type { Candle } from "../../src/index.js";
import { findChromium, launchChromium } from "../browser/chromium.js";
import { ROOT } from "./commands.js";
import { openGateway, openService, PAIR } from "./local-service.js";

const shipped = inject("shipped");
const root = join(shipped.folders.sse, "page");
const executablePath = findChromium();
/** Two in a row that came after the history. */
const LIVE_CANDLES = 'li[data-live="true"] + li[data-live="true"]';
const isRequired = process.env.CI === "true";

if (executablePath === undefined && !isRequired) {
  console.warn("\n!!! NO CHROMIUM: the page is NOT tried in a browser. Install it, or set CHROMIUM_PATH.\n");
}

describe("a page that Vite has built from the package", () => {
  const modules: string[] = [];

  beforeAll(async () => {
    cpSync(join(ROOT, "test/package/page"), root, { recursive: true });
    const noting = {
      name: "noting modules",
      moduleParsed: ({ id }: { id: string }) => void modules.push(id),
    };
    await build({ root, configFile: false, logLevel: "error", plugins: [noting] });
  });

  it("takes nothing from Node", () => {
    expect(modules).toContainEqual(expect.stringMatching(/pairstream\/dist\/esm\/candles\/watch\.js$/));
    expect(modules).toContainEqual(
      expect.stringMatching(/pairstream\/dist\/esm\/adapters\/sse\/receiver\.js$/),
    );
    expect(modules.filter((id) => /^node:|vite-browser-external/.test(id))).toEqual([]);
  });

  it.skipIf(executablePath === undefined && !isRequired).each([
    ["polls a service", ""],
    ["listens to a gateway", "&gateway=/gateway"],
  ])("streams candles in a real browser, where it %s", async (_, gateway) => {
    if (executablePath === undefined) throw new Error("No Chromium: install it, or set CHROMIUM_PATH");
    const browser = await launchChromium(executablePath);
    onTestFinished(() => browser.close());
    const page = await browser.newPage();
    const errors: Error[] = [];
    page.on("pageerror", (error) => errors.push(error));
    await page.goto(`${await serve()}?pair=${PAIR}${gateway}`);
    await page.waitForSelector(LIVE_CANDLES, { state: "attached" });

    const items = await page.locator("li").allTextContents();
    const shown = items.map((text) => JSON.parse(text) as { candle: Candle; fast?: number });
    const [a, b, c] = shown.map(({ candle }) => candle) as [Candle, Candle, Candle];
    expect([b.timestamp - a.timestamp, c.timestamp - b.timestamp]).toEqual([1_000, 1_000]);
    expect(shown[1]!.fast).toBeUndefined();
    expect(shown[2]!.fast).toBeCloseTo((a.close + b.close + c.close) / 3, 9);
    expect(errors).toEqual([]);
  });
});

/** The address of the page; behind it are a service and a gateway, too. */
async function serve(): Promise<string> {
  const service = await openService(shipped);
  onTestFinished(() => service.close());
  const gateway = await openGateway(shipped, service.url);
  onTestFinished(() => gateway.close());
  const server = await preview({
    root,
    configFile: false,
    logLevel: "error",
    preview: {
      host: "127.0.0.1",
      port: 0,
      proxy: { "/service": service.url, "/gateway": gateway.url },
    },
  });
  onTestFinished(() => server.close());
  return server.resolvedUrls!.local[0]!;
}
