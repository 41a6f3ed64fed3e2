// Makes the pictures of the documents from the programs as they are: `npm run docs:pictures`.
import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";
import { createClient } from "pairstream";
import { demoService } from "pairstream/service";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import type {} from "../../examples/live-chart/page/live-page.js";
import { buildPage } from "../../examples/live-chart/page-files.js";
import { serveChart } from "../../examples/live-chart/serve.js";
import { findChromium, launchChromium } from "../browser/chromium.js";
import { readPng, writePalettePng } from "./palette-png.js";
import { terminalSvg } from "./terminal-svg.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const folder = join(root, "docs/pictures");
const HOUR = 3_600_000;
/** When the market of the pictures is looked at, by its own clock. */
const START = Date.UTC(2026, 0, 5, 14, 20, 5);
const LINES = 24;
const WIDE = { viewport: { width: 1_280, height: 740 } } as const;

const executablePath = findChromium();
if (executablePath === undefined) throw new Error("No Chromium: install it, or set CHROMIUM_PATH");
const browser = await launchChromium(executablePath);
try {
  await drawLive(browser);
  await drawBacktest(browser);
} finally {
  await browser.close();
}
await drawTerminal();

async function drawLive(browser: Browser): Promise<void> {
  const begun = performance.now();
  const clock = () => START + performance.now() - begun;
  const demo = demoService({ pairs: 4, clock, createdAt: START - 2 * HOUR });
  const chart = await serveChart({
    client: createClient(demo.clientOptions),
    ...{ network: "mainnet", pairs: demo.pairs, port: 0, every: 1_000, snipersEvery: 1_000 },
    files: await buildPage(),
  });
  const draw = async (name: string, options: BrowserContextOptions) => {
    const page = await browser.newPage({ reducedMotion: "reduce", ...options });
    await page.goto(chart.url);
    await page.waitForFunction(() => {
      const { drawn, status, report } = window.__pairstream;
      const isLive = drawn.candles.length > 200 && status?.state === "live" && report.result.length > 3;
      return isLive && document.querySelector("#volume")!.textContent !== "–";
    });
    await save(name, page);
  };
  await draw("live-light", { ...WIDE, colorScheme: "light" });
  await draw("live-dark", { ...WIDE, colorScheme: "dark" });
  const phone = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true } as const;
  await draw("live-phone", { ...phone, deviceScaleFactor: 2, colorScheme: "light" });
  await chart.close();
}

async function drawBacktest(browser: Browser): Promise<void> {
  const place = await mkdtemp(join(tmpdir(), "pictures-"));
  try {
    const file = join(place, "backtest.html");
    await run(["examples/backtest/run.ts", "--page", file], {}, () => true);
    const page = await browser.newPage({ ...WIDE, viewport: { width: 1_280, height: 1_180 } });
    await page.goto(pathToFileURL(file).href);
    await page.waitForFunction(() => {
      const { __backtest } = window as unknown as { __backtest: { drawn(): { candles: unknown[] } } };
      return __backtest.drawn().candles.length > 20;
    });
    await save("backtest", page);
  } finally {
    await rm(place, { recursive: true });
  }
}

async function drawTerminal(): Promise<void> {
  const args = ["--no-page", "--timeframe", "1s", "--since", "14"];
  const lines = await run(["examples/live.ts", ...args], { FORCE_COLOR: "1" }, (line, count) => {
    // Where it is served is another port each time.
    return !line.includes("Served at") && count < LINES;
  });
  await writeFile(
    join(folder, "terminal.svg"),
    terminalSvg(["$ npm start", ...lines], "npm start in a terminal"),
  );
}

/** The lines of a program that are wanted; it is stopped after the last of them. */
async function run(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  isWanted: (line: string, count: number) => boolean,
): Promise<string[]> {
  const child = spawn(process.execPath, ["--import", "tsx", ...args], {
    ...{ cwd: root, stdio: ["ignore", "pipe", "inherit"] },
    env: { ...process.env, ...environment },
  });
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout! })) {
    if (isWanted(line, lines.length)) lines.push(line);
    if (lines.length === LINES && environment.FORCE_COLOR !== undefined) child.kill("SIGINT");
  }
  return lines;
}

async function save(name: string, page: Page): Promise<void> {
  // Two frames, in which the chart paints what it was given last.
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  const png = writePalettePng(readPng(await page.screenshot()));
  await writeFile(join(folder, `${name}.png`), png);
  process.stdout.write(`docs/pictures/${name}.png: ${(png.length / 1_000).toFixed(0)} kB\n`);
  await page.close();
}
