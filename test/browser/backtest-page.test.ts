import type { Candle } from "pairstream";
import { sweep } from "pairstream/backtest";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { PastOptions } from "../../examples/backtest/options.js";
import type { PageData } from "../../examples/backtest/page/data.js";
import { pageOf } from "../../examples/backtest/page/page.js";
import { openPast } from "../../examples/backtest/past.js";
import { reportOf } from "../../examples/backtest/report.js";
import shipped from "../../examples/backtest/strategy.js";
import { loadStrategy } from "../../examples/backtest/strategy-file.js";
import { sweepPageOf } from "../../examples/backtest/sweep/page.js";
import { sweepReportOf } from "../../examples/backtest/sweep/report.js";
import type { ParameterSet } from "../../examples/backtest/sweep/sweep-past.js";
import { tradePast } from "../../examples/backtest/trade-past.js";
import { findChromium } from "./chromium.js";
import { connectToChromium } from "./shared-chromium.js";

const executablePath = findChromium();
const isRequired = process.env.CI === "true";
const OWN_STRATEGY = new URL("../../examples/backtest/strategy.ts", import.meta.url).href;
/** Of no server: what the page shows is given to it. */
const ORIGIN = "http://127.0.0.1:9/";
const DEADLINE = 30_000;
const DAY = 86_400_000;
const FROM = Date.UTC(2025, 0, 1);

/** What the page says that it has drawn; `chart.ts` has more. */
interface Drawn {
  readonly level: string;
  /** Whether the page is on its way to another range. */
  readonly isMoving: boolean;
  readonly selected?: number;
  readonly range: { readonly from: number; readonly to: number };
  /** Of the time scale, in dots. */
  readonly width: number;
  readonly candles: readonly { time: number; open: number; high: number; low: number; close: number }[];
  readonly equity: readonly { time: number; value: number }[];
  readonly held: readonly { time: number; value: number }[];
  readonly drawdown: readonly { time: number; value: number }[];
  readonly markers: readonly { id: string; time: number; shape: string; text?: string }[];
  readonly way: readonly { time: number; value: number }[];
}
type Window = { readonly __backtest: { readonly drawn: () => Drawn } };

/** Of a sweep over four sets, in this thread. */
async function sweepPage(): Promise<string> {
  const loaded = await loadStrategy(OWN_STRATEGY);
  const options = { pairs: [], network: "mainnet", currency: "usd", within: undefined, from: FROM } as const;
  const market = { timeframe: undefined, to: FROM + 20 * DAY, place: { kind: "market", seed: 31 } } as const;
  const past = await openPast({ ...options, ...market }, () => {});
  const result = await sweep<ParameterSet>({
    feeds: past.pairs.map(({ series, candles }) => ({ series, candles })),
    strategy: (parameters) => shipped(parameters as never),
    parameters: { fast: [5, 9], slow: [21, 34], size: [1], stop: [0] },
    split: { walkForward: 2, inSample: 0.7 },
  });
  return sweepPageOf(sweepReportOf({ result, past, loaded, swept: ["fast", "slow"] }));
}

async function pageOver(range: Pick<PastOptions, "timeframe" | "to">): Promise<string> {
  const loaded = await loadStrategy(OWN_STRATEGY);
  const options = { pairs: [], network: "mainnet", currency: "usd", within: undefined, from: FROM } as const;
  const past = await openPast({ ...options, ...range, place: { kind: "market", seed: 31 } }, () => {});
  const run = await tradePast(past, loaded, {});
  return pageOf(run, reportOf(run));
}

const dataIn = (page: string): PageData =>
  JSON.parse(/<script id="data" type="application\/json">(.*)<\/script>/.exec(page)![1]!);

describe.skipIf(executablePath === undefined && !isRequired)("the page of a backtest", () => {
  let browser: Browser;
  let html: string;
  let data: PageData;
  const errors: string[] = [];

  beforeAll(async () => {
    if (executablePath === undefined) throw new Error("No Chromium: install it, or set CHROMIUM_PATH");
    html = await pageOver({ timeframe: undefined, to: FROM + 60 * DAY });
    data = dataIn(html);
    browser = await connectToChromium();
  });
  afterAll(() => browser?.close());
  afterEach(() => expect(errors).toEqual([]));

  async function open(options: Parameters<Browser["newPage"]>[0] = {}, body = html): Promise<Page> {
    const page = await browser.newPage({ viewport: { width: 1_200, height: 900 }, ...options });
    page.on("pageerror", ({ message }) => errors.push(message));
    await page.route("**", (route) => {
      // Nothing else is asked for.
      if (route.request().url() !== ORIGIN) errors.push(route.request().url());
      return route.fulfill({ contentType: "text/html", body });
    });
    await page.goto(ORIGIN);
    await page.waitForSelector("#chart[data-level]");
    return page;
  }

  const drawnIn = (page: Page): Promise<Drawn> =>
    page.evaluate(() => JSON.parse(JSON.stringify((window as never as Window).__backtest.drawn())));
  // From here: the page lets no text run as code.
  const shows = (page: Page, passes: (drawn: Drawn) => boolean) =>
    expect
      .poll(
        async () => {
          const drawn = await drawnIn(page);
          return !drawn.isMoving && passes(drawn);
        },
        { timeout: DEADLINE },
      )
      .toBe(true);

  /** What a span of candles comes to. */
  function barOf(start: number, length: number): Partial<Candle> {
    const inside = data.pairs[0]!.candles.filter(([at]) => at >= start && at < start + length);
    return {
      open: inside[0]![1],
      high: Math.max(...inside.map(([, , high]) => high)),
      low: Math.min(...inside.map(([, , , low]) => low)),
      close: inside.at(-1)![4],
    };
  }

  it("sorts the trades by a heading, the other way round at a second click", async () => {
    const page = await open();
    const order = () =>
      page
        .locator("#trades tbody tr")
        .evaluateAll((rows) => rows.map((row) => Number((row as HTMLElement).dataset.trade)));
    const sorted = (sign: number) =>
      [...data.trades.entries()]
        .sort(([, a], [, b]) => {
          if (a.gain === undefined || b.gain === undefined)
            return Number(a.gain === undefined) - Number(b.gain === undefined);
          return sign * (a.gain - b.gain);
        })
        .map(([at]) => at);
    expect(await order()).toEqual([...data.trades.keys()]);
    const heading = page.getByRole("columnheader", { name: "gain" });
    await heading.getByRole("button").click();
    expect(await heading.getAttribute("aria-sort")).toBe("descending");
    expect(await order()).toEqual(sorted(-1));
    await heading.getByRole("button").click();
    expect(await heading.getAttribute("aria-sort")).toBe("ascending");
    expect(await order()).toEqual(sorted(1));
    // A row leads to its trade wherever it stands.
    const [least] = await order();
    await page.locator("#trades tbody tr").first().getByRole("button").click();
    await shows(page, ({ selected }) => selected === least);
    await page.close();
  });

  it("changes its theme by a button, and has a legend in words", async () => {
    const page = await open({ colorScheme: "light" });
    const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
    expect(await theme()).toBe("light");
    await page.getByRole("button", { name: "Change to the dark theme" }).click();
    expect(await theme()).toBe("dark");
    expect(await page.locator("#legend").textContent()).toMatch(
      /Open .+High .+Low .+Close .+Buy and hold .+Drawdown/,
    );
    await page.close();
  });

  it("draws all of it in candles that can be told apart, with both curves at their ends", async () => {
    const page = await open();
    const { level, candles, equity, held, drawdown, markers } = await drawnIn(page);
    expect(level).toBe("12h");
    expect(candles).toHaveLength(120);
    const half = DAY / 2;
    for (const [at, { time, ...bar }] of candles.entries()) {
      expect(time).toBe((FROM + at * half) / 1_000);
      expect(bar).toMatchObject(barOf(time * 1_000, half));
    }
    const ends = new Map(data.curve.map(([at, ...rest]) => [at, rest]));
    for (const [at, { time, value }] of equity.entries()) {
      const [own, hold] = ends.get(time * 1_000 + half)!;
      expect([value, held[at]!.value]).toEqual([own, hold]);
    }
    expect(equity).toHaveLength(120);
    expect(drawdown).toHaveLength(120);
    const deepest = Math.max(...data.curve.map(([, , , fall]) => fall));
    expect(Math.min(...drawdown.map(({ value }) => value))).toBeCloseTo(-100 * deepest, 9);
    const bought = new Set(data.trades.map(({ from }) => Math.floor((from - FROM) / half)));
    expect(markers.filter(({ shape }) => shape === "arrowUp")).toHaveLength(bought.size);
    await page.close();
  });

  it("leads from a trade in the table to its candles, and to shorter ones", async () => {
    const page = await open();
    const chosen = data.trades.findIndex(({ gain = 0, from, to = from }) => gain > 0 && to - from > DAY);
    await page.click(`[data-trade="${chosen}"] button`);
    await shows(page, ({ level, way }) => level === "1h" && way.length === 2);
    const { selected, way, range, markers } = await drawnIn(page);
    const { from, to, entry, exit, gain } = data.trades[chosen]!;
    expect(selected).toBe(chosen);
    expect(way).toEqual([
      { time: from / 1_000, value: entry },
      { time: Math.floor(to! / 3_600_000) * 3_600, value: exit },
    ]);
    expect(range.from).toBeLessThan(from);
    expect(range.to).toBeGreaterThan(to!);
    expect(range.to - range.from).toBeLessThan(4 * (to! - from) + 5 * DAY);
    expect(markers.find(({ text }) => text)?.text).toBe(`+${(100 * gain!).toFixed(2)} %`);
    expect(await page.locator('[aria-selected="true"]').count()).toBe(1);
    await page.click("[data-days='0']");
    await shows(page, ({ level }) => level === "12h");
    await page.close();
  });

  it("has candles that fit the range, whichever comes after which", async () => {
    const minutes = await pageOver({ timeframe: "1min", to: FROM + DAY });
    const page = await open({ viewport: { width: 1_280, height: 900 } }, minutes);
    const lasting = dataIn(minutes).trades.map(({ from, to = from }) => to - from);
    const short = lasting.flatMap((length, at) => (length < DAY / 24 ? [at] : [])).slice(0, 4);
    expect(short).toHaveLength(4);
    for (const trade of short) {
      await page.click("[data-days='0']");
      await page.click(`[data-trade="${trade}"] button`);
      await shows(page, ({ level, candles }) => level === "1min" && candles.length === 1_440);
      await page.click(`[data-trade="${short[0]}"] button`);
      await shows(page, ({ level, selected }) => level === "1min" && selected !== undefined);
    }
    await page.close();
  });

  it("leads from the time of a trade in the chart to its row", async () => {
    const page = await open();
    const lengths = data.trades.map(({ from, to = from }) => to - from);
    const chosen = lengths.indexOf(Math.max(...lengths));
    const { range, width } = await drawnIn(page);
    const box = (await page.locator("#chart").boundingBox())!;
    const { from, to } = data.trades[chosen]!;
    const share = ((from + to!) / 2 - range.from) / (range.to - range.from);
    // Above candles and arrows.
    await page.mouse.click(box.x + width * share, box.y + 5);
    await shows(page, ({ selected }) => selected !== undefined);
    expect((await drawnIn(page)).selected).toBe(chosen);
    expect(await page.locator('[aria-selected="true"]').getAttribute("data-trade")).toBe(String(chosen));
    await page.close();
  });

  it("is as wide as a phone, and no wider", async () => {
    const page = await open({ viewport: { width: 390, height: 800 }, isMobile: true, hasTouch: true });
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
    expect((await drawnIn(page)).level).toBe("1d");
    await page.close();
  });

  it("shows a sweep as maps of one scale, on a phone, too", async () => {
    const body = await sweepPage();
    const page = await browser.newPage({ viewport: { width: 390, height: 800 }, isMobile: true });
    await page.route("**", (route) => route.fulfill({ contentType: "text/html", body }));
    await page.goto(ORIGIN);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
    // Two windows, each before and after its cut.
    expect(await page.locator(".map").count()).toBe(4);
    expect(await page.locator(".map td").count()).toBe(16);
    expect(await page.locator(".map caption b").allTextContents()).toEqual([
      ...["in-sample", "out-of-sample", "in-sample", "out-of-sample"],
    ]);
    const cells = await page.locator(".map td").evaluateAll((all) =>
      all.map((cell) => ({
        value: Number(cell.textContent!.replace("★ ", "")),
        heat: Number.parseInt((cell as HTMLElement).style.getPropertyValue("--heat"), 10),
        isDown: cell.classList.contains("down"),
      })),
    );
    for (const { value, heat, isDown } of cells) {
      if (value !== 0) expect(isDown).toBe(value < 0);
      expect(heat).toBeGreaterThanOrEqual(0);
      expect(heat).toBeLessThanOrEqual(60);
    }
    expect(Math.max(...cells.slice(0, 8).map(({ heat }) => heat))).toBe(60);
    await page.close();
  });

  it.each(["light", "dark"] as const)(
    "has the colours of a %s page, on paper those of a light one",
    async (colorScheme) => {
      const page = await open({ colorScheme });
      const coloursOf = () =>
        page.evaluate(() => {
          const { backgroundColor, color } = getComputedStyle(document.body);
          return [backgroundColor, color];
        });
      const light = ["rgb(255, 255, 255)", "rgb(31, 35, 40)"];
      if (colorScheme === "light") expect(await coloursOf()).toEqual(light);
      else expect(await coloursOf()).not.toEqual(light);
      await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
      await page.emulateMedia({ media: "print" });
      expect(await coloursOf()).toEqual(light);
      const corner = await page.evaluate(() => {
        const canvas = document.querySelector<HTMLCanvasElement>("#print canvas")!;
        return [...canvas.getContext("2d")!.getImageData(2, 2, 1, 1).data];
      });
      expect(corner).toEqual([255, 255, 255, 255]);
      expect(await page.locator("#chart").isVisible()).toBe(false);
      await page.evaluate(() => dispatchEvent(new Event("afterprint")));
      expect(await page.locator("#print canvas").count()).toBe(0);
      await page.close();
    },
  );
});
