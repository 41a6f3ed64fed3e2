import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { PageFile } from "../../examples/live-chart/page-files.js";
import { plainPrice, priceText } from "../../examples/page/figures.js";
import { ChartWorld, CREATED, KEY, STEP } from "./chart-world.js";
import { findChromium } from "./chromium.js";
import { keptPage } from "./kept-page.js";
import { connectToChromium } from "./shared-chromium.js";

const executablePath = findChromium();
const isRequired = process.env.CI === "true";
const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

/** What axe-core has to say against a page, in words. */
async function flawsOf(page: Page, axe: string): Promise<string[]> {
  await page.evaluate(axe);
  return page.evaluate(async () => {
    const { axe } = window as unknown as {
      axe: {
        run(): Promise<{ violations: { id: string; nodes: { html: string; failureSummary: string }[] }[] }>;
      };
    };
    const { violations } = await axe.run();
    return violations.flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 120)}: ${failureSummary}`),
    );
  });
}

describe.skipIf(executablePath === undefined && !isRequired)("how the live page is used", () => {
  let browser: Browser | undefined;
  let files: ReadonlyMap<string, PageFile>;
  let axe: string;
  let world: ChartWorld;

  beforeAll(async () => {
    if (executablePath === undefined) throw new Error("No Chromium: install it, or set CHROMIUM_PATH");
    [browser, files, axe] = await Promise.all([connectToChromium(), keptPage(), readFile(AXE, "utf8")]);
  });
  afterAll(() => browser?.close());

  beforeEach(async () => {
    world = await ChartWorld.open(browser!, files);
  });
  afterEach(async () => {
    await world.close();
    expect(world.errors).toEqual([]);
  });

  const text = (selector: string) => world.page.locator(selector).textContent();

  it.each(["light", "dark"] as const)("has nothing that axe-core finds, %s", async (colorScheme) => {
    const { page } = world;
    world.market.trade(CREATED + 200, 8.5e-6, { wallet: "early" });
    world.market.trade(world.clock.now() - 500, 8.5e-6, { wallet: "early", side: "sell" });
    await world.clock.advanceBy(6_000);
    await world.until("a sniper", async () => (await page.locator("#swaps li").count()) === 2);
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await page.evaluate(() => Promise.all(document.getAnimations().map((each) => each.finish())));
    expect(await flawsOf(page, axe)).toEqual([]);
    await page.locator("#indicators-button").click();
    expect(await flawsOf(page, axe)).toEqual([]);
    await page.keyboard.press("Escape");
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await flawsOf(page, axe)).toEqual([]);
    await page.locator("#help-button").click();
    expect(await flawsOf(page, axe)).toEqual([]);
    await page.keyboard.press("Escape");
    await world.stopGateway();
    await world.shows("that it has stalled", ({ status }) => status?.state === "stalled");
    expect(await flawsOf(page, axe)).toEqual([]);
    await world.startGateway();
  });

  it("tells the price, its changes and the volume, and goes on with live candles", async () => {
    const truth = await world.truth("10s");
    const first = truth[0]!.open;
    const running = Math.floor(world.clock.now() / STEP) * STEP;
    world.market.trade(running + 2_500, 2 * first);
    await world.clock.advanceBy(2_000);
    await world.until("the new price", async () => {
      return (await text("#price-spoken")) === `$${plainPrice(2 * first)}`;
    });
    expect(await text("#price-shown")).toBe(`$${priceText(2 * first)}`);
    // The pair is ten minutes old.
    expect(await text("#change-day")).toBe("Since launch");
    expect(await text("#volume-day")).toBe("Volume");
    await world.until("the change of a day", async () => (await text("#change-24h")) === "+100%");
    expect(await text("#change-1h")).toBe("+100%");
    const before = truth.filter(({ timestamp }) => timestamp + STEP <= running - 300_000 + STEP).at(-1)!;
    const change = ((2 * first) / before.close - 1) * 100;
    expect(Number.parseFloat((await text("#change-5m"))!)).toBeCloseTo(change, -1);
    const volume = (await world.truth("10s")).reduce((sum, one) => sum + one.volume, 0);
    const told = (await text("#volume"))!;
    expect(Number(told.slice(1))).toBeCloseTo(volume, 1);
  });

  it("is used with keys alone: candles, indicators, scale, clock, help, the past and the present", async () => {
    const { page } = world;
    await page.keyboard.press(",");
    await world.shows("seconds", ({ selection }) => selection?.timeframe === "1s");
    await page.keyboard.press(".");
    await world.shows("ten seconds", ({ selection, drawn }) => {
      return selection?.timeframe === "10s" && drawn.candles.length > 40;
    });
    await page.keyboard.press("l");
    await world.shows("a logarithmic scale", ({ seen }) => seen.isLog);
    await page.keyboard.press("i");
    // The focus is in the menu: down to the bands, then to the RSI.
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Space");
    await world.shows("the bands", ({ seen }) => !seen.hidden.includes("upper"));
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Space");
    await world.shows("no RSI and no room for it", ({ seen }) => {
      return seen.hidden.includes("strength") && seen.panes === 1;
    });
    expect(await text("#legend")).toMatch(/Bollinger/);
    expect(await text("#legend")).not.toMatch(/RSI/);
    await page.keyboard.press("Space");
    await world.shows("the RSI again", ({ seen }) => seen.panes === 2);
    await page.keyboard.press("Escape");
    expect(await page.locator("#indicators").isVisible()).toBe(false);
    expect(await page.evaluate(() => document.activeElement?.id)).toBe("indicators-button");
    await page.keyboard.press("u");
    expect(await text("#zone")).toBe("Local");
    await page.keyboard.press("?");
    expect(await page.locator("#help").isVisible()).toBe(true);
    await page.keyboard.press("Escape");
    await page.keyboard.press("ArrowLeft");
    await world.shows("the past", ({ seen }) => seen.position < 0);
    await page.keyboard.press("End");
    await world.shows("the present", ({ seen }) => seen.position > 0);
    await page.reload();
    await world.shows("what was chosen", ({ seen, drawn }) => {
      return seen.isLog && !seen.hidden.includes("upper") && drawn.candles.length > 40;
    });
  });

  it("has a sentence for each figure, column and control", async () => {
    const { page } = world;
    const without = await page.evaluate(() => {
      const asked = document.querySelectorAll(
        "header .price, header .figures div, #status, #address, h2, thead th, select, body > :not(dialog) button",
      );
      const isTold = (one: Element) =>
        one.closest("[title]:not([title=''])") !== null || one.closest("#help") !== null;
      return [...asked].filter((one) => !isTold(one)).map((one) => one.outerHTML);
    });
    expect(without).toEqual([]);
    await page.locator("#indicators-button").click();
    const rows = await page.locator("#indicators label small").allTextContents();
    expect(rows.length).toBe(await page.locator("#indicators label").count());
    expect(rows.filter((row) => row.length < 10)).toEqual([]);
    expect(await page.locator('#timeframes [data-value="10s"]').getAttribute("title")).toBe(
      "One candle is 10 seconds",
    );
    expect(await page.locator('#timeframes [data-value="1M"]').getAttribute("title")).toBe(
      "One candle is 1 month",
    );
  });

  it("has its tools in one row beside the snipers, and in whole groups where they take two", async () => {
    const { page } = world;
    const rows = () =>
      page.evaluate(() => {
        const tops = (all: Iterable<Element>) =>
          new Set(Array.from(all, (one) => Math.round(one.getBoundingClientRect().top))).size;
        const groups = [...document.querySelectorAll(".tools .group")];
        return {
          all: tops(document.querySelectorAll(".tools > * > button, .tools .group button")),
          most: Math.max(...groups.map((group) => tops(group.children))),
        };
      });
    for (const [width, all] of [
      [1920, 1],
      [1440, 1],
      [1280, 1],
      [1100, 2],
      [900, 1],
      [700, 2],
    ] as const) {
      await page.setViewportSize({ width, height: 800 });
      expect({ width, ...(await rows()) }).toEqual({ width, all, most: 1 });
    }
  });

  it("says on a phone, where nothing can be pointed at, what its buttons do", async () => {
    const { page } = world;
    await page.setViewportSize({ width: 390, height: 844 });
    const seen = () =>
      page
        .locator(".tools .word")
        .evaluateAll((words) => words.map((word) => getComputedStyle(word).clipPath === "none"));
    const tools = async () => {
      const all = ["Indicators", "Log scale", "UTC", "Now", "Fullscreen", "Keys"];
      return Promise.all(all.map((name) => page.getByRole("button", { name, exact: true }).count()));
    };
    expect(await seen()).toEqual([true, true, true]);
    expect(await tools()).toEqual([1, 1, 1, 1, 1, 1]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
    // A pointer has the titles; a reader of the screen has the same names everywhere.
    await page.setViewportSize({ width: 1280, height: 800 });
    expect(await seen()).toEqual([false, false, false]);
    expect(await tools()).toEqual([1, 1, 1, 1, 1, 1]);
  });

  it("copies the whole address, or selects it where that is not allowed", async () => {
    const { page } = world;
    const address = await page.evaluate(() => window.__pairstream.selection!.pairAddress);
    const allow = (isAllowed: boolean) =>
      page.evaluate((isAllowed) => {
        const copied: string[] = [];
        const writeText = async (text: string) => {
          if (!isAllowed) throw new Error("not allowed");
          copied.push(text);
        };
        Object.defineProperty(navigator, "clipboard", { configurable: true, value: { writeText } });
        Object.assign(window, { copied });
      }, isAllowed);
    // The word is there for two seconds, which may pass before a slow test looks.
    await page.evaluate(() => {
      const words: string[] = [];
      Object.assign(window, { words });
      const copied = document.querySelector("#copied")!;
      new MutationObserver(() => words.push(copied.textContent)).observe(copied, { childList: true });
    });
    const said = (word: string) =>
      world.until(`it says ${word}`, () =>
        page.evaluate((word) => (window as unknown as { words: string[] }).words.includes(word), word),
      );
    await allow(true);
    await page.locator("#copy").click();
    await said("Copied");
    expect(await page.evaluate(() => (window as unknown as { copied: string[] }).copied)).toEqual([address]);
    await allow(false);
    await page.locator("#copy").click();
    await said("Press Ctrl+C to copy");
    expect(await page.evaluate(() => getSelection()?.toString())).toBe(address);
  });

  it("shows the chart alone in fullscreen, and comes back", async () => {
    const { page } = world;
    const isFull = () => page.evaluate(() => document.fullscreenElement?.id);
    await page.locator("#fullscreen").click();
    await world.until("fullscreen", async () => (await isFull()) === "market");
    expect(await page.locator("#timeframes").isVisible()).toBe(true);
    await page.locator("#fullscreen").click();
    await world.until("the page again", async () => (await isFull()) === undefined);
  });

  it("tells times by the clock that is chosen, and remembers it", async () => {
    const context = await browser!.newContext({ timezoneId: "Asia/Kolkata" });
    const page = await context.newPage();
    await page.goto(world.relay.url);
    const isTold = (pattern: RegExp) =>
      world.until(`${pattern} in the legend`, async () =>
        pattern.test((await page.locator("#legend").textContent())!),
      );
    await isTold(/5 Jan 12:00:/);
    await page.locator("#zone").click();
    await isTold(/5 Jan 17:30:/);
    expect(await page.locator("#zone-note").textContent()).toBe("Times are those of this machine");
    await page.reload();
    await isTold(/5 Jan 17:30:/);
    await context.close();
  });

  it("says that the key is refused, shows no key, and comes back when it is taken", async () => {
    world.isKeyRefused = true;
    await world.stopGateway();
    await world.startGateway();
    await world.page.reload();
    await world.until("it says so", async () => (await text("#status")) === "No data");
    expect(await text("#notice")).toMatch(
      /^The service refuses the API key\. .*The page tries again every few seconds\.$/,
    );
    expect(await world.page.content()).not.toContain(KEY);
    world.isKeyRefused = false;
    await world.shows("that it is live", ({ status }) => status?.state === "live");
  });

  it("stays where candles are, however far it is scrolled", async () => {
    const { page } = world;
    const box = (await page.locator("#chart").boundingBox())!;
    for (const way of [1, -1]) {
      for (let times = 0; times < 6; times += 1) {
        const from = box.x + box.width * (way > 0 ? 0.1 : 0.8);
        await page.mouse.move(from, box.y + 100);
        await page.mouse.down();
        await page.mouse.move(from + way * box.width * 0.6, box.y + 100, { steps: 4 });
        await page.mouse.up();
      }
      await world.shows("at least eight candles", ({ seen: { range }, drawn: { candles } }) => {
        if (range === null) return false;
        const [from, to] = [Math.max(0, range.from), Math.min(candles.length - 1, range.to)];
        return to - from > 6;
      });
    }
  });

  it("sorts the snipers by a click, and marks and lists their swaps", async () => {
    const { page, market, clock } = world;
    market.trade(CREATED + 200, 8.5e-6, { wallet: "ann" });
    market.trade(CREATED + 200, 8.5e-6, { wallet: "bob" });
    const sold = Math.floor(clock.now() / STEP - 6) * STEP;
    market.trade(sold + 500, 5e-5, { wallet: "ann", side: "sell" });
    market.trade(sold + 11_000, 1e-6, { wallet: "bob", side: "sell" });
    await clock.advanceBy(6_000);
    const wallets = () => page.locator("#snipers tbody th").allTextContents();
    await world.until("both", async () => (await wallets()).length >= 2);
    const heading = page.locator("#snipers thead th", { hasText: "PnL %" });
    await heading.locator("button").click();
    expect(await heading.getAttribute("aria-sort")).toBe("descending");
    await world.until("the best on top", async () => (await wallets())[0] === "ann");
    await heading.locator("button").press("Enter");
    expect(await heading.getAttribute("aria-sort")).toBe("ascending");
    await world.until("the worst on top", async () => {
      const order = await wallets();
      return order.indexOf("bob") < order.indexOf("ann");
    });
    expect(await page.locator('#snipers tr[data-wallet="ann"] td').last().textContent()).toMatch(/^\+488%$/);
    await world.shows(
      "the sales on their candles",
      ({ drawn: { snipers } }, times) => {
        const sales = snipers.flatMap(({ sellTransactions }) => sellTransactions);
        return times.every((time) => sales.some((sale) => sale.transactionTimestamp === time));
      },
      [sold + 500, sold + 11_000],
    );
    expect(await page.locator("#swaps li").first().textContent()).toMatch(/Soldbob$/);
    const meanings = () => page.locator("#marks li").allTextContents();
    expect((await meanings()).slice(0, 2)).toEqual(["▲ a sniper bought", "▼ a sniper sold"]);
    await page.locator("#indicators-button").click();
    await page.locator('#indicators input[value="snipers"]').uncheck();
    await world.shows("no arrow", ({ drawn: { snipers } }) => snipers.length === 0, undefined);
    expect((await meanings())[0]).toBe("● corrected");
    await page.locator('#indicators input[value="snipers"]').check();
    await world.shows("them again", ({ drawn: { snipers } }) => snipers.length >= 2, undefined);
    await page.locator("#indicators-button").click();
  });

  it("says that a pair is not offered, and shows one that is", async () => {
    await world.page.goto(`${world.relay.url}?pair=nobody`);
    await world.shows("another one", ({ drawn }) => drawn.candles.length > 40);
    expect(await text("#unknown")).toBe("The pair nobody is not offered here. This is another one.");
  });

  it("waits without an error for older candles that it cannot have", async () => {
    const { page } = world;
    const asked: string[] = [];
    await page.route("**/history*", (route) => {
      asked.push(route.request().url());
      return route.abort();
    });
    await page.reload();
    await world.shows("candles", ({ drawn }) => drawn.candles.length > 40);
    for (let times = 0; times < 8; times += 1) await page.keyboard.press("ArrowLeft");
    await world.until("it asks", () => asked.some((url) => url.includes("to=")));
    // A request may just be on its way.
    await page.unrouteAll({ behavior: "wait" });
  });
});
