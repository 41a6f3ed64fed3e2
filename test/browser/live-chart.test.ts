import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import type { PageFile } from "../../examples/live-chart/page-files.js";
import { ChartWorld, CREATED, candleBack, KEY, priceAt, STEP } from "./chart-world.js";
import { findChromium } from "./chromium.js";
import { keptPage } from "./kept-page.js";
import { connectToChromium } from "./shared-chromium.js";

const executablePath = findChromium();
const isRequired = process.env.CI === "true";

if (executablePath === undefined && !isRequired) {
  console.warn(
    "\n!!! NO CHROMIUM: the tests in a real browser do NOT run. Install it, or set CHROMIUM_PATH.\n",
  );
}

describe.skipIf(executablePath === undefined && !isRequired)("the page in a real browser", () => {
  let browser: Browser | undefined;
  let files: ReadonlyMap<string, PageFile>;
  let world: ChartWorld;

  beforeAll(async () => {
    if (executablePath === undefined) throw new Error("No Chromium: install it, or set CHROMIUM_PATH");
    [browser, files] = await Promise.all([connectToChromium(), keptPage()]);
  });
  afterAll(() => browser?.close());

  beforeEach(async () => {
    world = await ChartWorld.open(browser!, files);
  });
  afterEach(async () => {
    await world.close();
    expect(world.errors).toEqual([]);
  });

  it("shows the candles of the service, their volume and three lines", async () => {
    await world.agrees();
    const { drawn, candles } = await world.page.evaluate(() => {
      const { drawn, candles } = window.__pairstream;
      return { drawn: JSON.parse(JSON.stringify(drawn)) as typeof drawn, candles };
    });
    const truth = await world.truth("10s");
    expect(candles.map(({ candle }) => candle)).toEqual(truth);
    expect(drawn.volume.map((point) => (point as { value?: number }).value)).toEqual(
      truth.map(({ volume }) => volume),
    );
    const warm = (line: readonly object[]) => line.filter((point) => "value" in point).length;
    expect([drawn.fast, drawn.slow, drawn.strength].map(warm)).toEqual([
      truth.length - 8,
      truth.length - 20,
      truth.length - 14,
    ]);
    expect(await world.page.locator("#legend").textContent()).toMatch(/Close 0\.0₅\d{6}/);
    expect(await world.page.locator("#status").textContent()).toBe("Live");
    expect(await world.page.locator("#price-shown").textContent()).toMatch(/^\$0\.0₅\d{6}$/);
    expect(await world.page.locator("#price-spoken").textContent()).toMatch(/^\$0\.00000\d{6}$/);
  });

  it("shows older candles than it begins with, and lines over them, where the view has room", async () => {
    const short = await ChartWorld.open(browser!, files, 30);
    onTestFinished(() => short.close());
    await short.agrees();
    const { length } = await short.truth("10s");
    await short.shows(
      "lines over all of them",
      ({ drawn: { fast, slow, strength } }, length) =>
        JSON.stringify([fast, slow, strength].map((line) => line.length)) ===
        JSON.stringify([length - 8, length - 20, length - 14]),
      length,
    );
    expect(await short.page.evaluate(() => window.__pairstream.candles.length)).toBe(31);
    // Of those the events have told nothing; the legend tells what is drawn.
    const box = (await short.page.locator("#chart").boundingBox())!;
    const { position } = await short.page.evaluate(() => window.__pairstream.seen);
    const scaleWidth = 100;
    await short.page.mouse.move(box.x + box.width - scaleWidth - 7 * (position + 45), box.y + 100);
    const isOld = /5 Jan 11:5[0-3]:\d0Open 0\.0₅\d{6}.*Volume 0/;
    await short.until("an older candle in the legend", async () =>
      isOld.test((await short.page.locator("#legend").textContent())!),
    );
  });

  it("shows a correction five candles back, where it happened, and in the lines after it", async () => {
    const corrected = candleBack(world.clock, 5);
    const lineBefore = await world.page.evaluate(() =>
      JSON.stringify(window.__pairstream.drawn.fast.slice(-5)),
    );
    world.market.trade(corrected + 5_000, 3e-5);
    await world.clock.advanceBy(2_000);
    await world.shows(
      "a mark on the corrected candle",
      ({ drawn, corrections }, time) =>
        drawn.corrections.some(({ timestamp }) => timestamp === time) &&
        corrections.some(({ timestamp, kind }) => timestamp === time && kind === "corrected"),
      corrected,
    );
    await world.agrees();
    const lineNow = await world.page.evaluate(() => JSON.stringify(window.__pairstream.drawn.fast.slice(-5)));
    expect(lineNow).not.toBe(lineBefore);
    expect(await world.page.locator("#corrections").textContent()).toMatch(
      /^The candle of 11:59:10 was corrected after it had closed, at 12:00:0\d$/,
    );
  });

  it("shows a candle that turns up late between two others", async () => {
    const late = candleBack(world.clock, 4);
    world.market.takeBack(late, late + STEP);
    // A poll misses it, and a second look confirms that.
    await world.clock.advanceBy(4_000);
    await world.shows("no such candle", isWithout, late / 1_000);
    world.market.trade(late + 1_000, 9.5e-6);
    await world.clock.advanceBy(2_000);
    await world.shows(
      "the mark of a late candle",
      ({ drawn, corrections }, time) =>
        drawn.corrections.some(({ timestamp }) => timestamp === time) &&
        corrections.some(({ timestamp, kind }) => timestamp === time && kind === "late"),
      late,
    );
    await world.agrees();
  });

  it("lets go of a candle that was removed", async () => {
    const removed = candleBack(world.clock, 3);
    world.market.takeBack(removed, removed + STEP);
    // A poll misses it, and a second look confirms that.
    await world.clock.advanceBy(4_000);
    await world.shows("no such candle", isWithout, removed / 1_000);
    await world.shows(
      "its mark at a candle that is there",
      ({ drawn: { candles, corrections } }) =>
        corrections.some(({ timestamp, shape }) => {
          return shape === "square" && candles.some(({ time }) => Number(time) * 1_000 === timestamp);
        }),
      undefined,
    );
    await world.agrees();
    expect(await world.page.locator("#corrections").textContent()).toMatch(/11:59:30 was removed/);
  });

  it("equals the service again after its gateway has died and come back", async () => {
    await world.stopGateway();
    await world.shows("that it has stalled", ({ status }) => status?.state === "stalled");
    expect(await world.page.locator("#status").getAttribute("data-state")).toBe("stalled");
    expect(await world.page.locator("#status").textContent()).toMatch(/^Delayed since \d\d:\d\d:\d\d$/);
    expect(await world.page.locator("#notice").textContent()).toMatch(/^The chart shows what was known at /);
    expect(await world.page.locator("#market").getAttribute("data-state")).toBe("stalled");

    // Meanwhile: new candles, a correction, one that goes, and one that was final and is another now.
    const running = candleBack(world.clock, 0);
    for (let at = running; at < running + 8 * STEP; at += STEP) world.market.trade(at + 3_000, priceAt(at));
    world.market.trade(running - 2 * STEP + 4_000, 4e-5);
    world.market.takeBack(running - 3 * STEP, running - 2 * STEP);
    world.market.trade(running - 20 * STEP + 4_000, 2e-5);
    await world.clock.advanceBy(7 * STEP);

    await world.startGateway();
    await world.shows("that it is live", ({ status }) => status?.state === "live");
    await world.agrees();
    expect(await world.page.locator("#status").getAttribute("data-state")).toBe("live");

    world.market.trade(world.clock.now() + 1_000, 1.2e-5);
    await world.clock.advanceBy(2_000);
    await world.agrees();
  });

  it("leaves no old subscription when another timeframe is chosen", async () => {
    expect([...(await world.viewers())].sort()).toEqual(["candles 10s 1", "snipers  1"]);
    await world.page.locator('#timeframes [data-value="1min"]').click();
    await world.shows("minutes", ({ selection, drawn }) => {
      const times = drawn.candles.map(({ time }) => Number(time));
      return selection?.timeframe === "1min" && times.length > 5 && times.every((time) => time % 60 === 0);
    });
    await world.until("the old channel is closed", async () => {
      const viewers = await world.viewers();
      return viewers.every((one) => !one.includes("10s"));
    });
    await world.until("the others are there", async () => {
      return JSON.stringify(await world.viewers()) === '["candles 1min 1","snipers  1"]';
    });

    world.asked.length = 0;
    await world.clock.advanceBy(6 * STEP);
    expect(new Set(world.asked)).toEqual(new Set(["1min"]));
    await world.agrees("1min");
    expect(new URL(world.page.url()).searchParams.get("timeframe")).toBe("1min");
  });

  it("lights up the row of a sniper that sells", async () => {
    world.market.trade(CREATED + 200, 8.5e-6, { wallet: "early" });
    world.market.trade(world.clock.now() - 500, 8.5e-6, { wallet: "early", side: "sell" });
    // Two polls and more: when one is due depends on what the client knows of the service's clock.
    await world.clock.advanceBy(6_000);
    const row = world.page.locator('#snipers tr[data-wallet="early"]');
    await world.until("the sniper is listed", async () => (await row.count()) === 1);

    world.market.trade(world.clock.now() + 1_000, 8.5e-6, { wallet: "early", side: "sell" });
    await world.clock.advanceBy(6_000);
    await world.until("the row lights up", async () => (await row.getAttribute("data-lit")) === "sold");
    await row.evaluate((element) => {
      for (const animation of element.getAnimations()) animation.finish();
    });
    await world.until("the light goes out", async () => (await row.getAttribute("data-lit")) === null);
  });

  it("follows the theme of the system until one is chosen, which it remembers", async () => {
    const { page } = world;
    const theme = () => page.locator("html").getAttribute("data-theme");
    await page.emulateMedia({ colorScheme: "light" });
    await world.until("the light theme", async () => (await theme()) === "light");
    await page.emulateMedia({ colorScheme: "dark" });
    await world.until("the dark theme", async () => (await theme()) === "dark");
    await page.locator("#theme").press("Enter");
    expect(await theme()).toBe("light");
    await page.reload();
    await world.until("the chosen theme", async () => (await theme()) === "light");
  });

  it("fits on a phone", async () => {
    const { page } = world;
    await page.setViewportSize({ width: 360, height: 740 });
    const widths = await page.evaluate(() =>
      ["html", ".market", ".snipers .scrolled", ".bar"].map((selector) => {
        const { scrollWidth, clientWidth } = document.querySelector(selector)!;
        return { selector, isClipped: scrollWidth > clientWidth };
      }),
    );
    expect(widths.filter(({ isClipped }) => isClipped)).toEqual([]);
  });

  it("receives the key nowhere, and asks nobody else", async () => {
    world.market.trade(candleBack(world.clock, 2) + 5_000, 3e-5);
    await world.clock.advanceBy(STEP);
    await world.agrees();
    await world.page.locator('#currencies [data-value="native"]').click();
    await world.shows("the other currency", ({ drawn, selection }) => {
      return selection?.currency === "native" && drawn.candles.length > 40;
    });
    const { received, url } = world.relay;
    for (const sign of [
      "HTTP/1.1 200",
      "text/event-stream",
      "event: candle",
      "<!doctype html>",
      "TradingView",
    ]) {
      expect(received).toContain(sign);
    }
    expect(received).not.toContain(KEY);
    expect(
      world.addresses.filter((address) => !address.startsWith(url) && !address.startsWith("data:")),
    ).toEqual([]);
  });
});

/** Runs in the page. */
function isWithout({ drawn }: Window["__pairstream"], time: number): boolean {
  return (
    drawn.candles.every((point) => point.time !== time) && drawn.volume.every((point) => point.time !== time)
  );
}
